//! Signals for the operator: every change of mode, once, and every critical condition.

use crate::named::names;
use crate::policy::Mode;
use crate::time::Timestamp;

/// A report about one policy on one node that an operator has to know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The store has failed a request after it had answered. Requests that meet such a failure are
    /// decided in `mode`, one by one, and the store is probed. This lasts until the store is
    /// [cleared](Self::Cleared) or the mode changes.
    Suspected {
        /// The mode in which requests that meet a failure are decided.
        mode: Mode,
        /// When the store failed.
        at: Timestamp,
    },
    /// The store has answered again before it failed too often.
    Cleared {
        /// When the store answered again.
        at: Timestamp,
    },
    /// The mode has changed.
    Changed(Transition),
    /// Local caps have been deciding for half an hour. Sent again every half hour.
    Prolonged {
        /// Since when local caps decide.
        since: Timestamp,
        /// The number of this stay in the degraded mode.
        epoch: u64,
        /// When the signal was raised.
        at: Timestamp,
    },
    /// A policy that guards `auth` or `admin` has been closed for half an hour, and the store is still
    /// not well: the caps of one-time passwords decide from now on. Sent once in each outage.
    Reopened {
        /// When the outage began.
        since: Timestamp,
        /// The number of this stay in the degraded mode.
        epoch: u64,
        /// When the policy was reopened.
        at: Timestamp,
    },
    /// The store refuses us, because of permissions or configuration, and only an operator can help.
    /// Sent at most once a minute.
    Refused {
        /// When the store refused.
        at: Timestamp,
    },
}

/// A change of mode. All transitions of a policy together give its mode at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The mode before.
    pub from: Mode,
    /// The mode from now on.
    pub to: Mode,
    /// Why the mode changed.
    pub cause: Cause,
    /// How often the degraded mode has been entered so far.
    pub epoch: u64,
    /// When the mode changed, by the clock of this node.
    pub at: Timestamp,
}

/// Why a mode has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The store has answered for the first time since the start.
    Proven,
    /// The store has failed too many requests: it is not asked any more, and local caps decide.
    Tripped,
    /// The store has been healthy for long enough: it decides again.
    Recovered,
    /// The store has been given up too often in too short a time: nothing passes for a while.
    Flapped,
    /// The time in which nothing passed is over, and the store is healthy: it decides again.
    BackoffOver,
    /// The time in which nothing passed is over, and the store is not healthy: local caps decide.
    BackoffOverUnhealthy,
}

/// How urgent a signal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; nothing has to be done.
    Info,
    /// The usual guarantees do not hold at present.
    Warning,
    /// Somebody has to act.
    Critical,
}

// === impl Signal ===

impl Signal {
    /// How urgent this signal is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.told().1
    }

    /// The name used in logs and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.told().0
    }

    /// When the signal was raised, by the clock of this node.
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.told().2
    }

    /// The name, the urgency and the time of the signal.
    const fn told(&self) -> (&'static str, Severity, Timestamp) {
        match self {
            Self::Suspected { at, .. } => ("store_suspected", Severity::Warning, *at),
            Self::Cleared { at } => ("store_cleared", Severity::Info, *at),
            Self::Changed(change) => (change.cause.name(), change.cause.severity(), change.at),
            Self::Prolonged { at, .. } => ("degraded_prolonged", Severity::Critical, *at),
            Self::Reopened { at, .. } => ("closed_reopened", Severity::Critical, *at),
            Self::Refused { at } => ("store_refused", Severity::Critical, *at),
        }
    }
}

// === impl Cause ===

names!(Cause {
    Proven: "store_proven",
    Tripped: "degraded_entered",
    Recovered: "degraded_left",
    Flapped: "guard_violated",
    BackoffOver: "backoff_over",
    BackoffOverUnhealthy: "backoff_over_unhealthy",
});

impl Cause {
    const fn severity(self) -> Severity {
        match self {
            Self::Proven | Self::Recovered | Self::BackoffOver => Severity::Info,
            Self::Tripped | Self::BackoffOverUnhealthy => Severity::Warning,
            Self::Flapped => Severity::Critical,
        }
    }
}

// === impl Severity ===

names!(Severity { Info: "info", Warning: "warning", Critical: "critical" });
