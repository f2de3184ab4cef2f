//! The store of a fleet as the server takes it.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Changes, Counter, Page, Readings, Receipt, Secret,
    Settlement, Span, Store, StoreError,
};
use tidegate_server::Backend;
use tidegate_stores::redis::{RedisStore, Target, Trouble};
use tokio::time::timeout;

use crate::cli::Failure;

/// What the start waits for the store, all servers together. It is no deadline of the store's: whoever
/// starts a process during an outage wants it up, and what a longer look would have refused is found by
/// the first probe, told as critical, and refuses then.
const LOOK: Duration = Duration::from_millis(100);

/// A store in Redis, under the name it has for the server. It is a handle: a copy is the same store.
#[derive(Clone, Debug)]
pub(crate) struct Redis(RedisStore);

/// A store on these servers. What is the matter with them and may pass is nothing to wait for: it is
/// served all the same, and its policies are in their failure modes until it answers.
///
/// # Errors
///
/// What somebody has to mend before this can ever work: a file that cannot be read, a password that
/// is wrong, a server that would forget.
pub(crate) async fn connected(target: Target, secret: &Secret) -> Result<Redis, Failure> {
    let shown = target.to_string();
    let store = RedisStore::new(target, secret).map_err(|error| refused(&shown, &error))?;
    match timeout(LOOK, store.check()).await {
        Ok(Err(trouble)) if trouble.is_refusal() => Err(refused(&shown, &trouble)),
        Ok(Ok(()) | Err(_)) | Err(_) => Ok(Redis(store)),
    }
}

fn refused(shown: &str, why: &dyn Display) -> Failure {
    Failure::misconfigured(anyhow::anyhow!("the store {shown} cannot be used: {why}"))
}

// === impl Redis ===

impl Redis {
    /// Why the last call that failed did.
    pub(super) fn trouble(&self) -> Option<Arc<Trouble>> {
        self.0.trouble()
    }
}

impl Store for Redis {
    const SHARED: bool = RedisStore::SHARED;

    fn charge(
        &self,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        self.0.charge(batch, readings)
    }

    fn peek(
        &self,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        self.0.peek(batch, readings)
    }

    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<Receipt, StoreError>> + Send {
        self.0.settle(settlement)
    }

    fn amend(
        &self,
        counter: Counter<'_>,
        amendment: Amendment,
    ) -> impl Future<Output = Result<Amended, StoreError>> + Send {
        self.0.amend(counter, amendment)
    }

    fn blocks(&self, page: Page<'_>) -> impl Future<Output = Result<Blocks, StoreError>> + Send {
        self.0.blocks(page)
    }

    fn probe(&self, within: Span) -> impl Future<Output = Result<(), StoreError>> + Send {
        self.0.probe(within)
    }

    fn changes(&self) -> Changes {
        self.0.changes()
    }
}

impl Backend for Redis {
    fn name(&self) -> &'static str {
        "redis"
    }
}
