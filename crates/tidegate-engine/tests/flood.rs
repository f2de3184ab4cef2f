//! T12: ten million keys take no more memory than was promised for none.
//!
//! The memory of a process is everybody's in it, so this test is the only one of its binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: what cannot be built fails it, and figures are printed"
)]

use tidegate_core::{
    Attempts, Bucket, Case, Counts, Dimension, FailureMode, Ladder, Limit, ManualClock, Name,
    Period, PolicySet, PolicySpec, Quota, Rate, Scope, Shape, ShapeKind, Span, Subject, Timestamp,
    Window,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

/// Keys nobody has seen before, at a million per second of the clock.
const FLOOD: u64 = 10_000_000;

/// What a process takes besides: pages of code that are touched for the first time, the stack.
const SLACK: usize = 2 << 20;

/// A page of memory, as Linux counts them on the machines we build for.
const PAGE: usize = 4_096;

/// What of this process is in memory now.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * PAGE
}

const BUCKET: usize = 0;
const LOG: usize = 1;
const QUOTA: usize = 2;
const WINDOW: usize = 3;

/// One policy for each shape, with limits that outlast the flood.
fn policies() -> PolicySet {
    let policy = |name: &str, shape| {
        let limit = Limit::new(Name::try_new(name).unwrap(), Scope::of([Dimension::User]), shape);
        PolicySpec::new(Name::try_new(name).unwrap(), FailureMode::FailOpen).limit(limit)
    };
    let bucket = Bucket::try_new(Rate::per_minute(1).unwrap(), 10).unwrap();
    let quota = Quota::try_new(10, Period::Fixed(Span::DAY), Counts::Admitted).unwrap();
    let window = Window::try_new(10, Span::HOUR, Counts::Admitted).unwrap();
    let log = Attempts::climbing(10, Span::HOUR, Ladder::default()).unwrap();
    PolicySet::builder()
        .policy(policy("bucket", Shape::Bucket(bucket)))
        .policy(policy("quota", Shape::Quota(quota)))
        .policy(policy("window", Shape::Window(window)))
        .policy(policy("log", Shape::Attempts(log)))
        .build(None)
        .unwrap()
}

#[test]
fn t12_ten_million_keys_stay_within_the_memory_that_was_promised() {
    let clock = ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000));
    let set = policies();
    let before = resident();
    let store = MemoryStore::new(Budget::default(), &clock);
    let promised = store.usage().max_bytes;
    let engine = Engine::new(store, set.clone());
    let (mut state, mut admitted) = (12_u64, 0_u64);
    for request in 0..FLOOD {
        // Never the same key twice: an odd step visits every number before it repeats one.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let user = state.to_le_bytes();
        // Policies are in the order of their names.
        let place = match request % 16 {
            0 => WINDOW,
            1..4 => LOG,
            4..8 => QUOTA,
            _ => BUCKET,
        };
        clock.advance(Span::from_micros(1));
        let subject = Subject::new().user(&user);
        let mut case = Case::new(&set.policies()[place], &subject);
        let decision = ready(engine.decide(&mut case)).unwrap().unwrap();
        admitted += u64::from(decision.is_admitted());
    }
    let grown = resident() - before;
    let usage = engine.store().usage();
    println!("{admitted} of {FLOOD} admitted, {usage:?}; grown by {grown} of {promised} bytes");
    assert_eq!(usage.max_bytes, promised, "what was promised stays promised");
    assert!(grown <= promised + SLACK, "{grown} bytes, where {promised} were promised");
    assert!(grown >= promised / 2, "{grown} bytes: the flood did not reach the tables");
    let full = Budget::default();
    assert!(
        usage.of(ShapeKind::Bucket) >= full.buckets && usage.of(ShapeKind::Quota) >= full.quotas,
        "{usage:?}"
    );
    assert!(usage.of(ShapeKind::Window) >= full.windows, "{usage:?}");
    assert!(usage.of(ShapeKind::Attempts) >= full.attempts, "{usage:?}");
}
