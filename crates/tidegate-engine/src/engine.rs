//! One decision from end to end: resolve → charge → fold, or the failure mode if the store fails.

use core::future::Future;
use core::hash::{BuildHasher as _, Hasher as _};
use core::pin::pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::hash::RandomState;
use std::io;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use tidegate_core::{
    Batch, Case, Clock, Decision, Digests, Policy, PolicySet, Readings, Secret, Store, StoreError,
    Ticket, Timestamp, fold,
};

use crate::clock::Time;
use crate::event::{Event, Observer};
use crate::failover::{Decider, Post, Posts, Traffic};
use crate::outbox::Outbox;
use crate::reader::Policies;
use crate::tickets::Tickets;
use crate::undecided::DecideError;

/// Decides requests by the policies in force, with state in a store.
#[derive(Debug)]
pub struct Engine<S> {
    store: S,
    pub(crate) policies: ArcSwap<PolicySet>,
    pub(crate) digests: Digests,
    pub(crate) tickets: Tickets,
    pub(crate) posts: Posts,
    pub(crate) traffic: Traffic,
    pub(crate) clock: Time,
    outbox: Option<Outbox>,
    /// The outbox of the observers that receive only the events that must not get lost.
    signals: OnceLock<Outbox>,
    /// The store's restarts (upper half) and failovers (lower half) that observers know of.
    told: AtomicU64,
}

/// How a store is asked about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreCall {
    /// The request is charged if it is admitted.
    Charge,
    /// The request is only looked at.
    Peek,
}

// === impl Engine ===

impl<S: Store> Engine<S> {
    /// Whether the store neither waits nor fails, so that every decision is a plain call. Each
    /// future of this engine is then ready at its first poll.
    pub const AT_ONCE: bool = !S::WAITS && !S::FALLIBLE;

    /// An engine with random digests of its own, which nobody can predict.
    pub fn new(store: S, policies: PolicySet) -> Self {
        Self::with_digests(store, policies, Digests::new([unpredictable(), unpredictable()]))
    }

    /// An engine with given digests, so that a run can be repeated exactly.
    pub fn with_digests(store: S, policies: PolicySet, digests: Digests) -> Self {
        let clock = Time::Real(Arc::default());
        let traffic = Traffic::of(&policies, store.patience());
        let posts = if S::FALLIBLE { Posts::of(&policies, clock.now()) } else { Posts::default() };
        let (policies, tickets) = (ArcSwap::from_pointee(policies), Tickets::new());
        let told = AtomicU64::new(0);
        let (outbox, signals) = (None, OnceLock::new());
        Self { store, policies, digests, tickets, posts, traffic, clock, outbox, signals, told }
    }

    /// Judges the store by `clock` instead of real time. What was known of the store's health is
    /// forgotten.
    #[must_use]
    pub fn timed_by(mut self, clock: Arc<dyn Clock>) -> Self {
        self.posts = Posts::of(&self.policies.load(), clock.now());
        self.clock = Time::Given(clock);
        self
    }

    /// The time of this node, by which it judges its store.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The standby of a policy, which knows whether the store is to be asked.
    pub(crate) fn post(&self, policy: &Policy) -> Arc<Post> {
        self.posts.get(policy, || self.now())
    }

    /// Makes this engine one of a fleet that shares a store: its tickets can be settled by every node
    /// that has the same secret.
    #[must_use]
    pub fn sharing(mut self, secret: &Secret) -> Self {
        self.tickets = Tickets::shared(secret);
        self.digests = self.digests.sharing(secret);
        self
    }

    /// Reports every event to these observers, on a thread of their own; see [`Observer`]. They
    /// replace the observers of any earlier call.
    ///
    /// # Errors
    ///
    /// If no thread can be started.
    pub fn observed_by(mut self, observers: Vec<Box<dyn Observer>>) -> io::Result<Self> {
        self.outbox = Some(Outbox::to(observers)?);
        Ok(self)
    }

    /// Reports to these observers, on a thread of their own, only the events that must not get
    /// lost: changes in how policies stand with their store, a store that was restarted or
    /// replaced, overload, counters that were made anew, actions of operators. Decisions cost no
    /// more for it. The observers replace those of any earlier call.
    ///
    /// # Errors
    ///
    /// If no thread can be started.
    pub fn signalled_to(mut self, observers: Vec<Box<dyn Observer>>) -> io::Result<Self> {
        self.signals = Outbox::to(observers)?.into();
        Ok(self)
    }

    /// Reports the events that must not get lost to these observers, unless other observers receive
    /// them already. For doors that log such events where the host has named no observer.
    ///
    /// # Errors
    ///
    /// If no thread can be started.
    pub fn signalled_by_default_to(&self, observers: Vec<Box<dyn Observer>>) -> io::Result<()> {
        if self.signals.get().is_none() && self.outbox.is_none() {
            // If two doors do this at once, the observers of the first one stay.
            let _ = self.signals.set(Outbox::to(observers)?);
        }
        Ok(())
    }

    /// Reports each event to one observer at once, on the thread on which it happens; for
    /// simulations.
    #[doc(hidden)]
    #[must_use]
    pub fn told_at_once(mut self, observer: Arc<dyn Fn(&Event) + Send + Sync>) -> Self {
        self.outbox = Some(Outbox::Direct(observer));
        self
    }

    /// Waits until the observers have received all events so far, but at most `within`; for the end
    /// of a process. Returns whether they have.
    pub fn finish_telling(&self, within: Duration) -> bool {
        self.outboxes().all(|outbox| outbox.finish(within))
    }

    /// How many events were dropped because the queue to the observers was full.
    pub fn dropped_events(&self) -> u64 {
        self.outboxes().map(Outbox::dropped).sum()
    }

    fn outboxes(&self) -> impl Iterator<Item = &Outbox> {
        self.outbox.iter().chain(self.signals.get())
    }

    /// The policies in force. Take them anew for each request: they are swapped whole.
    #[inline]
    pub fn policies(&self) -> Policies {
        Policies::of(&self.policies)
    }

    /// The store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Decides a case, and counts it if it is admitted. The readings of all limits stay in the
    /// case.
    ///
    /// If the store fails, or is not trusted at present, the policy's failure mode decides, and the
    /// decision [says so](Decision::mode).
    ///
    /// # Errors
    ///
    /// If no limit of the policy applies to the subject, or if the request was shed because too many
    /// came at once. Neither is a reason to let the request pass.
    #[inline]
    pub async fn decide<'d>(&self, case: &'d mut Case<'_>) -> Result<Decision<'d>, DecideError> {
        if Self::AT_ONCE {
            return self.decide_at_once(case);
        }
        case.resolve(&self.digests);
        if case.batch().charges().is_empty() {
            return Err(self.undecided(case.policy()));
        }
        if S::FALLIBLE {
            return self.decide_watched(case, StoreCall::Charge).await;
        }
        match self.ask(case, StoreCall::Charge, self.now()).await {
            Ok(()) => Ok(self.decided(case, None)),
            Err(error) => self.failed_unwatched(case, StoreCall::Charge, error),
        }
    }

    /// Decides a case as [`decide`](Self::decide) does, without a future. It compiles only for a
    /// store that neither waits nor fails, such as the one in memory.
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    #[inline]
    pub fn decide_now<'d>(&self, case: &'d mut Case<'_>) -> Result<Decision<'d>, DecideError> {
        const { assert!(Self::AT_ONCE, "this store may wait or fail: use `decide`") };
        self.decide_at_once(case)
    }

    /// Decides a case by plain calls: there is no future that could be dropped half-way and run
    /// again.
    #[inline(always)]
    fn decide_at_once<'d>(&self, case: &'d mut Case<'_>) -> Result<Decision<'d>, DecideError> {
        case.resolve(&self.digests);
        if case.batch().charges().is_empty() {
            return Err(self.undecided(case.policy()));
        }
        let (batch, readings) = case.ask();
        if let Err(error) = self.store.charge_now(batch, readings)
            && let Err(error) = self.send_again_now(StoreCall::Charge, error, batch, readings)
        {
            return self.failed_unwatched(case, StoreCall::Charge, error);
        }
        Ok(self.decided(case, None))
    }

    /// Asks the store about a resolved case; `began` is when the decision began.
    ///
    /// A store that finds the calendar periods of a charge stale says for which time it needs them.
    /// The periods are then brought up to date, and the batch is sent again in what is left of the
    /// deadline. All charges usually need the same periods, so the first time all are brought up to
    /// date; after that each by itself, because a clock that went back may leave one counter ahead
    /// of the others.
    #[inline]
    pub(crate) async fn ask(
        &self,
        case: &mut Case<'_>,
        how: StoreCall,
        began: Timestamp,
    ) -> Result<(), StoreError> {
        let mut error = match self.send(how, case).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        for resent in 0..=case.batch().charges().len() {
            let StoreError::Stale { charge, now } = error else { break };
            refresh(case.batch(), (resent > 0).then_some(charge), now);
            // Another request may meanwhile have found that the store is not to be asked any more.
            if S::FALLIBLE && self.post(case.policy()).route() == Decider::Local {
                break;
            }
            if S::FALLIBLE || S::WAITS {
                let Some(left) = self.time_left(case, began) else {
                    error = StoreError::Timeout;
                    break;
                };
                case.hurry(left);
            }
            match self.send(how, case).await {
                Ok(()) => return Ok(()),
                Err(again) => error = again,
            }
        }
        // If the periods are still stale and the deadline has passed, the deadline is the error to
        // report.
        let is_late = || self.time_left(case, began).is_none();
        if S::FALLIBLE && matches!(error, StoreError::Stale { .. }) && is_late() {
            error = StoreError::Timeout;
        }
        case.ask().1.clear();
        Err(error)
    }

    /// The decision on a case that the store has charged. Numbers its ticket and reports it.
    #[inline(always)]
    pub(crate) fn decided<'d>(&self, case: &'d mut Case<'_>, post: Option<&Post>) -> Decision<'d> {
        let policy = case.policy();
        if case.bundle().settles() {
            self.number(case);
        }
        if S::SHARED {
            self.notice();
        }
        let decision = fold(case);
        self.emit(|| Event::decided(&decision));
        if self.outbox.is_some() && policy.counts_attempts() {
            self.tell_blocks(&decision);
        }
        if let Some(post) = post.filter(|_| policy.counts_attempts()) {
            self.remember(&decision, post);
        }
        decision
    }

    /// Decides a case by the store alone and returns the store's errors; for tests of stores.
    #[doc(hidden)]
    pub async fn decide_by_store<'d>(
        &self,
        case: &'d mut Case<'_>,
    ) -> Result<Decision<'d>, StoreError> {
        case.resolve(&self.digests);
        self.ask(case, StoreCall::Charge, self.now()).await?;
        Ok(self.decided(case, None))
    }

    /// Looks at a case as [`peek`](Self::peek) does, but by the store alone, and returns the
    /// store's errors; for tests of stores.
    #[doc(hidden)]
    pub async fn peek_by_store<'d>(
        &self,
        case: &'d mut Case<'_>,
    ) -> Result<Decision<'d>, StoreError> {
        case.resolve(&self.digests);
        self.ask(case, StoreCall::Peek, self.now()).await?;
        Ok(fold(case))
    }

    /// Reports the blocks that this very request has begun.
    #[cold]
    fn tell_blocks(&self, decision: &Decision<'_>) {
        for said in decision.explain() {
            let begun = said.reading.attempts.filter(|tally| tally.begins);
            if let Some(block) = begun.and_then(|tally| tally.block) {
                self.emit(|| Event::Blocked {
                    policy: decision.policy().name().clone(),
                    limit: said.limit.name().clone(),
                    distinct: said.limit.counted(),
                    block,
                    at: decision.decided_at(),
                });
            }
        }
    }

    /// Numbers the ticket of a case, if it passes. Refused requests would only use up numbers
    /// that the store has to remember.
    #[cold]
    fn number(&self, case: &mut Case<'_>) {
        if fold(case).verdict().passes() {
            case.number(self.tickets.number());
        }
    }

    /// Decides a case as [`decide`](Self::decide) would, and charges nothing.
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    pub async fn peek<'d>(&self, case: &'d mut Case<'_>) -> Result<Decision<'d>, DecideError> {
        case.resolve(&self.digests);
        if case.batch().charges().is_empty() {
            return Err(nothing_applies(case.policy()));
        }
        if S::FALLIBLE {
            return self.decide_watched(case, StoreCall::Peek).await;
        }
        match self.ask(case, StoreCall::Peek, self.now()).await {
            Ok(()) => Ok(fold(case)),
            Err(error) => self.failed_unwatched(case, StoreCall::Peek, error),
        }
    }

    /// Reports, once for each change, that the servers that keep the counters have changed.
    pub(crate) fn notice(&self) {
        let changes = self.store.changes();
        let seen = u64::from(changes.restarts) << 32 | u64::from(changes.failovers);
        // Both only grow, so a thread that comes late with an older view reports nothing.
        if self.told.load(Ordering::Relaxed) < seen
            && self.told.fetch_max(seen, Ordering::Relaxed) < seen
        {
            self.emit_surely(|| Event::StoreChanged { changes });
            self.forgot();
        }
    }

    #[cold]
    fn undecided(&self, policy: &Policy) -> DecideError {
        let error = nothing_applies(policy);
        self.emit(|| Event::Failed { policy: policy.name().clone(), error: error.clone() });
        error
    }

    #[inline]
    async fn send(&self, how: StoreCall, case: &mut Case<'_>) -> Result<(), StoreError> {
        let (batch, readings) = case.ask();
        match how {
            _ if !S::WAITS => self.send_now(how, batch, readings),
            StoreCall::Peek => self.store.peek(batch, readings).await,
            StoreCall::Charge => self.store.charge(batch, readings).await,
        }
    }

    /// Asks a store that never waits.
    fn send_now(
        &self,
        how: StoreCall,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> Result<(), StoreError> {
        match how {
            StoreCall::Peek => self.store.peek_now(batch, readings),
            StoreCall::Charge => self.store.charge_now(batch, readings),
        }
    }

    /// The ticket of an admitted request, if any limit that charged it
    /// [settles](tidegate_core::Limit::settling). Every call returns the same one.
    pub fn ticket(&self, decision: &Decision<'_>) -> Option<Ticket> {
        self.tickets.issue(decision)
    }

    /// Reports an event that must not get lost to all observers.
    pub(crate) fn emit_surely(&self, event: impl Fn() -> Event) {
        for outbox in self.outboxes() {
            outbox.send_surely(event());
        }
    }

    /// Reports an event to the observers of all events, if there are any.
    #[inline]
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        if let Some(outbox) = &self.outbox {
            outbox.send(event);
        }
    }

    /// Sends a batch again to a store that never waits, as [`ask`](Self::ask) does.
    #[cold]
    fn send_again_now(
        &self,
        how: StoreCall,
        mut error: StoreError,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> Result<(), StoreError> {
        for resent in 0..=batch.charges().len() {
            let StoreError::Stale { charge, now } = error else { break };
            refresh(batch, (resent > 0).then_some(charge), now);
            match self.send_now(how, batch, readings) {
                Ok(()) => return Ok(()),
                Err(again) => error = again,
            }
        }
        readings.clear();
        Err(error)
    }
}

/// Brings the calendar periods of the charge at `only`, or of all charges if `None`, up to `now`.
fn refresh(batch: &Batch<'_>, only: Option<usize>, now: Timestamp) {
    for (place, charge) in batch.charges().iter().enumerate() {
        if only.is_none_or(|only| only == place) {
            charge.refresh(now);
        }
    }
}

#[cold]
fn nothing_applies(policy: &Policy) -> DecideError {
    DecideError::NothingApplies { policy: Box::new(policy.name().clone()) }
}

/// The result of a future that does not have to wait, such as those of the in-memory store; `None`
/// if it has to.
///
/// Always inlined: the future is then polled where it was made, and nothing of it is copied.
#[inline(always)]
pub fn ready<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A number nobody can guess: the standard library seeds its maps from the operating system.
pub(crate) fn unpredictable() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests;
