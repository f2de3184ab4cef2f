//! Limits that count by outcome, within one policy.
//!
//! A ticket settles everything on it by one weight. So a limit that gives a request back because of its
//! answer must not be on the same ticket as a limit that is settled for another reason.

use std::sync::Arc;

use super::PolicyError;
use crate::limit::Limit;
use crate::name::Name;
use crate::outcome::Outcomes;
use crate::shape::Shape;

/// Checks the limits of a policy that count by outcome, and returns the outcomes that all of them count;
/// `None` if no limit counts by outcome.
pub(super) fn check(policy: &Name, limits: &[Arc<Limit>]) -> Result<Option<Outcomes>, PolicyError> {
    let (counting, others): (Vec<_>, Vec<_>) =
        limits.iter().partition(|limit| limit.outcomes().is_some());
    let Some((first, outcomes)) =
        counting.first().and_then(|limit| limit.outcomes().map(|set| (limit, *set)))
    else {
        return Ok(None);
    };
    let policy = policy.clone();
    if let Some(second) = counting.iter().find(|limit| limit.outcomes() != Some(&outcomes)) {
        let (first, second) = (first.name().clone(), second.name().clone());
        return Err(PolicyError::OtherOutcomes { policy, first, second });
    }
    if let Some(limit) = others.iter().find(|limit| limit.settles()) {
        let (limit, counting) = (limit.name().clone(), first.name().clone());
        return Err(PolicyError::SettlesBesideOutcomes { policy, limit, counting });
    }
    // A request that another limit refuses has no such outcome, and no ticket to give it back by.
    let of_attempts = |limit: &&&Arc<Limit>| limit.in_force().any(Shape::counts_attempts);
    let refusing = others.iter().find(|limit| limit.is_firm());
    if let Some((counting, limit)) = counting.iter().find(of_attempts).zip(refusing) {
        let (counting, limit) = (counting.name().clone(), limit.name().clone());
        return Err(PolicyError::RefusalsAsOutcomes { policy, counting, limit });
    }
    Ok(Some(outcomes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{FailureMode, PolicySet, PolicySpec};
    use crate::{
        Attempts, Counts, Dimension, Ladder, LimitError, Policy, Scope, Span, Threshold, Window,
    };

    fn name(text: &str) -> Name {
        Name::try_new(text).unwrap()
    }

    fn limit(title: &str, shape: Shape) -> Limit {
        Limit::new(name(title), Scope::of([Dimension::Token]), shape).with_named_key()
    }

    fn window(counts: Counts) -> Shape {
        Shape::Window(Window::try_new(5, Span::MINUTE, counts).unwrap())
    }

    fn two_windows() -> Shape {
        let temp = Threshold { block_at: 3, per: Span::MINUTE, block: Span::MINUTE };
        Shape::Attempts(Attempts::try_new(temp, None).unwrap())
    }

    fn ladder() -> Shape {
        Shape::Attempts(Attempts::climbing(3, Span::MINUTE, Ladder::default()).unwrap())
    }

    fn built(limits: impl IntoIterator<Item = Limit>) -> Result<Policy, PolicyError> {
        let spec = PolicySpec::new(name("p"), FailureMode::FailOpen);
        let spec = limits.into_iter().fold(spec, PolicySpec::limit);
        Ok(PolicySet::builder().policy(spec).build(None)?.get("p").unwrap().clone())
    }

    #[test]
    fn a_policy_knows_the_outcomes_its_limits_count_by() {
        let usual = || limit("usual", window(Counts::Admitted));
        let probing = || limit("probing", ladder()).counting_outcomes(Outcomes::REFUSED);
        let policy = built([usual(), probing()]).unwrap();
        assert_eq!(policy.outcomes(), Some(&Outcomes::REFUSED));
        assert!(policy.counts_outcomes() && policy.settles(), "so that there are tickets");
        let policy = built([usual(), limit("other", ladder()).settling()]).unwrap();
        assert!(!policy.counts_outcomes() && policy.outcomes().is_none());
    }

    #[test]
    fn limits_of_one_policy_count_by_the_same_outcomes() {
        let (one, other) = (Outcomes::REFUSED, Outcomes::try_new([403]).unwrap());
        let limits = |second| {
            let first = limit("one", ladder()).counting_outcomes(one);
            [first, limit("other", ladder()).counting_outcomes(second)]
        };
        built(limits(one)).unwrap();
        let (policy, first, second) = (name("p"), name("one"), name("other"));
        let refused = PolicyError::OtherOutcomes { policy, first, second };
        assert_eq!(built(limits(other)).unwrap_err(), refused);
    }

    #[test]
    fn what_settles_for_another_reason_has_a_policy_of_its_own() {
        let counting = || limit("probing", ladder()).counting_outcomes(Outcomes::REFUSED);
        for settling in [limit("l", ladder()).settling(), limit("l", ladder()).forgiving()] {
            for limits in [[counting(), settling.clone()], [settling.clone(), counting()]] {
                let (policy, limit, counting) = (name("p"), name("l"), name("probing"));
                let refused = PolicyError::SettlesBesideOutcomes { policy, limit, counting };
                assert!(refused.to_string().ends_with("into a policy of its own"), "{refused}");
                assert_eq!(built(limits).unwrap_err(), refused);
            }
        }
    }

    #[test]
    fn a_good_answer_does_not_forgive_the_bad_ones() {
        for limit in [
            limit("l", ladder()).forgiving().counting_outcomes(Outcomes::REFUSED),
            limit("l", ladder()).counting_outcomes(Outcomes::REFUSED).forgiving(),
        ] {
            let refused = LimitError::ForgivesOutcomes(name("l"));
            assert_eq!(built([limit]).unwrap_err(), refused.into());
        }
    }

    #[test]
    fn what_another_limit_refuses_is_no_outcome() {
        let attempts = || window(Counts::Attempts(None));
        for shape in [two_windows(), attempts()] {
            let counting = || limit("probing", shape.clone()).counting_outcomes(Outcomes::REFUSED);
            built([counting()]).unwrap();
            built([counting(), limit("l", ladder()).in_shadow()]).unwrap();
            let (policy, counted, other) = (name("p"), name("probing"), name("l"));
            let refused =
                PolicyError::RefusalsAsOutcomes { policy, counting: counted, limit: other };
            assert_eq!(built([counting(), limit("l", ladder())]).unwrap_err(), refused);
        }
        let counting = limit("probing", ladder()).counting_outcomes(Outcomes::REFUSED);
        built([counting, limit("l", attempts())]).unwrap();
    }
}
