//! Defects of peers, shown by asking them.
//!
//! Time is an argument of throttlecrab's library, so each of these defects is exact and can be
//! reproduced. Tidegate answers the same questions beside it.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use throttlecrab::{AdaptiveStore, PeriodicStore, ProbabilisticStore, RateLimiter, Store};
use tidegate_core::{Case, Dimension, ManualClock, Span, Subject, Timestamp};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

use crate::Fallible;
use crate::policy::{bucket, limit, policy};

/// The time at which each demonstration begins, in microseconds since the epoch.
const START: u64 = 1_800_000_000_000_000;
/// Requests to make before concluding that a limiter never denies.
const PATIENCE: u32 = 1_000;

/// A limiter that is asked at a time in microseconds since the epoch. It returns the wait that it
/// tells, or `None` if it admits.
type Limiter = Box<dyn FnMut(u64) -> Fallible<Option<Duration>>>;

/// Runs every demonstration and prints the results.
pub(crate) fn show() -> Fallible<()> {
    println!("throttlecrab 0.4.40 (library), and Tidegate asked the same. Limit: 10 per second.\n");
    burst_of_one()?;
    burst_of_ten()?;
    told_to_wait()
}

fn burst_of_one() -> Fallible<()> {
    println!("A burst of 1, asked {PATIENCE} times at one instant; one request may pass:");
    for (who, mut limiter) in [
        ("throttlecrab, PeriodicStore", theirs(periodic(), 1)),
        ("throttlecrab, AdaptiveStore", theirs(AdaptiveStore::new(), 1)),
        ("throttlecrab, ProbabilisticStore", theirs(ProbabilisticStore::new(), 1)),
        ("tidegate", ours(1)?),
    ] {
        println!("  {who:<33} {} admitted", rush(&mut limiter, 0)?);
    }
    Ok(())
}

fn burst_of_ten() -> Fallible<()> {
    println!("\nA burst of 10, used up, and asked again until denied 1.7 s later; 10 may pass:");
    for (who, mut limiter) in
        [("throttlecrab, PeriodicStore", theirs(periodic(), 10)), ("tidegate", ours(10)?)]
    {
        let (first, second) = (rush(&mut limiter, 0)?, rush(&mut limiter, 1_700_000)?);
        println!("  {who:<33} {first} admitted, then {second}");
    }
    Ok(())
}

fn told_to_wait() -> Fallible<()> {
    println!("\nA burst of 10, used up: how long the next caller is told to wait, in seconds:");
    let (mut periodic, mut ours) = (theirs(periodic(), 10), ours(10)?);
    rush(&mut periodic, 0)?;
    let told = periodic(START)?;
    let wait = told.unwrap_or_default();
    println!(
        "  throttlecrab, PeriodicStore       admitted: {}, retry_after {wait:?}, which its own \
         example prints with as_secs() as {}",
        told.is_none(),
        wait.as_secs()
    );
    rush(&mut ours, 0)?;
    let wait = Span::from(ours(START)?.unwrap_or_default());
    println!(
        "  tidegate                          retry after {wait}, in seconds {}",
        wait.as_secs_ceil()
    );
    Ok(())
}

/// Number of requests admitted at `later` microseconds after the start, before one is denied.
fn rush(limiter: &mut Limiter, later: u64) -> Fallible<u32> {
    for admitted in 0..PATIENCE {
        if limiter(START + later)?.is_some() {
            return Ok(admitted);
        }
    }
    Ok(PATIENCE)
}

fn periodic() -> PeriodicStore {
    PeriodicStore::builder().capacity(10).build()
}

fn theirs<S: Store + 'static>(store: S, burst: i64) -> Limiter {
    let mut limiter = RateLimiter::new(store);
    Box::new(move |at| {
        let now = UNIX_EPOCH + Duration::from_micros(at);
        let (admitted, result) = limiter.rate_limit("acme", burst, 10, 1, 1, now)?;
        Ok((!admitted).then_some(result.retry_after))
    })
}

fn ours(burst: u64) -> Fallible<Limiter> {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(START)));
    let budget = Budget { buckets: 10, quotas: 0, windows: 0, attempts: 0 };
    let store = MemoryStore::new(budget, Arc::clone(&clock));
    let limit = limit("burst", &[Dimension::Org], bucket(10, Span::SECOND, burst)?)?;
    let engine = Engine::new(store, policy(vec![limit])?);
    Ok(Box::new(move |at| {
        clock.set(Timestamp::from_micros(at));
        let (policies, subject) = (engine.policies(), Subject::new().org("acme"));
        let mut case = Case::new(&policies.policies()[0], &subject);
        let decision = ready(engine.decide(&mut case)).ok_or("memory never waits")??;
        let wait = decision.binding().ok_or("a limit has decided")?.reading.room.wait();
        Ok((!wait.is_zero()).then(|| wait.into()))
    }))
}
