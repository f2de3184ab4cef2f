//! The merge of hierarchies: towards the stricter, whatever the order.

use proptest::prelude::*;
use tidegate_core::{Allowance, Bucket, Cost, CostRule, Rate, Sharing, Span, effective, tighten};

use crate::cases;

/// Numbers for which every merge is exact: `burst · period` stays far below 2⁵³.
fn allowance() -> impl Strategy<Value = Allowance> {
    let per = prop_oneof![
        Just(Span::SECOND),
        Just(Span::MINUTE),
        Just(Span::HOUR),
        (1..10_000_000_u64).prop_map(Span::from_micros),
    ];
    let rate = (1..1_000_u64, per)
        .prop_map(|(tokens, per)| Rate::try_new(tokens.min(per.as_micros()), per).unwrap());
    let rule = (any::<bool>(), 1..9_u64).prop_map(|(per_request, units)| {
        let units = Cost::try_new(units).unwrap();
        if per_request { CostRule::PerRequest(units) } else { CostRule::PerUnit(units) }
    });
    (rate, 1..100_u64, rule).prop_map(|(rate, burst, cost)| Allowance {
        bucket: Bucket::try_new(rate, burst).unwrap(),
        cost,
    })
}

/// An allowance as what it does: how it refills, what it holds, what it takes.
fn effect(allowance: Allowance) -> (u64, u64, u64, CostRule) {
    let Allowance { bucket, cost } = allowance;
    (bucket.units_per_micro(), bucket.units_per_token(), bucket.burst(), cost)
}

/// Whether `a` never lets through what `b` would not.
fn is_within(a: Allowance, b: Allowance) -> bool {
    let slower = !b.bucket.rate().is_slower_than(a.bucket.rate());
    let dearer = [1, 2, 7].into_iter().all(|weight| {
        let weight = Cost::try_new(weight).unwrap();
        a.cost.units(weight) >= b.cost.units(weight)
    });
    slower && dearer && a.bucket.burst() <= b.bucket.burst()
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn tightening_does_not_depend_on_the_order(a in allowance(), b in allowance()) {
        let (ab, ba) = (tighten(a, b), tighten(b, a));
        prop_assert_eq!(effect(ab), effect(ba));
    }

    #[test]
    fn tightening_twice_is_tightening_once(a in allowance(), b in allowance()) {
        let once = tighten(a, b);
        prop_assert_eq!(tighten(a, a), a);
        prop_assert_eq!(effect(tighten(once, a)), effect(once));
        prop_assert_eq!(effect(tighten(once, b)), effect(once));
    }

    #[test]
    fn tightening_never_widens(a in allowance(), b in allowance()) {
        let tight = tighten(a, b);
        prop_assert!(is_within(tight, a) && is_within(tight, b), "{:?}", tight);
    }

    /// Nor is it stricter than it must be: each field is that of one of both.
    #[test]
    fn tightening_invents_nothing(a in allowance(), b in allowance()) {
        let tight = tighten(a, b);
        let rates = [a.bucket.rate(), b.bucket.rate()];
        prop_assert!(rates.contains(&tight.bucket.rate()));
        prop_assert_eq!(tight.bucket.burst(), a.bucket.burst().min(b.bucket.burst()));
    }

    #[test]
    fn tightening_may_be_grouped_as_one_likes(
        a in allowance(), b in allowance(), c in allowance(),
    ) {
        let left = tighten(tighten(a, b), c);
        let right = tighten(a, tighten(b, c));
        prop_assert_eq!(effect(left), effect(right));
    }

    #[test]
    fn what_is_private_is_invisible_below(
        route in proptest::option::of(allowance()), own in allowance(), shared in allowance(),
    ) {
        let hidden = effective(route, None, &[(Sharing::Private, own)]);
        prop_assert_eq!(hidden, route);
        for sharing in [Sharing::Inherit, Sharing::Enforce] {
            let seen = effective(route, None, &[(Sharing::Private, own), (sharing, shared)]);
            let expected = route.map_or(shared, |route| tighten(route, shared));
            prop_assert_eq!(seen, Some(expected));
        }
    }
}
