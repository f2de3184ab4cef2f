//! Waiting for another process, never without a bound.

use core::future::Future;
use core::time::Duration;

/// How long a server may take for anything it is asked to become.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Between two looks; short beside what a server takes to change, long beside what a look costs.
const PAUSE: Duration = Duration::from_millis(10);

/// What `look` finds, once it finds something; `None` when [`LIMIT`] has passed.
pub async fn until_some<T, F>(mut look: impl FnMut() -> F) -> Option<T>
where
    F: Future<Output = Option<T>>,
{
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(LIMIT, found).await.ok()
}

/// Returns once `look` is true.
///
/// # Panics
///
/// With `what` was awaited, when [`LIMIT`] has passed.
pub async fn until<F>(what: &str, mut look: impl FnMut() -> F)
where
    F: Future<Output = bool>,
{
    let mut look = || {
        let looked = look();
        async move { looked.await.then_some(()) }
    };
    assert!(until_some(&mut look).await.is_some(), "not within {LIMIT:?}: {what}");
}
