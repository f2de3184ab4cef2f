//! Waiting for another process, never without a bound.

use core::future::Future;
use core::time::Duration;

/// The longest time to wait for a server to change its state.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Pause between two checks: short compared with the time a server takes to change, long compared
/// with the cost of a check.
const PAUSE: Duration = Duration::from_millis(10);

/// Lets real time pass, where there is no condition to wait for: between two calls of a load, or two
/// requests whose distance is what is tested.
#[expect(clippy::disallowed_methods, reason = "real servers take real time")]
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Repeats `look` until it finds something, and returns that; `None` when [`LIMIT`] has passed.
pub async fn until_some<T, F>(mut look: impl FnMut() -> F) -> Option<T>
where
    F: Future<Output = Option<T>>,
{
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            pause(PAUSE).await;
        }
    };
    tokio::time::timeout(LIMIT, found).await.ok()
}

/// Repeats `look` until it is true.
///
/// # Panics
///
/// If [`LIMIT`] passes first; the message is `what` was awaited.
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
