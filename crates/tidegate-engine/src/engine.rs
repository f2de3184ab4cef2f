//! One decision from end to end: resolve → charge → fold.

use core::future::Future;
use core::hash::{BuildHasher as _, Hasher as _};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::hash::RandomState;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache, Guard};
use tidegate_core::{
    Batch, Case, Decision, Digests, Name, PolicyError, PolicySet, PolicySetBuilder, Readings,
    Store, StoreError, fold,
};

/// Decides requests by the policies in force, with state in a store.
#[derive(Debug)]
pub struct Engine<S> {
    store: S,
    policies: ArcSwap<PolicySet>,
    digests: Digests,
}

/// The policies in force, as one thread sees them.
#[derive(Clone, Debug)]
pub struct Reader<'e>(Cache<&'e ArcSwap<PolicySet>, Arc<PolicySet>>);

/// Why there is no decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    /// The policy has nothing to say about the subject.
    #[error(
        "no limit of policy `{policy}` applies: the subject has none of the facts its limits \
         count by; pass them, or add a limit on `ip` or a global one"
    )]
    NothingApplies {
        /// The policy.
        policy: Name,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether a decision is counted or only looked at: known when it is compiled.
type Ask = bool;
const CHARGE: Ask = true;
const PEEK: Ask = false;

// === impl Engine ===

impl<S: Store> Engine<S> {
    /// An engine with its own, unpredictable digests.
    pub fn new(store: S, policies: PolicySet) -> Self {
        Self::with_digests(store, policies, Digests::new([unpredictable(), unpredictable()]))
    }

    /// An engine whose digests are known, so that a run can be repeated exactly.
    pub fn with_digests(store: S, policies: PolicySet, digests: Digests) -> Self {
        Self { store, policies: ArcSwap::from_pointee(policies), digests }
    }

    /// The policies in force. Take them anew for each request: they are swapped whole.
    pub fn policies(&self) -> Guard<Arc<PolicySet>> {
        self.policies.load()
    }

    /// Puts other policies in force, as successors of the present ones: state counted so far stays
    /// readable. If they are refused, the present ones stay.
    ///
    /// # Errors
    ///
    /// What is wrong with the policies.
    pub fn reload(&self, policies: &PolicySetBuilder) -> Result<(), PolicyError> {
        loop {
            // Built from the very set it replaces: two reloads at once would otherwise give the
            // same stamp to different numbers.
            let present = self.policies.load();
            let next = Arc::new(policies.clone().build(Some(&present))?);
            if Arc::ptr_eq(&present, &self.policies.compare_and_swap(&present, next)) {
                return Ok(());
            }
        }
    }

    /// The store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Decides a case, and counts it if it is admitted. What every limit said stays in the case.
    ///
    /// # Errors
    ///
    /// If no limit of the policy applies to the subject, or the store fails. Neither is a reason
    /// to let the request pass; what to do then is the policy's failure mode.
    #[inline]
    pub async fn decide<'d>(&self, case: &'d mut Case<'_>) -> Result<Decision<'d>, DecideError> {
        self.asked::<CHARGE>(case).await
    }

    /// Says what [`decide`](Self::decide) would, and charges nothing.
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide).
    pub async fn peek<'d>(&self, case: &'d mut Case<'_>) -> Result<Decision<'d>, DecideError> {
        self.asked::<PEEK>(case).await
    }

    #[inline]
    async fn asked<'d, const HOW: Ask>(
        &self,
        case: &'d mut Case<'_>,
    ) -> Result<Decision<'d>, DecideError> {
        case.resolve(&self.digests);
        let policy = case.policy();
        let (batch, readings) = case.ask();
        if batch.charges().is_empty() {
            return Err(DecideError::NothingApplies { policy: policy.name().clone() });
        }
        if let Err(error) = self.send::<HOW>(batch, readings).await {
            self.send_again::<HOW>(error, batch, readings).await?;
        }
        Ok(fold(case))
    }

    #[inline]
    async fn send<const HOW: Ask>(
        &self,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> Result<(), StoreError> {
        match HOW {
            PEEK => self.store.peek(batch, readings).await,
            CHARGE => self.store.charge(batch, readings).await,
        }
    }

    /// A store that finds the calendar periods of a charge stale says which ones it needs; sent again,
    /// the batch brings them. All charges usually need the same, so all are brought up to date the
    /// first time; after that each by itself, because a clock that went back may leave one counter
    /// ahead of the others.
    #[cold]
    async fn send_again<const HOW: Ask>(
        &self,
        mut error: StoreError,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> Result<(), DecideError> {
        for resent in 0..=batch.charges().len() {
            let StoreError::Stale { charge, now } = error else { break };
            for (place, stale) in batch.charges().iter().enumerate() {
                if resent == 0 || place == charge {
                    stale.refresh(now);
                }
            }
            match self.send::<HOW>(batch, readings).await {
                Ok(()) => return Ok(()),
                Err(again) => error = again,
            }
        }
        readings.clear();
        Err(error.into())
    }

    /// A view of the policies in force for one thread, quicker than [`policies`](Self::policies)
    /// because it only looks whether they have been swapped.
    pub fn reader(&self) -> Reader<'_> {
        Reader(Cache::new(&self.policies))
    }
}

// === impl Reader ===

impl Reader<'_> {
    /// The policies in force.
    #[inline]
    pub fn policies(&mut self) -> &PolicySet {
        self.0.load()
    }
}

/// The result of a future that does not have to wait, as those of the in-memory store; `None` if
/// it does.
///
/// Always inlined: the future is then decided where it was made, and nothing of it is copied.
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
mod tests {
    //! What callers rely on without seeing it.

    use tidegate_core::{Policy, Subject};

    use super::*;

    /// Compiles only if a decision can be awaited on any thread, with any store.
    #[expect(dead_code, reason = "the compiler is the test")]
    fn a_decision_can_be_awaited_anywhere<S: Store>(
        engine: &Engine<S>,
        policy: &Policy,
        subject: &Subject<'_>,
    ) {
        fn sendable<T: Send>(_: T) {}
        sendable(async move { engine.decide(&mut Case::new(policy, subject)).await.is_ok() });
    }

    /// A store that says there is room and then fails.
    struct Liar;

    impl Store for Liar {
        async fn charge(&self, _: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
            let room = tidegate_core::Room::Now;
            let none = tidegate_core::Span::ZERO;
            readings.push(tidegate_core::Reading {
                room,
                wait: none,
                remaining: 1,
                reset_after: none,
                backoff: none,
            });
            Err(StoreError::Timeout)
        }

        async fn peek(&self, _: &Batch<'_>, _: &mut Readings) -> Result<(), StoreError> {
            Err(StoreError::Unavailable)
        }
    }

    #[test]
    fn readings_of_a_store_that_failed_admit_nothing() {
        use tidegate_core::{Bucket, FailureMode, Limit, PolicySpec, Rate, Scope, Shape};
        let shape = Shape::Bucket(Bucket::try_new(Rate::per_second(1).unwrap(), 1).unwrap());
        let limit = Limit::new(Name::try_new("l").unwrap(), Scope::GLOBAL, shape);
        let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailClosed);
        let set = PolicySet::builder().policy(spec.limit(limit)).build(None).unwrap();
        let engine = Engine::new(Liar, set.clone());
        let subject = Subject::new();
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        let failed = ready(engine.decide(&mut case)).unwrap().err();
        assert_eq!(failed, Some(DecideError::Store(StoreError::Timeout)));
        assert!(!fold(&mut case).is_admitted());
    }

    #[test]
    fn a_clock_that_goes_back_by_days_is_no_reason_to_fail() {
        use tidegate_core::{
            Calendar, Counts, Dimension, FailureMode, Limit, ManualClock, Period, PolicySpec,
            Quota, Scope, Shape, Span, Timestamp, Unit,
        };
        let daily = |name: &str, dimension| {
            let day = Calendar::try_new(Unit::Day, "UTC", None).unwrap();
            let quota = Quota::try_new(9, Period::Calendar(day), Counts::Admitted).unwrap();
            let scope = Scope::of([dimension]);
            Limit::new(Name::try_new(name).unwrap(), scope, Shape::Quota(quota))
        };
        let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailClosed)
            .limit(daily("org", Dimension::Org))
            .limit(daily("user", Dimension::User));
        let set = PolicySet::builder().policy(spec).build(None).unwrap();
        let start = Timestamp::from_micros(1_800_000_000_000_000);
        let clock = ManualClock::new(start);
        let budget = crate::memory::Budget { buckets: 1, quotas: 100, windows: 1 };
        let engine = Engine::new(crate::memory::MemoryStore::new(budget, &clock), set.clone());
        let days = |days| start.after(Span::from_micros(days * Span::DAY.as_micros()));
        for (day, user) in [(10, "u1"), (3, "u2"), (3, "u1"), (10, "u2")] {
            clock.set(days(day));
            let subject = Subject::new().org("acme").user(user);
            let mut case = Case::new(set.get("p").unwrap(), &subject);
            let decision = ready(engine.decide(&mut case)).unwrap();
            assert!(decision.is_ok_and(|decision| decision.is_admitted()), "day {day}, {user}");
        }
    }
}
