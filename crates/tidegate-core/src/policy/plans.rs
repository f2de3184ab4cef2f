//! Plans: numbers that are chosen by what the host knows about the caller.
//!
//! Limits that are kept in a database or come with a claim are numbers under a name: the plan. A set
//! is taught them once, as overrides of that name, and from then on a request brings the name alone.
//! So nothing is looked up or built while a request is decided, the number of plans is bounded, and a
//! counter keeps its place whichever plan its owner has.

use std::collections::HashMap;
use std::sync::Arc;

use super::set::PolicySet;
use super::{Policy, PolicyError, caps, outcomes};
use crate::limit::Limit;
use crate::name::Name;
use crate::overrides::Override;
use crate::shape::{Shape, ShapeKind};
use crate::subject::Dimension;

/// The longest name of a plan that is learnt, in bytes.
pub(super) const MAX_PLAN: usize = 256;

/// The most plans that one set learns, not counting those that are written in its policies.
pub(super) const MAX_PLANS: usize = 256;

/// The plans that a set has exact numbers for.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans {
    /// The names of the plans, sorted.
    known: Vec<Box<[u8]>>,
    /// How many of the known plans were learnt.
    learnt: usize,
}

// === impl Plans ===

impl Plans {
    /// The plans that are named exactly by overrides of these limits.
    pub(super) fn written<'l>(limits: impl Iterator<Item = &'l Arc<Limit>>) -> Self {
        let mut known: Vec<Box<[u8]>> =
            limits.flat_map(|limit| limit.exact_plans()).map(Into::into).collect();
        known.sort_unstable();
        known.dedup();
        Self { known, learnt: 0 }
    }

    fn place(&self, plan: &str) -> Result<usize, usize> {
        self.known.binary_search_by(|known| (**known).cmp(plan.as_bytes()))
    }
}

// === impl PolicySet ===

impl PolicySet {
    /// Whether the set has numbers for this plan: it was [learnt](Self::learning) by this very set, or
    /// some limit is written with an override of its exact name.
    #[must_use]
    pub fn knows_plan(&self, plan: &str) -> bool {
        self.plans.place(plan).is_ok()
    }

    /// A successor of this set that knows a plan: every limit with one of these names and of the same
    /// kind of shape has these numbers for requests with the [plan](crate::Subject::plan). A limit that
    /// is written with numbers for the plan keeps those, and a limit that is not named keeps its usual
    /// ones. State counted so far stays readable.
    ///
    /// ```
    /// use tidegate_core::{
    ///     Bucket, Dimension, FailureMode, Limit, Name, PolicySet, PolicySpec, Rate, Scope, Shape,
    /// };
    ///
    /// let bucket = |per_second| Ok::<_, tidegate_core::ShapeError>(
    ///     Shape::Bucket(Bucket::try_new(Rate::per_second(per_second)?, 2 * per_second)?),
    /// );
    /// let burst = Name::try_new("burst")?;
    /// let limit = Limit::new(burst.clone(), Scope::of([Dimension::Org]), bucket(10)?);
    /// let api = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen).limit(limit);
    /// let set = PolicySet::builder().policy(api).build(None)?;
    ///
    /// let taught = set.learning("gold", &[(burst, bucket(100)?)])?;
    /// assert!(taught.knows_plan("gold") && !set.knows_plan("gold"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If numbers are for a name that no limit has or for another shape, if they are wrong for a limit,
    /// if there are too many plans, or if the text cannot be the name of a plan.
    pub fn learning(&self, plan: &str, numbers: &[(Name, Shape)]) -> Result<Self, PolicyError> {
        if plan.is_empty() || plan.len() > MAX_PLAN {
            return Err(PolicyError::PlanText { bytes: plan.len() });
        }
        // Names of plans come with requests, so a refusal must not cost a copy of the set.
        let place = self.plans.place(plan).err();
        if place.is_some() && self.plans.learnt == MAX_PLANS {
            return Err(PolicyError::TooManyPlans);
        }
        self.all_matched(plan, numbers)?;
        let taught = self.taught(plan, numbers)?;
        let mut next = self.clone();
        if let Some(place) = place {
            next.plans.known.insert(place, plan.as_bytes().into());
            next.plans.learnt += 1;
        }
        next.replace(taught);
        Ok(next)
    }

    /// The limits that a plan changes, by identity, so that a limit that policies share stays one limit.
    fn taught(
        &self,
        plan: &str,
        numbers: &[(Name, Shape)],
    ) -> Result<HashMap<u64, Arc<Limit>>, PolicyError> {
        let mut taught: HashMap<u64, Arc<Limit>> = HashMap::new();
        for policy in &self.policies {
            for limit in policy.limits() {
                if !taught.contains_key(&limit.id())
                    && let Some(with_plan) = with_plan(limit, plan, numbers)?
                {
                    taught.insert(limit.id(), Arc::new(with_plan));
                }
            }
            let limit = |limit: &Arc<Limit>| taught.get(&limit.id()).unwrap_or(limit).clone();
            if policy.limits().iter().any(|limit| taught.contains_key(&limit.id())) {
                let limits: Vec<_> = policy.limits().iter().map(limit).collect();
                caps::check(&policy.name, policy.protects, &limits)?;
                outcomes::check(&policy.name, &limits)?;
            }
        }
        Ok(taught)
    }

    /// Refuses numbers for which there is no limit of that name and kind of shape.
    fn all_matched(&self, plan: &str, numbers: &[(Name, Shape)]) -> Result<(), PolicyError> {
        let takes = |name: &Name, kind: ShapeKind| {
            let mut limits = self.policies.iter().flat_map(Policy::limits);
            limits.any(|limit| limit.name() == name && limit.shape().kind() == kind)
        };
        let named = numbers.iter().map(|(name, shape)| (name.clone(), shape.kind()));
        let limits: Vec<(Name, ShapeKind)> =
            named.filter(|(name, kind)| !takes(name, *kind)).collect();
        match limits.is_empty() {
            true => Ok(()),
            false => Err(PolicyError::UnmatchedNumbers { plan: plan.to_owned(), limits }),
        }
    }
}

/// The limit with the numbers of a plan; `None` if the plan does not change it.
fn with_plan(
    limit: &Limit,
    plan: &str,
    numbers: &[(Name, Shape)],
) -> Result<Option<Limit>, PolicyError> {
    if limit.exact_plans().any(|written| written == plan.as_bytes()) {
        return Ok(None);
    }
    let mut taught = None;
    for (name, shape) in numbers {
        if name != limit.name() || shape.kind() != limit.shape().kind() {
            continue;
        }
        let named = limit.name().clone();
        let rule = Override::exact(Dimension::Plan, plan, shape.clone())
            .map_err(|error| crate::LimitError::Override { limit: named, error })?;
        // Numbers given twice for a limit are refused, as two overrides of one value are.
        taught = Some(taught.unwrap_or_else(|| limit.clone()).overridden(rule)?);
    }
    taught.iter().try_for_each(Limit::check)?;
    Ok(taught)
}

#[cfg(test)]
mod tests;
