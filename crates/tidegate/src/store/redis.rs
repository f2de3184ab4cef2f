//! Connecting to the store of a fleet when the process starts.

use std::fmt::Display;
use std::time::Duration;

use tidegate_core::Secret;
use tidegate_stores::redis::{RedisStore, Target};
use tokio::time::timeout;

use crate::cli::Failure;

/// How long the start of the process waits for the store, all servers together. It is no deadline of the
/// store's: a process that is started during an outage should come up, and what a longer look would have
/// refused is found by the first probe, reported as critical, and refuses then.
const LOOK: Duration = Duration::from_millis(100);

/// A store on these servers. A trouble that may pass is not waited for: the process serves all the same,
/// and its policies are in their failure modes until the store answers.
///
/// # Errors
///
/// If somebody has to mend something before the store can ever work: a file that cannot be read, a
/// password that is wrong, a server that would forget.
pub(crate) async fn connected(target: Target, secret: &Secret) -> Result<RedisStore, Failure> {
    let shown = target.to_string();
    let store = RedisStore::new(target, secret).map_err(|error| refused(&shown, &error))?;
    match timeout(LOOK, store.check()).await {
        Ok(Err(trouble)) if trouble.is_refusal() => Err(refused(&shown, &trouble)),
        Ok(Ok(()) | Err(_)) | Err(_) => Ok(store),
    }
}

fn refused(shown: &str, why: &dyn Display) -> Failure {
    Failure::misconfigured(anyhow::anyhow!("the store {shown} cannot be used: {why}"))
}
