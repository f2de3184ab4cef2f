//! Policies, which are named limits for some actions, and the set of all of them.
//!
//! A [`PolicySet`] is checked as a whole and never changes; a reload swaps it for another. It refuses
//! mistakes that would otherwise show in production: a policy that limits nothing, two limits that
//! would share a counter, a cost that can never fit.

mod caps;
mod error;
mod fallback;
mod outcomes;
mod plans;
mod protects;
mod set;
#[cfg(test)]
mod tests;

pub use error::PolicyError;
pub use fallback::{Fallback, FleetSize};
pub use protects::Protects;
pub use set::{PolicySet, PolicySetBuilder};

use core::ops::RangeInclusive;
use std::sync::Arc;

use crate::bundle::Bundle;
use crate::charge::MAX_LIMITS;
use crate::limit::Limit;
use crate::name::Name;
use crate::named::names;
use crate::outcome::Outcomes;
use crate::time::Span;

/// Named limits, with what happens when they are exceeded or the store fails: a [`PolicySpec`] that has
/// been checked as part of a [`PolicySet`].
#[derive(Clone, Debug)]
pub struct Policy {
    name: Name,
    class: Option<Name>,
    protects: Option<Protects>,
    failure: FailureMode,
    overflow: Overflow,
    deadline: Span,
    fleet_size: FleetSize,
    bundle: Bundle,
    counts_attempts: bool,
    outcomes: Option<Outcomes>,
}

/// A policy as it is written, before [`PolicySetBuilder::build`] has checked the set.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    name: Name,
    class: Option<Name>,
    protects: Option<Protects>,
    /// The strictest of the values that `protects` had before; the present one must not be milder.
    at_least: Option<Protects>,
    failure: FailureMode,
    overflow: Overflow,
    /// The deadline of the store; `None` for the usual one of what is guarded.
    deadline: Option<Span>,
    fleet_size: FleetSize,
    is_stance: bool,
    limits: Vec<LimitUse>,
}

/// What a policy does while its store fails. Every policy has to say it; there is no default, and not
/// every mode is [allowed](Protects::allows) everywhere. The [`Fallback`] says in detail what then
/// decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureMode {
    /// Deny: an outage must not become a way in.
    FailClosed,
    /// Admit, within local guardrails: an outage of the limiter must not become an outage for everybody.
    FailOpen,
    /// Decide by local guardrails alone, which count on this node and know nothing of the store.
    Degraded,
}

/// The mode in which a decision was made. Without a store that answers, it is the policy's
/// [`FailureMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The store answered.
    Normal,
    /// The store did not answer, and the policy denies meanwhile.
    FailClosed,
    /// The store did not answer, and the policy admits meanwhile, within local guardrails.
    FailOpen,
    /// The store did not answer, and local guardrails decide.
    Degraded,
}

/// What happens to a request that exceeds a limit: which [`Verdict`](crate::Verdict) it gets. The
/// strictest comes first: if several limits have no room, that one decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Overflow {
    /// The request is denied, and told when to come back.
    #[default]
    Reject,
    /// The request waits for room. One that can never fit is denied all the same.
    Queue,
    /// The request passes with a lower quality of service, and is counted by all limits that have room.
    Degrade,
}

#[derive(Clone, Debug)]
enum LimitUse {
    Own(Box<Limit>),
    Shared(Name),
}

// === impl PolicySpec ===

impl PolicySpec {
    /// The deadlines that a policy can have. No store answers in less than the shortest, so every
    /// request would fail. Three failures within ten seconds make an outage; a prober that meets them
    /// one after another, with pauses, notices it in time only if none takes longer than the longest.
    pub const DEADLINES: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(2);

    /// A policy without limits yet. What it does while its store fails has to be given:
    ///
    /// ```compile_fail,E0061
    /// # use tidegate_core::{Name, NameError, PolicySpec};
    /// let silent = PolicySpec::new(Name::try_new("api")?);
    /// # Ok::<(), NameError>(())
    /// ```
    #[must_use]
    pub const fn new(name: Name, failure: FailureMode) -> Self {
        Self {
            name,
            class: None,
            protects: None,
            at_least: None,
            failure,
            overflow: Overflow::Reject,
            deadline: None,
            fleet_size: FleetSize::USUAL,
            is_stance: false,
            limits: Vec::new(),
        }
    }

    /// A policy that has no limits of its own, and says only what happens while its store fails. Requests
    /// under it are charged to a [`Bundle`] of rows ([`Case::over`](crate::Case::over)).
    #[must_use]
    pub const fn stance(name: Name, failure: FailureMode) -> Self {
        let mut stance = Self::new(name, failure);
        stance.is_stance = true;
        stance
    }

    /// Sets how many nodes share the limits of a policy that protects
    /// [`outbound`](Protects::Outbound) calls: while the store is not trusted, each of them has that part
    /// of every limit. Ten unless this is called.
    #[must_use]
    pub const fn fleet_size(mut self, nodes: FleetSize) -> Self {
        self.fleet_size = nodes;
        self
    }

    /// Adds a limit of the policy's own: no other policy uses its counters.
    #[must_use]
    pub fn limit(mut self, limit: Limit) -> Self {
        self.limits.push(LimitUse::Own(Box::new(limit)));
        self
    }

    /// Adds a limit that the set shares between policies ([`PolicySetBuilder::shared`]): all of them
    /// use the same counters.
    #[must_use]
    pub fn shared_limit(mut self, name: Name) -> Self {
        self.limits.push(LimitUse::Shared(name));
        self
    }

    /// Binds the policy to an endpoint class; its limits count by that class, whatever class a
    /// subject claims.
    #[must_use]
    pub fn class(mut self, class: Name) -> Self {
        self.class = Some(class);
        self
    }

    /// Says what the policy guards; see [`Protects`] for what follows from it. Unless this is called,
    /// the endpoint class says it, if it is one of the [usual ones](Protects::of_class).
    ///
    /// It may be stricter than the class, or than what a [preset](crate::Preset) or an earlier call
    /// has said. A set with a policy that is made [milder](Protects::is_milder_than) is
    /// [refused](PolicyError::Milder).
    #[must_use]
    pub const fn protecting(mut self, what: Protects) -> Self {
        self.at_least = match (self.at_least, self.protects) {
            (Some(strictest), Some(said)) if said.is_milder_than(strictest) => Some(strictest),
            (strictest, None) => strictest,
            (_, said) => said,
        };
        self.protects = Some(what);
        self
    }

    /// Sets what happens to requests that exceed a limit which does not [say](Limit::on_overflow) so
    /// itself; [`Overflow::Reject`] unless this is called.
    #[must_use]
    pub const fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// Sets how long the store may take for one decision; a later answer is a failure. Unless this is
    /// called, the deadline is a quarter of a second at entrances and a tenth elsewhere.
    #[must_use]
    pub const fn deadline(mut self, deadline: Span) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// What the policy guards: what was said last, or else what its class stands for. An error if that is
    /// milder than its class or than what was said before.
    fn guarded(&self) -> Result<Option<Protects>, PolicyError> {
        let class = self.class.as_ref().and_then(Protects::of_class);
        let Some(protects) = self.protects else { return Ok(class) };
        let mut others = [class, self.at_least].into_iter().flatten();
        match others.find(|other| protects.is_milder_than(*other)) {
            Some(than) => Err(PolicyError::Milder { policy: self.name.clone(), protects, than }),
            None => Ok(Some(protects)),
        }
    }
}

// === impl Policy ===

impl Policy {
    /// The name that selects the policy, unique within its set.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// The endpoint class that the policy is bound to, if any.
    #[must_use]
    pub const fn class(&self) -> Option<&Name> {
        self.class.as_ref()
    }

    /// What the policy guards, if it or its class says so.
    #[must_use]
    pub const fn protects(&self) -> Option<Protects> {
        self.protects
    }

    /// What the policy does while its store fails.
    #[must_use]
    pub const fn failure(&self) -> FailureMode {
        self.failure
    }

    /// What happens to a request that exceeds a limit which does not say so itself.
    #[must_use]
    pub const fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// How long the store may take for one decision.
    #[must_use]
    #[inline]
    pub const fn deadline(&self) -> Span {
        self.deadline
    }

    /// Whether any limit of the policy [settles](Limit::settling), so that admitted requests get tickets.
    #[must_use]
    #[inline]
    pub const fn settles(&self) -> bool {
        self.bundle.settles()
    }

    /// Whether any limit of the policy is an abuse log, so that requests may begin blocks.
    #[must_use]
    #[inline]
    pub const fn counts_attempts(&self) -> bool {
        self.counts_attempts
    }

    /// Whether any limit of the policy counts by [outcome](Limit::counting_outcomes), so that a request
    /// is to be given back once its answer is known not to count.
    #[must_use]
    #[inline]
    pub const fn counts_outcomes(&self) -> bool {
        self.outcomes.is_some()
    }

    /// The answers that count, if any limit of the policy counts by outcome: the ticket of a request
    /// with any other answer is settled at zero.
    #[must_use]
    #[inline]
    pub const fn outcomes(&self) -> Option<&Outcomes> {
        self.outcomes.as_ref()
    }

    /// The limits of the policy, in the order they were written; empty for a
    /// [stance](PolicySpec::stance).
    #[must_use]
    #[inline]
    pub fn limits(&self) -> &[Arc<Limit>] {
        self.bundle.limits()
    }

    /// The limits of the policy, as requests are charged to them.
    #[must_use]
    #[inline]
    pub const fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Whether the policy has no limits of its own, and is for [`Case::over`](crate::Case::over).
    #[must_use]
    pub fn is_stance(&self) -> bool {
        self.limits().is_empty()
    }

    /// The endpoint class that the policy is bound to, as a fact.
    #[inline]
    pub(crate) fn class_fact(&self) -> Option<&[u8]> {
        self.class.as_ref().map(|class| class.as_str().as_bytes())
    }
}

// === impl FailureMode ===

names!(FailureMode { FailClosed: "fail_closed", FailOpen: "fail_open", Degraded: "degraded" });

// === impl Mode ===

names!(Mode {
    Normal: "normal",
    FailClosed: "fail_closed",
    FailOpen: "fail_open",
    Degraded: "degraded",
});

impl From<FailureMode> for Mode {
    /// The mode of a decision that is made because the store has failed.
    fn from(failure: FailureMode) -> Self {
        match failure {
            FailureMode::FailClosed => Self::FailClosed,
            FailureMode::FailOpen => Self::FailOpen,
            FailureMode::Degraded => Self::Degraded,
        }
    }
}

// === impl Overflow ===

names!(Overflow { Reject: "reject", Queue: "queue", Degrade: "degrade" });

const _: () = assert!(MAX_LIMITS <= 16, "a plan has sixteen bits");
