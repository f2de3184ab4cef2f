//! All policies, checked together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::plans::Plans;
use super::{
    FailureMode, LimitUse, MAX_LIMITS, Overflow, Policy, PolicyError, PolicySpec, Protects, caps,
    outcomes,
};
use crate::bundle::Bundle;
use crate::limit::Limit;
use crate::name::Name;
use crate::shape::ShapeKind;
use crate::subject::{Dimension, Scope};
use crate::time::Timestamp;

/// All policies, checked together: immutable, and replaced only as a whole.
///
/// Mistakes that would otherwise show in production are refused here:
///
/// ```
/// use tidegate_core::{FailureMode, Name, PolicyError, PolicySet, PolicySpec};
///
/// let empty = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen);
/// let refused = PolicySet::builder().policy(empty).build(None).unwrap_err();
/// assert_eq!(refused, PolicyError::NoLimits(Name::try_new("api")?), "it would limit nothing");
/// # Ok::<(), tidegate_core::NameError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    /// Sorted by name.
    pub(super) policies: Vec<Policy>,
    /// Every limit of this set and of the sets it succeeds, by identity, so that a successor can take
    /// over the limit's list of shapes. A limit that was left out may come back and find its state.
    pub(super) limits: HashMap<u64, Arc<Limit>>,
    pub(super) plans: Plans,
}

/// Policies being put together. Nothing is checked until [`build`](Self::build).
#[derive(Clone, Debug, Default)]
pub struct PolicySetBuilder {
    shared: Vec<Limit>,
    specs: Vec<PolicySpec>,
    at: Option<Timestamp>,
}

/// The most limits that a set remembers, including those of the sets it succeeds.
pub(super) const MAX_IDENTITIES: usize = 1 << 16;

// === impl PolicySetBuilder ===

impl PolicySetBuilder {
    /// Adds a limit that several policies can share, by its name ([`PolicySpec::shared_limit`]).
    #[must_use]
    pub fn shared(mut self, limit: Limit) -> Self {
        self.shared.push(limit);
        self
    }

    /// Adds a policy. The order of policies does not matter.
    #[must_use]
    pub fn policy(mut self, spec: PolicySpec) -> Self {
        self.specs.push(spec);
        self
    }

    /// Sets the time at which the set replaces an earlier one, so that it is known
    /// [later](PolicySet::forgetting) which former names of counters do not matter any more.
    #[must_use]
    pub const fn at(mut self, now: Timestamp) -> Self {
        self.at = Some(now);
        self
    }

    /// Checks the whole and builds it. State counted under `earlier`, the set that this one
    /// replaces, stays readable; without it every limit starts a new list of numbers. Plans that the
    /// earlier set has [learnt](PolicySet::learning) are forgotten, and have to be learnt again.
    ///
    /// # Errors
    ///
    /// The first thing found wrong: shared limits are checked first, then each policy with its
    /// limits in the order they were added, then the set as a whole.
    pub fn build(self, earlier: Option<&PolicySet>) -> Result<PolicySet, PolicyError> {
        let mut building = Building::succeeding(earlier, self.at);
        let mut shared = BTreeMap::new();
        for limit in self.shared {
            let name = limit.name().clone();
            let limit = building.limit("", limit)?;
            if shared.insert(name.clone(), limit).is_some() {
                return Err(PolicyError::DuplicateLimit { policy: "shared".into(), limit: name });
            }
        }
        for spec in self.specs {
            building.policy(spec, &shared)?;
        }
        if building.set.limits.len() > MAX_IDENTITIES {
            return Err(PolicyError::TooManyIdentities);
        }
        building.leave_names_to_others();
        let in_force = building.set.policies.iter().flat_map(Policy::limits);
        building.set.plans = Plans::written(in_force);
        building.set.policies.sort_by(|a, b| a.name.cmp(&b.name));
        match building.set.policies.array_windows().find(|[a, b]| a.name == b.name) {
            Some([twin, _]) => Err(PolicyError::DuplicatePolicy(twin.name.clone())),
            None => Ok(building.set),
        }
    }
}

// === impl PolicySet ===

impl PolicySet {
    /// A builder without policies yet.
    #[must_use]
    pub fn builder() -> PolicySetBuilder {
        PolicySetBuilder::default()
    }

    /// The policy with this name, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Policy> {
        self.place(name).map(|place| &self.policies[place])
    }

    /// The place of a policy among [all of them](Self::policies): a handle that is quicker than the
    /// name, for as long as the set lives.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        self.policies.binary_search_by(|policy| policy.name.as_str().cmp(name)).ok()
    }

    /// The limit with this [identity](Limit::id), if it is in this set or in a set that this one
    /// succeeds.
    #[must_use]
    pub fn limit(&self, id: u64) -> Option<&Arc<Limit>> {
        self.limits.get(&id)
    }

    /// The set without the former names under which no counter is left at `now`; `None` if there are no
    /// such names. The new set decides as this one does.
    #[must_use]
    pub fn forgetting(&self, now: Timestamp) -> Option<Self> {
        let forgetting = |limit: &Limit| limit.forgetting(now, |_, _| false);
        // Usually there is nothing to forget, and then nothing is copied.
        self.limits.values().find_map(|limit| forgetting(limit))?;
        let mut next = self.clone();
        next.change(forgetting).then_some(next)
    }

    /// Changes limits wherever they are used, and returns whether any was changed.
    fn change(&mut self, change: impl Fn(&Limit) -> Option<Limit>) -> bool {
        let changed = self.limits.values().filter_map(|limit| change(limit));
        let changed: HashMap<_, _> = changed.map(|limit| (limit.id(), Arc::new(limit))).collect();
        let any = !changed.is_empty();
        self.replace(changed);
        any
    }

    /// Replaces limits, given by their identities, wherever they are used.
    pub(super) fn replace(&mut self, limits: HashMap<u64, Arc<Limit>>) {
        for policy in &mut self.policies {
            for limit in policy.bundle.limits_mut() {
                if let Some(next) = limits.get(&limit.id()) {
                    *limit = as_used(Arc::clone(next), policy.overflow);
                }
            }
        }
        self.limits.extend(limits);
    }

    /// All policies, sorted by name.
    #[must_use]
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }
}

/// The limit as a policy with this overflow uses it. A limit that policies share may differ between them
/// in nothing else.
fn as_used(limit: Arc<Limit>, overflow: Overflow) -> Arc<Limit> {
    match limit.own_overflow().is_some() || overflow == Overflow::default() {
        true => limit,
        false => Arc::new(Limit::clone(&limit).under_overflow(overflow)),
    }
}

/// Checks that a policy may have this failure mode: an entrance has to fail closed, nothing that is not
/// critical may, and nothing critical may fail open.
fn check_failure(
    policy: &Name,
    protects: Option<Protects>,
    failure: FailureMode,
) -> Result<(), PolicyError> {
    let policy = || policy.clone();
    match protects {
        Some(protects) if protects.allows(failure) => Ok(()),
        Some(protects) if protects.is_entrance() => {
            Err(PolicyError::NotFailClosed { policy: policy(), protects, failure })
        }
        Some(Protects::Spend) => Err(PolicyError::OpenSpend(policy())),
        Some(Protects::Outbound) => Err(PolicyError::NotDegraded(policy())),
        None if failure != FailureMode::FailClosed => Ok(()),
        protects => Err(PolicyError::NotCritical { policy: policy(), protects }),
    }
}

/// A set under construction.
struct Building {
    set: PolicySet,
    /// When the set replaces the earlier one.
    at: Option<Timestamp>,
    /// The limits that use each form of key.
    keys: BTreeMap<String, Vec<KeyUse>>,
}

struct KeyUse {
    class: Option<Name>,
    id: u64,
    owner: String,
}

// === impl Building ===

impl Building {
    fn succeeding(earlier: Option<&PolicySet>, at: Option<Timestamp>) -> Self {
        let limits = earlier.map(|set| set.limits.clone()).unwrap_or_default();
        let set = PolicySet { limits, ..PolicySet::default() };
        Self { set, at, keys: BTreeMap::new() }
    }

    fn policy(
        &mut self,
        spec: PolicySpec,
        shared: &BTreeMap<Name, Arc<Limit>>,
    ) -> Result<(), PolicyError> {
        let protects = spec.guarded()?;
        let deadline = spec.deadline.unwrap_or(Protects::usual_deadline(protects));
        let PolicySpec {
            name, class, failure, overflow, fleet_size, is_stance, limits: uses, ..
        } = spec;
        check_failure(&name, protects, failure)?;
        if !PolicySpec::DEADLINES.contains(&deadline) {
            return Err(PolicyError::Deadline { policy: name, deadline });
        }
        if uses.is_empty() != is_stance {
            return Err(match is_stance {
                true => PolicyError::StanceWithLimits(name),
                false => PolicyError::NoLimits(name),
            });
        }
        if uses.len() > MAX_LIMITS {
            return Err(PolicyError::TooManyLimits(name));
        }
        let mut limits: Vec<Arc<Limit>> = Vec::with_capacity(uses.len());
        for used in uses {
            let limit = match used {
                LimitUse::Own(limit) => self.limit(name.as_str(), *limit)?,
                LimitUse::Shared(limit) => shared
                    .get(&limit)
                    .cloned()
                    .ok_or(PolicyError::UnknownShared { policy: name.clone(), limit })?,
            };
            let limit = as_used(limit, overflow);
            if let Some(protects) = protects.filter(|what| what.is_entrance())
                && limit.overflow() == Overflow::Degrade
            {
                return Err(PolicyError::DegradedEntrance { policy: name, protects });
            }
            limit.check_overflow()?;
            if limits.iter().any(|other| other.name() == limit.name()) {
                let (policy, limit) = (name.to_string(), limit.name().clone());
                return Err(PolicyError::DuplicateLimit { policy, limit });
            }
            self.claim_key(&limit, &name, class.as_ref())?;
            limits.push(limit);
        }
        caps::check(&name, protects, &limits)?;
        let outcomes = outcomes::check(&name, &limits)?;
        let counts_attempts =
            limits.iter().any(|limit| limit.shape().kind() == ShapeKind::Attempts);
        self.set.policies.push(Policy {
            name,
            class,
            protects,
            failure,
            overflow,
            deadline,
            fleet_size,
            bundle: Bundle::of(limits),
            counts_attempts,
            outcomes,
        });
        Ok(())
    }

    fn limit(&mut self, owner: &str, limit: Limit) -> Result<Arc<Limit>, PolicyError> {
        limit.check()?;
        let limit = limit.owned_by(owner);
        let earlier = self.set.limits.get(&limit.id());
        let limit = Arc::new(limit.succeeding(earlier.map(|limit| &**limit), self.at)?);
        self.set.limits.insert(limit.id(), Arc::clone(&limit));
        Ok(limit)
    }

    /// Makes every limit forget former names that another limit has now: they are that limit's alone.
    fn leave_names_to_others(&mut self) {
        let Self { set, keys, .. } = self;
        set.change(|limit| {
            let uses = keys.get(&limit.key_form()).map_or(&[][..], Vec::as_slice);
            let own = || uses.iter().filter(|used| used.id == limit.id());
            let taken = |scope: Scope, ending: &str| {
                let others =
                    keys.get(&limit.key_form_of(scope, ending)).map_or(&[][..], Vec::as_slice);
                others.iter().any(|other| own().any(|used| other.collides_with(used)))
            };
            limit.forgetting(Timestamp::ZERO, taken)
        });
    }

    /// Notes the form of a limit's keys, and refuses a form that another limit has.
    fn claim_key(
        &mut self,
        limit: &Limit,
        policy: &Name,
        class: Option<&Name>,
    ) -> Result<(), PolicyError> {
        // Where the policy is bound to no class, keys can have any class.
        let class = class.filter(|_| limit.scope().contains(Dimension::Class));
        let used = KeyUse {
            class: class.cloned(),
            id: limit.id(),
            owner: format!("{policy}/{}", limit.name()),
        };
        let form = limit.key_form();
        let uses = self.keys.entry(form.clone()).or_default();
        match uses.iter().find(|other| other.collides_with(&used)) {
            Some(other) => Err(PolicyError::SameKey {
                first: other.owner.clone(),
                second: used.owner,
                key: form,
            }),
            None => {
                uses.push(used);
                Ok(())
            }
        }
    }
}

// === impl KeyUse ===

impl KeyUse {
    fn collides_with(&self, other: &Self) -> bool {
        let same_class = self.class.is_none() || other.class.is_none() || self.class == other.class;
        self.id != other.id && same_class
    }
}
