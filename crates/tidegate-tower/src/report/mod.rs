//! What an operator is told: a log, metrics, an audit, and with the feature `otel` spans.
//!
//! | | about | may be lost | bounded by |
//! |---|---|---|---|
//! | log | every refusal, every request that passed because its policy fails open; one in so many of the others | by whoever collects it | length of each value |
//! | metrics | all rulings, added up | no | closed sets of labels |
//! | spans | all rulings in traces that are sampled | when too many wait | spans that wait; closed sets of attributes |
//! | audit | what may have to be proven later | no: equal records are counted together | distinct records that wait |
//!
//! All of it is told on the thread that decides, so none of it waits for anybody: the log is handed to
//! `tracing`, metrics are counters, and spans and records of the audit are left for a thread that sends
//! or writes them.

mod audit;
mod escape;
pub mod exposition;
mod log;
mod metrics;
#[cfg(feature = "otel")]
pub mod otel;
pub mod signals;

pub use audit::{Audit, AuditBuilder, JsonLines, Kind, Record, Sink};
pub use log::TARGET;
pub use metrics::{Enforcement, Metrics};

use std::num::NonZeroU32;

use tidegate_core::{Decision, Mode, Name, Span, Timestamp, Verdict};

use crate::answer::Code;
use crate::identity::Identity;
use crate::request_id::RequestId;
use crate::visit::Visit;
use log::Log;

/// Where a request was ruled on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// By the early layer, before authentication.
    Early,
    /// By the org layer, after it.
    Org,
    /// Where a job was to be enqueued.
    Enqueue,
}

/// One ruling, and about whom: everything there is to be told.
#[derive(Debug)]
pub(crate) struct Ruled<'a> {
    pub(crate) stage: Stage,
    pub(crate) visit: &'a Visit,
    pub(crate) identity: Option<&'a Identity>,
    /// None if no limit was asked, as for a scope that is lacking.
    pub(crate) decision: Option<Decision<'a>>,
    /// Why it was refused; none if it may pass.
    pub(crate) code: Option<Code>,
    /// When it began to be decided, by the clock of this node.
    #[cfg_attr(
        not(feature = "otel"),
        expect(dead_code, reason = "only spans tell when they began")
    )]
    pub(crate) began: Timestamp,
    /// How long it took to decide.
    pub(crate) took: Span,
}

/// Whoever is told. By default that is the log alone, of refusals.
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
    /// Logs one in so many of the requests that pass, too, at the level `DEBUG`.
    #[must_use]
    pub fn sampling(mut self, one_in: NonZeroU32) -> Self {
        self.log = Log::sampling(one_in);
        self
    }

    /// Counts.
    #[must_use]
    pub fn measuring(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Keeps an audit.
    #[must_use]
    pub fn auditing(mut self, audit: Audit) -> Self {
        self.audit = Some(audit);
        self
    }

    /// Makes spans of rulings.
    #[cfg(feature = "otel")]
    #[must_use]
    pub fn tracing(mut self, spans: otel::Spans) -> Self {
        self.spans = Some(spans);
        self
    }

    /// The metrics, if anything is counted.
    #[must_use]
    pub const fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_ref()
    }

    /// The audit, if one is kept.
    #[must_use]
    pub const fn audit(&self) -> Option<&Audit> {
        self.audit.as_ref()
    }

    /// Tells of a ruling.
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

    /// Tells of a request of which too little is known to say more.
    pub(crate) fn unseen(&self, code: Code, request_id: &RequestId) {
        if let Some(metrics) = &self.metrics {
            metrics.unseen(code);
        }
        self.log.unseen(code, request_id);
    }
}

// === impl Ruled ===

impl Ruled<'_> {
    /// The endpoint class.
    pub(crate) fn class(&self) -> &Name {
        &self.visit.endpoint.class
    }

    /// When it was decided, by the clock of the store; without a decision, when the request came.
    pub(crate) fn at(&self) -> Timestamp {
        self.decision.map_or(self.visit.at, |decision| decision.decided_at())
    }

    /// Whether it may not pass.
    pub(crate) const fn is_refused(&self) -> bool {
        self.code.is_some()
    }

    /// Whether it passes only because the store failed and its policy fails open.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_refused()
            && self.decision.is_some_and(|decision| decision.mode() == Mode::FailOpen)
    }

    /// Whether it passes with a lower quality of service.
    pub(crate) fn is_degraded(&self) -> bool {
        self.decision.is_some_and(|decision| decision.verdict() == Verdict::Degrade)
    }
}

#[cfg(test)]
mod tests;
