//! Merging allowances: field by field towards the stricter.
//!
//! A route, the upstream behind it and the tenants above may each have a bucket. The route's runs
//! at the merged numbers; the others keep their own, so that an upstream caps the sum of its
//! routes and an enforcing tenant the sum of its descendants, not each of them.

use crate::cost::CostRule;
use crate::shape::Bucket;

/// A rate, a burst and what a request takes: what [`tighten`] merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The rate and the burst: how fast, and how much at once.
    pub bucket: Bucket,
    /// What a request takes from the bucket. The larger cost is the stricter one.
    pub cost: CostRule,
}

/// How far a tenant's allowance reaches down the hierarchy; [`effective`] follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The allowance is for the tenant alone, and invisible to its descendants.
    Private,
    /// Descendants without an allowance use this one; for the others it is merged with theirs.
    Inherit,
    /// The allowance is always merged with that of descendants. The tenant's own bucket is
    /// [charged](crate::charges) too, so that it caps the sum of its descendants, which merging cannot
    /// do.
    Enforce,
}

/// Merges two allowances, field by field: the slower rate, the smaller burst, the larger cost.
///
/// ```
/// use tidegate_core::{Allowance, Bucket, CostRule, Rate, tighten};
///
/// let allowance = |rate, burst| -> Result<_, tidegate_core::ShapeError> {
///     Ok(Allowance { bucket: Bucket::try_new(rate, burst)?, cost: CostRule::default() })
/// };
/// let route = allowance(Rate::per_second(100)?, 100)?;
/// let upstream = allowance(Rate::per_minute(3_000)?, 500)?;
/// assert_eq!(tighten(route, upstream), allowance(Rate::per_minute(3_000)?, 100)?);
/// # Ok::<(), tidegate_core::ShapeError>(())
/// ```
#[must_use]
pub fn tighten(a: Allowance, b: Allowance) -> Allowance {
    Allowance { bucket: a.bucket.stricter(&b.bucket), cost: dearer(a.cost, b.cost) }
}

/// The allowance in force on a route: its own, tightened by the upstream's and by every ancestor's
/// that is not [private](Sharing::Private). `None` if there is no allowance. The order of the
/// ancestors does not matter. An example is in [chapter 8](crate::book::ch8_changing_numbers).
#[must_use]
pub fn effective(
    route: Option<Allowance>,
    upstream: Option<Allowance>,
    ancestors: &[(Sharing, Allowance)],
) -> Option<Allowance> {
    let visible = ancestors.iter().filter(|(sharing, _)| *sharing != Sharing::Private);
    let all = route.into_iter().chain(upstream).chain(visible.map(|(_, allowance)| *allowance));
    all.reduce(tighten)
}

fn dearer(a: CostRule, b: CostRule) -> CostRule {
    use CostRule::{PerRequest, PerUnit};
    let most = a.factor().max(b.factor());
    match (a, b) {
        (PerRequest(_), PerRequest(_)) => PerRequest(most),
        // A request weighs at least one, so counting by weight is never the cheaper rule.
        _ => PerUnit(most),
    }
}
