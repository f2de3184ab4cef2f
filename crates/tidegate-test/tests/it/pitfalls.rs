//! What went wrong elsewhere (`peers.md`), each as a test here. Pitfalls c and n have properties of
//! their own, in `folding.rs` and `waits.rs`.

use std::sync::Arc;

use proptest::prelude::*;
use tidegate_core::{
    Bucket, Cost, Counts, ManualClock, Period, Quota, Rate, Room, Shape, Span, Window,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_test::drive::ChargeOrPeek;
use tidegate_test::trace::{
    LimitPlan, PeriodPlan, PolicyPlan, START, ScopePlan, ShapePlan, Trace, TraceStep, Who, walk,
    walk_new,
};

use crate::{cases, memory};

const SECOND: u64 = 1_000_000;
const ANYONE: Who = Who { org: 0, user: Some(0), address: 0 };

/// The number of requests of cost 1 that a policy admits at once.
fn admits(limits: Vec<LimitPlan>, requests: usize) -> usize {
    let steps = vec![TraceStep::Ask(ANYONE, 1, ChargeOrPeek::Charge); requests];
    let trace = Trace { policy: PolicyPlan { limits }, steps, rows: false };
    let mut admitted = 0;
    walk_new(&trace, memory::roomy, |moment| admitted += usize::from(moment.answer.is_admitted()));
    admitted
}

/// One limit of each shape and form that holds `count` at once.
fn shapes(count: u64) -> Vec<ShapePlan> {
    vec![
        ShapePlan::Bucket(1, SECOND, count),
        ShapePlan::Window(count, SECOND, None),
        ShapePlan::Window(count, SECOND, Some(None)),
        ShapePlan::Quota(count, PeriodPlan::FirstUse(SECOND), None),
        ShapePlan::Quota(count, PeriodPlan::Day, None),
        ShapePlan::Quota(count, PeriodPlan::Fixed(3_600 * SECOND), Some(Some(SECOND))),
    ]
}

#[test]
fn pitfall_a_a_window_has_no_edge_to_double_at() {
    for count in [4, 64, 65, 100] {
        let window = Window::try_new(count, Span::MINUTE, Counts::Admitted).unwrap();
        let edge = 60_000_000 * (START.as_micros() / 60_000_000 + 1);
        let before = tidegate_core::Timestamp::from_micros(edge - 1);
        let (state, _) = window.take(None, Cost::try_new(count).unwrap(), before);
        for later in [1, 30_000_000, 59_999_999] {
            let room = window.look(Some(&state), Cost::ONE, before.after(Span::from_micros(later)));
            assert_ne!(room.room, Room::Now, "{count}, {later} µs later");
        }
    }
}

#[test]
fn pitfall_b_a_cost_fits_only_if_all_of_it_fits() {
    for shape in shapes(5) {
        let name = format!("{shape:?}");
        let costs = [(3, true), (3, false), (2, true), (1, false)];
        // Where attempts are counted, the refused three leave no room for the two.
        let limit = LimitPlan::plain(0, shape);
        let counting = limit.counts_attempts();
        let steps = costs
            .iter()
            .map(|(cost, _)| TraceStep::Ask(ANYONE, *cost, ChargeOrPeek::Charge))
            .collect();
        let policy = PolicyPlan { limits: vec![limit] };
        let mut verdicts = Vec::new();
        walk_new(&Trace { policy, steps, rows: false }, memory::roomy, |moment| {
            verdicts.push(moment.answer.is_admitted());
        });
        let expected = [true, false, !counting, false];
        assert_eq!(verdicts, expected, "{name}");
    }
}

#[test]
fn pitfall_e_a_store_without_room_still_enforces() {
    for shape in shapes(3) {
        let clock = Arc::new(ManualClock::new(START));
        let nothing = Budget { buckets: 0, quotas: 0, windows: 0, attempts: 0 };
        let store = MemoryStore::new(nothing, Arc::clone(&clock));
        let limit = LimitPlan { scope: ScopePlan::OrgUser, ..LimitPlan::plain(0, shape) };
        let policy = PolicyPlan { limits: vec![limit] };
        let everyone = (0..3).flat_map(|org| (0..3).map(move |user| (org, user)));
        let who = everyone.map(|(org, user)| Who { org, user: Some(user), address: 0 });
        let steps =
            who.flat_map(|who| vec![TraceStep::Ask(who, 1, ChargeOrPeek::Charge); 10]).collect();
        let mut admitted = std::collections::BTreeMap::new();
        walk(&Trace { policy, steps, rows: false }, &clock, &store, |moment| {
            let key = (moment.who.org, moment.who.user);
            *admitted.entry(key).or_insert(0) += usize::from(moment.answer.is_admitted());
        });
        assert_eq!(admitted.len(), 9);
        assert!(admitted.values().all(|admitted| *admitted <= 3), "{admitted:?}");
    }
}

#[test]
fn pitfall_o_a_builder_says_its_unit() {
    let two = Rate::per_second(2).unwrap();
    assert_eq!((two.tokens(), two.per()), (2, Span::SECOND));
    let bucket = Bucket::try_new(two, 1).unwrap();
    let (state, _) = bucket.take(None, Cost::ONE, START);
    let half = Room::After(Span::from_millis(500));
    assert_eq!(bucket.look(Some(state), Cost::ONE, START).room, half, "two per second");
    let minute = Bucket::try_new(Rate::per_minute(2).unwrap(), 1).unwrap();
    let (state, _) = minute.take(None, Cost::ONE, START);
    let thirty = Room::After(Span::from_secs(30));
    assert_eq!(minute.look(Some(state), Cost::ONE, START).room, thirty, "two per minute");
}

#[test]
fn pitfall_v_a_reload_is_no_free_burst_and_keeps_no_tokens_too_many() {
    let renumbered = |from, to, cost| {
        let limit = LimitPlan::plain(0, from);
        let steps = vec![
            TraceStep::Ask(ANYONE, cost, ChargeOrPeek::Charge),
            TraceStep::Renumber(vec![to]),
            TraceStep::Ask(ANYONE, 1, ChargeOrPeek::Peek),
        ];
        let mut left = Vec::new();
        let trace = Trace { policy: PolicyPlan { limits: vec![limit] }, steps, rows: false };
        walk_new(&trace, memory::roomy, |moment| left.push(moment.answer.of("l0").remaining));
        left[1]
    };
    let bucket = |burst| ShapePlan::Bucket(1, SECOND, burst);
    assert_eq!(renumbered(bucket(10), bucket(20), 10), 0, "a larger burst is not filled");
    assert_eq!(renumbered(bucket(10), bucket(3), 2), 3, "a smaller one holds what it can");
    let window = |count| ShapePlan::Window(count, SECOND, None);
    assert_eq!(renumbered(window(10), window(20), 10), 10);
    assert_eq!(renumbered(window(10), window(100), 10), 90);
    assert_eq!(renumbered(window(10), window(3), 10), 0);
    let quota = |count| ShapePlan::Quota(count, PeriodPlan::Day, None);
    assert_eq!(renumbered(quota(10), quota(20), 10), 10);
    assert_eq!(renumbered(quota(10), quota(3), 10), 0);
}

proptest! {
    #![proptest_config(cases(500))]

    /// One second at full speed, asked at every millisecond or more often: not one too many and
    /// not one too few.
    #[test]
    fn pitfall_p_rates_above_a_thousand_per_second_are_exact(
        rate in 1_000..1_000_000_000_u64, every in 1..1_000_u64,
    ) {
        let burst = (rate * every).div_ceil(SECOND) + 1;
        let bucket = Bucket::try_new(Rate::per_second(rate).unwrap(), burst).unwrap();
        let all = |now, state| {
            let left = bucket.look(state, Cost::ONE, now).remaining.unsigned_abs();
            match Cost::try_new(left) {
                Ok(cost) => (left, Some(bucket.take(state, cost, now).0)),
                Err(_) => (0, state),
            }
        };
        let (mut sum, mut state) = all(START, None);
        prop_assert_eq!(sum, burst);
        let ticks = SECOND / every;
        for tick in 1..=ticks {
            let (taken, after) = all(START.after(Span::from_micros(tick * every)), state);
            (sum, state) = (sum + taken, after);
        }
        prop_assert_eq!(sum, burst + rate * ticks * every / SECOND);
    }

    #[test]
    fn pitfall_q_the_loose_limit_does_not_shadow_the_strict_one(
        counts in proptest::collection::vec(1..12_u64, 2..5),
        kinds in proptest::collection::vec(0..6_usize, 5),
    ) {
        let limits = counts.iter().zip(&kinds).enumerate().map(|(index, (count, kind))| {
            LimitPlan::plain(u8::try_from(index).unwrap(), shapes(*count)[*kind].clone())
        });
        let strictest = usize::try_from(*counts.iter().min().unwrap()).unwrap();
        prop_assert_eq!(admits(limits.collect(), 20), strictest);
    }
}

#[test]
fn a_state_that_cannot_be_read_is_taken_to_be_spent() {
    let bucket = Bucket::try_new(Rate::per_second(1).unwrap(), 5).unwrap();
    let told = bucket.look(Some(bucket.exhausted(START)), Cost::ONE, START);
    assert_eq!(told.room, Room::After(Span::SECOND));
    for (count, counts) in
        [(5, Counts::Admitted), (99, Counts::Admitted), (5, Counts::Attempts(None))]
    {
        let window = Window::try_new(count, Span::SECOND, counts).unwrap();
        let told = window.look(Some(&window.exhausted(START)), Cost::ONE, START);
        assert!(matches!(told.room, Room::After(_)), "{told:?}");
        assert_eq!(told.remaining, 0);
    }
    let period = Period::FirstUse(Span::SECOND);
    let quota = Quota::try_new(5, period, Counts::Admitted).unwrap();
    let told = quota.look(Some(quota.exhausted(START)), Cost::ONE, START, None).unwrap();
    assert_eq!(told.room, Room::After(Span::SECOND));
    let shape = Shape::Quota(quota);
    assert_eq!(shape.capacity(), 5);
}
