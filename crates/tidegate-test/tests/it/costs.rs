//! P89: a cost is a positive whole number, and one that never fits is refused for ever and for free.

use proptest::prelude::*;
use tidegate_core::{Cost, CostError, Denial, Retry, Verdict};
use tidegate_test::drive::ChargeOrPeek;
use tidegate_test::trace::{
    LimitPlan, PolicyPlan, ShapePlan, Trace, TraceStep, Who, traces, walk_new,
};

use crate::{cases, memory};

/// More than any planned limit holds.
const HUGE: u64 = (1 << 53) - 1;

proptest! {
    #![proptest_config(cases(300))]

    /// Between two looks at the state, somebody asks for more than ever fits.
    #[test]
    fn p89_a_cost_beyond_the_capacity_is_never_and_changes_nothing(trace in traces(40)) {
        let mut trace = trace.without_overrides();
        // An attempt costs one, whatever it weighs.
        trace.policy.limits.retain(|limit| !limit.is_attempts());
        prop_assume!(!trace.policy.limits.is_empty());
        // Where attempts are counted, those that a sibling refuses are: one limit alone.
        let counting = trace.policy.limits.iter().position(LimitPlan::counts_attempts);
        if let Some(index) = counting {
            let only = trace.policy.limits.swap_remove(index);
            trace.policy = PolicyPlan { limits: vec![only] };
        }
        trace.policy.limits.iter_mut().for_each(|limit| {
            (limit.cost, limit.shadow) = ((false, 1), false);
        });
        let steps = trace.steps.into_iter().flat_map(|step| match step {
            TraceStep::Ask(who, weight, ChargeOrPeek::Charge) if weight < HUGE => vec![
                TraceStep::Ask(who, weight, ChargeOrPeek::Charge),
                TraceStep::Ask(who, 1, ChargeOrPeek::Peek),
                TraceStep::Ask(who, HUGE, ChargeOrPeek::Charge),
                TraceStep::Ask(who, 1, ChargeOrPeek::Peek),
            ],
            TraceStep::Ask(..) => Vec::new(),
            other => vec![other],
        });
        let trace = Trace { steps: steps.collect(), ..trace };
        let (mut before, mut between) = (None, false);
        walk_new(&trace, memory::roomy, |moment| match (moment.how, between) {
            (ChargeOrPeek::Peek, true) => {
                assert_eq!(before.as_ref(), Some(moment.answer));
                between = false;
            }
            (ChargeOrPeek::Peek, false) => before = Some(moment.answer.clone()),
            (ChargeOrPeek::Charge, _) if moment.weight.get() == HUGE => {
                let Verdict::Deny(Denial { retry, .. }) = moment.answer.verdict else {
                    panic!("{:?}", moment.answer)
                };
                assert_eq!(retry, Retry::Never);
                between = true;
            }
            (ChargeOrPeek::Charge, _) => {}
        });
    }

    #[test]
    fn p89_whatever_is_not_digits_is_no_cost(text in "\\PC*") {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        prop_assert!(digits || text.parse::<Cost>() == Err(CostError::NotAWholeNumber));
    }
}

#[test]
fn p89_costs_that_are_none_are_typed_errors() {
    for text in ["", "-1", "+1", "1.0", "1e3", "NaN", "inf", "0x10", " 1", "1 ", "1_000", "１"] {
        assert_eq!(text.parse::<Cost>(), Err(CostError::NotAWholeNumber), "{text:?}");
    }
    assert_eq!("0".parse::<Cost>(), Err(CostError::Zero));
    assert_eq!("18446744073709551615".parse::<Cost>(), Err(CostError::TooLarge));
    assert_eq!("9007199254740992".parse::<Cost>(), Err(CostError::TooLarge));
    assert_eq!(Cost::try_from(-1_i64), Err(CostError::NotAWholeNumber));
    assert_eq!(Cost::try_new(u64::MAX), Err(CostError::TooLarge));
    assert_eq!("9007199254740991".parse::<Cost>().map(Cost::get), Ok(HUGE));
}

#[test]
fn p89_a_product_of_costs_is_refused_rather_than_wrapped() {
    let roomy = LimitPlan::plain(0, ShapePlan::Bucket(1, 1, 300_000));
    let many = LimitPlan { cost: (false, 274_177), ..roomy };
    let who = Who { org: 0, user: None, address: 0 };
    // The product of both is 2⁶⁴ + 1, which wraps to 1.
    let steps = vec![TraceStep::Ask(who, 67_280_421_310_721, ChargeOrPeek::Charge)];
    let trace = Trace { policy: PolicyPlan { limits: vec![many] }, steps, rows: false };
    let mut asked = 0;
    walk_new(&trace, memory::roomy, |moment| {
        assert!(!moment.answer.is_admitted());
        asked += 1;
    });
    assert_eq!(asked, 1);
    let most = Cost::try_new(HUGE).unwrap();
    assert_eq!(most.times(most), most, "held at the largest, which no limit has room for");
}
