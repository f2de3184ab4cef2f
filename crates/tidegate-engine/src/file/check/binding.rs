//! Checks that every limit can be the one that refuses; if not, somebody believes in a limit that
//! does nothing.

use std::collections::{HashMap, HashSet};

use tidegate_core::{Dimension, MAX_LIMITS, Name, Scope};

use super::Check;
use super::limit::Sound;
use super::policy::{CheckedPolicy, Use};
use crate::file::idle::{RuledLimit, is_idle_beside};
use crate::file::wrong::Wrong;

/// For each shared limit, the shared limits that every policy that uses it uses too.
type Companions<'p> = HashMap<&'p Name, HashSet<&'p Name>>;

/// A limit as a policy uses it.
#[derive(Clone, Copy)]
struct Used<'s> {
    sound: &'s Sound,
    is_shared: bool,
}

impl Check {
    pub(super) fn binding(&mut self, shared: &[Sound], policies: &[CheckedPolicy]) {
        let shared: HashMap<&Name, &Sound> =
            shared.iter().map(|sound| (sound.limit.name(), sound)).collect();
        let companions = companions(policies);
        // A policy with too many limits is refused for that; comparing them all would take very long.
        for policy in policies.iter().filter(|policy| policy.limits.len() <= MAX_LIMITS) {
            let given = Scope::of(policy.class.iter().map(|_| Dimension::Class));
            let limits = policy.limits.iter().filter_map(|used| match used {
                Use::Own(sound) => Some(Used { sound, is_shared: false }),
                Use::Shared(name) => {
                    shared.get(&name.value).map(|sound| Used { sound, is_shared: true })
                }
            });
            let limits: Vec<Used<'_>> = limits.collect();
            for idle in &limits {
                let refuses =
                    |other: &&Used<'_>| idle.is_pointless_beside(other, given, &companions);
                if let Some(Used { sound: other, .. }) = limits.iter().find(refuses) {
                    let wrong = Wrong::never_binds(idle.sound.limit.name(), other.limit.name());
                    let there = (other.place, "this one refuses first");
                    self.say_of_two(idle.sound.place, there, wrong);
                }
            }
        }
    }
}

// === impl Used ===

impl Used<'_> {
    fn is_pointless_beside(self, other: &Self, given: Scope, companions: &Companions<'_>) -> bool {
        if self.sound.place == other.sound.place {
            return false;
        }
        // No other policy charges a limit that is not shared.
        let name = self.sound.limit.name();
        let is_with = |all: &HashSet<&Name>| all.contains(other.sound.limit.name());
        let together =
            !self.is_shared || (other.is_shared && companions.get(name).is_some_and(is_with));
        let idle = |a: &Self, b: &Self| is_idle_beside(a.ruled(), b.ruled(), given);
        // Of two limits that imply each other, the first one stays.
        together
            && idle(&self, other)
            && (other.sound.place < self.sound.place || !idle(other, &self))
    }

    fn ruled(&self) -> RuledLimit<'_> {
        RuledLimit { limit: &self.sound.limit, shapes: &self.sound.shapes }
    }
}

fn companions(policies: &[CheckedPolicy]) -> Companions<'_> {
    let mut companions: Companions<'_> = HashMap::new();
    for policy in policies {
        let shared: HashSet<&Name> = policy
            .limits
            .iter()
            .filter(|used| matches!(used, Use::Shared(_)))
            .map(Use::name)
            .collect();
        for name in &shared {
            companions
                .entry(name)
                .and_modify(|others| others.retain(|other| shared.contains(other)))
                .or_insert_with(|| shared.clone());
        }
    }
    companions
}
