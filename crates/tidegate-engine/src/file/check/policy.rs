//! Policies: a name, what happens past their limits or without a store, and the limits.

use tidegate_core::{FailureMode, MAX_LIMITS, Name, Overflow, PolicySpec, Protects};

use super::Check;
use super::limit::Sound;
use crate::file::place::{Place, Placed};
use crate::file::written::limit::Limit as WrittenLimit;
use crate::file::written::{Ours, Policy as Written};
use crate::file::wrong::Wrong;
use crate::file::yaml::short;

/// A policy that is in order by itself, as far as it is.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) name: Name,
    /// Where its name stands.
    pub(super) place: Place,
    pub(super) class: Option<Name>,
    failure: FailureMode,
    protects: Option<Protects>,
    overflow: Overflow,
    pub(super) limits: Vec<Use>,
}

/// A limit of a policy.
#[derive(Clone, Debug)]
pub(super) enum Use {
    Own(Sound),
    Shared(Placed<Name>),
}

impl Check {
    /// All policies that are in order by themselves.
    pub(super) fn policy_list(&mut self, ours: &Ours) -> Vec<Policy> {
        let list = ours.policies.as_ref();
        if list.is_none_or(|list| list.value.is_empty()) {
            let place = list.map_or_else(Place::default, |list| list.place);
            self.say(place, Wrong::NoPolicies);
        }
        let written = list.map_or(&[][..], |list| list.value.as_slice());
        written.iter().filter_map(|policy| self.policy(policy)).collect()
    }

    fn policy(&mut self, policy: &Placed<Written>) -> Option<Policy> {
        let written = &policy.value;
        let owner = ("a policy", policy.place);
        let name = self.required(written.name.as_ref(), owner, "name", "name: api");
        let place = name.map_or(policy.place, |name| name.place);
        let called = name.map_or_else(|| "?".into(), |name| short(&name.value.0));
        let name = name.and_then(|name| self.name(name));
        if written.failure_mode.is_none() {
            self.say(place, Wrong::NoFailureMode { policy: called.clone() });
        }
        let failure = written.failure_mode.as_ref().and_then(|mode| self.word(mode));
        let protects = written.protects.as_ref().map(|protects| self.word(protects));
        let class = written.class.as_ref().map(|class| self.name(class));
        let overflow = self.word_or(written.overflow.as_ref(), Overflow::Reject);
        let limits = self.limits(written, &called, place);
        let policy = Policy {
            name: name?,
            place,
            class: class.map_or(Some(None), |class| class.map(Some))?,
            failure: failure?,
            protects: protects.map_or(Some(None), |protects| protects.map(Some))?,
            overflow: overflow?,
            limits,
        };
        self.failing(written, &policy);
        Some(policy)
    }

    /// Where somebody could get in, an outage must not open the door.
    fn failing(&mut self, written: &Written, policy: &Policy) {
        let entrance = policy.protects.filter(|protects| protects.is_entrance());
        if let (Some(protects), FailureMode::FailOpen) = (entrance, policy.failure)
            && let Some(mode) = &written.failure_mode
        {
            let wrong = Wrong::FailsOpen { policy: policy.name.clone(), protects };
            let other = written.protects.as_ref().map(|at| (at.place, "what it guards"));
            self.note(mode.place, other, wrong);
        }
    }

    fn limits(&mut self, policy: &Written, called: &str, place: Place) -> Vec<Use> {
        let list = policy.limits.as_ref();
        let limits = list.map_or(&[][..], |list| list.value.as_slice());
        let policy = called.to_owned();
        if limits.is_empty() {
            self.say(place, Wrong::NoLimits { policy });
        } else if limits.len() > MAX_LIMITS {
            let first_too_many = limits.get(MAX_LIMITS).map_or(place, |limit| limit.place);
            self.say(first_too_many, Wrong::TooManyLimits { policy, count: limits.len() });
        }
        limits.iter().filter_map(|limit| self.limit_use(limit)).collect()
    }

    fn limit_use(&mut self, limit: &Placed<WrittenLimit>) -> Option<Use> {
        let Some(shared) = &limit.value.shared else { return self.limit(limit).map(Use::Own) };
        if let Some((field, place)) = limit.value.beside_shared(limit.place) {
            self.say_of_two(
                place,
                (shared.place, "a shared limit"),
                Wrong::SharedWithMore { field },
            );
        }
        let value = self.name(shared)?;
        Some(Use::Shared(Placed { value, place: shared.place }))
    }
}

// === impl Policy ===

impl Policy {
    /// As the core takes it.
    pub(super) fn spec(&self) -> PolicySpec {
        let mut spec = PolicySpec::new(self.name.clone(), self.failure).overflow(self.overflow);
        if let Some(protects) = self.protects {
            spec = spec.protecting(protects);
        }
        if let Some(class) = &self.class {
            spec = spec.class(class.clone());
        }
        self.limits.iter().fold(spec, |spec, used| match used {
            Use::Own(sound) => spec.limit(sound.limit.clone()),
            Use::Shared(name) => spec.shared_limit(name.value.clone()),
        })
    }
}

// === impl Use ===

impl Use {
    pub(super) const fn name(&self) -> &Name {
        match self {
            Self::Own(sound) => sound.limit.name(),
            Self::Shared(name) => &name.value,
        }
    }

    pub(super) const fn place(&self) -> Place {
        match self {
            Self::Own(sound) => sound.place,
            Self::Shared(name) => name.place,
        }
    }
}

// === impl WrittenLimit ===

impl WrittenLimit {
    /// A field that stands beside `shared`, and where.
    fn beside_shared(&self, whole: Place) -> Option<(&'static str, Place)> {
        fn at<T>(field: &'static str, value: &Option<Placed<T>>) -> Option<(&'static str, Place)> {
            value.as_ref().map(|value| (field, value.place))
        }
        let flags = [
            ("shadow", self.shadow.is_some()),
            ("settles", self.settles.is_some()),
            ("named_key", self.named_key.is_some()),
            ("overrides", self.overrides.is_some()),
        ];
        at("name", &self.name)
            .or_else(|| at("by", &self.by))
            .or_else(|| at("bucket", &self.bucket))
            .or_else(|| at("window", &self.window))
            .or_else(|| at("quota", &self.quota))
            .or_else(|| at("cost", &self.cost))
            .or_else(|| at("stage", &self.stage))
            .or_else(|| flags.iter().find(|(_, given)| *given).map(|(field, _)| (*field, whole)))
    }
}
