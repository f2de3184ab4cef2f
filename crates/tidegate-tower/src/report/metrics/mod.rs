//! Metrics: what happened, added up.
//!
//! Every label is from a closed set: names in this program, in the routes and in the policies, and a
//! bounded number of organisations. Nothing a client sends makes another series (threat T39, contract
//! P83); what finds no room is counted as `other`. A request that passes costs three additions to
//! counters that few threads share, and, under a quota, one lookup that is left out if another thread is
//! at it.

mod busiest;
mod collect;
mod enforcement;
mod exceeded;
mod quotas;
mod rulings;

pub use enforcement::Enforcement;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use tidegate_core::BlockScope;

use super::Ruled;
use crate::answer::Code;
use crate::metrics::{self, Counter, Stripes};
use busiest::Busiest;
use collect::Collected;
use exceeded::Exceeded;
use quotas::Quotas;
use rulings::Rulings;

/// Counts rulings. Clones are the same counters.
///
/// ```
/// use tidegate_tower::report::{Metrics, Reporter};
///
/// let metrics = Metrics::watching(["acme", "globex"]);
/// let reporter = Reporter::default().measuring(metrics.clone());
/// # let _ = reporter;
/// // … Gate::builder(engine, routes).reporter(reporter).build()?, and then
/// // registry.register_collector(Box::new(metrics.collector(gate.clone())));
/// ```
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    rulings: Stripes<Rulings>,
    exceeded: Exceeded,
    /// Requests that a block kept out, by its scope.
    blocked: [Counter; BlockScope::ALL.len()],
    refusals: [Counter; Code::ALL.len()],
    quotas: Quotas,
}

/// The number of organisations that have gauges of their own by default.
const BUSIEST: NonZeroUsize = NonZeroUsize::MIN.saturating_add(31);

/// The number of threads that count rulings without sharing a cache line.
const STRIPES: usize = 16;

// === impl Metrics ===

impl Metrics {
    /// Shows what each of these organisations has left of its quotas, and of all others the least.
    #[must_use]
    pub fn watching<T: Into<Box<str>>>(orgs: impl IntoIterator<Item = T>) -> Self {
        Self::of(Busiest::watching(orgs.into_iter().map(Into::into)))
    }

    /// Shows what each of the `most` busiest organisations has left of its quotas, and of all others the
    /// least. The default shows 32.
    #[must_use]
    pub fn busiest(most: NonZeroUsize) -> Self {
        Self::of(Busiest::new(most))
    }

    fn of(orgs: Busiest) -> Self {
        Self(Arc::new(Inner {
            rulings: Stripes::new(STRIPES),
            exceeded: Exceeded::default(),
            blocked: Default::default(),
            refusals: Default::default(),
            quotas: Quotas::new(orgs),
        }))
    }

    /// A collector for a registry: these counters, and the modes of the policies that a
    /// [`Gate`](crate::Gate) or an engine enforces.
    #[must_use]
    pub fn collector(&self, of: impl Enforcement) -> impl Collector {
        Collected { metrics: self.clone(), of }
    }

    /// All metrics as `OpenMetrics` text; [`Format`](crate::metrics::Format) has the older format.
    ///
    /// # Errors
    ///
    /// If the text cannot be written, which does not happen.
    pub fn encode(&self, of: impl Enforcement) -> Result<String, fmt::Error> {
        metrics::encode(self.collector(of))
    }

    /// Counts a ruling.
    #[inline]
    pub(super) fn ruled(&self, ruled: &Ruled<'_>) {
        let inner = &*self.0;
        inner.rulings.mine().add(ruled);
        if let Some(code) = ruled.code {
            inner.refused(code, ruled);
        }
        if let (Some(decision), Some(identity)) = (&ruled.decision, ruled.identity) {
            inner.quotas.decided(decision, identity.org_id());
        }
    }

    /// Counts a request that a block kept out, for a guard of the host's own beside the layers: it is
    /// added to `limiter_blocked_total`.
    pub fn blocked(&self, scope: BlockScope) {
        self.0.blocked[scope as usize].add_one();
    }

    /// Counts a refused request of which only the code is known.
    pub(super) fn unseen(&self, code: Code) {
        self.0.refusals[code as usize].add_one();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::busiest(BUSIEST)
    }
}

tidegate_core::debug_as!(Metrics, "Metrics { .. }");

// === impl Inner ===

impl Inner {
    #[cold]
    fn refused(&self, code: Code, ruled: &Ruled<'_>) {
        self.refusals[code as usize].add_one();
        let Some(decision) = &ruled.decision else { return };
        if matches!(code, Code::RateLimitExceeded | Code::EnforcementDegraded) {
            self.exceeded.add_one(decision, ruled.class());
        }
        if let Some(block) = decision.block() {
            self.blocked[block.scope as usize].add_one();
        }
    }
}

#[cfg(test)]
mod tests;
