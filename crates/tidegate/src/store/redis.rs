//! The store of a fleet as the server takes it.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Changes, Counter, Page, Readings, Receipt, Secret,
    Settlement, Store, StoreError,
};
use tidegate_server::Backend;
use tidegate_stores::redis::{RedisStore, Target, Trouble};
use tokio::time::timeout;

use crate::cli::Failure;

/// What the start waits for the store beyond the store's own deadline, which then tells why.
const GRACE: Duration = Duration::from_millis(100);

/// A store in Redis, under the name it has for the server. It is a handle: a copy is the same store.
#[derive(Clone, Debug)]
pub(crate) struct Redis(RedisStore);

/// A store on these servers, and what is the matter with them if it may pass: then it is served all
/// the same, and asked again.
///
/// # Errors
///
/// What somebody has to mend before this can ever work: a file that cannot be read, a password that
/// is wrong, a server that would forget.
pub(crate) async fn connected(
    target: Target,
    secret: &Secret,
) -> Result<(Redis, Option<StoreError>), Failure> {
    let (shown, patience) = (target.to_string(), target.timeout());
    let store = RedisStore::new(target, secret).map_err(|error| refused(&shown, &error))?;
    // It has a deadline for each server; the start has one for all of them.
    match timeout(patience + GRACE, store.check()).await {
        Ok(Ok(())) => Ok((Redis(store), None)),
        Ok(Err(trouble)) if trouble.is_refusal() => Err(refused(&shown, &trouble)),
        Ok(Err(_)) | Err(_) => Ok((Redis(store), Some(StoreError::Unavailable))),
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

    fn probe(&self) -> impl Future<Output = Result<(), StoreError>> + Send {
        self.0.probe()
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
