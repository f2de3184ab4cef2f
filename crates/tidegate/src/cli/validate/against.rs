//! Finds the limits that would begin anew if nodes were restarted with another policy file.
//!
//! A node that reloads a file knows the one before, and carries over what was counted. A node that is
//! restarted knows the new file alone: in a shared store it finds what was counted under the names that
//! its limits have now, and nothing else.

use std::collections::HashSet;

use tidegate_core::{Dimension, Limit, Policy, PolicySet, ShapeKind};

/// The limits of `new` that begin anew if nodes that served `old` are restarted with it: each as
/// `api/burst`, and why its counters are not found, and whether a reload would help.
pub(super) fn begin_anew(old: &PolicySet, new: &PolicySet) -> Vec<(String, String)> {
    let counters: HashSet<_> = limits(old).map(|(policy, limit)| counter(policy, limit)).collect();
    let mut told = HashSet::new();
    limits(new)
        .filter(|(policy, limit)| !counters.contains(&counter(policy, limit)))
        // A limit that several policies share is listed once.
        .filter(|(_, limit)| told.insert(limit.id()))
        .map(|(policy, limit)| {
            let name = format!("{}/{}", policy.name(), limit.name());
            (name, why(old.get(policy.name().as_str()), limit))
        })
        .collect()
}

fn limits(set: &PolicySet) -> impl Iterator<Item = (&Policy, &Limit)> {
    set.policies()
        .iter()
        .flat_map(|policy| policy.limits().iter().map(move |limit| (policy, &**limit)))
}

/// What a store finds the counters of a limit by: the form of their keys, their shape, and the class.
fn counter(policy: &Policy, limit: &Limit) -> (String, ShapeKind, Option<String>) {
    let class = policy.class().filter(|_| limit.scope().contains(Dimension::Class));
    (limit.key_form(), limit.shape().kind(), class.map(ToString::to_string))
}

/// Why the counters of `limit` are not found, given the policy as it was before.
fn why(before: Option<&Policy>, limit: &Limit) -> String {
    let same_name = |policy: &Policy| {
        policy.limits().iter().find(|before| before.name() == limit.name()).cloned()
    };
    let Some(before) = before.and_then(same_name) else {
        return "it is new, or had another name".to_owned();
    };
    let (was, is) = (before.shape().kind().name(), limit.shape().kind().name());
    if was != is {
        return format!("it was a {was} and is a {is} now; a reload does not help");
    }
    let (was, is) = (before.scope(), limit.scope());
    if was != is {
        return format!("it counted by {was} and counts by {is} now; a reload does not help");
    }
    let (was, is) = (before.key_form(), limit.key_form());
    if was == is {
        return "its policy has another class now; a reload does not help".to_owned();
    }
    format!("its keys were {was} and are {is} now; reload the file instead, and it goes on")
}
