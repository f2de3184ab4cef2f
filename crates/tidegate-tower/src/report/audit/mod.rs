//! The audit: events that may have to be proven later.
//!
//! Two things are recorded: that a known caller was refused many times in a row, and that an address was
//! refused at an entrance, such as a login. Records are never sampled and never dropped. Yet under
//! attack there are as many as requests, and writing them may be slow or fail; so records that wait to
//! be written are bounded by adding up: equal records become one with a count, and beyond a number of
//! distinct ones the rest is counted together (contract P81). No request waits for the writer, which is
//! a thread of its own.

mod json_lines;
mod pending;
mod record;
mod runs;
mod sink;
mod writer;

pub use json_lines::JsonLines;
pub use record::{AuditRecord, RecordKind};
pub use sink::Sink;

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Decision, Prefix, Protects};

use super::Ruled;
use crate::answer::Code;
use crate::identity::Identity;
use pending::AuditEvent;
use runs::Runs;
use writer::Writer;

/// The audit. Clones are the same audit; when the last one is dropped, it writes what it can.
///
/// ```
/// use tidegate_tower::report::{Audit, AuditRecord};
///
/// let audit = Audit::builder().start(|record: &AuditRecord| {
///     println!("{}", record.kind.name());
///     Ok(())
/// })?;
/// assert!(audit.finish(std::time::Duration::from_secs(1)), "all is written");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Audit(Arc<Inner>);

struct Inner {
    threshold: NonZeroU32,
    runs: Runs,
    writer: Writer,
    /// The keyed hash of this process: nobody can choose ids that count as one.
    hashes: RandomState,
}

/// The settings of an audit before it is started.
#[derive(Clone, Debug)]
pub struct AuditBuilder {
    /// The number of refusals in a row after which there is a record, and again after as many more.
    /// Default: 10.
    pub threshold: NonZeroU32,
    /// How many distinct records wait at most; beyond that, events are counted together. Default: 1,024.
    pub most_waiting: NonZeroUsize,
    /// How many actors can have a row of refusals at once; beyond that, actors are counted together.
    /// Default: 16,384.
    pub most_runs: NonZeroUsize,
}

// === impl Audit ===

impl Audit {
    /// Begins an audit with the usual bounds.
    #[must_use]
    pub fn builder() -> AuditBuilder {
        AuditBuilder::default()
    }

    /// Waits until everything that has happened before is written and flushed, but no longer than
    /// `within`. Returns whether it is; if not, it goes on waiting to be written.
    #[must_use]
    pub fn finish(&self, within: Duration) -> bool {
        self.0.writer.finish(within)
    }

    /// How often writing has failed. What could not be written is tried again.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.0.writer.failures()
    }

    /// How many records wait to be written.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.writer.waiting()
    }

    /// Records a ruling, if it is one to record.
    #[inline]
    pub(super) fn ruled(&self, ruled: &Ruled<'_>) {
        match (ruled.code, ruled.identity) {
            (Some(code), _) => self.refused(code, ruled),
            (None, Some(identity)) if !self.0.runs.is_empty() && !ruled.is_degraded() => {
                self.0.runs.end(self.actor(identity));
            }
            (None, _) => {}
        }
    }

    #[cold]
    fn refused(&self, code: Code, ruled: &Ruled<'_>) {
        let throttled = matches!(code, Code::RateLimitExceeded | Code::EnforcementDegraded);
        if let Some(identity) = ruled.identity.filter(|_| throttled) {
            self.throttled(identity, ruled);
        }
        if let Some(decision) = ruled.decision
            && guards_entrance(&decision, ruled)
            && (decision.block().is_some() || by_address(&decision))
        {
            self.kept_away(&decision, ruled);
        }
    }

    /// Counts one more refusal of a known caller, and records it each time the threshold is reached.
    fn throttled(&self, identity: &Identity, ruled: &Ruled<'_>) {
        let (length, key) = self.0.runs.extend(self.actor(identity), ruled.at());
        if length.is_multiple_of(self.0.threshold.get().into()) {
            let event = AuditEvent {
                kind: RecordKind::RepeatedThrottling,
                key,
                at: ruled.at(),
                run: length,
            };
            self.0.writer.add(event, || AuditRecord::of(&event, ruled));
        }
    }

    /// Records that an address was refused at an entrance.
    fn kept_away(&self, decision: &Decision<'_>, ruled: &Ruled<'_>) {
        let prefix = Prefix::of(ruled.visit.client);
        let key = self.0.hashes.hash_one(("address", prefix.to_bytes(), decision.policy().name()));
        let event =
            AuditEvent { kind: RecordKind::AddressBlocked, key: Some(key), at: ruled.at(), run: 0 };
        self.0.writer.add(event, || AuditRecord::of(&event, ruled));
    }

    fn actor(&self, identity: &Identity) -> u64 {
        let (org, actor, token) = (identity.org_id(), identity.actor_id(), identity.token_id());
        self.0.hashes.hash_one(("actor", org, actor, token))
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit")
            .field("waiting", &self.waiting())
            .field("failures", &self.failures())
            .finish_non_exhaustive()
    }
}

/// Whether a decision is about an entrance: a place to prove an identity, or to act as an administrator.
fn guards_entrance(decision: &Decision<'_>, ruled: &Ruled<'_>) -> bool {
    decision
        .policy()
        .protects()
        .or_else(|| Protects::of_class(ruled.class()))
        .is_some_and(Protects::is_entrance)
}

/// Whether the limit that refused counts by address.
fn by_address(decision: &Decision<'_>) -> bool {
    let scope = decision.binding().map(|binding| binding.limit.scope());
    scope.is_some_and(|scope| scope.dimensions().any(|by| by.prefix_length().is_some()))
}

// === impl AuditBuilder ===

impl AuditBuilder {
    /// Starts the thread that writes records to this sink.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn start(self, sink: impl Sink + 'static) -> io::Result<Audit> {
        Ok(Audit(Arc::new(Inner {
            threshold: self.threshold,
            runs: Runs::new(self.most_runs),
            writer: Writer::start(Box::new(sink), self.most_waiting.get())?,
            hashes: RandomState::new(),
        })))
    }
}

impl Default for AuditBuilder {
    fn default() -> Self {
        Self {
            threshold: NonZeroU32::MIN.saturating_add(9),
            most_waiting: NonZeroUsize::MIN.saturating_add(1_023),
            most_runs: NonZeroUsize::MIN.saturating_add(16_383),
        }
    }
}

#[cfg(test)]
mod tests;
