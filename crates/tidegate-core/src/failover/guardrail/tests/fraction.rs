//! A fraction of each limit, in its own shape.

use proptest::prelude::*;

use super::super::fraction::Fractions;
use super::*;
use crate::cost::CostRule;
use crate::policy::Protects;
use crate::shape::{Attempts, Calendar, Counts, Period, Quota, Threshold, Unit, Window};

/// The fractions of one policy with one limit by organisation.
#[derive(Clone)]
struct Rack {
    fractions: Fractions,
    policies: PolicySet,
}

fn spending(shape: Shape, earlier: Option<&PolicySet>) -> PolicySet {
    let mut limit = Limit::new(name("l"), Scope::of([Dimension::Org]), shape);
    if !matches!(limit.shape(), Shape::Attempts(_)) {
        limit = limit.costing(CostRule::PerUnit(Cost::ONE));
    }
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Spend);
    PolicySet::builder().policy(spec.limit(limit)).build(earlier).unwrap()
}

impl Rack {
    fn new(shape: Shape) -> Self {
        Self { fractions: Fractions::with_room_for(16_384, 10), policies: spending(shape, None) }
    }

    /// The same limit with other numbers.
    fn reload(&mut self, shape: Shape) {
        self.policies = spending(shape, Some(&self.policies));
    }

    /// What is left, once it is taken if there is room; an error if it never fits.
    fn ask(&mut self, org: &str, cost: u64, now: Timestamp) -> Result<Guarded, Guarded> {
        let (subject, digests) = (Subject::new().org(org), Digests::new([3, 5]));
        let case = Case::new(self.policies.get("p").unwrap(), &subject);
        let mut case = case.weighing(Cost::try_new(cost).unwrap());
        case.resolve(&digests);
        let [charge] = case.batch().charges() else { panic!("one limit") };
        let left = self.fractions.left(charge, of_its_own(charge), now)?;
        match left.admits() {
            true => Ok(self.fractions.take(charge, of_its_own(charge), now)),
            false => Ok(left),
        }
    }

    fn admits(&mut self, org: &str, now: Timestamp) -> bool {
        self.ask(org, 1, now).unwrap().wait.is_zero()
    }

    /// How many pass at once.
    fn burst(&mut self, org: &str, now: Timestamp) -> u64 {
        (0..).find(|_| !self.admits(org, now)).unwrap()
    }

    fn wait(&mut self, org: &str, now: Timestamp) -> Span {
        self.ask(org, 1, now).unwrap().wait
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

fn threshold(block_at: u16, per: Span) -> Threshold {
    Threshold { block_at, per, block: Span::HOUR }
}

#[test]
fn p28_a35_a_tenth_is_rounded_down_and_one_at_least_in_every_shape() {
    // The shape, how many pass at once, and how long until one more does. It starts 11 days, 13 hours,
    // 46 minutes and 40 seconds into 1970, which was a Thursday's beginning.
    let attempts = Attempts::try_new(threshold(41, Span::MINUTE), None).unwrap();
    let two = Attempts::try_new(threshold(31, Span::MINUTE), Some(threshold(60, Span::HOUR)));
    let rows = [
        (bucket(100, 70), 7, Span::from_millis(100)),
        (bucket(109, 79), 7, Span::from_millis(100)),
        (bucket(10, 10), 1, Span::SECOND),
        (bucket(9, 9), 1, Span::SECOND),
        (bucket(1, 1), 1, Span::SECOND),
        (bucket(1, 1_000), 100, Span::SECOND),
        (window(100, Span::MINUTE), 10, Span::MINUTE),
        (window(109, Span::MINUTE), 10, Span::MINUTE),
        (window(1, Span::HOUR), 1, Span::HOUR),
        (window(5_000, Span::HOUR), 500, Span::from_secs(3_600 + 20)),
        (quota(1_009, Period::FirstUse(Span::DAY)), 100, Span::DAY),
        (quota(9, Period::FirstUse(Span::HOUR)), 1, Span::HOUR),
        (quota(50, Period::Fixed(Span::HOUR)), 5, Span::from_secs(800)),
        (calendar(50, Unit::Hour), 5, Span::from_secs(800)),
        (calendar(7, Unit::Day), 1, Span::from_secs(10 * 3_600 + 13 * 60 + 20)),
        (Shape::Attempts(attempts), 4, Span::MINUTE),
        (Shape::Attempts(two.unwrap()), 3, Span::HOUR),
    ];
    for (shape, passes, next) in rows {
        let mut rack = Rack::new(shape.clone());
        assert_eq!(rack.burst("acme", at(0)), passes, "{shape:?}");
        assert_eq!(rack.wait("acme", at(0)), next, "{shape:?}");
        assert!(!rack.admits("acme", before(at(0).after(next))), "{shape:?}");
        assert!(rack.admits("acme", at(0).after(next)), "{shape:?}");
    }
}

#[test]
fn p38_a35_what_is_refused_takes_nothing_even_where_attempts_are_counted() {
    let counted = Window::try_new(50, Span::MINUTE, Counts::Attempts(None)).unwrap();
    let mut rack = Rack::new(Shape::Window(counted));
    assert_eq!(rack.burst("acme", at(0)), 5);
    for secs in 1..60 {
        assert!(!rack.admits("acme", at(secs)));
    }
    assert!(rack.admits("acme", at(60)), "hammering has not made it later");
}

#[test]
fn a35_the_full_cost_is_charged_and_one_above_the_tenth_never_fits() {
    let mut rack = Rack::new(bucket(100, 1_000));
    assert_eq!(rack.ask("acme", 60, at(0)).unwrap().remaining, 40);
    assert_eq!(rack.ask("acme", 60, at(0)).unwrap().wait, Span::from_secs(2));
    assert!(rack.ask("acme", 101, at(0)).is_err(), "a hundred fit at once");
    assert_eq!(rack.ask("acme", 40, at(0)).unwrap().remaining, 0);
    assert_eq!(rack.ask("acme", 100, at(10)).unwrap().remaining, 0);
}

#[test]
fn p33_a35_changed_numbers_grant_nothing() {
    let mut rack = Rack::new(window(100, Span::MINUTE));
    assert_eq!(rack.burst("acme", at(0)), 10);
    rack.reload(window(200, Span::MINUTE));
    assert_eq!(rack.burst("acme", at(1)), 10, "ten of twenty were used");
    rack.reload(window(50, Span::MINUTE));
    assert!(!rack.admits("acme", before(at(61))));
    assert!(rack.admits("acme", at(61)));
}

#[test]
fn p44_keys_beyond_the_most_share_cells_and_nobody_else_notices() {
    let mut rack = Rack::new(window(20, Span::HOUR));
    let early: Vec<String> = (0..100).map(|nth| format!("early {nth}")).collect();
    assert!(early.iter().all(|org| rack.admits(org, at(0))));
    let flood = |rack: &mut Rack, now| {
        (0..40_000).filter(|nth| rack.admits(&format!("{nth}"), now)).count()
    };
    // Two for each cell, and one for each key that has a place; then one more for each of those.
    assert_eq!(flood(&mut rack, at(1)), 16_284 + 2 * 1_024);
    assert_eq!(rack.fractions.places(), 16_384);
    assert_eq!(flood(&mut rack, at(2)), 16_284);
    assert_eq!(flood(&mut rack, at(3)), 0);
    assert!(early.iter().all(|org| rack.admits(org, at(3_599))), "as if there were no flood");
    assert!(early.iter().all(|org| !rack.admits(org, at(3_599))));
    assert!(!rack.fractions.is_fresh(at(7_198)) && rack.fractions.is_fresh(at(7_199)));
    for nth in 0..10_000 {
        rack.ask(&format!("late {nth}"), 200, at(7_200)).unwrap_err();
    }
    assert_eq!(rack.fractions.places(), 0, "whoever comes later makes room");
}

#[test]
fn p44_a_cell_shared_under_other_numbers_grants_nothing() {
    let mut rack = Rack::new(window(10, Span::HOUR));
    rack.fractions = Fractions::with_room_for(0, 10);
    assert!(rack.admits("acme", at(0)));
    rack.reload(window(600, Span::HOUR));
    assert!(!rack.admits("acme", before(at(3_600))), "of a cell nothing is known but its last use");
    assert!(rack.admits("acme", at(3_600)));
}

#[test]
fn a35_what_only_shadows_bound_does_not_pass() {
    let limit = Limit::new(name("l"), Scope::of([Dimension::Org]), bucket(1, 1)).in_shadow();
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Spend);
    let policies = PolicySet::builder().policy(spec.limit(limit)).build(None).unwrap();
    let mut rig = Rig::of(Guardrails::new(Fallback::Spend), policies);
    let refused = rig.take(&Who::ip(9), at(0));
    assert_eq!((refused.admits(), refused.wait), (false, Span::from_secs(300)));
}

#[test]
fn a35_all_limits_are_taken_or_none_and_those_by_account_too() {
    let limit = |text: &str, dimension, count| {
        Limit::new(name(text), Scope::of([dimension]), window(count, Span::HOUR))
    };
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed)
        .protecting(Protects::Spend)
        .limit(limit("org", Dimension::Org, 30))
        .limit(limit("account", Dimension::Account, 20));
    let policies = PolicySet::builder().policy(spec).build(None).unwrap();
    let mut rig = Rig::of(Guardrails::new(Fallback::Spend), policies);
    let passed = |rig: &mut Rig, who: &str, now| {
        (0..9).filter(|_| rig.admits(&Who::account(who), now)).count()
    };
    assert_eq!(passed(&mut rig, "ada", at(0)), 2, "by account");
    assert_eq!(passed(&mut rig, "bob", at(0)), 1, "by organisation, of which ada has taken two");
    assert_eq!(passed(&mut rig, "bob", at(3_600)), 2, "what was refused took nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn p28_a_tenth_admits_at_the_told_wait_and_never_more_than_it_may(
        count in 10..400_u64,
        asks in proptest::collection::vec((0..9_000_000_u64, 1..6_u64), 1..120),
    ) {
        let mut rack = Rack::new(window(count, Span::MINUTE));
        let most = count / 10;
        let mut taken: Vec<(Timestamp, u64)> = Vec::new();
        let mut now = START;
        for (pause, cost) in asks {
            now = now.after(Span::from_micros(pause));
            let mut rival = rack.clone();
            let live = |now: Timestamp| -> u64 {
                let counts = |at: &&(Timestamp, u64)| now.since(at.0) < Span::MINUTE;
                taken.iter().filter(counts).map(|(_, cost)| cost).sum()
            };
            match rack.ask("acme", cost, now) {
                Err(_) => prop_assert!(cost > most),
                Ok(left) if left.wait.is_zero() => {
                    prop_assert!(live(now) + cost <= most);
                    taken.push((now, cost));
                }
                Ok(left) => {
                    prop_assert!(live(now) + cost > most, "refused although there was room");
                    let end = now.after(left.wait);
                    let early = rival.clone().ask("acme", cost, before(end)).unwrap();
                    prop_assert!(!early.wait.is_zero(), "told too long a wait");
                    prop_assert!(rival.ask("acme", cost, end).unwrap().wait.is_zero());
                }
            }
        }
    }
}

#[test]
fn a_node_has_its_part_of_each_limit_and_one_in_each_period_at_least() {
    let bucket =
        |count| Shape::Bucket(Bucket::try_new(Rate::per_minute(count).unwrap(), count).unwrap());
    for (nodes, burst) in [(1, 60), (3, 20), (7, 8), (60, 1), (1_000, 1)] {
        let mut rack = Rack::new(bucket(60));
        rack.fractions = Fractions::with_room_for(16_384, nodes);
        assert_eq!(rack.burst("acme", at(1_000)), burst, "{nodes} nodes");
        let wait = Span::from_micros(60_000_000 / burst);
        assert_eq!(rack.wait("acme", at(1_000)), wait, "{nodes} nodes");
        assert!(!rack.admits("acme", at(1_000).after(Span::from_micros(wait.as_micros() - 1))));
        assert!(rack.admits("acme", at(1_000).after(wait)));
    }
}

#[test]
fn p34_another_size_of_the_fleet_grants_nothing() {
    let bucket = Shape::Bucket(Bucket::try_new(Rate::per_minute(60).unwrap(), 60).unwrap());
    let mut rack = Rack::new(bucket);
    assert_eq!(rack.burst("acme", at(1_000)), 6);
    for nodes in [1, 2, 60, 10] {
        rack.fractions.follow(nodes);
        assert_eq!(rack.burst("acme", at(1_000)), 0, "{nodes} nodes");
    }
}
