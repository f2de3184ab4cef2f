//! T13 and P44: a flood of keys washes no counter away.
//!
//! The victims have used part of their limits, or all of them. Then ten million keys come that nobody
//! has seen. A second store sees the victims only; whatever that one says of a victim, the flooded
//! one has to say too, to the microsecond.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::{Dimension, PolicySet, PolicySpec, ShapeKind, Span, Subject};
use tidegate_engine::memory::Budget;

use crate::world::{Dice, START, World, bucket, limit, name, quota, spec, together, window};

const VICTIMS: u64 = 1_000;

/// Keys of the flood, at a million per second of the clock.
const FLOOD: u64 = 10_000_000;

/// How much of it the clock is moved by at a time.
const STEP: u64 = 1_000;

/// Policies by their place: first the one of the victims with all limits, then each limit alone, then
/// limits of others.
fn policies() -> PolicySet {
    let user = &[Dimension::User];
    let shared = [
        ("bucket", bucket(1, Span::MINUTE, 10)),
        ("quota", quota(10, Span::DAY)),
        ("times", window(10, Span::HOUR)),
        ("counts", window(100, Span::HOUR)),
    ];
    let mut all = spec("a-all", []);
    let mut builder = PolicySet::builder()
        .policy(spec("c-bucket", [limit("other", user, bucket(1, Span::SECOND, 1))]))
        .policy(spec("c-quota", [limit("other", user, quota(1, Span::from_secs(2)))]));
    for (of, shape) in shared {
        builder = builder.shared(limit(of, user, shape));
        builder = builder.policy(spec(&format!("b-{of}"), []).shared_limit(name(of)));
        all = PolicySpec::shared_limit(all, name(of));
    }
    builder.policy(all).build(None).unwrap()
}

/// Which policy one of the flood asks: mostly cheap ones, as windows are ten times as slow.
fn asked(dice: &mut Dice) -> usize {
    const BUCKET: usize = 1;
    const COUNTS: usize = 2;
    const QUOTA: usize = 3;
    const TIMES: usize = 4;
    const OTHERS: [usize; 2] = [5, 6];
    match dice.below(64) {
        0 => COUNTS,
        1 => TIMES,
        2..24 => QUOTA,
        24..36 => OTHERS[usize::try_from(dice.below(2)).unwrap()],
        _ => BUCKET,
    }
}

/// Two threads send `keys` keys in all, and move the clock on as they do.
fn flood(world: &World, keys: u64, seed: u64) -> usize {
    let sent = AtomicU64::new(0);
    let start = tidegate_core::Clock::now(&*world.clock);
    together(2, |thread| {
        let mut dice = Dice(seed << 8 | thread);
        let mut admitted = 0;
        while sent.fetch_add(STEP, Ordering::Relaxed) < keys {
            for _ in 0..STEP {
                let place = asked(&mut dice);
                let user = dice.next().to_le_bytes();
                admitted += usize::from(world.admits_by(place, &Subject::new().user(&user)));
            }
            let now = start.after(Span::from_micros(sent.load(Ordering::Relaxed).min(keys)));
            world.clock.set(now);
        }
        admitted
    })
}

fn with_victim<T>(victim: u64, asked: impl FnOnce(&Subject<'_>) -> T) -> T {
    asked(&Subject::new().user(&format!("victim {victim}")))
}

#[test]
fn t13_victims_stay_exact_through_a_flood() {
    let budget = Budget { buckets: 20_000, quotas: 20_000, windows: 4_000, attempts: 16 };
    let (flooded, quiet) = (World::new(budget, policies()), World::new(budget, policies()));
    for victim in 0..VICTIMS {
        for _ in 0..=victim % 10 {
            for world in [&flooded, &quiet] {
                assert!(with_victim(victim, |subject| world.admits(subject)));
            }
        }
    }
    let mut admitted = 0;
    for half in 1..=2 {
        admitted += flood(&flooded, FLOOD / 2, half);
        for world in [&flooded, &quiet] {
            world.clock.set(START.after(Span::from_micros(half * FLOOD / 2)));
        }
        for victim in 0..VICTIMS {
            let look = |world: &World| with_victim(victim, |subject| world.peek(0, subject));
            assert_eq!(look(&flooded), look(&quiet), "half {half}, victim {victim}");
            let ask = |world: &World| with_victim(victim, |subject| world.decide(0, subject));
            let (found, expected) = (ask(&flooded), ask(&quiet));
            assert_eq!(found, expected, "half {half}, victim {victim}");
            let had_left = victim % 10 + half < 10;
            assert_eq!(found.0, had_left, "half {half}, victim {victim}");
        }
    }
    let usage = flooded.engine.store().usage();
    println!("{admitted} of {FLOOD} keys of the flood were admitted; {usage:?}");
    assert!(
        usage.of(ShapeKind::Bucket) >= 20_000 && usage.of(ShapeKind::Quota) >= 20_000,
        "the tables hold what they were made for: {usage:?}"
    );
}
