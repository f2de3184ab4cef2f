//! P92 and what else is promised of blocks: they begin exactly at the threshold, once, and nothing but
//! their end makes them shorter, or anything but the one upgrade longer.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_core::{
    Account, Attempts, Block, BlockScope, Case, Clock, Dimension, FailureMode, Ladder, Level,
    Limit, ManualClock, Name, PolicySet, PolicySpec, Reading, Scope, Shape, ShapeKind, Span, Store,
    Subject, Threshold, Timestamp,
};
use tidegate_engine::Engine;
use tidegate_engine::memory::MemoryStore;
use tidegate_test::drive::{ChargeOrPeek, digests};
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::ready;
use tidegate_test::trace::{
    LimitPlan, MannerPlan, PolicyPlan, START, ShapePlan, Trace, TraceStep, Who, WindowPlan,
    answers, attempts, traces_of, walk_new,
};

use crate::differential::same;
use crate::{cases, lua, memory};

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

const ANYONE: Who = Who { org: 0, user: Some(0), address: 0 };

pub(crate) fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

/// A limit on attempts on each account.
pub(crate) fn by_account(title: &str, attempts: Attempts) -> Limit {
    Limit::new(name(title), Scope::of([Dimension::Account]), Shape::Attempts(attempts))
}

/// One policy, `p`.
pub(crate) fn policies(limits: impl IntoIterator<Item = Limit>) -> PolicySet {
    let spec = PolicySpec::new(name("p"), FailureMode::FailOpen);
    let spec = limits.into_iter().fold(spec, |spec, limit| spec.limit(limit.with_named_key()));
    PolicySet::builder().policy(spec).build(None).unwrap()
}

pub(crate) fn threshold(block_at: u16, per: u64, block: u64) -> Threshold {
    let (per, block) = (Span::from_micros(per), Span::from_micros(block));
    Threshold { block_at, per, block }
}

pub(crate) fn temp(block_at: u16) -> Attempts {
    Attempts::try_new(threshold(block_at, MINUTE, 30 * SECOND), None).unwrap()
}

pub(crate) fn dual(temp: u16, long: u16) -> Attempts {
    let long = threshold(long, 10 * MINUTE, HOUR);
    Attempts::try_new(threshold(temp, MINUTE, 30 * SECOND), Some(long)).unwrap()
}

pub(crate) fn climbing(block_at: u16) -> Attempts {
    Attempts::climbing(block_at, Span::from_micros(10 * MINUTE), Ladder::default()).unwrap()
}

/// An engine over the store that is made for it.
pub(crate) fn engine<S: Store>(
    set: PolicySet,
    store: impl FnOnce(Arc<ManualClock>) -> S,
) -> (Arc<ManualClock>, Engine<S>) {
    let clock = Arc::new(ManualClock::new(START));
    let engine = Engine::with_digests(store(Arc::clone(&clock)), set, digests());
    (clock, engine)
}

/// An attempt on an account: whether it passed, and what the first limit said.
pub(crate) fn attempt<S: Store>(engine: &Engine<S>, account: &str) -> (bool, Reading) {
    let who = Account::new(account);
    let (set, subject) = (engine.policies(), Subject::new().account(&who));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let decision = ready(engine.decide(&mut case)).unwrap();
    let reading = *decision.explain().next().unwrap().reading;
    (decision.is_admitted(), reading)
}

/// So many attempts, whatever comes of them.
pub(crate) fn hammer<S: Store>(engine: &Engine<S>, account: &str, attempts: usize) {
    for _ in 0..attempts {
        let _ = attempt(engine, account);
    }
}

fn begins(reading: &Reading) -> bool {
    reading.attempts.is_some_and(|tally| tally.begins)
}

/// So many attempts in one microsecond: how many passed, and how many began a block.
fn at_once<S: Store>(engine: &Engine<S>, attempts: usize) -> (usize, usize) {
    let made: Vec<_> = (0..attempts).map(|_| attempt(engine, "a")).collect();
    let passed = made.iter().filter(|(passed, _)| *passed).count();
    (passed, made.iter().filter(|(_, reading)| begins(reading)).count())
}

fn thresholds_are_exact<S: Store>(store: impl Fn(Arc<ManualClock>) -> S + Copy) {
    for block_at in 2..=100_u16 {
        for attempts in [temp(block_at), climbing(block_at)] {
            let (_, engine) = engine(policies([by_account("l", attempts)]), store);
            let expected = (usize::from(block_at) - 1, 1);
            assert_eq!(at_once(&engine, 130), expected, "block_at {block_at}");
        }
    }
    for long in 3..=100_u16 {
        let (_, engine) = engine(policies([by_account("l", dual(2, long))]), store);
        assert_eq!(at_once(&engine, usize::from(long) - 1), (1, 1), "long {long}");
        let (_, reading) = attempt(&engine, "a");
        let tally = reading.attempts.unwrap();
        assert!(tally.begins && tally.block.unwrap().scope == BlockScope::Long, "long {long}");
        assert_eq!(at_once(&engine, 10), (0, 0), "long {long}");
    }
}

#[test]
fn the_attempt_that_reaches_the_threshold_is_the_first_refused_in_memory() {
    thresholds_are_exact(memory::roomy);
}

#[test]
fn the_attempt_that_reaches_the_threshold_is_the_first_refused_by_the_rules() {
    thresholds_are_exact(PlainStore::new);
}

#[test]
fn the_attempt_that_reaches_the_threshold_is_the_first_refused_by_the_scripts() {
    thresholds_are_exact(lua::serving);
}

/// What 64 threads come to that try one account at one instant, 20 times each.
fn crowd(attempts: Attempts) -> (usize, usize) {
    let (_, engine) = engine(policies([by_account("l", attempts)]), memory::roomy);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64).map(|_| scope.spawn(|| at_once(&engine, 20))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    })
}

#[test]
fn p92_of_64_threads_as_many_pass_as_may_and_one_begins_the_block() {
    for _ in 0..20 {
        for block_at in [2, 5, 37, 100] {
            let passing = usize::from(block_at) - 1;
            assert_eq!(crowd(temp(block_at)), (passing, 1), "two windows, {block_at}");
            assert_eq!(crowd(climbing(block_at)), (passing, 1), "a ladder, {block_at}");
        }
        assert_eq!(crowd(dual(5, 9)), (4, 2), "one block, and one upgrade");
    }
}

/// Follows the block of the only counter of a trace, which time may go back for.
fn is_never_touched<S: Store>(trace: &Trace, store: impl FnOnce(Arc<ManualClock>) -> S) {
    let (mut last, mut seen): (Option<Block>, u64) = (None, 0);
    walk_new(trace, store, |moment| {
        let tally = moment.answer.of("l0").attempts.unwrap();
        // For a key it is never earlier than when it was last written.
        let now = moment.answer.decided_at.max(seen);
        if moment.how == ChargeOrPeek::Charge && (moment.answer.is_admitted() || tally.begins) {
            seen = now;
        }
        let held = last.filter(|block| block.until.as_micros() > now);
        match (held, tally.block) {
            (None, _) => {}
            (Some(held), None) => panic!("{held:?} was cleared at {now}"),
            (Some(held), Some(block)) if held == block => assert!(!tally.begins, "{block:?}"),
            (Some(held), Some(block)) => {
                assert!(tally.begins && block.until > held.until, "{held:?} became {block:?}");
                let scopes = (held.scope, block.scope);
                assert_eq!(scopes, (BlockScope::Temp, BlockScope::Long), "the one upgrade");
            }
        }
        assert!(tally.block.is_none() || !moment.answer.is_admitted(), "admitted under a block");
        assert!(moment.how == ChargeOrPeek::Charge || !tally.begins, "a look began a block");
        last = tally.block.or(last);
    });
}

/// Bursts with pauses between them: by how long, and how many attempts.
fn bursts() -> impl Strategy<Value = Vec<(u64, usize)>> {
    let edge = select(vec![
        15 * SECOND,
        MINUTE,
        5 * MINUTE,
        30 * MINUTE,
        HOUR,
        2 * HOUR,
        6 * HOUR,
        7 * HOUR,
        DAY,
        3 * DAY,
    ]);
    let pause = prop_oneof![
        6 => (edge, 0..3_u64).prop_map(|(edge, off)| edge + off - 1),
        1 => Just(0),
        1 => 0..2 * DAY,
    ];
    vec((pause, 1..6_usize), 1..60)
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn p92_a_block_is_never_shortened_nor_lengthened_in_memory(
        trace in traces_of(attempts(), 80),
    ) {
        is_never_touched(&trace, memory::roomy);
    }

    #[test]
    fn p92_a_block_is_never_shortened_nor_lengthened_by_the_rules(
        trace in traces_of(attempts(), 80),
    ) {
        is_never_touched(&trace, PlainStore::new);
    }

    #[test]
    fn p92_a_block_is_never_shortened_nor_lengthened_by_the_scripts(
        trace in traces_of(attempts(), 80),
    ) {
        is_never_touched(&trace.forward(), lua::serving);
    }

    /// Weeks of bursts, with pauses to the tick around every length that matters.
    #[test]
    fn p96_ladders_and_their_decay_agree_with_the_model_over_weeks(
        bursts in bursts(), levels in (1..7_u8, 1..7_u8), block_at in 2..5_u16,
    ) {
        let window = WindowPlan { block_at, per: 10 * MINUTE, block: 1 };
        let manner = MannerPlan::Ladder(levels.0, levels.1);
        let limit = LimitPlan::plain(0, ShapePlan::Attempts(window, manner));
        let ask = TraceStep::Ask(ANYONE, 1, ChargeOrPeek::Charge);
        let steps = bursts.into_iter().flat_map(|(pause, attempts)| {
            core::iter::once(TraceStep::Wait(pause)).chain(vec![ask.clone(); attempts])
        });
        let trace = Trace { policy: PolicyPlan { limits: vec![limit] }, steps: steps.collect(), rows: false };
        let model = answers(&trace, ModelStore::new);
        same(&answers(&trace, PlainStore::new), &model)?;
        same(&answers(&trace, memory::roomy), &model)?;
        same(&answers(&trace, lua::serving), &model)?;
    }
}

/// Tries until a block begins, and waits until it ends; its level.
fn climb<S: Store>(clock: &ManualClock, engine: &Engine<S>) -> u8 {
    for _ in 0..3 {
        let (_, reading) = attempt(engine, "a");
        if let Some(block) = reading.attempts.and_then(|tally| tally.block) {
            assert_eq!(reading.wait, block.level.unwrap().lasts(), "the whole block");
            clock.set(block.until);
            return block.level.unwrap().get();
        }
    }
    panic!("three attempts of which the third is too many began no block");
}

#[test]
fn a_ladder_rises_with_each_block_and_falls_with_each_hour_of_peace() {
    let (clock, engine) = engine(policies([by_account("l", climbing(3))]), memory::roomy);
    let after = |micros: u64| {
        clock.advance(Span::from_micros(micros));
        climb(&clock, &engine)
    };
    assert_eq!([0; 8].map(after), [1, 2, 3, 4, 5, 6, 6, 6], "at once, and no higher than L6");
    assert_eq!(after(HOUR), 6, "an hour takes off what the next block adds");
    assert_eq!(after(3 * HOUR), 4);
    assert_eq!(after(3 * HOUR - 1), 3, "only whole hours count");
    assert_eq!(after(HOUR - 1), 4);
    assert_eq!(after(30 * DAY), 1);
}

#[test]
fn t19_nobody_is_kept_out_for_longer_by_those_who_hammer() {
    let (clock, engine) = engine(policies([by_account("l", climbing(3))]), memory::roomy);
    assert_eq!(climb(&clock, &engine), 1);
    let (_, end) = (0..3)
        .map(|_| attempt(&engine, "a"))
        .fold((true, None), |_, (ok, said)| (ok, said.attempts.and_then(|tally| tally.block)));
    let end = end.unwrap().until;
    while clock.now() < end {
        let (passed, reading) = attempt(&engine, "a");
        assert!(!passed && reading.wait == end.since(clock.now()), "{reading:?}");
        clock.set(clock.now().after(Span::from_millis(250)).min(end));
    }
    assert!(attempt(&engine, "a").0, "to the tick");
}

#[test]
fn memory_is_bounded_however_many_attempts_one_key_gets() {
    for attempts in [temp(100), dual(99, 100), climbing(100)] {
        let (clock, engine) = engine(policies([by_account("l", attempts)]), memory::roomy);
        let before = engine.store().usage();
        for _ in 0..100_000 {
            clock.advance(Span::from_micros(1));
            let _ = attempt(&engine, "a");
        }
        let after = engine.store().usage();
        assert_eq!((after.of(ShapeKind::Attempts), after.max_bytes), (1, before.max_bytes));
    }
}

#[test]
fn a_log_keeps_no_more_than_its_threshold() {
    let attempts = dual(3, 7);
    let (mut state, mut now) = (None, START);
    for _ in 0..100_000 {
        now = now.after(Span::from_micros(7));
        state = Some(attempts.take(state.as_ref(), 0, now).0);
    }
    assert_eq!(state.unwrap().attempts().len(), 7);
}

/// What is counted once is told apart by whom it was; a limit that counts everything need not.
#[test]
fn a_log_of_members_that_becomes_one_of_attempts_goes_on_counting() {
    let spec = |limit: Limit| PolicySpec::new(name("p"), FailureMode::FailOpen).limit(limit);
    let scope = Scope::of([Dimension::Ip]);
    let log = |block_at| Limit::new(name("l"), scope, Shape::Attempts(temp(block_at)));
    let distinct = PolicySet::builder().policy(spec(log(50).distinct(Dimension::Account)));
    let clock = Arc::new(ManualClock::new(START));
    let store = MemoryStore::new(memory::BUDGET, Arc::clone(&clock));
    let engine = Engine::with_digests(store, distinct.build(None).unwrap(), digests());
    let passes = |account: &str| {
        let who = Account::new(account);
        let subject = Subject::new().account(&who).ip([203, 0, 113, 9].into());
        let set = engine.policies();
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        ready(engine.decide(&mut case)).unwrap().is_admitted()
    };
    let before = (0..49).filter(|account| passes(&format!("a{account}"))).count();
    engine.reload(&PolicySet::builder().policy(spec(log(100)))).unwrap();
    let after = (0..200).filter(|_| passes("a")).count();
    assert_eq!((before, after), (49, 50), "99 in all");
}

#[test]
fn levels_last_as_long_as_they_are_said_to() {
    let lasts = Level::ALL.map(|level| level.lasts().as_micros() / SECOND);
    assert_eq!(lasts, [15, 60, 300, 1_800, 21_600, 86_400]);
    assert_eq!(Timestamp::ZERO.after(Level::L6.lasts()).as_micros(), DAY);
}
