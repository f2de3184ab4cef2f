//! Generators of traces, policies and shapes.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;

use tidegate_core::Overflow;

use super::plan::CountsPlan;
use super::{
    LimitPlan, MannerPlan, OverridePlan, PeriodPlan, PolicyPlan, ScopePlan, ShapePlan, StagePlan,
    Trace, TraceStep, Who, WindowPlan,
};
use crate::drive::ChargeOrPeek;

const MILLI: u64 = 1_000;
const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The furthest a clock goes back: less than the shortest calendar period, as a step of NTP would.
const FURTHEST_BACK: u64 = 50 * MINUTE;

/// Traces of one policy without reloads.
pub fn traces(steps: usize) -> impl Strategy<Value = Trace> {
    (policies(), vec(step(), 1..=steps)).prop_map(|(policy, steps)| Trace {
        policy,
        steps,
        rows: false,
    })
}

/// Traces of a policy with one limit of these shapes, on all requests together.
pub fn traces_of(
    shapes: impl Strategy<Value = ShapePlan>,
    steps: usize,
) -> impl Strategy<Value = Trace> {
    (shapes, any::<bool>(), vec(step(), 1..=steps)).prop_map(|(shape, distinct, steps)| {
        let limit = LimitPlan { distinct, ..LimitPlan::plain(0, shape) };
        Trace { policy: PolicyPlan { limits: vec![limit] }, steps, rows: false }
    })
}

/// Traces of a policy with reloads in between.
pub fn with_reloads(steps: usize) -> impl Strategy<Value = Trace> {
    let step = prop_oneof![
        16 => step(),
        1 => policies().prop_map(TraceStep::Reload),
        2 => vec(shapes(), 1..6).prop_map(TraceStep::Renumber),
    ];
    (policies(), vec(step, 1..=steps)).prop_map(|(policy, steps)| Trace {
        policy,
        steps,
        rows: false,
    })
}

/// Policies of one to five limits.
pub fn policies() -> impl Strategy<Value = PolicyPlan> {
    vec(limit(), 1..=5).prop_map(|mut limits: Vec<LimitPlan>| {
        // If several limits have the same name, the first stays, because a policy has each name
        // once.
        limits.sort_by_key(|limit| limit.name);
        limits.dedup_by_key(|limit| limit.name);
        PolicyPlan { limits }
    })
}

/// The traces of a strategy, in which each limit may reject, queue or degrade what is past it.
pub fn overflowing(traces: impl Strategy<Value = Trace>) -> impl Strategy<Value = Trace> {
    let overflows = vec(select(Overflow::ALL.to_vec()), 5);
    (traces, overflows).prop_map(|(mut trace, overflows)| {
        for policy in trace.policies_mut() {
            for (limit, overflow) in policy.limits.iter_mut().zip(&overflows) {
                limit.overflow = *overflow;
            }
        }
        trace
    })
}

fn limit() -> impl Strategy<Value = LimitPlan> {
    let scope = select(vec![
        ScopePlan::Global,
        ScopePlan::Org,
        ScopePlan::Org,
        ScopePlan::OrgUser,
        ScopePlan::Ip,
    ]);
    let stage = prop_oneof![3 => Just(StagePlan::Action), 1 => Just(StagePlan::Global)];
    let shadow = prop_oneof![6 => Just(false), 1 => Just(true)];
    let cost = prop_oneof![4 => Just((false, 1)), 1 => (any::<bool>(), 1..4_u64)];
    let other = (any::<u8>(), shapes()).prop_map(|(value, shape)| OverridePlan { value, shape });
    let shape = (shapes(), any::<bool>(), any::<bool>());
    (0..5_u8, scope, stage, shadow, cost, shape, option::weighted(0.2, other)).prop_map(
        |(name, scope, stage, shadow, cost, (shape, distinct, nameless), other)| LimitPlan {
            name,
            scope,
            stage,
            shadow,
            overflow: Overflow::Reject,
            cost,
            shape,
            distinct,
            other,
            nameless,
        },
    )
}

/// Shapes with numbers that are small enough to be reached, and odd enough to matter.
pub fn shapes() -> impl Strategy<Value = ShapePlan> {
    prop_oneof![
        (rate(), burst()).prop_map(|((tokens, per), burst)| ShapePlan::Bucket(tokens, per, burst)),
        (count(), length(), counts())
            .prop_map(|(count, per, counts)| ShapePlan::Window(count, per, counts)),
        (count(), period(), counts())
            .prop_map(|(count, period, counts)| ShapePlan::Quota(count, period, counts)),
        attempts(),
    ]
}

/// Abuse logs of every manner.
pub fn attempts() -> impl Strategy<Value = ShapePlan> {
    let block_at = || prop_oneof![6 => 2..6_u16, 1 => select(vec![49, 50, 51, 100])];
    let window = move || {
        (block_at(), length(), length()).prop_map(|(block_at, per, block)| WindowPlan {
            block_at,
            per,
            block,
        })
    };
    let manner = prop_oneof![
        1 => Just(MannerPlan::Temp),
        2 => window().prop_map(MannerPlan::Dual),
        2 => (1..7_u8, 1..7_u8).prop_map(|(from, to)| MannerPlan::Ladder(from, to)),
    ];
    (window(), manner).prop_map(|(window, manner)| ShapePlan::Attempts(window, manner))
}

/// Rates from one a day to 10⁹ a second, with periods that do and do not divide evenly.
fn rate() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![
        3 => select(vec![
            (1, SECOND), (10, SECOND), (3, SECOND), (7, 11 * SECOND), (1, 10 * SECOND),
            (1, DAY), (1_000, SECOND), (1_500, SECOND), (1_000_000_000, SECOND),
            (999_999_937, SECOND), (60, MINUTE), (100, HOUR),
        ]),
        1 => (1..2_000_u64, 1..5 * SECOND),
        1 => (1..1_000_000_007_u64, 1..100_000_u64),
    ]
}

fn burst() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 1..6_u64, 1 => 1..2_000_u64, 1 => select(vec![1_000_000, 1 << 40])]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![5 => 1..8_u64, 1 => select(vec![63, 64, 65]), 1 => 60..300_u64]
}

fn length() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => select(vec![SECOND, 10 * SECOND, MINUTE, 15 * MINUTE, HOUR, DAY]),
        1 => 1..200_u64,
        1 => 1..5 * SECOND,
    ]
}

fn period() -> impl Strategy<Value = PeriodPlan> {
    prop_oneof![
        2 => length().prop_map(PeriodPlan::FirstUse),
        2 => length().prop_map(PeriodPlan::Fixed),
        1 => select(vec![
            PeriodPlan::Hour,
            PeriodPlan::Day,
            PeriodPlan::Month(31),
            PeriodPlan::Month(15),
        ]),
    ]
}

fn counts() -> impl Strategy<Value = CountsPlan> {
    let backoff = select(vec![1, 999, MILLI, SECOND, 2 * SECOND, MINUTE]);
    prop_oneof![3 => Just(None), 1 => option::of(backoff).prop_map(Some)]
}

fn step() -> impl Strategy<Value = TraceStep> {
    let how = prop_oneof![7 => Just(ChargeOrPeek::Charge), 1 => Just(ChargeOrPeek::Peek)];
    let cost = prop_oneof![6 => Just(1), 2 => 1..8_u64, 1 => 1..400_u64, 1 => Just((1 << 53) - 1)];
    let edge = select(vec![SECOND, MINUTE / 60, 15 * MINUTE, HOUR, DAY]);
    prop_oneof![
        12 => (who(), cost, how).prop_map(|(who, cost, how)| TraceStep::Ask(who, cost, how)),
        4 => wait().prop_map(TraceStep::Wait),
        2 => (edge, any::<bool>()).prop_map(|(length, early)| TraceStep::ToEdge(length, early)),
        4 => any::<bool>().prop_map(TraceStep::ToldWait),
        1 => (1..FURTHEST_BACK).prop_map(TraceStep::Back),
        1 => (1..2 * SECOND).prop_map(TraceStep::Back),
    ]
}

fn wait() -> impl Strategy<Value = u64> {
    prop_oneof![
        select(vec![0, 1, 999, MILLI, SECOND / 60, SECOND, MINUTE, HOUR, DAY, 40 * DAY]),
        1..3 * SECOND,
    ]
}

fn who() -> impl Strategy<Value = Who> {
    (0..2_u8, option::weighted(0.8, 0..3_u8), 0..2_u8).prop_map(|(org, user, address)| Who {
        org,
        user,
        address,
    })
}
