//! P86 and P87: never more than the limit, and never less than it has to be.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use tidegate_core::{
    Bucket, BucketState, Cost, Counts, Denial, Period, Quota, Rate, Room, Shape, Span, Stage,
    Store, Timestamp, Verdict, Window,
};
use tidegate_test::drive::{ChargeOrPeek, PlainDecision};
use tidegate_test::plain::PlainStore;
use tidegate_test::trace::{LimitPlan, START, StagePlan, Trace, traces, walk_new};

use crate::{cases, memory};

/// What was admitted on one counter: when, and how much.
pub(crate) type Admitted = Vec<(u64, u128)>;

/// All that a trace admits, by limit and counter. Time does not go back for a counter: what it has
/// recorded last is the earliest.
fn admitted<S: Store>(
    trace: &Trace,
    store: impl FnOnce(std::sync::Arc<tidegate_core::ManualClock>) -> S,
) -> BTreeMap<(u8, (u8, u8)), Admitted> {
    let mut counters: BTreeMap<_, (u64, Admitted)> = BTreeMap::new();
    walk_new(trace, store, |moment| {
        for limit in &moment.policy.limits {
            // Of whom each counts once more may pass; another test counts those.
            let Some(counter) = limit.counter(&moment.who).filter(|_| !limit.is_distinct()) else {
                continue;
            };
            let room = moment.answer.of(&limit.name()).room;
            let (seen, list) = counters.entry((limit.name, counter)).or_default();
            let at = moment.answer.decided_at.max(*seen);
            if moment.how == ChargeOrPeek::Charge && records(limit, room, moment.answer) {
                *seen = at;
                // A refused attempt admits nothing, but may begin a period.
                let units = limit.units(moment.weight);
                list.push((at, if moment.answer.is_admitted() { units.into() } else { 0 }));
            }
        }
    });
    counters.into_iter().map(|(counter, (_, list))| (counter, list)).collect()
}

/// Whether a limit has recorded the request it met with this room.
fn records(limit: &LimitPlan, room: Room, answer: &PlainDecision) -> bool {
    let attempt = limit.counts_attempts() && !limit.shadow && room != Room::Never;
    match answer.verdict {
        Verdict::Admit => {
            assert!(room == Room::Now || limit.shadow, "admitted without room");
            room == Room::Now
        }
        Verdict::Deny(Denial { source: Stage::Global, .. }) => {
            attempt && limit.stage == StagePlan::Global
        }
        _ => attempt,
    }
}

/// Fails if `list` has more than the shape allows, wherever one looks.
pub(crate) fn within(shape: &Shape, list: &Admitted) {
    match shape {
        Shape::Bucket(bucket) => {
            let (tokens, per) = (bucket.rate().tokens(), bucket.rate().per().as_micros());
            for (index, (from, _)) in list.iter().enumerate() {
                let mut sum = 0;
                for (to, units) in &list[index..] {
                    sum += units;
                    let refill = u128::from(to - from) * u128::from(tokens) / u128::from(per);
                    assert!(sum <= u128::from(bucket.burst()) + refill, "{bucket:?}: {list:?}");
                }
            }
        }
        Shape::Window(window) => {
            for (from, _) in list {
                let end = from + window.per().as_micros();
                let span = list.iter().filter(|(at, _)| (*from..end).contains(at));
                let sum: u128 = span.map(|(_, units)| units).sum();
                assert!(sum <= u128::from(window.count()), "{window:?}: {list:?}");
            }
        }
        Shape::Quota(quota) => {
            let mut periods: BTreeMap<u64, u128> = BTreeMap::new();
            let mut first = None;
            for (at, units) in list {
                *periods.entry(start_of(quota, *at, &mut first)).or_default() += units;
            }
            let most = periods.values().max().copied().unwrap_or_default();
            assert!(most <= u128::from(quota.count()), "{quota:?}: {list:?}");
        }
        Shape::Attempts(attempts) => {
            for threshold in core::iter::once(attempts.temp()).chain(attempts.long()) {
                // On a ladder the log begins anew with a block, which lasts as long as the first.
                let span = match attempts.ladder() {
                    Some(_) => threshold.per.min(threshold.block),
                    None => threshold.per,
                };
                below(threshold.block_at, span, list);
            }
        }
    }
}

/// Fewer than `block_at` in any span.
fn below(block_at: u16, span: Span, list: &Admitted) {
    for (from, _) in list {
        let end = from + span.as_micros();
        let sum: u128 =
            list.iter().filter(|(at, _)| (*from..end).contains(at)).map(|(_, units)| units).sum();
        assert!(sum < u128::from(block_at), "{block_at} in {span}: {list:?}");
    }
}

/// The start of the period that `at` belongs to.
fn start_of(quota: &Quota, at: u64, first: &mut Option<u64>) -> u64 {
    match quota.period() {
        Period::Fixed(length) => at / length.as_micros(),
        Period::Calendar(calendar) => {
            calendar.around(Timestamp::from_micros(at)).bounds()[1].as_micros()
        }
        Period::FirstUse(length) => {
            let start = first.filter(|start| at < start + length.as_micros()).unwrap_or(at);
            *first = Some(start);
            start
        }
    }
}

/// Many requests for one bucket, window or quota: lengths of time and costs.
fn arrivals() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![3 => Just(0_u64), 2 => 0..50_u64, 3 => 0..2_000_000_u64];
    vec((gap, prop_oneof![4 => Just(1_u64), 1 => 1..6_u64]), 1..120)
}

fn bucket() -> impl Strategy<Value = Bucket> {
    let rate = prop_oneof![
        (1..2_000_u64, Just(1_000_000_u64)),
        (1..1_000_000_000_u64, Just(1_000_000_u64)),
        (1..100_u64, 1..20_000_000_u64),
    ];
    (rate, 6..40_u64).prop_filter_map("too fast", |((tokens, per), burst)| {
        Bucket::try_new(Rate::try_new(tokens, Span::from_micros(per)).ok()?, burst).ok()
    })
}

fn cost(units: u64) -> Cost {
    Cost::try_new(units).unwrap()
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn p86_never_more_than_the_limit_in_memory(trace in traces(80)) {
        let trace = trace.without_overrides();
        let shape = |name| trace.policy.limits.iter().find(|l: &&LimitPlan| l.name == name);
        for ((name, _), list) in admitted(&trace, memory::roomy) {
            within(&shape(name).unwrap().built(), &list);
        }
    }

    /// Those who find no place are counted together: they may get less, and never more.
    #[test]
    fn p86_never_more_than_the_limit_where_not_everyone_fits(trace in traces(80)) {
        let trace = trace.forward().without_overrides();
        let shape = |name| trace.policy.limits.iter().find(|l: &&LimitPlan| l.name == name);
        for ((name, _), list) in admitted(&trace, memory::tight) {
            within(&shape(name).unwrap().built(), &list);
        }
    }

    #[test]
    fn p86_never_more_than_the_limit_by_the_rules(trace in traces(80)) {
        let trace = trace.without_overrides();
        let shape = |name| trace.policy.limits.iter().find(|l: &&LimitPlan| l.name == name);
        for ((name, _), list) in admitted(&trace, PlainStore::new) {
            within(&shape(name).unwrap().built(), &list);
        }
    }

    /// The bound is also the rule: what stays within it is admitted.
    #[test]
    fn p87_a_bucket_denies_only_what_would_break_its_bound(
        bucket in bucket(), arrivals in arrivals(),
    ) {
        let (tokens, per) = (bucket.rate().tokens(), bucket.rate().per().as_micros());
        let (mut state, mut now): (Option<BucketState>, _) = (None, START);
        let mut list: Admitted = Vec::new();
        for (gap, units) in arrivals {
            now = now.after(Span::from_micros(gap));
            let mut sum = u128::from(units) * u128::from(per);
            let mut fits = sum <= u128::from(bucket.burst()) * u128::from(per);
            for (at, units) in list.iter().rev() {
                sum += units * u128::from(per);
                let refill = u128::from(now.as_micros() - at) * u128::from(tokens);
                fits &= sum <= u128::from(bucket.burst()) * u128::from(per) + refill;
            }
            let room = bucket.look(state, cost(units), now).room;
            prop_assert_eq!(room == Room::Now, fits, "{:?} after {:?}", room, list);
            if fits {
                state = Some(bucket.take(state, cost(units), now).0);
                list.push((now.as_micros(), units.into()));
            }
        }
    }

    #[test]
    fn p87_a_client_at_the_rate_is_never_denied(
        bucket in bucket(), units in 1..6_u64, late in vec(0..3_u64, 1..200),
    ) {
        let (tokens, per) = (bucket.rate().tokens(), bucket.rate().per().as_micros());
        let every = (units * per).div_ceil(tokens);
        let (mut state, mut now): (Option<BucketState>, _) = (None, START);
        for late in late {
            prop_assert_eq!(bucket.look(state, cost(units), now).room, Room::Now);
            state = Some(bucket.take(state, cost(units), now).0);
            now = now.after(Span::from_micros(every + late));
        }
    }

    #[test]
    fn p87_a_window_denies_early_by_at_most_a_sixtieth(
        count in prop_oneof![6..64_u64, Just(64), Just(65), 66..200_u64],
        per in prop_oneof![60..1_000_u64, 1_000_000..3_600_000_000_u64],
        attempts in any::<bool>(),
        arrivals in arrivals(),
    ) {
        let counts = if attempts { Counts::Attempts(None) } else { Counts::Admitted };
        let window = Window::try_new(count, Span::from_micros(per), counts).unwrap();
        // A charge counts for the window, or up to 61/60 of it, in whole ticks.
        let longest = if window.is_exact() { per } else { (per * 61).div_ceil(60) };
        let (mut state, mut now) = (None, START);
        let mut list: Admitted = Vec::new();
        for (gap, units) in arrivals {
            now = now.after(Span::from_micros(gap % (per / 2)));
            let used = |length: u64| -> u128 {
                let counted = list.iter().filter(|(at, _)| at + length > now.as_micros());
                counted.map(|(_, units)| units).sum()
            };
            let reading = window.look(state.as_ref(), cost(units), now);
            let (most, least) = (used(longest) + u128::from(units), used(per) + u128::from(units));
            match reading.room {
                Room::Now => {
                    prop_assert!(least <= u128::from(count), "{} > {}", least, count);
                    state = Some(window.take(state.as_ref(), cost(units), now).0);
                    list.push((now.as_micros(), units.into()));
                }
                _ => prop_assert!(most > u128::from(count), "{} <= {}: {:?}", most, count, list),
            }
        }
    }
}

#[test]
fn p86_an_hour_at_full_speed_admits_the_burst_and_the_rate() {
    let bucket = Bucket::try_new(Rate::per_second(7).unwrap(), 10).unwrap();
    let (mut state, mut admitted) = (None, 0);
    for tick in 0..3_600_000_u64 {
        let now = START.after(Span::from_millis(tick));
        while bucket.look(state, Cost::ONE, now).room == Room::Now {
            state = Some(bucket.take(state, Cost::ONE, now).0);
            admitted += 1;
        }
    }
    // 3,599.999 s at 7 per second are 25,199.993.
    assert_eq!(admitted, 10 + 25_199);
}
