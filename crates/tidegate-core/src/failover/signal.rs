//! What an operator has to be told: every change of mode, once, and what is critical.

use crate::policy::Mode;
use crate::time::Timestamp;

/// Something about one policy on one node that somebody has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The store has failed after it had answered: requests that meet this are decided in this mode,
    /// one by one, and the store is probed. It lasts until the store is [cleared](Self::Cleared) or the
    /// mode changes.
    Suspected {
        /// In which mode.
        mode: Mode,
        /// When.
        at: Timestamp,
    },
    /// The store has answered again before it failed too often.
    Cleared {
        /// When.
        at: Timestamp,
    },
    /// The mode has changed.
    Changed(Transition),
    /// Local caps have been deciding for a long time. Told again every half hour.
    Prolonged {
        /// Since when.
        since: Timestamp,
        /// Which stay.
        epoch: u64,
        /// When.
        at: Timestamp,
    },
    /// A policy that guards `auth` or `admin` has been closed for half an hour, and the store is still
    /// not well: the caps of one-time passwords decide from now on. Told once in each outage.
    Reopened {
        /// When the outage began.
        since: Timestamp,
        /// Which stay.
        epoch: u64,
        /// When.
        at: Timestamp,
    },
    /// The store does not let us, and only an operator can help. Told at most once a minute.
    Refused {
        /// When.
        at: Timestamp,
    },
}

/// A change of mode. All of them together tell the mode at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The mode before.
    pub from: Mode,
    /// The mode from now on.
    pub to: Mode,
    /// Why.
    pub cause: Cause,
    /// How often the degraded mode has been entered so far.
    pub epoch: u64,
    /// When, by the clock of this node.
    pub at: Timestamp,
}

/// Why a mode has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The store has answered for the first time since the start.
    Proven,
    /// Too many failures: the store is not asked any more, and local caps decide.
    Tripped,
    /// The store has been healthy for long enough: it decides again.
    Recovered,
    /// Too many failures too often: nothing passes for a while.
    Flapped,
    /// That while is over, and the store is healthy.
    BackoffOver,
    /// That while is over, and the store is not: local caps decide.
    BackoffOverUnhealthy,
}

/// How much a signal matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Info,
    /// The guarantees are others than usual.
    Warning,
    /// Somebody has to do something.
    Critical,
}

// === impl Signal ===

impl Signal {
    /// How much it matters.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        match self {
            Self::Suspected { .. } => Severity::Warning,
            Self::Cleared { .. } => Severity::Info,
            Self::Changed(transition) => transition.cause.severity(),
            Self::Prolonged { .. } | Self::Reopened { .. } | Self::Refused { .. } => {
                Severity::Critical
            }
        }
    }

    /// The name used in logs and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Suspected { .. } => "store_suspected",
            Self::Cleared { .. } => "store_cleared",
            Self::Changed(transition) => transition.cause.name(),
            Self::Prolonged { .. } => "degraded_prolonged",
            Self::Reopened { .. } => "closed_reopened",
            Self::Refused { .. } => "store_refused",
        }
    }

    /// When, by the clock of this node.
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        match self {
            Self::Suspected { at, .. }
            | Self::Cleared { at }
            | Self::Prolonged { at, .. }
            | Self::Reopened { at, .. }
            | Self::Refused { at } => *at,
            Self::Changed(transition) => transition.at,
        }
    }
}

// === impl Cause ===

impl Cause {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Proven,
        Self::Tripped,
        Self::Recovered,
        Self::Flapped,
        Self::BackoffOver,
        Self::BackoffOverUnhealthy,
    ];

    /// The name used in logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proven => "store_proven",
            Self::Tripped => "degraded_entered",
            Self::Recovered => "degraded_left",
            Self::Flapped => "guard_violated",
            Self::BackoffOver => "backoff_over",
            Self::BackoffOverUnhealthy => "backoff_over_unhealthy",
        }
    }

    const fn severity(self) -> Severity {
        match self {
            Self::Proven | Self::Recovered | Self::BackoffOver => Severity::Info,
            Self::Tripped | Self::BackoffOverUnhealthy => Severity::Warning,
            Self::Flapped => Severity::Critical,
        }
    }
}

// === impl Severity ===

impl Severity {
    /// The name used in logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}
