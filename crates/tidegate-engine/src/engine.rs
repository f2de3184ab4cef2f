//! One decision from end to end: resolve → charge → fold.

use core::future::Future;
use core::hash::{BuildHasher as _, Hasher as _};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::hash::RandomState;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache, Guard};
use tidegate_core::{Case, Decision, Digests, Name, PolicySet, Store, StoreError, fold};

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

    /// Puts other policies in force. Build them as successors of the present ones, so that state
    /// counted so far stays readable.
    pub fn swap(&self, policies: PolicySet) {
        self.policies.store(Arc::new(policies));
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
    /// to let the request pass.
    #[inline]
    pub async fn decide<'d>(&self, case: &'d mut Case<'_>) -> Result<Decision<'d>, DecideError> {
        case.resolve(&self.digests);
        let policy = case.policy();
        let (batch, readings) = case.ask();
        if batch.charges().is_empty() {
            return Err(DecideError::NothingApplies { policy: policy.name().clone() });
        }
        match self.store.charge(batch, readings).await {
            Ok(()) => {}
            // The store has said which periods it needs; sent again, the batch brings them.
            Err(StoreError::Stale { now }) => {
                policy.refresh(now);
                self.store.charge(batch, readings).await?;
            }
            Err(error) => return Err(error.into()),
        }
        Ok(fold(case))
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
