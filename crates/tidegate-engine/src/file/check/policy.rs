//! Policies: a name, what happens past their limits or without a store, and the limits.

use tidegate_core::{
    FailureMode, FleetSize, MAX_LIMITS, Name, Overflow, PolicySpec, Preset, Protects, ShapeKind,
    Span,
};

use super::Check;
use super::limit::Sound;
use super::shape::{Numbers, numbers_of};
use crate::file::place::{FilePlace, Placed};
use crate::file::written::limit::WrittenLimit;
use crate::file::written::{Ours, WrittenPolicy as Written};
use crate::file::wrong::Wrong;

/// A policy, as far as it is in order.
#[derive(Clone, Debug)]
pub(super) struct CheckedPolicy {
    pub(super) name: Option<Name>,
    /// Where the name of the policy stands.
    pub(super) place: FilePlace,
    pub(super) class: Option<Name>,
    /// Where it is written what the policy guards.
    pub(super) at_protects: Option<FilePlace>,
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
    fleet_size: Option<FleetSize>,
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
    pub(super) fn policy_list(&mut self, ours: &Ours) -> Vec<CheckedPolicy> {
        let list = ours.policies.as_ref();
        let misspelt = list.is_none() && self.is_misspelt("policies");
        if list.is_none_or(|list| list.value.is_empty()) && !misspelt {
            let place = list.map_or_else(FilePlace::default, |list| list.place);
            self.say(place, Wrong::no_policies());
        }
        let written = list.map_or(&[][..], |list| list.value.as_slice());
        written.iter().map_while(|one| (!self.is_enough()).then(|| self.policy(one))).collect()
    }

    fn policy(&mut self, policy: &Placed<Written>) -> CheckedPolicy {
        let written = &policy.value;
        let (name, place, called) =
            self.named("policy", policy.place, written.name.as_ref(), "name: api");
        let preset = written.preset.as_ref();
        let preset = preset.and_then(|at| Some(Placed { value: self.word(at)?, place: at.place }));
        let class = written.class.as_ref().map(|class| self.name(class));
        let ways = self.ways(written, preset.as_ref(), &called, place);
        let limits = self.limits(written, preset.as_ref(), &called, place);
        // A class or preset that is wrong is missing here, so the policy must not be built.
        let ways = ways.filter(|_| class.as_ref().is_none_or(Option::is_some));
        let ways = ways.filter(|_| preset.is_some() == written.preset.is_some());
        let at_protects = at_protects(written);
        if let Some(ways) = ways {
            self.soft_limits(&ways, &limits, &called);
        }
        CheckedPolicy { name, place, class: class.flatten(), at_protects, preset, ways, limits }
    }

    fn ways(
        &mut self,
        written: &Written,
        preset: Option<&Placed<Preset>>,
        called: &str,
        place: FilePlace,
    ) -> Option<Ways> {
        if written.failure_mode.is_none() {
            self.say(place, Wrong::no_failure_mode(called));
        }
        let failure = written.failure_mode.as_ref().and_then(|mode| self.word(mode));
        let protects = written.protects.as_ref().map(|protects| self.word(protects));
        let overflow = self.word_or(written.overflow.as_ref(), Overflow::Reject);
        let deadline = self.deadline(written, called);
        let said = match protects {
            Some(protects) => Some(protects?),
            None => preset.map(|preset| preset.value.protects()),
        };
        let guards = |place: Option<FilePlace>| place.map(|place| (place, "what it guards"));
        if let (Some(protects), Some(preset)) = (said, preset)
            && preset.value.protects() != protects
        {
            let wrong = Wrong::other_preset(preset.value, protects);
            self.note(preset.place, guards(at_protects(written)), wrong);
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
            let place = written.failure_mode.as_ref().map_or(place, |mode| mode.place);
            self.note(place, guards(of_class.or(at_protects(written))), wrong);
            return None;
        }
        if let (Some(protects), Some(Overflow::Degrade)) = (protects, overflow)
            && protects.is_entrance()
        {
            let place = written.overflow.as_ref().map_or(place, |overflow| overflow.place);
            let wrong = Wrong::degraded_entrance(called, protects);
            self.note(place, guards(at_protects(written)), wrong);
            return None;
        }
        let fleet_size = self.fleet_size(written, protects, called)?;
        let (overflow, deadline) = (overflow?, deadline?);
        let ways = Ways { failure, protects, overflow, deadline, fleet_size };
        (!is_milder).then_some(ways)
    }

    /// Reports limits that degrade where that would let guesses pass, or never block anybody.
    fn soft_limits(&mut self, ways: &Ways, limits: &[Use], called: &str) {
        let entrance = ways.protects.filter(|protects| protects.is_entrance());
        for limit in limits {
            let Use::Own(Sound { limit, place, .. }) = limit else { continue };
            if limit.own_overflow().unwrap_or(ways.overflow) != Overflow::Degrade {
                continue;
            }
            if let Some(protects) = entrance {
                self.say(*place, Wrong::degraded_entrance(called, protects));
            } else if limit.shape().kind() == ShapeKind::Attempts {
                self.say(*place, Wrong::degraded_attempts(limit.name()));
            }
        }
    }

    /// The size of the fleet: `Some(None)` if the policy gives none, `None` if it is wrong.
    fn fleet_size(
        &mut self,
        written: &Written,
        protects: Option<Protects>,
        called: &str,
    ) -> Option<Option<FleetSize>> {
        const MOST: u64 = 1_000_000;
        let Some(nodes) = &written.fleet_size else { return Some(None) };
        let size = self.number(nodes, "fleet_size").filter(|nodes| *nodes <= MOST);
        let size = size.and_then(|nodes| FleetSize::new(u32::try_from(nodes).ok()?));
        match (protects, size) {
            (Some(Protects::Outbound), Some(size)) => Some(Some(size)),
            (Some(Protects::Outbound), None) => {
                self.refuse(nodes.place, Wrong::bad_fleet_size(called))
            }
            _ => self.refuse(nodes.place, Wrong::idle_fleet_size(called)),
        }
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
        let wrong = Wrong::milder_than_class(called, protects, &class.value.0, than);
        self.say_of_two(place, (class.place, "its class"), wrong);
        true
    }

    /// The deadline of a policy: `Some(None)` if it gives none, `None` if it is wrong.
    fn deadline(&mut self, written: &Written, called: &str) -> Option<Option<Span>> {
        let Some(text) = &written.deadline else { return Some(None) };
        let deadline = self.duration(text)?;
        if !PolicySpec::DEADLINES.contains(&deadline) {
            return self.refuse(text.place, Wrong::bad_deadline(called, deadline));
        }
        Some(Some(deadline))
    }

    fn limits(
        &mut self,
        written: &Written,
        preset: Option<&Placed<Preset>>,
        called: &str,
        place: FilePlace,
    ) -> Vec<Use> {
        let list = written.limits.as_ref();
        let limits = list.map_or(&[][..], |list| list.value.as_slice());
        if limits.is_empty() && written.preset.is_none() {
            self.say(place, Wrong::no_limits(called));
            return Vec::new();
        }
        let own = limits.iter().filter_map(|limit| self.limit_use(limit)).collect();
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
            self.say(place, Wrong::too_many_limits(called, count));
        }
        all
    }

    fn limit_use(&mut self, limit: &Placed<WrittenLimit>) -> Option<Use> {
        let Some(shared) = &limit.value.shared else { return self.limit(limit).map(Use::Own) };
        if let Some((field, place)) = limit.value.beside_shared() {
            let other = (shared.place, "a shared limit");
            self.say_of_two(place, other, Wrong::shared_with_more(field));
        }
        let value = self.name(shared)?;
        Some(Use::Shared(Placed { value, place: shared.place }))
    }
}

/// Where it is written what a policy guards: in `protects`, `preset` or `class`.
fn at_protects(written: &Written) -> Option<FilePlace> {
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

// === impl CheckedPolicy ===

impl CheckedPolicy {
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
        if let Some(nodes) = ways.fleet_size {
            spec = spec.fleet_size(nodes);
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

    pub(super) const fn place(&self) -> FilePlace {
        match self {
            Self::Own(sound) => sound.place,
            Self::Shared(name) => name.place,
        }
    }
}

// === impl WrittenLimit ===

impl WrittenLimit {
    /// The first field that stands beside `shared`, and where it stands.
    fn beside_shared(&self) -> Option<(&'static str, FilePlace)> {
        fn at<T>(
            field: &'static str,
            value: &Option<Placed<T>>,
        ) -> Option<(&'static str, FilePlace)> {
            value.as_ref().map(|value| (field, value.place))
        }
        let fields = [
            at("name", &self.name),
            at("by", &self.by),
            numbers_of!(self).next().map(|numbers| (numbers.value.kind(), numbers.place)),
            at("unless", &self.unless),
            at("only", &self.only),
            at("distinct", &self.distinct),
            at("forgiving", &self.forgiving),
            at("outcome", &self.outcome),
            at("cost", &self.cost),
            at("stage", &self.stage),
            at("shadow", &self.shadow),
            at("overflow", &self.overflow),
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
    match protects {
        Some(protects) if protects.allows(failure) => None,
        None if failure != FailureMode::FailClosed => None,
        Some(protects) if protects.is_entrance() => {
            Some(Wrong::not_fail_closed(called, protects, failure))
        }
        Some(Protects::Spend) => Some(Wrong::open_spend(called)),
        Some(Protects::Outbound) => Some(Wrong::not_degraded(called)),
        _ => Some(Wrong::not_critical(called, protects)),
    }
}
