//! Ceilings: a tenth of a limit's rate, and one a second at the least.

use proptest::prelude::*;

use super::super::ceiling::Ceilings;
use super::*;
use crate::cost::CostRule;
use crate::shape::{Attempts, Calendar, Counts, Period, Quota, Threshold, Unit, Window};

/// The ceilings of one policy with one limit by organisation.
#[derive(Clone)]
struct Rack {
    ceilings: Ceilings,
    policies: PolicySet,
}

impl Rack {
    fn new(shape: Shape) -> Self {
        Self { ceilings: Ceilings::default(), policies: policies(shape, None) }
    }

    /// The same limit with other numbers.
    fn reload(&mut self, shape: Shape) {
        self.policies = policies(shape, Some(&self.policies));
    }

    fn wait(&mut self, org: &str, cost: u64, now: Timestamp, takes: bool) -> Span {
        let (subject, digests) = (Subject::new().org(org), Digests::new([3, 5]));
        let case = Case::new(self.policies.get("p").unwrap(), &subject);
        let mut case = case.weighing(Cost::try_new(cost).unwrap());
        case.resolve(&digests);
        let [charge] = case.batch().charges() else { panic!("one limit") };
        let wait = self.ceilings.wait(charge, of_its_own(charge), now);
        if wait.is_zero() && takes {
            self.ceilings.take(charge, of_its_own(charge), now);
        }
        wait
    }

    fn admits(&mut self, org: &str, now: Timestamp) -> bool {
        self.wait(org, 1, now, true).is_zero()
    }

    /// How many pass at once.
    fn burst(&mut self, org: &str, now: Timestamp) -> u64 {
        (0..).find(|_| !self.admits(org, now)).unwrap()
    }
}

fn window(count: u64, per: Span) -> Shape {
    Shape::Window(Window::try_new(count, per, Counts::Admitted).unwrap())
}

fn quota(count: u64, period: Period) -> Shape {
    Shape::Quota(Quota::try_new(count, period, Counts::Admitted).unwrap())
}

fn calendar(count: u64, unit: Unit) -> Shape {
    quota(count, Period::Calendar(Calendar::try_new(unit, "UTC", None).unwrap()))
}

#[test]
fn a_ceiling_is_a_tenth_of_the_rate_of_every_shape() {
    const DAY: u64 = 86_400;
    let of_a_hundred_a_second = [
        bucket(100, 7),
        bucket(100, 5_000),
        window(100, Span::SECOND),
        window(6_000, Span::MINUTE),
        quota(360_000, Period::Fixed(Span::HOUR)),
        quota(8_640_000, Period::FirstUse(Span::DAY)),
        calendar(360_000, Unit::Hour),
        calendar(100 * DAY, Unit::Day),
        calendar(700 * DAY, Unit::Week),
        calendar(3_100 * DAY, Unit::Month),
    ];
    for shape in of_a_hundred_a_second {
        let mut rack = Rack::new(shape);
        assert_eq!(rack.burst("acme", at(0)), 10, "what a second brings");
        assert_eq!(rack.wait("acme", 1, at(0), true), Span::from_millis(100));
        assert_eq!(rack.burst("acme", at(1)), 10);
        assert_eq!(rack.burst("acme", at(1_000)), 10, "and no more after a while");
    }
}

#[test]
fn a_ceiling_is_at_least_one_a_second() {
    let threshold = Threshold { block_at: 5, per: Span::HOUR, block: Span::HOUR };
    let of_less = [
        bucket(1, 1),
        bucket(10, 100),
        window(1, Span::DAY),
        quota(1, Period::Fixed(Span::DAY)),
        calendar(1_000, Unit::Month),
        Shape::Attempts(Attempts::try_new(threshold, None).unwrap()),
    ];
    for shape in of_less {
        let mut rack = Rack::new(shape);
        for secs in 0..5 {
            assert_eq!(rack.burst("acme", at(secs)), 1);
            assert_eq!(rack.wait("acme", 1, at(secs), true), Span::SECOND);
        }
    }
}

#[test]
fn a_rate_too_fine_to_be_counted_is_rounded_down() {
    // A tenth is 3,360.2 a second, in thirty-one days no whole number of units.
    let mut rack = Rack::new(calendar(90_000_000_001, Unit::Month));
    assert_eq!(rack.burst("acme", at(0)), 3_360);
}

#[test]
fn a_heavy_request_takes_a_whole_second_and_not_more() {
    let shape = bucket(100, 1_000);
    let limit = Limit::new(name("l"), Scope::of([Dimension::Org]), shape);
    let limit = limit.costing(CostRule::PerUnit(Cost::ONE));
    let spec = PolicySpec::new(name("p"), FailureMode::FailOpen).limit(limit);
    let policies = PolicySet::builder().policy(spec).build(None).unwrap();
    let mut rack = Rack { ceilings: Ceilings::default(), policies };
    assert_eq!(rack.wait("acme", 1_000_000, at(0), true), Span::ZERO);
    assert_eq!(rack.wait("acme", 1, at(0), true), Span::from_millis(100));
    assert_eq!(rack.wait("acme", 1_000_000, at(0), true), Span::SECOND);
    assert_eq!(rack.wait("acme", 7, at(0), true), Span::from_millis(700));
    assert_eq!(rack.wait("acme", 7, at(1), true), Span::ZERO);
    assert_eq!(rack.wait("acme", 4, at(1), true), Span::from_millis(100));
}

#[test]
fn changed_numbers_grant_nothing_and_the_wait_is_true() {
    let mut rack = Rack::new(bucket(100, 100));
    assert_eq!(rack.burst("acme", at(0)), 10);
    rack.reload(bucket(1_000, 1_000));
    assert_eq!(rack.wait("acme", 1, at(0), true), Span::from_millis(10));
    assert!(!rack.admits("acme", before(at(0).after(Span::from_millis(10)))));
    assert!(rack.admits("acme", at(0).after(Span::from_millis(10))));
    rack.reload(bucket(10, 100));
    let told = rack.wait("acme", 1, at(0).after(Span::from_millis(20)), true);
    assert_eq!(told, Span::from_millis(990), "a second after the last request");
    assert!(!rack.admits("acme", before(at(1).after(Span::from_millis(10)))));
    assert!(rack.admits("acme", at(1).after(Span::from_millis(10))));
}

#[test]
fn keys_beyond_the_most_share_cells_and_nobody_else_notices() {
    let mut rack = Rack::new(bucket(10, 10));
    let early: Vec<String> = (0..100).map(|nth| format!("early {nth}")).collect();
    assert!(early.iter().all(|org| rack.admits(org, at(0))));
    let passed = (0..80_000).filter(|nth| rack.admits(&format!("{nth}"), at(0))).count();
    assert!((65_436..=65_436 + 1_024).contains(&passed), "{passed}");
    assert!(early.iter().all(|org| !rack.admits(org, at(0))));
    assert!(early.iter().all(|org| rack.admits(org, at(1))), "as if there were no flood");
    assert!(!rack.ceilings.is_fresh(before(at(3))) && rack.ceilings.is_fresh(at(3)));
    // Whoever comes later makes room, some at a time.
    for nth in 0..10_000 {
        rack.wait(&format!("late {nth}"), 1, at(3), false);
    }
    assert_eq!(rack.ceilings.kept(), 0);
}

#[test]
fn shadows_and_limits_by_account_have_no_ceiling() {
    let limit =
        |text: &str, dimension| Limit::new(name(text), Scope::of([dimension]), bucket(1, 1));
    let spec = PolicySpec::new(name("p"), FailureMode::Degraded)
        .limit(limit("shadow", Dimension::Org).in_shadow())
        .limit(limit("account", Dimension::Account));
    let policies = PolicySet::builder().policy(spec).build(None).unwrap();
    let mut rig = Rig::of(Guardrails::new(Fallback::Ceilings), policies);
    let who = Who::ip(9).and_account("ada").and_agent("a");
    assert_eq!((0..100).filter(|_| rig.admits(&who, at(0))).count(), 60, "the guardrails alone");
}

#[test]
fn what_a_ceiling_refuses_takes_nothing_from_a_guardrail() {
    let mut rig = Rig::of(Guardrails::new(Fallback::Ceilings), policies(bucket(1, 1), None));
    let who = Who::ip(9).and_agent("a");
    for secs in 0..60 {
        assert!(rig.admits(&who, at(secs)), "one a second");
        let refused = rig.take(&who, at(secs));
        assert!(!refused.admits());
    }
    assert_eq!(rig.take(&who, at(60)).remaining, 0, "sixty of sixty, and not a refused one more");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_ceiling_admits_at_the_told_wait_and_no_more_than_it_may(
        rate in 1..500_u64,
        others in proptest::collection::vec(1..500_u64, 0..3),
        asks in proptest::collection::vec((0..300_000_u64, 0..20_u32), 1..120),
    ) {
        let shape = |rate: u64| window(rate * 60, Span::MINUTE);
        let mut rack = Rack::new(shape(rate));
        let mut taken: Vec<Timestamp> = Vec::new();
        let (mut now, mut highest, mut others) = (START, rate, others.into_iter());
        for (pause, dice) in asks {
            now = now.after(Span::from_micros(pause));
            if dice == 0 && let Some(rate) = others.next() {
                rack.reload(shape(rate));
                highest = highest.max(rate);
            }
            let mut rival = rack.clone();
            let told = rack.wait("acme", 1, now, true);
            if told.is_zero() {
                taken.push(now);
                continue;
            }
            let end = now.after(told);
            prop_assert!(!rival.admits("acme", before(end)), "told too long a wait");
            prop_assert!(rival.admits("acme", end), "told too short a wait");
        }
        // Never more than a burst and what has run in since, by the highest of all its rates.
        for (first, from) in taken.iter().enumerate() {
            for (last, to) in taken.iter().enumerate().skip(first) {
                let micros = u128::from(to.since(*from).as_micros());
                let tenth = u128::from(highest.max(10));
                let most = tenth.div_ceil(10) + tenth * micros / 10_000_000 + 1;
                prop_assert!(((last - first + 1) as u128) <= most);
            }
        }
    }
}
