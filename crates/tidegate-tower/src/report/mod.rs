//! What an operator is told: a log, metrics, and an audit.

pub mod exposition;

use tidegate_core::{Decision, Name, Span};

use crate::answer::Code;
use crate::identity::Identity;
use crate::request_id::RequestId;
use crate::visit::Visit;

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
    /// How long it took to decide.
    pub(crate) took: Span,
}

/// Whoever is told.
#[derive(Debug, Default)]
pub struct Reporter {}

// === impl Reporter ===

impl Reporter {
    /// Tells of a ruling.
    pub(crate) fn ruled(&self, ruled: &Ruled<'_>) {
        let _ = (ruled.stage, ruled.took);
    }

    /// Tells of a request of which too little is known to say more.
    pub(crate) fn unseen(&self, code: Code, request_id: &RequestId) {
        let _ = (code, request_id);
    }
}

// === impl Ruled ===

impl Ruled<'_> {
    /// The endpoint class.
    pub(crate) fn class(&self) -> &Name {
        &self.visit.endpoint.class
    }
}
