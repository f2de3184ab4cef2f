//! Policies: a name, what happens past their limits or without a store, and the limits.

use tidegate_core::{FailureMode, MAX_LIMITS, Name, Overflow, PolicySpec, Preset, Protects, Span};

use super::Check;
use super::limit::Sound;
use super::shape::Numbers;
use crate::file::place::{Place, Placed};
use crate::file::written::limit::Limit as WrittenLimit;
use crate::file::written::{Ours, Policy as Written};
use crate::file::wrong::Wrong;
use crate::file::yaml::short;

/// A policy, as far as it is in order.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    pub(super) name: Option<Name>,
    /// Where the name of the policy stands.
    pub(super) place: Place,
    pub(super) class: Option<Name>,
    /// Where it is written what the policy guards.
    pub(super) at_protects: Option<Place>,
    pub(super) preset: Option<Placed<Preset>>,
    ways: Option<Ways>,
    pub(super) limits: Vec<Use>,
}

/// What happens without a store, and past a limit.
#[derive(Clone, Copy, Debug)]
struct Ways {
    failure: FailureMode,
    protects: Option<Protects>,
    overflow: Overflow,
    deadline: Option<Span>,
}

/// A limit of a policy.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most limits of a file are a policy's own")]
pub(super) enum Use {
    Own(Sound),
    Shared(Placed<Name>),
}

impl Check {
    /// All policies, as far as they are in order.
    pub(super) fn policy_list(&mut self, ours: &Ours) -> Vec<Policy> {
        let list = ours.policies.as_ref();
        let misspelt = list.is_none() && self.is_misspelt("policies");
        if list.is_none_or(|list| list.value.is_empty()) && !misspelt {
            let place = list.map_or_else(Place::default, |list| list.place);
            self.say(place, Wrong::NoPolicies);
        }
        let written = list.map_or(&[][..], |list| list.value.as_slice());
        let mut policies = Vec::new();
        for policy in written {
            if self.is_enough() {
                break;
            }
            policies.push(self.policy(policy));
        }
        policies
    }

    fn policy(&mut self, policy: &Placed<Written>) -> Policy {
        let written = &policy.value;
        let owner = ("a policy", policy.place);
        let name = self.required(written.name.as_ref(), owner, "name", "name: api");
        let place = name.map_or(policy.place, |name| name.place);
        let called = match name {
            Some(name) => format!("policy `{}`", short(&name.value.0)),
            None => "this policy".into(),
        };
        let name = name.and_then(|name| self.name(name));
        let preset = written
            .preset
            .as_ref()
            .and_then(|word| Some(Placed { value: self.word(word)?, place: word.place }));
        let class = written.class.as_ref().map(|class| self.name(class));
        let ways = self.ways(written, preset.as_ref(), &called, place);
        let limits = self.limits(written, preset.as_ref(), &called, place);
        // A class or preset that is wrong is missing here, so the policy must not be built.
        let ways = ways.filter(|_| class.as_ref().is_none_or(Option::is_some));
        let ways = ways.filter(|_| preset.is_some() == written.preset.is_some());
        let at_protects = at_protects(written);
        Policy { name, place, class: class.flatten(), at_protects, preset, ways, limits }
    }

    fn ways(
        &mut self,
        written: &Written,
        preset: Option<&Placed<Preset>>,
        called: &str,
        place: Place,
    ) -> Option<Ways> {
        if written.failure_mode.is_none() {
            self.say(place, Wrong::NoFailureMode { policy: called.to_owned() });
        }
        let failure = written.failure_mode.as_ref().and_then(|mode| self.word(mode));
        let protects = written.protects.as_ref().map(|protects| self.word(protects));
        let overflow = self.word_or(written.overflow.as_ref(), Overflow::Reject);
        let deadline = self.deadline(written, called);
        let said = match protects {
            Some(protects) => Some(protects?),
            None => preset.map(|preset| preset.value.protects()),
        };
        if let (Some(protects), Some(preset)) = (said, preset)
            && preset.value.protects() != protects
        {
            let other = at_protects(written).map(|place| (place, "what it guards"));
            self.note(preset.place, other, Wrong::OtherPreset { preset: preset.value, protects });
            return None;
        }
        let is_milder = self.is_milder(written, said, called);
        let protects = said.filter(|_| !is_milder).or_else(|| of_class(written));
        let failure = failure?;
        // A preset that is not known says nothing about what is guarded.
        if written.preset.is_some() != preset.is_some() {
            return None;
        }
        if let Some(wrong) = not_allowed(called, protects, failure) {
            let of_class = written.class.as_ref().filter(|_| is_milder).map(|class| class.place);
            let other = of_class.or(at_protects(written)).map(|place| (place, "what it guards"));
            let place = written.failure_mode.as_ref().map_or(place, |mode| mode.place);
            self.note(place, other, wrong);
            return None;
        }
        if let (Some(protects), Some(Overflow::Degrade)) = (protects, overflow)
            && protects.is_entrance()
        {
            let other = at_protects(written).map(|place| (place, "what it guards"));
            let place = written.overflow.as_ref().map_or(place, |overflow| overflow.place);
            self.note(
                place,
                other,
                Wrong::DegradedEntrance { policy: called.to_owned(), protects },
            );
            return None;
        }
        let ways = Ways { failure, protects, overflow: overflow?, deadline: deadline? };
        (!is_milder).then_some(ways)
    }

    /// Whether a policy, or its preset, says that it guards something milder than its class stands
    /// for; if so, that is reported.
    fn is_milder(&mut self, written: &Written, said: Option<Protects>, called: &str) -> bool {
        let (Some(protects), Some(than), Some(class)) = (said, of_class(written), &written.class)
        else {
            return false;
        };
        if !protects.is_milder_than(than) {
            return false;
        }
        let place = at_protects(written).unwrap_or(class.place);
        let (policy, name) = (called.to_owned(), short(&class.value.0));
        let wrong = Wrong::MilderThanClass { policy, protects, class: name, than };
        self.say_of_two(place, (class.place, "its class"), wrong);
        true
    }

    /// The deadline of a policy: `Some(None)` if it gives none, `None` if it is wrong.
    fn deadline(&mut self, written: &Written, called: &str) -> Option<Option<Span>> {
        let Some(text) = &written.deadline else { return Some(None) };
        let deadline = self.duration(text)?;
        if !PolicySpec::DEADLINES.contains(&deadline) {
            let policy = called.to_owned();
            self.say(text.place, Wrong::BadDeadline { policy, deadline });
            return None;
        }
        Some(Some(deadline))
    }

    fn limits(
        &mut self,
        written: &Written,
        preset: Option<&Placed<Preset>>,
        called: &str,
        place: Place,
    ) -> Vec<Use> {
        let list = written.limits.as_ref();
        let limits = list.map_or(&[][..], |list| list.value.as_slice());
        let policy = called.to_owned();
        if limits.is_empty() && written.preset.is_none() {
            self.say(place, Wrong::NoLimits { policy });
            return Vec::new();
        }
        let mut own: Vec<Use> = Vec::new();
        for limit in limits {
            own.extend(self.limit_use(limit));
        }
        let all = match preset {
            Some(preset) => with_preset(preset, own),
            None => own,
        };
        // Wrong limits count too; limits of a preset that are replaced do not.
        let count = all.len().max(limits.len());
        if count > MAX_LIMITS {
            let ready = count.saturating_sub(limits.len());
            let first = limits.get(MAX_LIMITS.saturating_sub(ready));
            let place = first.map_or(place, |limit| limit.place);
            self.say(place, Wrong::TooManyLimits { policy, count });
        }
        all
    }

    fn limit_use(&mut self, limit: &Placed<WrittenLimit>) -> Option<Use> {
        let Some(shared) = &limit.value.shared else { return self.limit(limit).map(Use::Own) };
        if let Some((field, place)) = limit.value.beside_shared() {
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

/// Where it is written what a policy guards: in `protects`, `preset` or `class`.
fn at_protects(written: &Written) -> Option<Place> {
    let of_preset = || written.preset.as_ref().map(|preset| preset.place);
    let by_class = || written.class.as_ref().filter(|_| of_class(written).is_some());
    let protects = written.protects.as_ref().map(|protects| protects.place);
    protects.or_else(of_preset).or_else(|| by_class().map(|class| class.place))
}

/// What the class of a policy stands for, if it is one of the usual ones.
fn of_class(written: &Written) -> Option<Protects> {
    let class = written.class.as_ref()?;
    Protects::of_class(&Name::try_new(&class.value.0).ok()?)
}

/// The limits of a preset, each replaced by the policy's own limit of the same name if there is
/// one, and the rest of the policy's own limits after them.
fn with_preset(preset: &Placed<Preset>, mut own: Vec<Use>) -> Vec<Use> {
    let mut all = Vec::new();
    for limit in preset.value.limits() {
        match own.iter().position(|own| own.name() == limit.name()) {
            Some(place) => all.push(own.remove(place)),
            None => {
                let shapes = vec![limit.shape().clone()];
                all.push(Use::Own(Sound { limit, shapes, place: preset.place }));
            }
        }
    }
    all.extend(own);
    all
}

// === impl Policy ===

impl Policy {
    /// The policy as the core takes it, if it is in order.
    pub(super) fn spec(&self) -> Option<PolicySpec> {
        let (name, ways) = (self.name.clone()?, self.ways?);
        let mut spec = PolicySpec::new(name, ways.failure).overflow(ways.overflow);
        if let Some(protects) = ways.protects {
            spec = spec.protecting(protects);
        }
        if let Some(class) = &self.class {
            spec = spec.class(class.clone());
        }
        if let Some(deadline) = ways.deadline {
            spec = spec.deadline(deadline);
        }
        let spec = self.limits.iter().fold(spec, |spec, used| match used {
            Use::Own(sound) => spec.limit(sound.limit.clone()),
            Use::Shared(name) => spec.shared_limit(name.value.clone()),
        });
        (!self.limits.is_empty()).then_some(spec)
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
    /// The first field that stands beside `shared`, and where it stands.
    fn beside_shared(&self) -> Option<(&'static str, Place)> {
        fn at<T>(field: &'static str, value: &Option<Placed<T>>) -> Option<(&'static str, Place)> {
            value.as_ref().map(|value| (field, value.place))
        }
        let fields = [
            at("name", &self.name),
            at("by", &self.by),
            Numbers::of(self).first().map(|numbers| (numbers.kind(), numbers.place())),
            at("unless", &self.unless),
            at("only", &self.only),
            at("distinct", &self.distinct),
            at("forgiving", &self.forgiving),
            at("outcome", &self.outcome),
            at("cost", &self.cost),
            at("stage", &self.stage),
            at("shadow", &self.shadow),
            at("settles", &self.settles),
            at("named_key", &self.named_key),
            at("in", &self.elsewhere),
            at("overrides", &self.overrides),
        ];
        fields.into_iter().flatten().next()
    }
}

/// The problem with a failure mode that a policy must not have: an outage must not open an
/// entrance, nor close what is not critical.
fn not_allowed(called: &str, protects: Option<Protects>, failure: FailureMode) -> Option<Wrong> {
    let policy = called.to_owned();
    match protects {
        Some(protects) if protects.allows(failure) => None,
        None if failure != FailureMode::FailClosed => None,
        Some(protects) if protects.is_entrance() => {
            Some(Wrong::NotFailClosed { policy, protects, failure })
        }
        Some(Protects::Spend) => Some(Wrong::OpenSpend { policy }),
        Some(protects) => {
            let protects = format!("`{}`", protects.name());
            Some(Wrong::NotCritical { policy, protects })
        }
        None => Some(Wrong::NotCritical { policy, protects: "nothing in particular".to_owned() }),
    }
}
