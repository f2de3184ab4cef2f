//! All policies together: names, shared limits, counters that two limits would share.

use std::collections::{HashMap, HashSet};

use tidegate_core::text::nearest;
use tidegate_core::{Name, PolicyError, PolicySet, PolicySetBuilder, Preset};

use super::Check;
use super::limit::Sound;
use super::policy::{CheckedPolicy, Use};
use crate::file::place::{FilePlace, Placed};
use crate::file::written::Ours;
use crate::file::wrong::Wrong;

/// How often the set is built, each time without the limit that was refused, to find what else is
/// wrong.
const ATTEMPTS: usize = 16;

/// The policies as they were put together, and the set that they make.
pub(super) type Built = (PolicySetBuilder, PolicySet);

/// The most names among which a suggestion is looked for.
const MOST_NAMES: usize = 200;

impl Check {
    /// The policies as the core takes them, and built; `None` if something is wrong with them.
    pub(super) fn policies(&mut self, ours: &Ours) -> Option<Built> {
        let before = self.problems.len();
        let shared = self.shared(ours);
        let mut policies = self.policy_list(ours);
        let named = policies.iter().filter_map(|one| Some((one.name.as_ref()?, one.place)));
        self.distinct(named, Wrong::duplicate_policy);
        self.distinct_presets(&mut policies);
        for policy in &policies {
            let owner = policy.name.as_ref().map_or("a policy".into(), |name| format!("`{name}`"));
            let limits = policy.limits.iter().map(|limit| (limit.name(), limit.place()));
            self.distinct(limits, |name| Wrong::duplicate_limit(&owner, name));
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
            let limit = limit.clone().map(|limit| limit.0);
            if let Some(shared) = &limit.value.shared {
                self.say(shared.place, Wrong::shared_in_shared());
            } else {
                sound.extend(self.limit(&limit));
            }
        }
        let named = sound.iter().map(|sound: &Sound| (sound.limit.name(), sound.place));
        self.distinct(named, |name| Wrong::duplicate_limit("the list `shared`", name));
        sound
    }

    /// Reports each name that was there before.
    fn distinct<'n>(
        &mut self,
        names: impl Iterator<Item = (&'n Name, FilePlace)>,
        twice: impl Fn(&Name) -> Wrong,
    ) {
        let mut seen: HashMap<&Name, FilePlace> = HashMap::new();
        for (name, place) in names {
            if let Some(first) = seen.insert(name, place) {
                self.say_of_two(place, (first, "first here"), twice(name));
            }
        }
    }

    /// Reports a preset that is used twice, because its limits would count together. The limits of
    /// the second one are not looked at any further.
    fn distinct_presets(&mut self, policies: &mut [CheckedPolicy]) {
        let mut seen: HashMap<Preset, FilePlace> = HashMap::new();
        for policy in policies {
            let Some(Placed { value: preset, place }) = policy.preset else { continue };
            if let Some(first) = seen.get(&preset) {
                self.say_of_two(place, (*first, "first here"), Wrong::preset_twice(preset));
                policy.limits.retain(|limit| limit.place() != place);
            } else {
                seen.insert(preset, place);
            }
        }
    }

    /// Reports shared limits that are used and not defined, or defined and not used. A shared limit
    /// with something wrong in it has been reported before, and counts as defined and as used.
    fn known_shared(&mut self, ours: &Ours, policies: &mut [CheckedPolicy]) {
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
                    self.say(name.place, Wrong::unknown_shared(&name.value, suggestion));
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
                self.say(place, Wrong::unused_shared(&name));
            }
        }
    }

    /// Lets the core build the set, again and again without the limits that it refuses. If problems
    /// were found before, an error that may follow from them is not reported.
    fn built(
        &mut self,
        shared: &[Sound],
        mut policies: Vec<CheckedPolicy>,
        before: usize,
    ) -> Option<Built> {
        let told = self.problems.len() > before;
        for _ in 0..ATTEMPTS {
            let builder = shared
                .iter()
                .fold(PolicySet::builder(), |builder, sound| builder.shared(sound.limit.clone()));
            let specs = policies.iter().filter_map(CheckedPolicy::spec);
            let builder = specs.fold(builder, PolicySetBuilder::policy);
            let error = match builder.clone().build(None) {
                Ok(set) => return (self.problems.len() == before).then_some((builder, set)),
                Err(error) => error,
            };
            let of = |policy: &Name, limit: &Name| find(&policies, &format!("{policy}/{limit}"));
            let at = |found: Option<(usize, usize, FilePlace)>| found.map(|(_, _, place)| place);
            // The limit that is left out, where what it has to do with is, and what that is.
            let ((policy, limit, place), other, what, wrong) = match &error {
                PolicyError::SameKey { first, second, .. } => {
                    let other = at(find(&policies, first));
                    let wrong = Wrong::same_counters(&error);
                    (find(&policies, second)?, other, "the other limit", wrong)
                }
                PolicyError::NotAboveCap { policy, limit, protects, admits, least, cap } => {
                    let found = of(policy, limit)?;
                    let wrong = Wrong::not_above_cap(limit, *protects, *admits, *least, cap);
                    (found, policies[found.0].at_protects, "what it guards", wrong)
                }
                PolicyError::OtherOutcomes { policy, first, second } => {
                    let other = at(of(policy, first));
                    (of(policy, second)?, other, "the other limit", Wrong::mixed_outcomes(&error))
                }
                PolicyError::SettlesBesideOutcomes { policy, limit, counting } => {
                    let other = at(of(policy, limit));
                    (of(policy, counting)?, other, "settles", Wrong::mixed_outcomes(&error))
                }
                PolicyError::RefusalsAsOutcomes { policy, counting, limit } => {
                    let other = at(of(policy, limit));
                    (of(policy, counting)?, other, "refuses too", Wrong::mixed_outcomes(&error))
                }
                error => {
                    if !told {
                        self.say(FilePlace::default(), Wrong::same_counters(error));
                    }
                    return None;
                }
            };
            policies[policy].limits.remove(limit);
            self.note(place, other.map(|place| (place, what)), wrong);
        }
        None
    }
}

/// The limit that the core calls `policy/limit`: the index of its policy, its index there, and its
/// place in the file.
fn find(policies: &[CheckedPolicy], owner: &str) -> Option<(usize, usize, FilePlace)> {
    let (policy_name, name) = owner.split_once('/')?;
    let policy = policies
        .iter()
        .position(|policy| policy.name.as_ref().is_some_and(|name| name.as_str() == policy_name))?;
    let limit = policies[policy].limits.iter().position(|used| used.name().as_str() == name)?;
    Some((policy, limit, policies[policy].limits[limit].place()))
}
