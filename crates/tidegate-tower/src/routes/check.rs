//! Checks routes against policies: limits that would never apply, or would apply to the wrong callers.

use tidegate_core::{Dimension, Limit, Name, Policy, PolicySet, Protects};

use super::{Class, Routes};

/// Why policies cannot decide about these routes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// A class names a policy that does not exist.
    #[error("class `{class}` is decided by policy `{policy}`, which does not exist")]
    NoPolicy {
        /// The class.
        class: Name,
        /// The policy.
        policy: Name,
    },
    /// A limit counts by something that is not known before authentication.
    #[error(
        "policy `{policy}` decides before authentication, but its limit `{limit}` counts by \
         `{by}`, which is not known then; count by `ip`, `class`, `route` or `agent`"
    )]
    NotKnownYet {
        /// The policy.
        policy: Name,
        /// The limit.
        limit: Name,
        /// The dimension that is not known.
        by: &'static str,
    },
    /// All strangers would share one bucket of a limit.
    #[error(
        "policy `{policy}` decides before authentication, but its limit `{limit}` does not count by \
         address: one client could exhaust it for everybody; add `ip` to what it counts by"
    )]
    SharedByStrangers {
        /// The policy.
        policy: Name,
        /// The limit.
        limit: Name,
    },
    /// Organisations would share one bucket of a limit.
    #[error(
        "policy `{policy}` decides about organisations, but its limit `{limit}` does not count by \
         `org`: one organisation could exhaust it for the others; add `org` to what it counts by"
    )]
    SharedByOrgs {
        /// The policy.
        policy: Name,
        /// The limit.
        limit: Name,
    },
    /// An entrance is decided by a policy that guards none, so that an outage could open it.
    #[error(
        "class `{class}` is an entrance (`{}`), but policy `{policy}`, which decides about it, protects \
         {}: an outage of the store could be a way in; write `failure_mode: fail_closed` and \
         `protects: {}` in that policy, or let a policy like that decide",
        .stands_for.name(), protected(*.protects), .stands_for.name()
    )]
    OpenEntrance {
        /// The class.
        class: Name,
        /// The entrance that the class stands for.
        stands_for: Protects,
        /// The policy that has the last word: behind authentication, or early if there is no other.
        policy: Name,
        /// What the policy protects, if it names anything.
        protects: Option<Protects>,
    },
    /// No limit of a policy is certain to apply.
    #[error(
        "policy `{policy}`: no limit of it is certain to apply; add one by `{by}` alone, or with \
         `class`, `route` or `ip`"
    )]
    MayNotApply {
        /// The policy.
        policy: Name,
        /// The dimension that everybody has: `ip` before authentication, `org` behind it.
        by: &'static str,
    },
}

/// The dimensions that are known of every request before authentication.
const EARLY: [Dimension; 5] =
    [Dimension::Ip, Dimension::Ip56, Dimension::Ip48, Dimension::Class, Dimension::Route];

// === impl Routes ===

impl Routes {
    /// Checks that these policies limit the requests of every class, and by the right dimensions.
    ///
    /// # Errors
    ///
    /// The first fault that is found.
    pub(crate) fn check(&self, policies: &PolicySet) -> Result<(), Unfit> {
        self.classes.iter().try_for_each(|class| class.check(policies).map_err(|(_, unfit)| unfit))
    }

    /// The fault of each class that these policies cannot decide about, with the name of the class and
    /// the field that names the policy at fault.
    pub(crate) fn unfit(&self, policies: &PolicySet) -> Vec<(Name, &'static str, Unfit)> {
        let unfit = |class: &Class| {
            class.check(policies).err().map(|(stage, unfit)| (class.name.clone(), stage, unfit))
        };
        self.classes.iter().filter_map(unfit).collect()
    }
}

// === impl Class ===

impl Class {
    /// Checks the policies of this class; an error comes with the field that names the policy.
    fn check(&self, policies: &PolicySet) -> Result<(), (&'static str, Unfit)> {
        let at = |field: &'static str| move |unfit: Unfit| (field, unfit);
        let (mut deciding, mut field) = (find(policies, self, &self.early), "early");
        deciding = deciding.and_then(|policy| early(policy).map(|()| policy));
        if let (Ok(_), Some(policy)) = (&deciding, &self.policy) {
            field = "policy";
            deciding = find(policies, self, policy).and_then(|policy| org(policy).map(|()| policy));
        }
        deciding.and_then(|policy| self.check_entrance(policy)).map_err(at(field))
    }

    /// Whether a policy may have the last word about requests of this class. At an entrance it has to
    /// guard an entrance, whichever: then it fails closed. One in front of another may guard anything.
    pub(crate) fn check_entrance(&self, policy: &Policy) -> Result<(), Unfit> {
        let is_entrance = |what: &Protects| what.is_entrance();
        let Some(stands_for) = Protects::of_class(&self.name).filter(is_entrance) else {
            return Ok(());
        };
        match policy.protects() {
            Some(what) if what.is_entrance() => Ok(()),
            protects => {
                let (class, policy) = (self.name.clone(), policy.name().clone());
                Err(Unfit::OpenEntrance { class, stands_for, policy, protects })
            }
        }
    }
}

/// What a policy guards, in the words of an error.
fn protected(what: Option<Protects>) -> String {
    what.map_or_else(|| "nothing in particular".to_owned(), |what| format!("`{}`", what.name()))
}

fn find<'p>(policies: &'p PolicySet, class: &Class, policy: &Name) -> Result<&'p Policy, Unfit> {
    let missing = || Unfit::NoPolicy { class: class.name.clone(), policy: policy.clone() };
    policies.get(policy.as_str()).ok_or_else(missing)
}

fn early(policy: &Policy) -> Result<(), Unfit> {
    for limit in policy.limits() {
        let known = |by: &Dimension| EARLY.contains(by) || *by == Dimension::Agent;
        if let Some(by) = limit.scope().dimensions().find(|by| !known(by)) {
            let (policy, limit) = (policy.name().clone(), limit.name().clone());
            return Err(Unfit::NotKnownYet { policy, limit, by: by.name() });
        }
        if !limit.scope().dimensions().any(|by| by.prefix_length().is_some()) {
            let (policy, limit) = (policy.name().clone(), limit.name().clone());
            return Err(Unfit::SharedByStrangers { policy, limit });
        }
    }
    certain(policy, "ip", |by| EARLY.contains(&by))
}

fn org(policy: &Policy) -> Result<(), Unfit> {
    for limit in policy.limits() {
        if !limit.scope().contains(Dimension::Org) {
            let (policy, limit) = (policy.name().clone(), limit.name().clone());
            return Err(Unfit::SharedByOrgs { policy, limit });
        }
    }
    certain(policy, "org", |by| by == Dimension::Org || EARLY.contains(&by))
}

/// Checks that some limit of a policy applies to everybody and can refuse.
fn certain(
    policy: &Policy,
    by: &'static str,
    known: impl Fn(Dimension) -> bool,
) -> Result<(), Unfit> {
    let applies = |limit: &Limit| {
        let to_everybody = limit.exempt().is_none() && !limit.is_only_ipv6();
        limit.scope().dimensions().all(&known) && to_everybody && !limit.is_shadow()
    };
    match policy.limits().iter().any(|limit| applies(limit)) {
        true => Ok(()),
        false => Err(Unfit::MayNotApply { policy: policy.name().clone(), by }),
    }
}
