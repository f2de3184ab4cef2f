//! A deadline that blames the server only for its own silence.
//!
//! A timer fires when this process gets round to it. In a process that has more to do than it can, the
//! task that reads from the connection has not had its turn either by then, and the answer may have
//! been lying there for long. So once the time is over, the connection has one more turn. A server that
//! is silent stays silent, and is found out a moment later; one that has answered is not taken for a
//! dead one.

use core::pin::pin;
use core::time::Duration;

use tokio::time::timeout;

/// The longest that the extra turn takes. Contract P09 leaves 50 ms for everything but the deadline.
const LONGEST: Duration = Duration::from_millis(20);

/// The outcome of a call within `limit` and one turn of the connection after it; `None` if there is
/// none by then.
pub(super) async fn within<T>(limit: Duration, call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    match timeout(limit, &mut call).await {
        Ok(outcome) => Some(outcome),
        Err(_) => timeout((limit / 10).min(LONGEST), &mut call).await.ok(),
    }
}
