//! What is paid for or cannot be undone: denied at first, then held to a tenth of its limits.

use super::*;
use crate::cost::CostRule;
use crate::policy::Fallback;
use crate::shape::{Counts, Period, Quota};

/// A model: a thousand tokens a minute with a burst of two hundred, and ten thousand a day, by
/// organisation.
fn model(failure: FailureMode) -> Node {
    let by_org = |text: &str, shape| {
        let limit = Limit::new(name(text), Scope::of([Dimension::Org]), shape);
        limit.costing(CostRule::PerUnit(Cost::ONE)).with_named_key()
    };
    let burst = Bucket::try_new(Rate::per_minute(1_000).unwrap(), 200).unwrap();
    let day = Quota::try_new(10_000, Period::FirstUse(Span::DAY), Counts::Admitted).unwrap();
    let spec = PolicySpec::new(name("p"), failure)
        .protecting(Protects::Spend)
        .limit(by_org("burst", Shape::Bucket(burst)))
        .limit(by_org("day", Shape::Quota(day)));
    Node::of(PolicySet::builder().policy(spec).build(None).unwrap())
}

fn acme() -> Subject<'static> {
    someone().org("acme")
}

#[test]
fn p13_a35_spend_is_denied_before_the_trip_and_degraded_after_it() {
    let mut node = model(FailureMode::FailClosed);
    node.heal_until(at(0));
    for secs in 0..3 {
        let denied = node.fails(&acme(), StoreError::Timeout, at(secs));
        assert_eq!((denied.mode, denied.guarded), (Mode::FailClosed, None));
        assert_eq!(wait(&denied), Some(Span::from_secs(10)));
    }
    let passed = node.asks(&acme(), at(2)).unwrap();
    assert_eq!((passed.verdict, passed.mode), (Verdict::Admit, Mode::Degraded));
    let left = passed.guarded.unwrap();
    assert_eq!(left.cap.map(|cap| (cap.by, cap.count, cap.per)), {
        let fills_in = Span::from_micros(12_000_000);
        Some((Scope::of([Dimension::Org]), 20, fills_in))
    });
    assert_eq!((left.remaining, left.wait), (19, Span::ZERO));
    assert_eq!((passed.block, passed.alarm), (None, None));
}

#[test]
fn a35_no_address_bounds_what_is_spent_and_every_organisation_has_its_own_tenth() {
    let mut node = model(FailureMode::FailClosed);
    node.down(at(0));
    let passes = |node: &mut Node, org: &'static str, now| {
        node.asks(&someone().org(org), now).unwrap().verdict == Verdict::Admit
    };
    for org in ["acme", "globex", "initech"] {
        assert_eq!((0..30).filter(|_| passes(&mut node, org, at(0))).count(), 20, "{org}");
    }
    // A hundred a minute: the next one comes after 600 ms, and not a tick earlier.
    let refused = node.asks(&acme(), at(0)).unwrap();
    assert_eq!((refused.mode, wait(&refused)), (Mode::Degraded, Some(Span::from_millis(600))));
    assert!(!passes(&mut node, "acme", before(at(0).after(Span::from_millis(600)))));
    assert!(passes(&mut node, "acme", at(0).after(Span::from_millis(600))));
}

#[test]
fn a35_a_cost_above_the_tenth_is_told_the_earliest_exit_and_takes_nothing() {
    let mut node = model(FailureMode::FailClosed);
    node.down(at(0));
    node.cost = Cost::try_new(21).unwrap();
    for (secs, told) in [(0, 300), (100, 200), (200, 125)] {
        node.fail_until(at(secs));
        let refused = node.asks(&acme(), at(secs)).unwrap();
        assert_eq!((refused.mode, wait(&refused)), (Mode::Degraded, Some(Span::from_secs(told))));
    }
    node.cost = Cost::try_new(20).unwrap();
    assert_eq!(node.asks(&acme(), at(200)).unwrap().verdict, Verdict::Admit, "nothing was taken");
    assert_eq!(wait(&node.asks(&acme(), at(200)).unwrap()), Some(Span::from_secs(12)));
}

#[test]
fn p33_p34_a35_counts_go_on_over_flapping_and_epochs_and_a_reload() {
    let mut node = model(FailureMode::FailClosed);
    node.heal_until(at(0));
    let mut spent = 0;
    for entry in [0, 400, 800] {
        node.down(at(entry));
        node.cost = Cost::try_new(20).unwrap();
        while spent < 1_000 && node.asks(&acme(), at(entry + 1)).unwrap().verdict == Verdict::Admit
        {
            spent += 20;
        }
        node.cost = Cost::ONE;
        node.standby.follow(FailureMode::Degraded, Fallback::Ceilings);
        node.standby.follow(FailureMode::FailClosed, Fallback::Spend);
        node.heal_until(at(entry + 399));
        assert_eq!(node.standby.standing().mode, Mode::Normal);
    }
    assert_eq!(spent, 60, "a burst in each, and a day's tenth goes on counting");
    node.down(at(1_300));
    node.fail_until(at(1_900));
    let left = |node: &mut Node| node.asks(&acme(), at(1_901)).unwrap().guarded.unwrap().remaining;
    assert_eq!(left(&mut node), 19);
    // Nine hundred and forty of a day's thousand are left, less the one just taken.
    let mut now = at(1_901);
    let mut more = 1;
    while more < 2_000 {
        let asked = node.asks(&acme(), now).unwrap();
        match wait(&asked) {
            None => more += 1,
            Some(wait) if wait < Span::HOUR => now = now.after(wait),
            Some(wait) => {
                // The day began with the first use.
                assert_eq!(now.after(wait), at(1).after(Span::DAY));
                break;
            }
        }
    }
    assert_eq!(more, 940);
}

#[test]
fn p23_a_spend_policy_that_is_degraded_from_the_first_failure_counts_on() {
    let mut node = model(FailureMode::Degraded);
    node.heal_until(at(0));
    let mut admitted = 0;
    for _ in 0..40 {
        let told = node.fails(&acme(), StoreError::Timeout, at(0));
        assert_eq!(told.mode, Mode::Degraded);
        admitted += u32::from(told.verdict == Verdict::Admit);
    }
    assert_eq!(admitted, 20, "one count before the trip and after it");
    node.cost = Cost::try_new(21).unwrap();
    let mut fresh = model(FailureMode::Degraded);
    fresh.heal_until(at(0));
    fresh.cost = node.cost;
    let refused = fresh.fails(&acme(), StoreError::Timeout, at(0));
    assert_eq!(wait(&refused), Some(Span::from_secs(10)), "by then the store is asked again");
}

#[test]
fn p47_blocks_by_account_are_known_where_money_is_spent() {
    use crate::block::{Block, BlockScope};
    let by_account = [Scope::of([Dimension::Account])];
    let mut node = Node::of(policies(Protects::Spend, FailureMode::FailClosed, &by_account));
    let ada = Account::new("ada");
    node.with(&someone().account(&ada), |standby, asked| {
        let block = Block { until: at(0), scope: BlockScope::Long, level: None };
        let counter = asked.batch.charges()[0].digest();
        standby.mirror().learn(counter, &block, Span::from_secs(50), at(0));
    });
    node.down(at(0));
    let refused = node.asks(&someone().account(&ada), at(0)).unwrap();
    assert_eq!(wait(&refused), Some(Span::from_secs(50)));
}
