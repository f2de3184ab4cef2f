//! Named limits for some actions, and all of them as one set.
//!
//! A [`PolicySet`] is checked as a whole and never changes; a reload swaps it for another. What it
//! refuses is what would otherwise be found out in production: a policy that limits nothing, two
//! limits that would share a counter, a cost that can never fit.

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
pub use fallback::Fallback;
pub use protects::Protects;
pub use set::{PolicySet, PolicySetBuilder};

use core::ops::RangeInclusive;
use std::sync::Arc;

use crate::charge::MAX_LIMITS;
use crate::limit::Limit;
use crate::name::Name;
use crate::outcome::Outcomes;
use crate::time::Span;

/// Named limits, and what happens past them or without a store: a [`PolicySpec`] that has been
/// checked as part of a [`PolicySet`].
#[derive(Clone, Debug)]
pub struct Policy {
    name: Name,
    class: Option<Name>,
    protects: Option<Protects>,
    failure: FailureMode,
    overflow: Overflow,
    deadline: Span,
    limits: Vec<Arc<Limit>>,
    /// Known in advance, because it is asked for every request.
    settles: bool,
    counts_attempts: bool,
    outcomes: Option<Outcomes>,
}

/// A policy as it is written, before [`PolicySetBuilder::build`] has checked the set.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    name: Name,
    class: Option<Name>,
    protects: Option<Protects>,
    /// The strictest of what it was said to guard before that.
    at_least: Option<Protects>,
    failure: FailureMode,
    overflow: Overflow,
    /// The usual one of what is guarded, if it is not said.
    deadline: Option<Span>,
    limits: Vec<LimitUse>,
}

/// What a policy does while its store fails. A field of every policy; there is no default, and not
/// every one is [allowed](Protects::allows) everywhere. What then decides in detail is the
/// [`Fallback`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureMode {
    /// Deny: an outage must not become a way in.
    FailClosed,
    /// Admit, within local guardrails: an outage of the limiter must not become everybody's.
    FailOpen,
    /// Decide by local guardrails alone, which count on this node and know nothing of the store.
    Degraded,
}

/// Under which circumstances a decision was made. Without a store that answers, it is the policy's
/// [`FailureMode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The store answered.
    Normal,
    /// It did not, and the policy denies meanwhile.
    FailClosed,
    /// It did not, and the policy admits meanwhile, within local guardrails.
    FailOpen,
    /// It did not, and local guardrails decide.
    Degraded,
}

/// What happens to a request past a limit: which [`Verdict`](crate::Verdict) it gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// It is denied, and told when to come back.
    #[default]
    Reject,
    /// It waits for room. One that never fits is denied all the same.
    Queue,
    /// It passes with a lower quality of service, and is not counted.
    Degrade,
}

#[derive(Clone, Debug)]
enum LimitUse {
    Own(Box<Limit>),
    Shared(Name),
}

// === impl PolicySpec ===

impl PolicySpec {
    /// The deadlines there can be. In less than the first no store answers, so that every request
    /// would fail. Three failures within ten seconds make an outage; a prober that finds them one
    /// after another, with pauses, needs each to take no longer than the last.
    pub const DEADLINES: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(2);

    /// A policy without limits yet. What it does while its store fails has to be said.
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
            limits: Vec::new(),
        }
    }

    /// Adds a limit of its own: its counters are this policy's alone.
    #[must_use]
    pub fn limit(mut self, limit: Limit) -> Self {
        self.limits.push(LimitUse::Own(Box::new(limit)));
        self
    }

    /// Adds a limit the set shares between policies ([`PolicySetBuilder::shared`]): one counter for
    /// all of them.
    #[must_use]
    pub fn shared_limit(mut self, name: Name) -> Self {
        self.limits.push(LimitUse::Shared(name));
        self
    }

    /// Binds the policy to an endpoint class; its limits count by that one, whatever class a
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

    /// Sets what happens past a limit; [`Overflow::Reject`] unless this is called.
    #[must_use]
    pub const fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// Sets how long the store may take for one decision; what is later is a failure. Unless this is
    /// called, a quarter of a second at entrances and a tenth elsewhere.
    #[must_use]
    pub const fn deadline(mut self, deadline: Span) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// What it guards: what was said last, or what its class stands for.
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
    /// What selects it: unique within its set.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// The endpoint class it is bound to, if to one.
    #[must_use]
    pub const fn class(&self) -> Option<&Name> {
        self.class.as_ref()
    }

    /// What it guards, if that has been said, by itself or by its class.
    #[must_use]
    pub const fn protects(&self) -> Option<Protects> {
        self.protects
    }

    /// What to do while its store fails.
    #[must_use]
    pub const fn failure(&self) -> FailureMode {
        self.failure
    }

    /// What a refusal by one of its limits becomes.
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

    /// Whether any of its limits [settles](Limit::settling), so that admitted requests get tickets.
    #[must_use]
    #[inline]
    pub const fn settles(&self) -> bool {
        self.settles
    }

    /// Whether any of its limits is an abuse log, so that requests may begin blocks.
    #[must_use]
    #[inline]
    pub const fn counts_attempts(&self) -> bool {
        self.counts_attempts
    }

    /// Whether any of its limits counts by [outcome](Limit::counting_outcomes), so that whoever
    /// answers a request has something to give back.
    #[must_use]
    #[inline]
    pub const fn counts_outcomes(&self) -> bool {
        self.outcomes.is_some()
    }

    /// The answers that count, if any of its limits counts by outcome: the ticket of a request with
    /// any other answer is settled at zero.
    #[must_use]
    #[inline]
    pub const fn outcomes(&self) -> Option<&Outcomes> {
        self.outcomes.as_ref()
    }

    /// Its limits, in the order they were written: that of charges, readings and explanations.
    #[must_use]
    #[inline]
    pub fn limits(&self) -> &[Arc<Limit>] {
        &self.limits
    }

    /// The class it is bound to, as a fact.
    #[inline]
    pub(crate) fn class_fact(&self) -> Option<&[u8]> {
        self.class.as_ref().map(|class| class.as_str().as_bytes())
    }
}

// === impl FailureMode ===

impl FailureMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FailClosed, Self::FailOpen, Self::Degraded];

    /// The name used in configuration, answers and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FailClosed => "fail_closed",
            Self::FailOpen => "fail_open",
            Self::Degraded => "degraded",
        }
    }
}

// === impl Mode ===

impl Mode {
    /// All of them; at any time a policy is in exactly one on each node.
    pub const ALL: [Self; 4] = [Self::Normal, Self::FailClosed, Self::FailOpen, Self::Degraded];

    /// The name used in answers and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::FailClosed => FailureMode::FailClosed.name(),
            Self::FailOpen => FailureMode::FailOpen.name(),
            Self::Degraded => FailureMode::Degraded.name(),
        }
    }
}

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

impl Overflow {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Reject, Self::Queue, Self::Degrade];

    /// The name used in configuration and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Queue => "queue",
            Self::Degrade => "degrade",
        }
    }
}

const _: () = assert!(MAX_LIMITS <= 16, "a plan has sixteen bits");
