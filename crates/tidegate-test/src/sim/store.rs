//! The simulated store: real counters, a wire that takes time, and the faults of a schedule.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Changes, CounterRef, Page, Readings, Receipt, Settlement,
    Span, Store, StoreError,
};

use super::fault::OperationFailure;
use super::hub::{Hub, Op, State};
use super::trace::{OpKind, StoreOutcome};

/// The simulated store, as one node sees it.
#[derive(Clone, Debug)]
pub(super) struct SimStore(pub(super) Arc<Hub>);

/// A future that is ready at this virtual time.
struct At<'h> {
    hub: &'h Hub,
    time: u64,
}

// === impl SimStore ===

impl SimStore {
    /// Runs one operation: waits until it is due to be answered, then does it or fails it, as the
    /// fault decides.
    async fn run<T>(
        &self,
        kind: OpKind,
        within: u64,
        act: impl FnMut(&mut State, u64) -> Result<T, StoreError>,
        corrupt: impl Fn(usize) -> u64,
    ) -> Result<T, StoreError> {
        let mut act = act;
        let op: Op = self.0.begin(kind, within);
        if op.fate.failure == Some(OperationFailure::Timeout(true)) {
            let now = self.0.now();
            // The operation is done, but its result is never reported.
            let _ = self.0.with(|state| act(state, now));
        }
        At { hub: &self.0, time: op.done_at }.await;
        let now = self.0.now();
        let result = match op.fate.failure {
            Some(failure) => Err(failure.error()),
            None => self.0.with(|state| act(state, now)),
        };
        self.0.end(&op, outcome(kind, &result, corrupt));
        result
    }
}

impl Store for SimStore {
    fn name(&self) -> &'static str {
        "simstore"
    }

    async fn charge(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        let act = |state: &mut State, now: u64| {
            let now = state.store_time(now);
            state.counters().decide(batch, true, readings, now)
        };
        self.run(OpKind::Charge, batch.deadline().as_micros(), act, |place| digest(batch, place))
            .await
    }

    async fn peek(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        let act = |state: &mut State, now: u64| {
            let now = state.store_time(now);
            state.counters().decide(batch, false, readings, now)
        };
        self.run(OpKind::Peek, batch.deadline().as_micros(), act, |place| digest(batch, place))
            .await
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        let act = |state: &mut State, now: u64| {
            let now = state.store_time(now);
            state.counters().settle(settlement, now)
        };
        self.run(OpKind::Settle, settlement.deadline().as_micros(), act, |_| 0).await
    }

    async fn amend(
        &self,
        counter: CounterRef<'_>,
        amendment: Amendment,
        within: Span,
    ) -> Result<Amended, StoreError> {
        let act = |state: &mut State, now: u64| {
            let now = state.store_time(now);
            state.counters().amend(&counter, amendment, now)
        };
        let CounterRef::Of(charge, _) = counter else {
            return self.run(OpKind::List, within.as_micros(), act, |_| 0).await;
        };
        let amended = self.run(OpKind::Amend, within.as_micros(), act, |_| 0).await?;
        self.0.amended(charge.digest(), &amended);
        Ok(amended)
    }

    async fn blocks(&self, _: Page<'_>, within: Span) -> Result<Blocks, StoreError> {
        let act = |state: &mut State, now: u64| {
            let now = state.store_time(now);
            Ok(Blocks { list: state.counters().blocks(now), next: None, at: now })
        };
        self.run(OpKind::List, within.as_micros(), act, |_| 0).await
    }

    async fn probe(&self, trial: &Batch<'_>) -> Result<(), StoreError> {
        self.run(OpKind::Probe, trial.deadline().as_micros(), |_, _| Ok(()), |_| 0).await
    }

    fn changes(&self) -> Changes {
        self.0.with(|state| state.changes())
    }
}

// === impl At ===

impl Future for At<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.hub.now() >= self.time {
            return Poll::Ready(());
        }
        self.hub.wake_at(self.time);
        Poll::Pending
    }
}

fn digest(batch: &Batch<'_>, place: usize) -> u64 {
    batch.charges().get(place).map_or(0, tidegate_core::Charge::digest)
}

fn outcome<T>(
    kind: OpKind,
    result: &Result<T, StoreError>,
    corrupt: impl Fn(usize) -> u64,
) -> StoreOutcome {
    match result {
        Ok(_) => StoreOutcome::Good,
        Err(StoreError::Unavailable | StoreError::Timeout) => StoreOutcome::Failed,
        // No other client writes what a probe writes, so this is a failure. A request is shed,
        // which is none (A39).
        Err(StoreError::Contended) if kind == OpKind::Probe => StoreOutcome::Failed,
        Err(StoreError::Contended) => StoreOutcome::Shed,
        Err(StoreError::Refused) => StoreOutcome::Refused,
        Err(StoreError::Corrupt { charge }) => StoreOutcome::Corrupt(corrupt(*charge)),
        Err(StoreError::Version { .. }) => StoreOutcome::Version,
        Err(StoreError::Stale { .. }) => StoreOutcome::Stale,
    }
}
