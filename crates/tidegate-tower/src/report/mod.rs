//! What an operator is told: a log, metrics, an audit, and with the feature `otel` spans.
//!
//! | | about | may be lost | bounded by |
//! |---|---|---|---|
//! | log | every request that was refused, except when shed, or was degraded or passed because its policy fails open; one in so many of the others | by its collector | length of each value |
//! | metrics | all rulings, added up | no | closed sets of labels |
//! | spans | all rulings in traces that are sampled | when too many wait | spans that wait; closed sets of attributes |
//! | audit | what may have to be proven later | no: equal records are counted together | distinct records that wait |
//!
//! All of it is reported on the thread that decides, so none of it waits: the log is handed to
//! `tracing`, metrics are counters, and spans and records of the audit are left for a thread that sends
//! or writes them.

mod audit;
mod escape;
mod log;
mod metrics;
#[cfg(feature = "otel")]
pub mod otel;
pub mod signals;

pub use audit::{Audit, AuditBuilder, AuditRecord, JsonLines, RecordKind, Sink};
pub use log::TARGET;
pub use metrics::{Enforcement, Metrics};

use std::num::NonZeroU32;

use tidegate_core::{Decision, Mode, Name, Span, Timestamp, Verdict};

use crate::answer::Code;
use crate::identity::Identity;
use crate::request_id::RequestId;
use crate::visit::Visit;
use log::Log;

/// The stage at which a request was ruled on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RulingStage {
    /// The early layer, before authentication.
    Early,
    /// The org layer, behind authentication.
    Org,
    /// The guard of jobs that are enqueued.
    Enqueue,
}

tidegate_core::names!(RulingStage { Early: "early", Org: "org", Enqueue: "enqueue" });

/// One ruling and the request it is about: everything that can be reported.
#[derive(Debug)]
pub(crate) struct Ruled<'a> {
    pub(crate) stage: RulingStage,
    pub(crate) visit: &'a Visit,
    pub(crate) identity: Option<&'a Identity>,
    /// The decision; none if no limit was asked, as when a scope is lacking.
    pub(crate) decision: Option<Decision<'a>>,
    /// Why the request was refused; none if it may pass.
    pub(crate) code: Option<Code>,
    /// When the ruling began, by the clock of this node.
    #[cfg_attr(
        not(feature = "otel"),
        expect(dead_code, reason = "only spans tell when they began")
    )]
    pub(crate) began: Timestamp,
    /// How long the decision took.
    pub(crate) took: Span,
}

/// Passes rulings on to the log, metrics, audit and spans. By default there is only the log, with
/// nothing about requests that simply pass.
#[derive(Debug, Default)]
pub struct Reporter {
    log: Log,
    metrics: Option<Metrics>,
    audit: Option<Audit>,
    #[cfg(feature = "otel")]
    spans: Option<otel::Spans>,
}

// === impl Reporter ===

impl Reporter {
    /// Also logs one in `one_in` of the requests that pass, at the level `DEBUG`.
    #[must_use]
    pub fn sampling(mut self, one_in: NonZeroU32) -> Self {
        self.log = Log::sampling(one_in);
        self
    }

    /// Counts rulings in these metrics.
    #[must_use]
    pub fn measuring(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Records rulings in this audit.
    #[must_use]
    pub fn auditing(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Makes a span of each ruling.
    #[cfg(feature = "otel")]
    #[must_use]
    pub fn tracing(mut self, spans: otel::Spans) -> Self {
        self.spans = Some(spans);
        self
    }

    /// The metrics, if rulings are counted.
    #[must_use]
    pub const fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_ref()
    }

    /// The audit, if one is kept.
    #[must_use]
    pub const fn audit(&self) -> Option<&Audit> {
        self.audit.as_ref()
    }

    /// Reports a ruling.
    #[inline]
    pub(crate) fn ruled(&self, ruled: &Ruled<'_>) {
        if let Some(metrics) = &self.metrics {
            metrics.ruled(ruled);
        }
        if let Some(audit) = &self.audit {
            audit.ruled(ruled);
        }
        #[cfg(feature = "otel")]
        if let Some(spans) = &self.spans {
            spans.ruled(ruled);
        }
        self.log.ruled(ruled);
    }

    /// Reports a refused request of which only the code and the id are known.
    pub(crate) fn unseen(&self, code: Code, request_id: &RequestId) {
        if let Some(metrics) = &self.metrics {
            metrics.unseen(code);
        }
        self.log.unseen(code, request_id);
    }
}

// === impl Ruled ===

impl Ruled<'_> {
    /// The endpoint class of the request.
    pub(crate) fn class(&self) -> &Name {
        &self.visit.endpoint.class
    }

    /// When the request was decided, by the clock of the store; without a decision, when it came.
    pub(crate) fn at(&self) -> Timestamp {
        self.decision.map_or(self.visit.at, |decision| decision.decided_at())
    }

    /// Whether the request was refused.
    pub(crate) const fn is_refused(&self) -> bool {
        self.code.is_some()
    }

    /// Whether the request passes only because the store failed and its policy fails open.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_refused()
            && self.decision.is_some_and(|decision| decision.mode() == Mode::FailOpen)
    }

    /// Whether the request passes with a lower quality of service.
    pub(crate) fn is_degraded(&self) -> bool {
        self.decision.is_some_and(|decision| decision.verdict() == Verdict::Degrade)
    }
}

#[cfg(test)]
mod tests;
