//! What a fleet agrees on: the port, and what can go wrong behind it.
//!
//! Several gateways guard one upstream. Each of them notices failures by itself, but when the upstream may
//! have recovered, one of them tries and not all: ten thousand callers that wait for the end of the same
//! window would knock the upstream down again. So the nodes agree, for each breaker, on one small record
//! ([`Accord`]), which is changed by steps ([`FleetStep`]) and never written directly.
//!
//! The agreement is not part of a [`Store`](crate::Store): counters may live in Redis while the agreement
//! lives in PostgreSQL, and a store that fails must not take the breakers of the upstreams along. As with
//! a store, the rule itself is a pure function, [`agree`]; every implementation is held to it.

mod accord;
mod step;
#[cfg(test)]
mod tests;

pub use accord::{Accord, AccordState, Holder, Lease};
pub use step::{Agreed, FleetStep, Forced, Motion, agree};

use core::future::Future;

use crate::record::Flaw;
use crate::time::{Span, Timestamp};

/// How long a call to the fleet may take. A request that wants to probe waits for it; no other request
/// does.
pub const FLEET_DEADLINE: Span = Span::from_millis(100);

/// How often a node asks what has changed, so that it has adopted every change within a second.
pub const FLEET_POLL_EVERY: Span = Span::from_millis(250);

/// How long a record that says "closed" is kept after its last change. Nodes hear of the change within a
/// second, and a node that was cut off for longer probes once before it trusts the upstream.
pub const CLOSED_KEPT: Span = Span::HOUR;

/// The length of the longest name that a fleet agrees about, in bytes.
pub const MAX_FLEET_NAME: usize = 128;

/// The most changes in one answer to [`Fleet::changed_since`].
pub const MAX_CHANGED: usize = 1_000;

/// Where the nodes of a fleet agree on the state of their breakers.
///
/// An implementation finds the record of a name, applies [`agree`] to it on its own clock, and keeps the
/// result, all in one atomic step. It chooses nothing and swallows no error. It answers within
/// [`FLEET_DEADLINE`].
///
/// A record that says "closed" may be forgotten [`CLOSED_KEPT`] after its last change; no other record
/// ever is.
pub trait Fleet: Send + Sync {
    /// Whether other processes share this fleet. If none does, nobody has to ask for changes.
    const SHARED: bool = true;

    /// The name of this kind of fleet, for operators: `memory`, `redis`, …
    fn name(&self) -> &'static str;

    /// Applies one step to the record of `name`, and returns the record that it leaves.
    ///
    /// A step may be sent again after any error: it is applied at most once, because it names the
    /// generation that its sender had seen.
    ///
    /// # Errors
    ///
    /// Any [`FleetError`]. After all but [`Timeout`](FleetError::Timeout) nothing has been changed.
    fn agree(
        &self,
        name: &str,
        step: FleetStep,
    ) -> impl Future<Output = Result<Agreed, FleetError>> + Send;

    /// The records that have changed since the cursor was handed out, each once and as it is now, at most
    /// [`MAX_CHANGED`] of them. A cursor that is no longer known is read as the beginning. A record that
    /// cannot be read is left out, so that it keeps nobody from hearing of the others.
    ///
    /// # Errors
    ///
    /// Any [`FleetError`].
    fn changed_since(
        &self,
        cursor: Cursor,
    ) -> impl Future<Output = Result<Changed, FleetError>> + Send;
}

/// A place in the sequence of all changes of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The number of the sequence: a fleet that begins anew, perhaps with nothing in its memory, takes
    /// another one. Zero is no sequence.
    pub life: u64,
    /// The number of the last change that the asker knows.
    pub change: u64,
}

/// What has changed in a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The changed records with their names, in the order of their changes.
    pub accords: Vec<(String, Accord)>,
    /// Where to go on from.
    pub cursor: Cursor,
    /// Whether there is more to be asked for at once.
    pub more: bool,
    /// The time of the answer, by the clock of the fleet.
    pub at: Timestamp,
}

/// Why a fleet has not agreed: one variant for each thing that a caller can do about it. Whatever it is, a
/// breaker goes on by itself meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// The fleet could not be reached; nothing was changed.
    #[error("the fleet is unavailable")]
    Unavailable,
    /// No answer came in time; whether the step was applied is unknown. It may be sent again.
    #[error("the fleet did not answer in time")]
    Timeout,
    /// There is no room for another record; nothing was changed. An operator has to raise the bound.
    #[error("the fleet has no room for another record")]
    Full,
    /// The record cannot be read; nothing was changed. [`Motion::Force`] replaces it.
    #[error("the record of the fleet is corrupt")]
    Corrupt,
    /// A later version wrote the record, and may still be running. Nothing was changed.
    #[error("a later version wrote the record of the fleet")]
    Version,
    /// The fleet refuses the operation, for lack of a permission, because of its configuration, or because
    /// of a name that is [not allowed](is_fleet_name). Only an operator can help.
    #[error("the fleet refuses the operation")]
    Refused,
}

// === impl Cursor ===

impl Cursor {
    /// The place before all changes.
    pub const START: Self = Self { life: 0, change: 0 };
}

// === impl FleetError ===

impl FleetError {
    /// The name used in logs and metrics. It says what kind of failure it is, and nothing else.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Full => "full",
            Self::Corrupt => "corrupt",
            Self::Version => "version",
            Self::Refused => "refused",
        }
    }
}

impl From<Flaw> for FleetError {
    fn from(flaw: Flaw) -> Self {
        match flaw {
            Flaw::Garbled | Flaw::Disorder => Self::Corrupt,
            Flaw::Version => Self::Version,
        }
    }
}

/// Whether a fleet agrees about this name: 1 to [`MAX_FLEET_NAME`] printable ASCII characters without
/// spaces and braces, so that it can stand in a key as it is.
#[must_use]
pub fn is_fleet_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_graphic() && !b"{}".contains(&byte);
    !name.is_empty() && name.len() <= MAX_FLEET_NAME && name.bytes().all(allowed)
}
