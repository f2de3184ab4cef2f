//! Named limits for some actions, and all of them as one set.
//!
//! A [`PolicySet`] is checked as a whole and never changes; a reload swaps it for another. What it
//! refuses is what would otherwise be found out in production: a policy that limits nothing, two
//! limits that would share a counter, a cost that can never fit.

mod set;

pub use set::{PolicyError, PolicySet, PolicySetBuilder};

use std::sync::Arc;

use crate::charge::MAX_LIMITS;
use crate::limit::Limit;
use crate::name::Name;
use crate::shape::Shape;
use crate::time::Timestamp;

/// Named limits, and what happens past them or without a store.
#[derive(Clone, Debug)]
pub struct Policy {
    name: Name,
    class: Option<Name>,
    failure: FailureMode,
    overflow: Overflow,
    limits: Vec<Arc<Limit>>,
}

/// A policy as it is written, before the set is checked.
#[derive(Clone, Debug)]
pub struct PolicySpec {
    name: Name,
    class: Option<Name>,
    failure: FailureMode,
    overflow: Overflow,
    limits: Vec<LimitUse>,
}

/// What a policy does while its store fails. A field of every policy; there is no default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureMode {
    /// Deny.
    FailClosed,
    /// Admit, within local guardrails.
    FailOpen,
    /// Decide by local guardrails alone.
    Degraded,
}

/// What happens to a request past a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// It is denied.
    #[default]
    Reject,
    /// It waits its turn.
    Queue,
    /// It passes with a lower quality of service.
    Degrade,
}

#[derive(Clone, Debug)]
enum LimitUse {
    Own(Limit),
    Shared(Name),
}

// === impl PolicySpec ===

impl PolicySpec {
    /// A policy without limits yet. What it does while its store fails has to be said.
    #[must_use]
    pub const fn new(name: Name, failure: FailureMode) -> Self {
        Self { name, class: None, failure, overflow: Overflow::Reject, limits: Vec::new() }
    }

    /// Adds a limit of its own.
    #[must_use]
    pub fn limit(mut self, limit: Limit) -> Self {
        self.limits.push(LimitUse::Own(limit));
        self
    }

    /// Adds a limit the set shares between policies: one counter for all of them.
    #[must_use]
    pub fn shared_limit(mut self, name: Name) -> Self {
        self.limits.push(LimitUse::Shared(name));
        self
    }

    /// Binds the policy to an endpoint class; its limits count by that one.
    #[must_use]
    pub fn class(mut self, class: Name) -> Self {
        self.class = Some(class);
        self
    }

    /// Sets what happens past a limit.
    #[must_use]
    pub const fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }
}

// === impl Policy ===

impl Policy {
    /// The name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// The endpoint class it is bound to.
    #[must_use]
    pub const fn class(&self) -> Option<&Name> {
        self.class.as_ref()
    }

    /// What it does while its store fails.
    #[must_use]
    pub const fn failure(&self) -> FailureMode {
        self.failure
    }

    /// What happens past a limit.
    #[must_use]
    pub const fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// Its limits, in the order they were written.
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

    /// Moves the calendars of the limits to the periods around `now`, which a store has asked for.
    pub fn refresh(&self, now: Timestamp) {
        for shape in self.limits.iter().flat_map(|limit| limit.in_force()) {
            if let Shape::Quota(quota) = shape
                && let Some(calendar) = quota.calendar()
            {
                calendar.refresh(now);
            }
        }
    }
}

const _: () = assert!(MAX_LIMITS <= 16, "a plan has sixteen bits");
