//! All policies, checked together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{FailureMode, LimitUse, MAX_LIMITS, Policy, PolicySpec, Protects};
use super::{caps, outcomes};
use crate::failover::Cap;
use crate::limit::{Limit, LimitError};
use crate::name::Name;
use crate::shape::Kind;
use crate::subject::Dimension;
use crate::time::Span;

/// All policies: checked, immutable, swapped whole.
///
/// What would be found out in production is refused here:
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
    policies: Vec<Policy>,
    /// Every limit of this set and of those it succeeds, by identity, so that a successor can take
    /// over its list of shapes. A limit that was left out may come back and find its state.
    limits: HashMap<u64, Arc<Limit>>,
}

/// Policies being put together. Nothing is checked until [`build`](Self::build).
#[derive(Clone, Debug, Default)]
pub struct PolicySetBuilder {
    shared: Vec<Limit>,
    specs: Vec<PolicySpec>,
}

/// Why policies do not make a set. Each message says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Two policies of one name.
    #[error("two policies are named `{0}`; names select policies, so each needs its own")]
    DuplicatePolicy(Name),
    /// Two limits of one name in one policy, or among the shared ones.
    #[error("two limits of `{policy}` are named `{limit}`; give one of them another name")]
    DuplicateLimit {
        /// The policy, or `shared`.
        policy: String,
        /// The limit.
        limit: Name,
    },
    /// A policy without limits.
    #[error("policy `{0}` has no limits, so it would admit everything; give it one")]
    NoLimits(Name),
    /// More limits than one decision can charge.
    #[error("policy `{0}` has more than {MAX_LIMITS} limits, the most one decision can charge")]
    TooManyLimits(Name),
    /// An entrance that would not deny when its store fails.
    #[error(
        "policy `{policy}` protects `{}` and must not be `{}`: an outage of the store would be a way \
         in; write `fail_closed`",
        .protects.name(), .failure.name()
    )]
    NotFailClosed {
        /// The policy.
        policy: Name,
        /// What it guards.
        protects: Protects,
        /// What it would do.
        failure: FailureMode,
    },
    /// A deadline for the store that is no time at all, or so long that an outage is noticed too late.
    #[error(
        "policy `{policy}` gives its store {deadline}, but a deadline is at least {} and at most {}: \
         three failures one after another have to be noticed within 10s; write for example 100ms",
        PolicySpec::DEADLINES.start(), PolicySpec::DEADLINES.end()
    )]
    Deadline {
        /// The policy.
        policy: Name,
        /// What it says.
        deadline: Span,
    },
    /// A policy that would be looser in an outage than without one.
    #[error(
        "limit `{limit}` of policy `{policy}` lets {admits} attempts in {} through, but while the \
         store is down a policy that protects `{}` admits {} for each `{}`: that must be less than \
         when all is well; raise the limit",
        .cap.per, .protects.name(), .cap.count, .cap.by
    )]
    NotAboveCap {
        /// The policy.
        policy: Name,
        /// The limit.
        limit: Name,
        /// What it guards.
        protects: Protects,
        /// How many attempts the limit lets through in the time of the cap.
        admits: u64,
        /// The locked cap.
        cap: Cap,
    },
    /// A shared limit that is not there.
    #[error("policy `{policy}` uses the shared limit `{limit}`, which is not defined")]
    UnknownShared {
        /// The policy.
        policy: Name,
        /// The limit it names.
        limit: Name,
    },
    /// Two limits whose counters would be one.
    #[error(
        "limits `{first}` and `{second}` would share the counters `{key}`; share one limit \
         between the policies if that is meant, or put the limit's name into the key of one"
    )]
    SameKey {
        /// One limit.
        first: String,
        /// The other.
        second: String,
        /// The form of the key: names of dimensions in place of values.
        key: String,
    },
    /// Two limits of one policy that count by different outcomes.
    #[error(
        "limits `{first}` and `{second}` of policy `{policy}` count by different outcomes, but a \
         request is given back to all of them or to none; give them the same status codes, or put \
         one into a policy of its own"
    )]
    OtherOutcomes {
        /// The policy.
        policy: Name,
        /// One limit.
        first: Name,
        /// The other.
        second: Name,
    },
    /// A limit that is settled for another reason than the outcome, beside one that counts by it.
    #[error(
        "limit `{limit}` of policy `{policy}` settles, and `{counting}` counts by outcome, but a \
         ticket settles both by one weight; put one into a policy of its own"
    )]
    SettlesBesideOutcomes {
        /// The policy.
        policy: Name,
        /// The limit that settles.
        limit: Name,
        /// The limit that counts by outcome.
        counting: Name,
    },
    /// A limit by outcome that counts what others refuse, which has no such outcome.
    #[error(
        "limit `{counting}` of policy `{policy}` counts by outcome, but refused attempts too, so \
         that each refusal by `{limit}` would count and never be given back; let it count admitted \
         requests or climb a ladder, or put it into a policy of its own"
    )]
    RefusalsAsOutcomes {
        /// The policy.
        policy: Name,
        /// The limit that counts by outcome.
        counting: Name,
        /// The other limit.
        limit: Name,
    },
    /// More limits than are remembered, those that came and went over all reloads included.
    #[error(
        "there have been {MAX_IDENTITIES} different limits since the start, the most that are \
         told apart; restart to begin anew"
    )]
    TooManyIdentities,
    /// A limit that is wrong by itself.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// How many limits a set remembers, those of the sets it succeeds included.
const MAX_IDENTITIES: usize = 1 << 16;

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

    /// Checks the whole and builds it. State counted under `earlier`, the set that this one
    /// replaces, stays readable; without it every limit starts a new list of numbers.
    ///
    /// # Errors
    ///
    /// The first thing found wrong: shared limits are checked first, then each policy with its
    /// limits in the order they were added, then the set as a whole.
    pub fn build(self, earlier: Option<&PolicySet>) -> Result<PolicySet, PolicyError> {
        let mut building = Building::succeeding(earlier);
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
        building.set.policies.sort_by(|a, b| a.name.cmp(&b.name));
        match building.set.policies.array_windows().find(|[a, b]| a.name == b.name) {
            Some([twin, _]) => Err(PolicyError::DuplicatePolicy(twin.name.clone())),
            None => Ok(building.set),
        }
    }
}

// === impl PolicySet ===

impl PolicySet {
    /// No policies yet, to be added one by one.
    #[must_use]
    pub fn builder() -> PolicySetBuilder {
        PolicySetBuilder::default()
    }

    /// The policy of a name, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Policy> {
        self.place(name).map(|place| &self.policies[place])
    }

    /// The place of a policy among all of them: a handle that is quicker than the name, for as
    /// long as the set lives.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        self.policies.binary_search_by(|policy| policy.name.as_str().cmp(name)).ok()
    }

    /// The limit of an [identity](Limit::id), if it is in this set or was in one it succeeds.
    #[must_use]
    pub fn limit(&self, id: u64) -> Option<&Arc<Limit>> {
        self.limits.get(&id)
    }

    /// All policies, sorted by name.
    #[must_use]
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }
}

/// A set under construction.
struct Building {
    set: PolicySet,
    /// The limits that use each form of key: for which class, if for one only, and whose they are.
    keys: BTreeMap<String, Vec<KeyUse>>,
}

struct KeyUse {
    class: Option<Name>,
    id: u64,
    owner: String,
}

// === impl Building ===

impl Building {
    fn succeeding(earlier: Option<&PolicySet>) -> Self {
        let limits = earlier.map(|set| set.limits.clone()).unwrap_or_default();
        Self { set: PolicySet { policies: Vec::new(), limits }, keys: BTreeMap::new() }
    }

    fn policy(
        &mut self,
        spec: PolicySpec,
        shared: &BTreeMap<Name, Arc<Limit>>,
    ) -> Result<(), PolicyError> {
        let protects = spec.guarded();
        let deadline = spec.deadline.unwrap_or(Protects::usual_deadline(protects));
        let PolicySpec { name, class, failure, overflow, limits: uses, .. } = spec;
        if let Some(protects) = protects.filter(|what| !what.allows(failure)) {
            return Err(PolicyError::NotFailClosed { policy: name, protects, failure });
        }
        if !PolicySpec::DEADLINES.contains(&deadline) {
            return Err(PolicyError::Deadline { policy: name, deadline });
        }
        if uses.is_empty() {
            return Err(PolicyError::NoLimits(name));
        }
        if uses.len() > MAX_LIMITS {
            return Err(PolicyError::TooManyLimits(name));
        }
        let mut limits: Vec<Arc<Limit>> = Vec::with_capacity(uses.len());
        for used in uses {
            let limit = match used {
                LimitUse::Own(limit) => self.limit(name.as_str(), limit)?,
                LimitUse::Shared(limit) => shared
                    .get(&limit)
                    .cloned()
                    .ok_or(PolicyError::UnknownShared { policy: name.clone(), limit })?,
            };
            if limits.iter().any(|other| other.name() == limit.name()) {
                let (policy, limit) = (name.to_string(), limit.name().clone());
                return Err(PolicyError::DuplicateLimit { policy, limit });
            }
            self.claim_key(&limit, &name, class.as_ref())?;
            limits.push(limit);
        }
        caps::check(&name, protects, &limits)?;
        let outcomes = outcomes::check(&name, &limits)?;
        let settles = limits.iter().any(|limit| limit.settles());
        let counts_attempts = limits.iter().any(|limit| limit.shape().kind() == Kind::Attempts);
        self.set.policies.push(Policy {
            name,
            class,
            protects,
            failure,
            overflow,
            deadline,
            limits,
            settles,
            counts_attempts,
            outcomes,
        });
        Ok(())
    }

    fn limit(&mut self, owner: &str, limit: Limit) -> Result<Arc<Limit>, PolicyError> {
        limit.check()?;
        let limit = limit.owned_by(owner);
        let earlier = self.set.limits.get(&limit.id());
        let limit = Arc::new(limit.succeeding(earlier.map(|limit| &**limit))?);
        self.set.limits.insert(limit.id(), Arc::clone(&limit));
        Ok(limit)
    }

    /// Two limits may have keys of the same form only if they are one limit.
    fn claim_key(
        &mut self,
        limit: &Limit,
        policy: &Name,
        class: Option<&Name>,
    ) -> Result<(), PolicyError> {
        // A class the policy is not bound to is any class.
        let class = class.filter(|_| limit.scope().contains(Dimension::Class));
        let used = KeyUse {
            class: class.cloned(),
            id: limit.id(),
            owner: format!("{policy}/{}", limit.name()),
        };
        let form = key_form(limit);
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

/// A limit's keys with names of dimensions in place of values: `rl:{org}:user:class:w60s`.
fn key_form(limit: &Limit) -> String {
    let mut names = limit.scope().dimensions().map(Dimension::name);
    let mut form = format!("{}:{{{}}}", limit.family(), names.next().unwrap_or("*"));
    for name in names {
        form.extend([":", name]);
    }
    // Writing to a string cannot fail.
    let _ = limit.write_key_suffix(&mut form);
    form
}
