//! What a policy guards, which decides what it may do while its store fails.
//!
//! The policy says it, or the endpoint class it is bound to: a policy for `admin` must not be looser in
//! an outage only because nobody repeated what the class says already. If both say it, the policy may
//! be [stricter](Protects::is_milder_than) than its class, never milder.

use super::FailureMode;
use crate::name::Name;
use crate::named::names;
use crate::time::Span;

/// What a policy guards. Where somebody could get in, an outage must not open the door: such a
/// policy can be built only to [fail closed](FailureMode::FailClosed).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protects {
    /// Logging in.
    Login,
    /// Entering a one-time password.
    Otp,
    /// Any other way to authenticate.
    Auth,
    /// A step-up: proving once more who one is, before something that matters.
    StepUp,
    /// Actions that only administrators may take.
    Admin,
    /// An API whose calls are costly, but let nobody in.
    ApiHeavy,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Reading or writing much at once.
    Bulk,
    /// Health checks, and reads of metadata.
    Health,
    /// Operations that are paid for or cannot be undone, such as calling a language model or
    /// moving money.
    Spend,
    /// Calls to other services, which come from services behind few addresses.
    Outbound,
}

// === impl Protects ===

names!(Protects {
    Login: "login",
    Otp: "otp",
    Auth: "auth",
    StepUp: "step_up",
    Admin: "admin",
    ApiHeavy: "api_heavy",
    Read: "read",
    Write: "write",
    Bulk: "bulk",
    Health: "health",
    Spend: "spend",
    Outbound: "outbound",
});

impl Protects {
    /// What an endpoint class stands for, which a policy bound to the class guards at least; `None` for
    /// a class that is not one of these.
    #[must_use]
    pub fn of_class(class: &Name) -> Option<Self> {
        Some(match class.as_str() {
            "login" => Self::Login,
            "otp" => Self::Otp,
            // Both spellings are valid names; it would be a trap if only one of them guarded anything.
            "step_up" | "step-up" => Self::StepUp,
            "admin" => Self::Admin,
            "auth" => Self::Auth,
            "read" => Self::Read,
            "write" => Self::Write,
            "bulk" => Self::Bulk,
            "health" | "metadata" => Self::Health,
            _ => return None,
        })
    }

    /// Whether this is an entrance: somebody could get in here, so an outage must not open it.
    #[must_use]
    pub const fn is_entrance(self) -> bool {
        match self {
            Self::Login | Self::Otp | Self::Auth | Self::StepUp | Self::Admin => true,
            Self::ApiHeavy
            | Self::Read
            | Self::Write
            | Self::Bulk
            | Self::Health
            | Self::Spend
            | Self::Outbound => false,
        }
    }

    /// Whether an outage admits more here than it does for `other`. This is the one order of strictness,
    /// which everything that compares goes by. From the mildest to the strictest:
    ///
    /// | guarded | admitted while the store is not trusted |
    /// |---|---|
    /// | `outbound` | on each node a part of each limit: one in so many as there are nodes |
    /// | `api_heavy` | 120 a minute for each address prefix |
    /// | `read`, `write`, `bulk` | the same, and no more than a ceiling for each limit |
    /// | `health` | 60 a minute for each address prefix |
    /// | `spend` | nothing at first, then a tenth of each limit |
    /// | `login` | nothing at first, then the locked caps of logins |
    /// | `otp`, `step_up` | nothing at first, then the locked caps of one-time passwords |
    /// | `auth`, `admin` | nothing for half an hour, then the locked caps of one-time passwords |
    ///
    /// All that are on one line are equally strict: none is milder than another.
    #[must_use]
    pub const fn is_milder_than(self, other: Self) -> bool {
        self.strictness() < other.strictness()
    }

    /// The place in the order of strictness of [`is_milder_than`](Self::is_milder_than).
    const fn strictness(self) -> u8 {
        match self {
            Self::Outbound => 0,
            Self::ApiHeavy => 1,
            Self::Read | Self::Write | Self::Bulk => 2,
            Self::Health => 3,
            Self::Spend => 4,
            Self::Login => 5,
            Self::Otp | Self::StepUp => 6,
            Self::Auth | Self::Admin => 7,
        }
    }

    /// Whether a policy that guards this may have that failure mode. An entrance has to fail closed: it
    /// must deny from the first failure on. An outage must not close what is
    /// [not critical](Self::is_critical), nor let pass uncounted what is paid for or what other services
    /// count.
    #[must_use]
    pub const fn allows(self, failure: FailureMode) -> bool {
        match failure {
            FailureMode::FailClosed => self.is_critical(),
            FailureMode::FailOpen => !self.is_critical() && !matches!(self, Self::Outbound),
            FailureMode::Degraded => !self.is_entrance(),
        }
    }

    /// Whether an outage may close this: it is an entrance, or is paid for, or cannot be undone.
    #[must_use]
    pub const fn is_critical(self) -> bool {
        self.is_entrance() || matches!(self, Self::Spend)
    }

    /// The deadline of the store, unless the policy gives one. A login waits for a slow hash anyway; an
    /// API is called a thousand times.
    pub(super) const fn usual_deadline(guarded: Option<Self>) -> Span {
        match guarded {
            Some(what) if what.is_entrance() => Span::from_millis(250),
            Some(_) | None => Span::from_millis(100),
        }
    }
}
