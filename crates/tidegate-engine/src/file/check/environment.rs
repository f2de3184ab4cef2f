//! Environments: one file, other numbers in some of them.
//!
//! Everything is checked for every environment in which a limit has numbers of its own, whichever
//! was asked for: what is wrong in one environment is found even where another is deployed.

use tidegate_core::Name;
use tidegate_core::text::nearest;

use super::Check;
use super::set::Built;
use super::shape::{Numbers, numbers_of};
use crate::file::MAX_ENVIRONMENTS;
use crate::file::error::Found;
use crate::file::place::{FilePlace, Placed};
use crate::file::written::Ours;
use crate::file::written::limit::{self as written, In};
use crate::file::wrong::Wrong;

impl Check {
    /// Reads the environments that the file declares. If the one that was asked for is not among
    /// them, that is reported.
    pub(super) fn declared(&mut self, ours: &Ours, asked: Option<&str>) {
        let list = ours.environments.as_ref();
        for written in list.map_or(&[][..], |list| list.value.as_slice()) {
            let Some(name) = self.name(written) else { continue };
            if self.environments.iter().any(|declared| declared.value == name) {
                self.say(written.place, Wrong::duplicate_environment(&name));
            } else if self.environments.len() == MAX_ENVIRONMENTS {
                self.say(written.place, Wrong::too_many_environments());
                break;
            } else {
                self.environments.push(Placed { value: name, place: written.place });
            }
        }
        if let Some(asked) = asked {
            let place = list.map_or_else(FilePlace::default, |list| list.place);
            self.known_environment(asked, place);
        }
    }

    /// The policies of the environment that was asked for, or those without any; `None` if
    /// something is wrong with them. Those of all other environments are checked as well.
    pub(super) fn policies_everywhere(
        &mut self,
        ours: &Ours,
        asked: Option<&str>,
    ) -> Option<Built> {
        let mut chosen = self.policies(ours);
        for Placed { value: environment, .. } in self.environments.clone() {
            if !ours.differs_in(&environment) || self.is_enough() {
                continue;
            }
            let before = self.problems.len();
            self.environment = Some(environment.clone());
            let there = self.policies(ours);
            self.environment = None;
            self.keep_what_is_new(before, &environment);
            if asked == Some(environment.as_str()) {
                chosen = there;
            }
        }
        chosen
    }

    /// Drops problems of an environment that were found without it already, and marks the others
    /// with it.
    fn keep_what_is_new(&mut self, before: usize, environment: &Name) {
        let mut found = self.problems.split_off(before);
        let problems = &self.problems;
        found.retain(|new| {
            let same = |old: &Found| old.place == new.place && old.wrong.code() == new.wrong.code();
            !problems.iter().any(same)
        });
        for problem in &mut found {
            problem.environment = Some(environment.clone());
        }
        self.problems.append(&mut found);
    }

    /// The numbers of a limit in the environment that is being checked: the usual ones, unless it
    /// has others there. `None` if they are wrong.
    pub(super) fn numbers_here(
        &mut self,
        limit: &written::WrittenLimit,
        usual: Option<Placed<Numbers>>,
    ) -> Option<Placed<Numbers>> {
        let Some(Placed { value: In(all), place }) = &limit.elsewhere else { return usual };
        let Some(environment) = self.environment.clone() else {
            for name in all.keys() {
                self.known_environment(&name.value, name.place);
            }
            if all.is_empty() {
                let message = "no environment is named here; name one, or remove `in`";
                self.say(*place, Wrong::bad_value(message));
            }
            return usual;
        };
        let here = all.iter().find(|(name, _)| name.value == environment.as_str());
        let Some((name, numbers)) = here else { return usual };
        let owner = format!("environment `{environment}`");
        let given = self.one_shape((&owner, name.place), numbers_of!(numbers.value))?;
        self.made_whole(&owner, given, usual.as_ref())
    }

    /// Reports an environment that is not declared.
    fn known_environment(&mut self, name: &str, place: FilePlace) {
        let declared = self.environments.iter().map(|declared| declared.value.as_str());
        if !declared.clone().any(|declared| declared == name) {
            let meant = declared.filter(|_| self.suggests());
            let wrong = Wrong::unknown_environment(name, nearest(name, meant));
            self.say(place, wrong);
        }
    }
}

// === impl Ours ===

impl Ours {
    /// Whether any limit has numbers of its own in an environment.
    fn differs_in(&self, environment: &Name) -> bool {
        let differs = |limit: &written::WrittenLimit| {
            let mut elsewhere = limit.elsewhere.iter().flat_map(|all| all.value.0.keys());
            elsewhere.any(|name| name.value == environment.as_str())
        };
        let policies = self.policies.as_ref().map_or(&[][..], |list| list.value.as_slice());
        let limits = policies.iter().filter_map(|policy| policy.value.limits.as_ref());
        let mut own = limits.flat_map(|limits| &limits.value).map(|limit| &limit.value);
        let shared = self.shared.as_deref().unwrap_or_default();
        shared.iter().any(|limit| differs(&limit.value.0)) || own.any(differs)
    }
}
