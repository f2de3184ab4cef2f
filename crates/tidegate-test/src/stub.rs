//! A store for tests of the layers above it: the counters of another store, behind a wire that a
//! test controls.
//!
//! The kind of store ([`Store::SHARED`], [`Store::FALLIBLE`], [`Store::WAITS`]) is part of its
//! type, as it is for real ones. Everything else is set through its [`StubWire`] while it is in use.

use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Changes, Clock, CounterRef, ManualClock, Page, Reading,
    Readings, Receipt, Room, Settlement, Span, Store, StoreError, Timestamp, Usage,
};
use tidegate_engine::memory::{Budget, MemoryStore};

/// A store whose calls wait, fail and panic as its [`StubWire`] says, and are recorded there.
#[derive(Debug)]
pub struct Stub<
    S = MemoryStore<Arc<ManualClock>>,
    const SHARED: bool = true,
    const FALLIBLE: bool = true,
    const WAITS: bool = true,
> {
    inner: S,
    wire: Arc<StubWire>,
}

/// A store in another thread of this process: it waits, and it neither fails nor is shared.
pub type Waiting<S = MemoryStore<Arc<ManualClock>>> = Stub<S, false, false, true>;

/// A store that answers at once and can fail.
pub type Failing<S = MemoryStore<Arc<ManualClock>>> = Stub<S, true, true, false>;

/// The wire between a stub and its counters. All settings can be changed while calls are under way.
#[derive(Debug, Default)]
pub struct StubWire {
    clock: Option<Arc<ManualClock>>,
    fault: Mutex<Option<StoreError>>,
    next: Mutex<VecDeque<StoreError>>,
    changes: Mutex<Changes>,
    calls: Mutex<Vec<(Timestamp, Call)>>,
    slow: Mutex<VecDeque<(Call, Span, Option<StoreError>)>>,
    allowed: Mutex<Vec<(Call, Span)>>,
    probes_answer: AtomicBool,
    held: AtomicBool,
    /// The wakers of the calls that are kept waiting.
    waiting: Mutex<Vec<Waker>>,
    lies: AtomicBool,
    panics: AtomicBool,
    before: AtomicU32,
    after: AtomicU32,
    /// How many times [`Store::usage`] was called; each call waits for the lock `look`.
    looks: AtomicU32,
    look: Mutex<()>,
}

/// A call to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Store::charge`].
    Charge,
    /// [`Store::peek`].
    Peek,
    /// [`Store::settle`].
    Settle,
    /// [`Store::amend`].
    Amend,
    /// [`Store::blocks`].
    Blocks,
    /// [`Store::probe`].
    Probe,
}

// === impl StubWire ===

impl StubWire {
    /// Fails every call with this error from now on; `None` ends that.
    pub fn fail(&self, error: impl Into<Option<StoreError>>) {
        *lock(&self.fault) = error.into();
    }

    /// Fails the next charges with these errors, one each.
    pub fn fail_next(&self, errors: impl IntoIterator<Item = StoreError>) {
        lock(&self.next).extend(errors);
    }

    /// Lets probes succeed while everything else fails.
    pub fn let_probes_answer(&self, answer: bool) {
        self.probes_answer.store(answer, Relaxed);
    }

    /// Keeps calls waiting from now on (`true`), or lets those that wait go on (`false`).
    pub fn hold(&self, held: bool) {
        self.held.store(held, Relaxed);
        if !held {
            core::mem::take(&mut *lock(&self.waiting)).into_iter().for_each(Waker::wake);
        }
    }

    /// Makes every charge push a reading with room first, even if the charge then fails.
    pub fn lie(&self) {
        self.lies.store(true, Relaxed);
    }

    /// Makes every charge panic.
    pub fn panic(&self) {
        self.panics.store(true, Relaxed);
    }

    /// Makes every call but a probe return pending this often before the counters are asked, and a
    /// charge also this often after.
    pub fn wait(&self, before: u32, after: u32) {
        self.before.store(before, Relaxed);
        self.after.store(after, Relaxed);
    }

    /// How many times the counters were counted, by [`Store::usage`].
    pub fn looks(&self) -> u32 {
        self.looks.load(Relaxed)
    }

    /// Blocks the thread of any [`Store::usage`] call until the guard is dropped.
    pub fn hold_looks(&self) -> MutexGuard<'_, ()> {
        lock(&self.look)
    }

    /// Sets the changes of servers that the store reports.
    pub fn change(&self, changes: Changes) {
        *lock(&self.changes) = changes;
    }

    /// The calls that have crossed the wire, each with its time if the stub has a clock.
    pub fn calls(&self) -> Vec<(Timestamp, Call)> {
        lock(&self.calls).clone()
    }

    /// Returns the calls made so far, and forgets them.
    pub fn take_calls(&self) -> Vec<(Timestamp, Call)> {
        core::mem::take(&mut lock(&self.calls))
    }

    /// Number of calls of this kind.
    pub fn count(&self, call: Call) -> usize {
        lock(&self.calls).iter().filter(|(_, made)| *made == call).count()
    }

    /// Makes the next calls of these kinds take this long, one each and in this order, and then
    /// fail with the given error or succeed. It moves the stub's clock for that.
    pub fn slow(&self, steps: impl IntoIterator<Item = (Call, Span, Option<StoreError>)>) {
        lock(&self.slow).extend(steps);
    }

    /// Returns the deadline of each call that had one, and forgets them.
    pub fn take_allowed(&self) -> Vec<(Call, Span)> {
        core::mem::take(&mut lock(&self.allowed))
    }

    fn allow(&self, call: Call, within: Span) {
        lock(&self.allowed).push((call, within));
    }

    /// Records a call, and returns the error that it has to fail with, if any.
    fn begin(&self, call: Call) -> Result<(), StoreError> {
        let now = self.clock.as_ref().map_or(Timestamp::ZERO, Clock::now);
        lock(&self.calls).push((now, call));
        if call == Call::Charge {
            assert!(!self.panics.load(Relaxed), "this is what the test is about");
            if let Some(error) = lock(&self.next).pop_front() {
                return Err(error);
            }
        }
        let slow = lock(&self.slow).pop_front_if(|(kind, ..)| *kind == call);
        if let Some((_, takes, error)) = slow {
            self.clock.iter().for_each(|clock| clock.advance(takes));
            error.map_or(Ok(()), Err)?;
        }
        match &*lock(&self.fault) {
            Some(_) if call == Call::Probe && self.probes_answer.load(Relaxed) => Ok(()),
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Returns pending this many times before it is done, as a read from a socket does.
    async fn trip(&self, times: &AtomicU32) {
        let mut left = times.load(Relaxed);
        poll_fn(|context| match left.checked_sub(1) {
            _ if self.held.load(Relaxed) => {
                lock(&self.waiting).push(context.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(()),
            Some(fewer) => {
                left = fewer;
                context.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await;
    }

    fn tell_a_lie(&self, readings: &mut Readings) {
        if self.lies.load(Relaxed) {
            readings.push(Reading {
                room: Room::Now,
                wait: Span::ZERO,
                remaining: 1,
                reset_after: Span::ZERO,
                backoff: Span::ZERO,
                attempts: None,
            });
        }
    }
}

// === impl Stub ===

impl<const SHARED: bool, const FALLIBLE: bool, const WAITS: bool>
    Stub<MemoryStore<Arc<ManualClock>>, SHARED, FALLIBLE, WAITS>
{
    /// A stub with counters in memory, which uses this clock.
    #[must_use]
    pub fn in_memory(clock: &Arc<ManualClock>) -> Self {
        let budget = Budget { buckets: 10_000, quotas: 10_000, windows: 500, attempts: 500 };
        let inner = MemoryStore::new(budget, Arc::clone(clock));
        let wire = StubWire { clock: Some(Arc::clone(clock)), ..StubWire::default() };
        wire.wait(u32::from(WAITS), 0);
        Self { inner, wire: Arc::new(wire) }
    }

    /// A stub that fails every call with this error.
    #[must_use]
    pub fn failing(error: StoreError) -> Self {
        let stub = Self::in_memory(&Arc::new(ManualClock::new(Timestamp::ZERO)));
        stub.wire.fail(error);
        stub
    }
}

impl<S, const SHARED: bool, const FALLIBLE: bool, const WAITS: bool>
    Stub<S, SHARED, FALLIBLE, WAITS>
{
    /// A stub over the counters of another store. If it waits, it returns pending once before each
    /// call.
    #[must_use]
    pub fn over(inner: S) -> Self {
        let wire = StubWire::default();
        wire.wait(u32::from(WAITS), 0);
        Self { inner, wire: Arc::new(wire) }
    }

    /// The wire that controls the stub.
    #[must_use]
    pub const fn wire(&self) -> &Arc<StubWire> {
        &self.wire
    }

    /// The store that keeps the counters.
    #[must_use]
    pub const fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S: Store, const SHARED: bool, const FALLIBLE: bool, const WAITS: bool> Store
    for Stub<S, SHARED, FALLIBLE, WAITS>
{
    const SHARED: bool = SHARED;
    const FALLIBLE: bool = FALLIBLE;
    const WAITS: bool = WAITS;

    fn name(&self) -> &'static str {
        "stub"
    }

    async fn charge(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.wire.trip(&self.wire.before).await;
        self.wire.tell_a_lie(readings);
        self.wire.allow(Call::Charge, batch.deadline());
        self.wire.begin(Call::Charge)?;
        let charged = self.inner.charge(batch, readings).await;
        self.wire.trip(&self.wire.after).await;
        charged
    }

    fn charge_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.wire.tell_a_lie(readings);
        self.wire.begin(Call::Charge)?;
        self.inner.charge_now(batch, readings)
    }

    async fn peek(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.wire.trip(&self.wire.before).await;
        self.wire.begin(Call::Peek)?;
        self.inner.peek(batch, readings).await
    }

    fn peek_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.wire.begin(Call::Peek)?;
        self.inner.peek_now(batch, readings)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        self.wire.trip(&self.wire.before).await;
        self.wire.allow(Call::Settle, settlement.deadline());
        self.wire.begin(Call::Settle)?;
        self.inner.settle(settlement).await
    }

    fn settle_now(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        self.wire.begin(Call::Settle)?;
        self.inner.settle_now(settlement)
    }

    async fn amend(
        &self,
        counter: CounterRef<'_>,
        amendment: Amendment,
        within: Span,
    ) -> Result<Amended, StoreError> {
        self.wire.trip(&self.wire.before).await;
        self.wire.allow(Call::Amend, within);
        self.wire.begin(Call::Amend)?;
        self.inner.amend(counter, amendment, within).await
    }

    async fn blocks(&self, page: Page<'_>, within: Span) -> Result<Blocks, StoreError> {
        self.wire.trip(&self.wire.before).await;
        self.wire.allow(Call::Blocks, within);
        self.wire.begin(Call::Blocks)?;
        self.inner.blocks(page, within).await
    }

    async fn probe(&self, trial: &Batch<'_>) -> Result<(), StoreError> {
        self.wire.allow(Call::Probe, trial.deadline());
        self.wire.begin(Call::Probe)?;
        self.inner.probe(trial).await
    }

    fn changes(&self) -> Changes {
        *lock(&self.wire.changes)
    }

    fn usage(&self) -> Option<Usage> {
        self.wire.looks.fetch_add(1, Relaxed);
        drop(lock(&self.wire.look));
        self.inner.usage()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
