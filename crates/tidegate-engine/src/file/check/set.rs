//! All policies together: names, shared limits, counters that two limits would share.

use std::collections::{HashMap, HashSet};

use tidegate_core::text::nearest;
use tidegate_core::{Name, PolicyError, PolicySet, PolicySetBuilder, Preset};

use super::Check;
use super::limit::Sound;
use super::policy::{Policy, Use};
use crate::file::place::{Place, Placed};
use crate::file::written::Ours;
use crate::file::wrong::Wrong;

/// How often the set is built, each time without the limit that was refused, to find what else is
/// wrong.
const ATTEMPTS: usize = 16;

/// A limit that the core refuses, another place that has to do with it, and what is wrong.
type Refused = ((usize, usize, Place), Option<(Place, &'static str)>, Wrong);

/// The most names among which a suggestion is looked for.
const MOST_NAMES: usize = 200;

impl Check {
    /// The policies as the core takes them; `None` if something is wrong with them.
    pub(super) fn policies(&mut self, ours: &Ours) -> Option<PolicySetBuilder> {
        let before = self.problems.len();
        let shared = self.shared(ours);
        let mut policies = self.policy_list(ours);
        self.distinct_policies(&policies);
        self.distinct_presets(&mut policies);
        for policy in &policies {
            let owner = policy.name.as_ref().map_or("a policy".into(), |name| format!("`{name}`"));
            self.distinct_limits(&owner, &policy.limits);
        }
        self.known_shared(ours, &mut policies);
        self.binding(&shared, &policies);
        self.built(&shared, policies, before)
    }

    /// The shared limits that are in order by themselves.
    fn shared(&mut self, ours: &Ours) -> Vec<Sound> {
        let mut sound = Vec::new();
        for limit in ours.shared.as_deref().unwrap_or_default() {
            if self.is_enough() {
                break;
            }
            let limit = Placed { value: limit.value.0.clone(), place: limit.place };
            if let Some(shared) = &limit.value.shared {
                self.say(shared.place, Wrong::SharedInShared);
            } else {
                sound.extend(self.limit(&limit));
            }
        }
        let uses: Vec<Use> = sound.iter().cloned().map(Use::Own).collect();
        self.distinct_limits("the list `shared`", &uses);
        sound
    }

    fn distinct_policies(&mut self, policies: &[Policy]) {
        let mut seen: HashMap<&Name, Place> = HashMap::new();
        for policy in policies {
            let Some(name) = &policy.name else { continue };
            if let Some(first) = seen.insert(name, policy.place) {
                let wrong = Wrong::DuplicatePolicy { name: name.clone() };
                self.say_of_two(policy.place, (first, "first here"), wrong);
            }
        }
    }

    /// Reports a preset that is used twice, because its limits would count together. The limits of
    /// the second one are not looked at any further.
    fn distinct_presets(&mut self, policies: &mut [Policy]) {
        let mut seen: HashMap<Preset, Place> = HashMap::new();
        for policy in policies {
            let Some(Placed { value: preset, place }) = policy.preset else { continue };
            if let Some(first) = seen.get(&preset) {
                self.say_of_two(place, (*first, "first here"), Wrong::PresetTwice { preset });
                policy.limits.retain(|limit| limit.place() != place);
            } else {
                seen.insert(preset, place);
            }
        }
    }

    fn distinct_limits(&mut self, owner: &str, limits: &[Use]) {
        let mut seen: HashMap<&Name, Place> = HashMap::new();
        for limit in limits {
            if let Some(first) = seen.insert(limit.name(), limit.place()) {
                let wrong =
                    Wrong::DuplicateLimit { owner: owner.into(), name: limit.name().clone() };
                self.say_of_two(limit.place(), (first, "first here"), wrong);
            }
        }
    }

    /// Reports shared limits that are used and not defined, or defined and not used. A shared limit
    /// with something wrong in it has been reported before, and counts as defined and as used.
    fn known_shared(&mut self, ours: &Ours, policies: &mut [Policy]) {
        let list = ours.shared.as_deref().unwrap_or_default();
        let known: HashSet<Name> =
            list.iter().filter_map(|limit| Self::called(&limit.value.0)).collect();
        for policy in policies.iter_mut() {
            policy.limits.retain(|used| {
                let Use::Shared(name) = used else { return true };
                let is_known = known.contains(&name.value);
                if !is_known {
                    let meant = known.iter().map(Name::as_str).filter(|_| self.suggests());
                    let suggestion = nearest(name.value.as_str(), meant.take(MOST_NAMES));
                    let wrong = Wrong::UnknownShared {
                        name: name.value.to_string(),
                        suggestion: suggestion.map(str::to_owned),
                    };
                    self.say(name.place, wrong);
                }
                is_known
            });
        }
        let written = ours.policies.as_ref().map_or(&[][..], |list| list.value.as_slice());
        let limits = written.iter().filter_map(|policy| policy.value.limits.as_ref());
        let used: HashSet<&str> = limits
            .flat_map(|limits| &limits.value)
            .filter_map(|limit| limit.value.shared.as_ref())
            .map(|name| name.value.0.as_str())
            .collect();
        for limit in list {
            if let Some(name) = Self::called(&limit.value.0)
                && !used.contains(name.as_str())
            {
                let place = limit.value.0.name.as_ref().map_or(limit.place, |name| name.place);
                self.say(place, Wrong::UnusedShared { name });
            }
        }
    }

    /// Lets the core build the set, again and again without the limits that it refuses. If problems
    /// were found before, an error that may follow from them is not reported.
    fn built(
        &mut self,
        shared: &[Sound],
        mut policies: Vec<Policy>,
        before: usize,
    ) -> Option<PolicySetBuilder> {
        let told = self.problems.len() > before;
        for _ in 0..ATTEMPTS {
            let builder = shared
                .iter()
                .fold(PolicySet::builder(), |builder, sound| builder.shared(sound.limit.clone()));
            let specs = policies.iter().filter_map(Policy::spec);
            let builder = specs.fold(builder, PolicySetBuilder::policy);
            let Err(error) = builder.clone().build(None) else {
                return (self.problems.len() == before).then_some(builder);
            };
            let refused = match error {
                PolicyError::SameKey { ref first, ref second, .. } => {
                    let (second, first) = (find(&policies, second)?, find(&policies, first));
                    let other = first.map(|(_, _, place)| (place, "the other limit"));
                    (second, other, Wrong::SameCounters(error))
                }
                PolicyError::NotAboveCap { policy, limit, protects, admits, least, cap } => {
                    let found = find(&policies, &format!("{policy}/{limit}"))?;
                    let at_protects = policies[found.0].at_protects;
                    let other = at_protects.map(|place| (place, "what it guards"));
                    (found, other, Wrong::NotAboveCap { limit, protects, admits, least, cap })
                }
                PolicyError::OtherOutcomes { ref policy, ref first, ref second } => {
                    of_two(&policies, policy, (second, first, "the other limit"), error.clone())?
                }
                PolicyError::SettlesBesideOutcomes { ref policy, ref limit, ref counting } => {
                    of_two(&policies, policy, (counting, limit, "settles"), error.clone())?
                }
                PolicyError::RefusalsAsOutcomes { ref policy, ref counting, ref limit } => {
                    of_two(&policies, policy, (counting, limit, "refuses too"), error.clone())?
                }
                error => {
                    if !told {
                        self.say(Place::default(), Wrong::SameCounters(error));
                    }
                    return None;
                }
            };
            let ((policy, limit, place), other, wrong) = refused;
            policies[policy].limits.remove(limit);
            self.note(place, other, wrong);
        }
        None
    }
}

/// The refusal of two limits of one policy that cannot stand side by side because of outcomes: the
/// limit that is left out, where the other one is, and what that one does.
fn of_two(
    policies: &[Policy],
    policy: &Name,
    (one, other, what): (&Name, &Name, &'static str),
    error: PolicyError,
) -> Option<Refused> {
    let found = find(policies, &format!("{policy}/{one}"))?;
    let other = find(policies, &format!("{policy}/{other}")).map(|(_, _, place)| (place, what));
    Some((found, other, Wrong::MixedOutcomes(error)))
}

/// The limit that the core calls `policy/limit`: the index of its policy, its index there, and its
/// place in the file.
fn find(policies: &[Policy], owner: &str) -> Option<(usize, usize, Place)> {
    let (policy_name, name) = owner.split_once('/')?;
    let policy = policies
        .iter()
        .position(|policy| policy.name.as_ref().is_some_and(|name| name.as_str() == policy_name))?;
    let limit = policies[policy].limits.iter().position(|used| used.name().as_str() == name)?;
    Some((policy, limit, policies[policy].limits[limit].place()))
}
