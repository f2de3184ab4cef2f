//! The policies that Tidegate is measured under, made of limits.

use tidegate_core::{
    Bucket, Counts, Dimension, FailureMode, Limit, Name, Period, PolicySet, PolicySpec, Quota,
    Rate, Scope, Shape, Span,
};

use crate::Fallible;

/// A set of one policy, which has these limits.
pub(crate) fn policy(limits: Vec<Limit>) -> Fallible<PolicySet> {
    // The deadline is the longest allowed, so that slow requests are measured, not cut off.
    let spec = PolicySpec::new(Name::try_new("bench")?, FailureMode::FailOpen)
        .deadline(*PolicySpec::DEADLINES.end());
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    Ok(PolicySet::builder().policy(spec).build(None)?)
}

pub(crate) fn limit(name: &str, scope: &[Dimension], shape: Shape) -> Fallible<Limit> {
    Ok(Limit::new(Name::try_new(name)?, Scope::of(scope.iter().copied()), shape))
}

/// A bucket of `burst` tokens, of which `count` come back in each `per`.
pub(crate) fn bucket(count: u64, per: Span, burst: u64) -> Fallible<Shape> {
    Ok(Shape::Bucket(Bucket::try_new(Rate::try_new(count, per)?, burst)?))
}

/// A quota of `count` in each `period`.
pub(crate) fn quota(count: u64, period: Period) -> Fallible<Shape> {
    Ok(Shape::Quota(Quota::try_new(count, period, Counts::Admitted)?))
}
