//! What decides under a policy while its store is not trusted.
//!
//! The failure mode alone does not say it: a login that fails closed must not do so for ever, and
//! what fails open is bounded by guardrails that differ with what is guarded. So it follows from
//! both, here and nowhere else.

use super::{FailureMode, Policy, Protects};

/// What decides under a policy while its store is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fallback {
    /// Nothing passes for the first half hour of an outage: the answer is "unavailable". Then the
    /// caps of one-time passwords decide, with a critical signal, so that the people who have to mend
    /// things get in.
    Closed,
    /// Nothing passes at first; once the failures have persisted, the [locked caps](crate::Cap) of
    /// logins decide, on this node alone.
    Login,
    /// Nothing passes at first; once the failures have persisted, the [locked caps](crate::Cap) of
    /// one-time passwords decide, which are tighter than those of logins. Also for step-ups.
    Otp,
    /// The guardrails of an API decide: 120 a minute by address prefix, and 60 by prefix and user agent.
    Guarded,
    /// The guardrails of [`Guarded`](Self::Guarded) decide, and below them a ceiling for each limit of
    /// the policy: a tenth of its rate, and at least one in a second, on the same keys.
    Ceilings,
    /// Sixty requests a minute pass by address prefix: enough for health checks.
    Health,
    /// A tenth of the count, rate and burst of each limit decides, on the limit's own keys and in its own
    /// shape, except that an abuse log becomes a window: for what is paid for or cannot be undone. A
    /// policy that fails closed denies until the failures have persisted.
    Spend,
    /// A part of the count, rate and burst of each limit decides, on the limit's own keys and in its own
    /// shape: one part in so many as the fleet has nodes. For calls to other services.
    Outbound(FleetSize),
}

/// How many nodes share the limits of a policy, at least one: the part of each limit that one node has
/// while it cannot ask the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FleetSize(u32);

// === impl FleetSize ===

impl FleetSize {
    /// The size of a fleet that does not say how large it is.
    pub const USUAL: Self = Self(10);

    /// A fleet of so many nodes; `None` if that is none.
    #[must_use]
    pub const fn new(nodes: u32) -> Option<Self> {
        if nodes == 0 { None } else { Some(Self(nodes)) }
    }

    /// The number of nodes.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

// === impl Fallback ===

impl Fallback {
    /// The fallback that follows from what a policy guards, from its failure mode, and where it guards
    /// calls to other services from the size of the fleet.
    #[must_use]
    pub const fn of(
        guarded: Option<Protects>,
        failure: FailureMode,
        fleet_size: FleetSize,
    ) -> Self {
        use FailureMode::{Degraded, FailClosed, FailOpen};
        use Protects::{
            Admin, ApiHeavy, Auth, Bulk, Health, Login, Otp, Outbound, Read, Spend, StepUp, Write,
        };
        match (guarded, failure) {
            (Some(Login), _) => Self::Login,
            (Some(Otp | StepUp), _) => Self::Otp,
            // A set refuses `Spend` that fails open, and anything milder that fails closed.
            (Some(Spend), _) => Self::Spend,
            (Some(Auth | Admin), _) | (_, FailClosed) => Self::Closed,
            (Some(Outbound), FailOpen | Degraded) => Self::Outbound(fleet_size),
            (Some(Health), FailOpen | Degraded) => Self::Health,
            (Some(Read | Write | Bulk), FailOpen | Degraded)
            | (Some(ApiHeavy) | None, Degraded) => Self::Ceilings,
            (Some(ApiHeavy) | None, FailOpen) => Self::Guarded,
        }
    }

    /// The fallback that this one counts together with: fallbacks with the same caps share counts.
    pub(crate) const fn family(self) -> Self {
        match self {
            Self::Ceilings => Self::Guarded,
            Self::Closed => Self::Otp,
            Self::Outbound(_) => Self::Outbound(FleetSize::USUAL),
            other => other,
        }
    }
}

// === impl Policy ===

impl Policy {
    /// What decides under this policy while its store is not trusted.
    #[must_use]
    #[inline]
    pub const fn fallback(&self) -> Fallback {
        Fallback::of(self.protects, self.failure, self.fleet_size)
    }
}
