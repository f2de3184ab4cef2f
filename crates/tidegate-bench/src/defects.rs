//! Defects of peers, shown by asking them.
//!
//! Time is an argument of throttlecrab's library, so each of these defects is exact and can be
//! reproduced. Tidegate answers the same questions beside it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use throttlecrab::{AdaptiveStore, PeriodicStore, ProbabilisticStore, RateLimiter, Store};
use tidegate_core::{
    Bucket, Case, Dimension, FailureMode, Limit, ManualClock, Name, PolicySet, PolicySpec, Rate,
    Scope, Shape, Span, Subject, Timestamp,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

use crate::Fallible;

/// The time at which each demonstration begins, in microseconds since the epoch.
const START: u64 = 1_800_000_000_000_000;
/// Requests to make before concluding that a limiter never denies.
const PATIENCE: u32 = 1_000;

/// A limiter that can be asked at any point in time.
trait Limiter {
    fn admits(&mut self, at_micros: u64) -> Fallible<bool>;
}

struct Theirs<S: Store> {
    limiter: RateLimiter<S>,
    burst: i64,
}

struct Ours<'c> {
    clock: &'c ManualClock,
    engine: Engine<MemoryStore<&'c ManualClock>>,
}

/// Runs every demonstration and prints the results.
pub(crate) fn show() -> Fallible<()> {
    println!("throttlecrab 0.4.40 (library), and Tidegate asked the same. Limit: 10 per second.\n");
    burst_of_one()?;
    burst_of_ten()?;
    told_to_wait()
}

fn burst_of_one() -> Fallible<()> {
    println!("A burst of 1, asked {PATIENCE} times at one instant; one request may pass:");
    println!(
        "  throttlecrab, PeriodicStore       {} admitted",
        rush(&mut theirs(periodic(), 1), 0)?
    );
    let mut adaptive = theirs(AdaptiveStore::new(), 1);
    println!("  throttlecrab, AdaptiveStore       {} admitted", rush(&mut adaptive, 0)?);
    let mut probabilistic = theirs(ProbabilisticStore::new(), 1);
    println!("  throttlecrab, ProbabilisticStore  {} admitted", rush(&mut probabilistic, 0)?);
    let clock = clock();
    println!("  tidegate                          {} admitted\n", rush(&mut ours(&clock, 1)?, 0)?);
    Ok(())
}

fn burst_of_ten() -> Fallible<()> {
    const LATER: u64 = 1_700_000;
    println!("A burst of 10, used up, and asked again until denied 1.7 s later; 10 may pass:");
    let mut periodic = theirs(periodic(), 10);
    let (first, second) = (rush(&mut periodic, 0)?, rush(&mut periodic, LATER)?);
    println!("  throttlecrab, PeriodicStore       {first} admitted, then {second}");
    let clock = clock();
    let mut ours = ours(&clock, 10)?;
    let (first, second) = (rush(&mut ours, 0)?, rush(&mut ours, LATER)?);
    println!("  tidegate                          {first} admitted, then {second}\n");
    Ok(())
}

fn told_to_wait() -> Fallible<()> {
    println!("A burst of 10, used up: how long the next caller is told to wait, in seconds:");
    let mut periodic = theirs(periodic(), 10);
    rush(&mut periodic, 0)?;
    let (admitted, result) = periodic.ask(START)?;
    println!(
        "  throttlecrab, PeriodicStore       admitted: {admitted}, retry_after {:?}, which its own \
         example prints with as_secs() as {}",
        result.retry_after,
        result.retry_after.as_secs()
    );
    let clock = clock();
    let mut ours = ours(&clock, 10)?;
    rush(&mut ours, 0)?;
    let wait = ours.wait()?;
    println!(
        "  tidegate                          retry after {wait}, in seconds {}",
        wait.as_secs_ceil()
    );
    Ok(())
}

/// Number of requests admitted at `later` microseconds after the start, before one is denied.
fn rush(limiter: &mut impl Limiter, later: u64) -> Fallible<u32> {
    for admitted in 0..PATIENCE {
        if !limiter.admits(START + later)? {
            return Ok(admitted);
        }
    }
    Ok(PATIENCE)
}

fn periodic() -> PeriodicStore {
    PeriodicStore::builder().capacity(10).build()
}

fn theirs<S: Store>(store: S, burst: i64) -> Theirs<S> {
    Theirs { limiter: RateLimiter::new(store), burst }
}

const fn clock() -> ManualClock {
    ManualClock::new(Timestamp::from_micros(START))
}

fn ours(clock: &ManualClock, burst: u64) -> Fallible<Ours<'_>> {
    let shape = Shape::Bucket(Bucket::try_new(Rate::per_second(10)?, burst)?);
    let limit = Limit::new(Name::try_new("burst")?, Scope::of([Dimension::Org]), shape);
    let spec = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen).limit(limit);
    let set = PolicySet::builder().policy(spec).build(None)?;
    let store = MemoryStore::new(Budget { buckets: 10, quotas: 0, windows: 0, attempts: 0 }, clock);
    Ok(Ours { clock, engine: Engine::new(store, set) })
}

// === impl Theirs ===

impl<S: Store> Theirs<S> {
    fn ask(&mut self, at_micros: u64) -> Fallible<(bool, throttlecrab::RateLimitResult)> {
        let now: SystemTime = UNIX_EPOCH + Duration::from_micros(at_micros);
        Ok(self.limiter.rate_limit("acme", self.burst, 10, 1, 1, now)?)
    }
}

impl<S: Store> Limiter for Theirs<S> {
    fn admits(&mut self, at_micros: u64) -> Fallible<bool> {
        Ok(self.ask(at_micros)?.0)
    }
}

// === impl Ours ===

impl Ours<'_> {
    /// Decides one request and returns the wait that the binding limit reports; zero if admitted.
    fn wait(&self) -> Fallible<Span> {
        let set = self.engine.policies();
        let policy = set.get("api").ok_or("the policy is missing from its set")?;
        let subject = Subject::new().org("acme");
        let mut case = Case::new(policy, &subject);
        let decision = ready(self.engine.decide(&mut case));
        let binding = decision.ok_or("memory never waits")??.binding();
        Ok(binding.ok_or("a limit has decided")?.reading.room.wait())
    }
}

impl Limiter for Ours<'_> {
    fn admits(&mut self, at_micros: u64) -> Fallible<bool> {
        self.clock.set(Timestamp::from_micros(at_micros));
        Ok(self.wait()?.is_zero())
    }
}
