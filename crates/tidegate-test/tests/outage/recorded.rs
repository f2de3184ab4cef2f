//! The shared store of a node, with everything it is asked written down.

use core::future::Future;
use std::sync::Arc;

use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Changes, Charge, CounterRef, Page, Readings, Receipt,
    Settlement, Span, Store, StoreError,
};
use tidegate_stores::redis::RedisStore;
use tidegate_test::sim::trace::{OpKind, StoreOutcome};

use crate::tape::{For, Tape};

tokio::task_local! {
    /// Whom the store is being asked for. A store does not know; whoever asks does.
    pub(crate) static FOR: For;
}

/// The real store and the tape.
pub(crate) struct Recorded {
    store: RedisStore,
    tape: Arc<Tape>,
}

// === impl Recorded ===

impl Recorded {
    pub(crate) fn new(store: RedisStore, tape: Arc<Tape>) -> Self {
        Self { store, tape }
    }

    /// The store itself.
    pub(crate) fn store(&self) -> &RedisStore {
        &self.store
    }

    async fn run<T>(
        &self,
        kind: OpKind,
        asked: impl Future<Output = Result<T, StoreError>>,
        counter: impl Fn(usize) -> u64,
    ) -> Result<T, StoreError> {
        let of = FOR.get();
        let op = self.tape.sent(of, kind);
        let result = asked.await;
        self.tape.done(of, op, outcome(&result, counter));
        result
    }
}

impl Store for Recorded {
    fn name(&self) -> &'static str {
        "recorded"
    }

    async fn charge(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        let asked = self.store.charge(batch, readings);
        self.run(OpKind::Charge, asked, |place| digest(batch, place)).await
    }

    async fn peek(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        let asked = self.store.peek(batch, readings);
        self.run(OpKind::Peek, asked, |place| digest(batch, place)).await
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        self.run(OpKind::Settle, self.store.settle(settlement), |_| 0).await
    }

    async fn amend(
        &self,
        counter: CounterRef<'_>,
        what: Amendment,
        within: Span,
    ) -> Result<Amended, StoreError> {
        self.run(OpKind::Amend, self.store.amend(counter, what, within), |_| 0).await
    }

    async fn blocks(&self, page: Page<'_>, within: Span) -> Result<Blocks, StoreError> {
        self.store.blocks(page, within).await
    }

    async fn probe(&self, trial: &Batch<'_>) -> Result<(), StoreError> {
        self.run(OpKind::Probe, self.store.probe(trial), |_| 0).await
    }

    fn changes(&self) -> Changes {
        self.store.changes()
    }
}

fn digest(batch: &Batch<'_>, place: usize) -> u64 {
    batch.charges().get(place).map_or(0, Charge::digest)
}

fn outcome<T>(result: &Result<T, StoreError>, counter: impl Fn(usize) -> u64) -> StoreOutcome {
    match result {
        Ok(_) => StoreOutcome::Good,
        Err(StoreError::Unavailable | StoreError::Timeout) => StoreOutcome::Failed,
        Err(StoreError::Refused) => StoreOutcome::Refused,
        Err(StoreError::Corrupt { charge }) => StoreOutcome::Corrupt(counter(*charge)),
        // Shed by this node, which is nobody's failure.
        Err(StoreError::Contended) => StoreOutcome::Shed,
        Err(StoreError::Version { .. }) => StoreOutcome::Version,
        Err(StoreError::Stale { .. }) => StoreOutcome::Stale,
    }
}
