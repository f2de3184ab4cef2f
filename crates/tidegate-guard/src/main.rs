//! One decision, many times: the program that `cargo xtask guard` times, and counts the
//! instructions of.
//!
//! `guard list` names the rows. `guard <row> <decisions>` makes that many decisions of one row;
//! nothing in it depends on chance or on the time of day, so two runs take the same instructions.
//! `guard time <rounds>` times the hot decision beside the least that any limiter can do.
//!
//! A row is a scenario and a way to ask. Both ways are functions of their own that call the engine,
//! as in a program that uses Tidegate: each is kept out of line, and neither is the only caller. If
//! there were a single call in the whole program, the compiler would inline all of the engine into
//! it, and the decision would take less time than it does for users.

#![expect(clippy::print_stdout, reason = "it is a command")]

use std::error::Error;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::{
    Bucket, Bundle, Case, Clock, Counts, Digests, Dimension, FailureMode, Limit, ManualClock, Name,
    Period, PolicySet, PolicySpec, Protects, Quota, Rate, RowId, Scope, Shape, Span, Subject,
    Timestamp, Window,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, SystemClock, ready};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// A scenario: its name, its limits, and how far time moves between two decisions.
type Scenario = (&'static str, fn() -> Fallible<Vec<Limit>>, Span);

/// An engine that counts in memory, the index of its only policy, and the rows that are charged in place
/// of the limits of that policy, if it has none.
type Host<C> = (Engine<MemoryStore<C>>, usize, Bundle);

/// How a program asks for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// An `async` function of the program awaits the decision, and a runtime polls that function.
    Awaited,
    /// An ordinary function of the program makes the decision in a plain call.
    Called,
}

/// The least a limiter can do: read the clock and swap one word. The benchmarks have the same
/// floor.
struct Floor {
    /// When the bucket is full again, in microseconds.
    full_at: AtomicU64,
    clock: SystemClock,
}

const SCENARIOS: [Scenario; 6] = [
    ("one_bucket_admitted", one_bucket, Span::SECOND),
    ("one_bucket_denied", one_bucket, Span::ZERO),
    ("five_buckets_admitted", five_buckets, Span::SECOND),
    ("bucket_and_quota_admitted", bucket_and_quota, Span::SECOND),
    ("sliding_window_admitted", sliding_window, Span::SECOND),
    (ROWS, bucket_and_quota, Span::SECOND),
];

/// The scenario whose limits are rows: it is to take what the same limits of a policy take.
const ROWS: &str = "bucket_and_quota_as_rows_admitted";

/// Decisions in one timed turn: enough for a clock of microseconds, and few enough that most turns
/// are not interrupted.
const TURN: u64 = 4_000;
/// Calls in one timed turn of the floor. It takes about an eighth of the time, so its turns are
/// eight times as long.
const FLOOR_TURN: u64 = 8 * TURN;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["list"] => {
            for (name, _, _) in SCENARIOS {
                for way in Way::ALL {
                    println!("{name}/{}", way.name());
                }
            }
            Ok(())
        }
        ["time", rounds] => time(rounds.parse()?),
        [row, decisions] => {
            let known = row.split_once('/').and_then(|(scenario, way)| {
                let scenario = SCENARIOS.iter().find(|(name, _, _)| *name == scenario)?;
                Some((scenario, Way::ALL.into_iter().find(|known| known.name() == way)?))
            });
            let (scenario, way) = known.ok_or("no such row; try `guard list`")?;
            count(scenario, way, decisions.parse()?)
        }
        _ => Err("usage: guard list | guard <row> <decisions> | guard time <rounds>".into()),
    }
}

fn count((name, limits, step): &Scenario, way: Way, decisions: u32) -> Fallible<()> {
    let clock = ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000));
    let subject = Subject::new().org("acme").user("u7").token("t-123456").class("read");
    let (is_rows, mut left) = (*name == ROWS, decisions);
    let host = if is_rows { host_of_rows(limits()?, &clock)? } else { host(limits()?, &clock)? };
    warm_up(&host, &subject).ok_or("not decided")?;
    let more = move || {
        left = left.checked_sub(1)?;
        Some(*step)
    };
    let decided = match is_rows {
        true => repeat::<true>(&host, way, &subject, &clock, more),
        false => repeat::<false>(&host, way, &subject, &clock, more),
    };
    decided.ok_or_else(|| "not decided".into())
}

/// Decides again and again, each time after the span that `more` returns, until it returns none.
#[inline(always)]
fn repeat<'c, const ROWS: bool>(
    host: &Host<&'c ManualClock>,
    way: Way,
    subject: &Subject<'_>,
    clock: &'c ManualClock,
    mut more: impl FnMut() -> Option<Span>,
) -> Option<()> {
    while let Some(step) = more() {
        clock.advance(step);
        way.decide::<_, ROWS>(host, black_box(subject))?;
    }
    Some(())
}

/// Prints the median and the least time of one decision in picoseconds, for the floor and for each
/// way.
///
/// They take turns of a fraction of a millisecond, so other load on the machine slows all of them
/// alike, or interrupts a single turn, which the median does not show.
fn time(rounds: usize) -> Fallible<()> {
    let roomy = Shape::Bucket(Bucket::try_new(Rate::per_second(1)?, 1_000_000_000)?);
    let scope = Scope::of([Dimension::Org]);
    let host = host(vec![Limit::new(Name::try_new("burst")?, scope, roomy)], SystemClock::new())?;
    let subject = Subject::new().org("org_6ZQ4T0J8M2XK5N1V");
    warm_up(&host, &subject).ok_or("not decided")?;
    let floor = Floor { full_at: AtomicU64::new(0), clock: SystemClock::new() };
    let clock = SystemClock::new();
    let turn = |calls: u64, ask: &dyn Fn() -> Option<bool>| {
        let start = clock.now();
        let admitted = (0..calls).all(|_| ask() == Some(true));
        let took = clock.now().since(start).as_micros() * 1_000_000 / calls;
        if admitted { Ok(took) } else { Err("a roomy limit did not admit") }
    };
    let mut times: [Vec<u64>; 3] = Default::default();
    for _ in 0..rounds {
        times[0].push(turn(FLOOR_TURN, &|| Some(floor.admits(&subject)))?);
        for (way, times) in Way::ALL.into_iter().zip(&mut times[1..]) {
            times.push(turn(TURN, &|| way.decide::<_, false>(&host, black_box(&subject)))?);
        }
    }
    let names = ["floor"].into_iter().chain(Way::ALL.map(Way::name));
    for (name, times) in names.zip(&mut times) {
        times.sort_unstable();
        let (median, least) = (times.get(times.len() / 2), times.first());
        let (median, least) = median.zip(least).ok_or("no rounds, no times")?;
        println!("{name} {median} {least}");
    }
    Ok(())
}

fn host<C: Clock>(limits: Vec<Limit>, clock: C) -> Fallible<Host<C>> {
    let spec = PolicySpec::new(Name::try_new("guard")?, FailureMode::FailOpen);
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    let policies = PolicySet::builder().policy(spec).build(None)?;
    let place = policies.place("guard").ok_or("the policy is there")?;
    let bundle = policies.policies()[place].bundle().clone();
    Ok((engine(policies, clock), place, bundle))
}

/// The host of a policy without limits, and the same limits as rows.
fn host_of_rows<C: Clock>(limits: Vec<Limit>, clock: C) -> Fallible<Host<C>> {
    let stance = PolicySpec::stance(Name::try_new("guard")?, FailureMode::Degraded);
    let stance = stance.protecting(Protects::Outbound);
    let policies = PolicySet::builder().policy(stance).build(None)?;
    let place = policies.place("guard").ok_or("the policy is there")?;
    let rows = limits
        .into_iter()
        .zip(1..)
        .map(|(limit, id)| limit.as_row(RowId::from_u128(id), &Arc::from("top")).map(Arc::new));
    let bundle = Bundle::try_new(rows.collect::<Result<_, _>>()?)?;
    Ok((engine(policies, clock), place, bundle))
}

fn engine<C: Clock>(policies: PolicySet, clock: C) -> Engine<MemoryStore<C>> {
    let budget = Budget { buckets: 1_000, quotas: 1_000, windows: 100, attempts: 16 };
    Engine::with_digests(MemoryStore::new(budget, clock), policies, Digests::new([1, 2]))
}

/// The case of a request, over the rows of the host or the limits of its policy.
#[inline(always)]
fn case<'c, const ROWS: bool>(
    policies: &'c PolicySet,
    place: usize,
    bundle: &'c Bundle,
    subject: &'c Subject<'c>,
) -> Case<'c> {
    let policy = &policies.policies()[place];
    if ROWS { Case::over(policy, bundle, subject) } else { Case::new(policy, subject) }
}

/// Decides once in each way. This is the second caller of the engine, which most programs have.
#[inline(never)]
fn warm_up<C: Clock>((engine, place, bundle): &Host<C>, subject: &Subject<'_>) -> Option<()> {
    let policies = engine.policies();
    let mut case = case::<true>(&policies, *place, bundle, subject);
    ready(engine.decide(&mut case))?.ok().map(drop)?;
    engine.decide_now(&mut case).ok().map(drop)
}

/// A handler of a program that is `async`, which awaits the decision.
async fn awaited<C: Clock, const ROWS: bool>(
    (engine, place, bundle): &Host<C>,
    subject: &Subject<'_>,
) -> Option<bool> {
    let policies = engine.policies();
    let mut case = case::<ROWS>(&policies, *place, bundle, subject);
    let decision = engine.decide(&mut case).await.ok()?;
    black_box(decision.binding().map(|binding| binding.reading.remaining));
    Some(decision.is_admitted())
}

/// Polls a handler as a runtime does, which knows nothing else about the future.
#[inline(never)]
fn poll(handler: Pin<&mut dyn Future<Output = Option<bool>>>) -> Option<bool> {
    ready(black_box(handler)).flatten()
}

/// A function of a program that is not `async`, which calls for the decision.
#[inline(never)]
fn called<C: Clock, const ROWS: bool>(
    (engine, place, bundle): &Host<C>,
    subject: &Subject<'_>,
) -> Option<bool> {
    let policies = engine.policies();
    let mut case = case::<ROWS>(&policies, *place, bundle, subject);
    let decision = engine.decide_now(&mut case).ok()?;
    black_box(decision.binding().map(|binding| binding.reading.remaining));
    Some(decision.is_admitted())
}

// === impl Way ===

impl Way {
    const ALL: [Self; 2] = [Self::Awaited, Self::Called];

    const fn name(self) -> &'static str {
        match self {
            Self::Awaited => "awaited",
            Self::Called => "called",
        }
    }

    /// Whether the request is admitted; `None` if it was not decided.
    #[inline]
    fn decide<C: Clock, const ROWS: bool>(
        self,
        host: &Host<C>,
        subject: &Subject<'_>,
    ) -> Option<bool> {
        match self {
            Self::Awaited => poll(pin!(awaited::<C, ROWS>(host, subject))),
            Self::Called => called::<C, ROWS>(host, subject),
        }
    }
}

// === impl Floor ===

impl Floor {
    #[inline(never)]
    fn admits(&self, subject: &Subject<'_>) -> bool {
        black_box(subject);
        let now = self.clock.now().as_micros();
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            let next = full_at.max(now) + 1_000_000;
            if next - now > 1_000_000_000_000_000 {
                return false;
            }
            match self.full_at.compare_exchange_weak(
                full_at,
                next,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(other) => full_at = other,
            }
        }
    }
}

fn one_bucket() -> Fallible<Vec<Limit>> {
    Ok(vec![bucket("burst", &[Dimension::Org])?])
}

fn five_buckets() -> Fallible<Vec<Limit>> {
    Ok(vec![
        bucket("org", &[Dimension::Org])?,
        bucket("user", &[Dimension::Org, Dimension::User])?,
        bucket("token", &[Dimension::Org, Dimension::Token])?,
        bucket("class", &[Dimension::Org, Dimension::Class])?,
        bucket("all", &[])?,
    ])
}

fn bucket_and_quota() -> Fallible<Vec<Limit>> {
    let quota = Quota::try_new(1_000_000, Period::Fixed(Span::DAY), Counts::Admitted)?;
    let scope = Scope::of([Dimension::Org]);
    Ok(vec![
        bucket("burst", &[Dimension::Org])?,
        Limit::new(Name::try_new("quota")?, scope, Shape::Quota(quota)),
    ])
}

fn sliding_window() -> Fallible<Vec<Limit>> {
    let window = Window::try_new(1_000, Span::MINUTE, Counts::Admitted)?;
    let scope = Scope::of([Dimension::Org]);
    Ok(vec![Limit::new(Name::try_new("window")?, scope, Shape::Window(window))])
}

fn bucket(name: &str, scope: &[Dimension]) -> Fallible<Limit> {
    let shape = Shape::Bucket(Bucket::try_new(Rate::per_second(10)?, 20)?);
    Ok(Limit::new(Name::try_new(name)?, Scope::of(scope.iter().copied()), shape))
}
