//! A login or one-time password policy admits no less when all is well than in an outage.

use super::*;
use crate::block::Ladder;
use crate::cost::{Cost, CostRule};
use crate::overrides::Override;
use crate::shape::{Attempts, Calendar, Counts, Period, Quota, Unit, Window};
use crate::subject::Dimension;
use crate::subject::Dimension::{Account, Agent, Device, Ip, Ip48, Ip56, Org, User};

const TEN_MINUTES: Span = Span::from_secs(600);
const QUARTER: Span = Span::from_secs(900);

fn window(count: u64, per: Span) -> Shape {
    Shape::Window(Window::try_new(count, per, Counts::Admitted).unwrap())
}

fn quota(count: u64, period: Period) -> Shape {
    Shape::Quota(Quota::try_new(count, period, Counts::Admitted).unwrap())
}

fn attempts(passing: u16, per: Span) -> Shape {
    Shape::Attempts(Attempts::climbing(passing + 1, per, Ladder::default()).unwrap())
}

fn by(dimensions: &[Dimension], shape: Shape) -> Limit {
    Limit::new(name("l"), Scope::of(dimensions.iter().copied()), shape)
}

/// What a limit admits in the time of the cap and has to admit at least, if it is refused.
fn refused(protects: Protects, limit: Limit) -> Option<(u64, u64)> {
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(protects);
    match built(spec.limit(limit)) {
        Ok(_) => None,
        Err(PolicyError::NotAboveCap { admits, least, .. }) => Some((admits, least)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn p36_a36_every_scope_with_an_account_or_a_prefix_is_compared() {
    for (dimensions, login, otp) in [
        // The cap's own scope: more than the cap.
        (&[Account][..], 4, 3),
        (&[Ip], 21, 11),
        (&[Ip56], 81, 41),
        (&[Ip48], 321, 161),
        // Beside other facts: as many as the cap.
        (&[Account, Device], 3, 2),
        (&[Account, Ip], 3, 2),
        (&[Org, Account, Ip48], 3, 2),
        (&[Ip, Agent], 20, 10),
        (&[Org, Ip], 20, 10),
        (&[Ip, Ip48], 20, 10),
        (&[Ip56, Agent], 80, 40),
        // What no cap bounds is not compared.
        (&[], 1, 1),
        (&[Org], 1, 1),
        (&[Org, User], 1, 1),
    ] {
        for (protects, least, per) in [
            (Protects::Login, login, TEN_MINUTES),
            (Protects::Otp, otp, QUARTER),
            (Protects::StepUp, otp, QUARTER),
        ] {
            let of = |count| refused(protects, by(dimensions, window(count, per)));
            assert_eq!(of(least), None, "{protects:?} {dimensions:?}");
            if least > 1 {
                let told = Some((least - 1, least));
                assert_eq!(of(least - 1), told, "{protects:?} {dimensions:?}");
            }
        }
    }
}

#[test]
fn p36_a36_distinct_values_are_compared_too() {
    for (by_, counted, login, otp) in
        [(Ip, Account, 20, 10), (Account, Ip, 3, 2), (Account, Device, 3, 2)]
    {
        for (protects, least) in [(Protects::Login, login), (Protects::Otp, otp)] {
            let of = |passing| {
                refused(protects, by(&[by_], attempts(passing, Span::HOUR)).distinct(counted))
            };
            assert_eq!(of(least), None, "{protects:?} {by_:?} {counted:?}");
            let told = Some((u64::from(least) - 1, u64::from(least)));
            assert_eq!(of(least - 1), told, "{protects:?} {by_:?} {counted:?}");
        }
    }
    let wide = |protects, passing| {
        refused(protects, by(&[Ip56], attempts(passing, Span::HOUR)).distinct(Account))
    };
    assert_eq!(wide(Protects::Otp, 40), None);
    assert_eq!(wide(Protects::Otp, 39), Some((39, 40)));
    assert_eq!(wide(Protects::Login, 49), Some((49, 80)), "no more than fifty are told apart");
}

#[test]
fn p36_a36_every_shape_is_compared_within_the_time_of_the_cap() {
    let bucket = |tokens, per, burst| {
        Shape::Bucket(Bucket::try_new(Rate::try_new(tokens, per).unwrap(), burst).unwrap())
    };
    let day = || Period::Calendar(Calendar::try_new(Unit::Day, "UTC", None).unwrap());
    for (shape, told) in [
        (quota(1, day()), Some((1, 3))),
        (quota(3, day()), None),
        (quota(1, Period::Fixed(Span::DAY)), Some((1, 3))),
        (quota(1, Period::Fixed(Span::from_secs(200))), None),
        (quota(1, Period::FirstUse(Span::from_secs(201))), Some((2, 3))),
        (window(1, Span::from_secs(200)), None),
        (window(2, Span::from_secs(301)), Some((2, 3))),
        (bucket(1, Span::from_secs(300), 1), None),
        (bucket(1, Span::from_secs(301), 1), Some((2, 3))),
        (attempts(2, Span::DAY), Some((2, 3))),
        (attempts(3, Span::DAY), None),
    ] {
        let limit = by(&[Account, Ip], shape.clone());
        assert_eq!(refused(Protects::Login, limit), told, "{shape:?}");
    }
}

#[test]
fn p36_a36_what_a_request_costs_is_taken_into_account() {
    let costing = |units| CostRule::PerRequest(Cost::try_new(units).unwrap());
    let of = |rule| refused(Protects::Login, by(&[Account], window(11, TEN_MINUTES)).costing(rule));
    assert_eq!(of(costing(2)), None, "five");
    assert_eq!(of(costing(3)), Some((3, 4)));
    assert_eq!(of(CostRule::PerUnit(Cost::try_new(4).unwrap())), Some((2, 4)));
    let tokens = Shape::Bucket(Bucket::try_new(Rate::try_new(6, TEN_MINUTES).unwrap(), 5).unwrap());
    let limit = by(&[Account, Ip], tokens).costing(costing(4));
    assert_eq!(refused(Protects::Login, limit), Some((2, 3)));
}

#[test]
fn p36_a36_overrides_are_compared_and_shadows_are_not() {
    let usual = || by(&[Account, Ip], window(9, TEN_MINUTES));
    let exact = |count| Override::exact(Account, "root", window(count, TEN_MINUTES)).unwrap();
    let of = |rule| refused(Protects::Login, usual().overridden(rule).unwrap());
    assert_eq!(of(exact(3)), None);
    assert_eq!(of(exact(2)), Some((2, 3)), "it holds for somebody");
    let plan = Override::exact(Dimension::Plan, "trial", window(1, TEN_MINUTES)).unwrap();
    assert_eq!(of(plan), Some((1, 3)));
    let pattern = Override::pattern(Dimension::Plan, "tri*", window(2, TEN_MINUTES)).unwrap();
    assert_eq!(of(pattern), Some((2, 3)));
    let shadow = by(&[Account], window(1, Span::DAY)).in_shadow();
    assert_eq!(refused(Protects::Login, shadow), None, "it refuses nothing");
    let exempting = by(&[Account], window(3, TEN_MINUTES)).unless(Device);
    assert_eq!(refused(Protects::Login, exempting), Some((3, 4)), "for whom it is not exempt");
}

#[test]
fn p36_a36_other_entrances_are_not_compared() {
    for protects in [Protects::Auth, Protects::Admin] {
        assert_eq!(refused(protects, by(&[Account], window(1, Span::DAY))), None, "{protects:?}");
    }
}

#[test]
fn p36_a36_a_class_makes_a_policy_one_that_is_compared() {
    let limit = || by(&[Account, Ip], window(1, Span::DAY));
    let of = |class: &str| {
        let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).class(name(class));
        built(spec.limit(limit())).map(drop)
    };
    for (class, count) in [("login", 3), ("otp", 2), ("step_up", 2)] {
        let refused = of(class).unwrap_err().to_string();
        assert!(refused.contains(&format!("admits {count} for each `account`")), "{refused}");
    }
    of("auth").unwrap();
}

#[test]
fn a36_a_refusal_says_how_many_the_limit_has_to_admit() {
    let limit = by(&[Account, Ip], quota(1, Period::Fixed(Span::DAY)));
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Login);
    assert_eq!(
        built(spec.limit(limit)).unwrap_err().to_string(),
        "limit `l` of policy `p` lets 1 attempts in 600s through, but while the store is down a policy \
         that protects `login` admits 3 for each `account`, and an outage must not be the better time \
         to guess; let the limit admit at least 3"
    );
}
