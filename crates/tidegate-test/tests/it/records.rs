//! P96: what the production scripts leave on a server are the records of the core, byte for byte and
//! with the same expiry.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use tidegate_core::{
    Account, Attempts, Bucket, Case, Cost, CostRule, Counts, Dimension, FailureMode, Level, Limit,
    ManualClock, Period, PolicySet, PolicySpec, Protects, Quota, Rate, Record, Scope, Shape, Span,
    Store, Subject, Ticket, Timestamp, Window,
};
use tidegate_engine::Engine;
use tidegate_stores::redis::RedisStore;
use tidegate_test::drive::digests;
use tidegate_test::lua::{Expired, Keys, secret, store_over};
use tidegate_test::plain::PlainStore;
use tidegate_test::ready;
use tidegate_test::trace::{START, Trace, traces, walk, with_reloads};

use crate::blocks::{climbing, dual, name};
use crate::cases;

/// What is kept, by name: the bytes, and the expiry in milliseconds.
type Shelf = BTreeMap<String, (Vec<u8>, u64)>;

/// What the scripts have written, without the marks of settled tickets.
fn written(keys: &Keys) -> Shelf {
    let counters = keys.all().into_iter().filter(|(_, (value, _))| value != b"1");
    counters.map(|(name, kept)| (String::from_utf8(name).unwrap(), kept)).collect()
}

/// What the core's steps have left.
fn left<C>(store: &PlainStore<C>) -> Shelf {
    let records = store.records.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = records.iter().map(|(name, it)| (name.clone(), (it.encode(), it.expires_at_ms)));
    kept.collect()
}

/// Both after every request of a trace.
fn shelves(trace: &Trace) -> (Vec<Shelf>, Vec<Shelf>) {
    let (mut scripts, mut steps) = (Vec::new(), Vec::new());
    let (clock, keys) = (Arc::new(ManualClock::new(START)), Keys::default());
    let store = store_over(Arc::<ManualClock>::clone(&clock), Expired::Stays, false, &keys);
    walk(trace, &clock, &store, |_| scripts.push(written(&keys)));
    let clock = ManualClock::new(START);
    let store = PlainStore::by_name(&clock, secret().names());
    walk(trace, &clock, &store, |_| steps.push(left(&store)));
    (scripts, steps)
}

proptest! {
    #![proptest_config(cases(6_000))]

    #[test]
    fn p96_the_scripts_write_the_records_of_the_core(trace in traces(20)) {
        let (scripts, steps) = shelves(&trace);
        prop_assert_eq!(scripts, steps);
    }

    #[test]
    fn p96_the_scripts_write_the_records_of_the_core_across_reloads(trace in with_reloads(20)) {
        let (scripts, steps) = shelves(&trace);
        prop_assert_eq!(shortest(scripts), steps);
    }
}

/// The same in the shortest form. A script leaves room for members in a log that had some under the
/// policies before a reload, and fills it with zeros, which say that there is none.
fn shortest(mut shelves: Vec<Shelf>) -> Vec<Shelf> {
    for (bytes, _) in shelves.iter_mut().flat_map(BTreeMap::values_mut) {
        if let Ok(Some(log)) = Record::decode(bytes, None) {
            *bytes = log.encode();
        }
    }
    shelves
}

/// One node on the scripts and one on the core's steps, at the same time.
struct Both {
    clock: Arc<ManualClock>,
    keys: Keys,
    scripts: Engine<RedisStore>,
    steps: Engine<PlainStore<Arc<ManualClock>>>,
}

impl Both {
    fn new(set: impl Fn() -> PolicySet) -> Self {
        let (clock, keys) = (Arc::new(ManualClock::new(START)), Keys::default());
        let now: Arc<ManualClock> = Arc::clone(&clock);
        let scripts = store_over(now, Expired::Stays, false, &keys);
        let steps = PlainStore::by_name(Arc::clone(&clock), secret().names());
        Self {
            clock,
            keys,
            scripts: Engine::with_digests(scripts, set(), digests()).sharing(&secret()),
            steps: Engine::with_digests(steps, set(), digests()).sharing(&secret()),
        }
    }

    /// The only record, which is the same on both.
    fn only(&self) -> (Vec<u8>, u64) {
        let shelf = written(&self.keys);
        assert_eq!(shelf, left(self.steps.store()));
        assert_eq!(shelf.len(), 1);
        shelf.into_values().next().unwrap()
    }

    fn decide(&self, account: &str, weight: u64) -> Option<(Ticket, Ticket)> {
        let ticket = ask(&self.scripts, account, weight);
        ticket.zip(ask(&self.steps, account, weight))
    }

    fn amend(&self, account: &str, limit: &str, verb: Verb) {
        amend(&self.scripts, account, limit, verb);
        amend(&self.steps, account, limit, verb);
    }
}

fn ask<S: Store>(engine: &Engine<S>, account: &str, weight: u64) -> Option<Ticket> {
    let account = Account::new(account);
    let (set, subject) = (engine.policies(), Subject::new().account(&account).user("u"));
    let weight = Cost::try_new(weight).unwrap();
    let mut case = Case::new(set.get("p").unwrap(), &subject).weighing(weight);
    engine.ticket(&ready(engine.decide(&mut case)).unwrap())
}

fn amend<S: Store>(engine: &Engine<S>, account: &str, limit: &str, verb: Verb) {
    let account = Account::new(account);
    let (set, subject) = (engine.policies(), Subject::new().account(&account).user("u"));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let limit = Some(limit);
    match verb {
        Verb::Block(lasts, level) => {
            ready(engine.block(&mut case, limit, Span::from_micros(lasts), level)).map(|_| ())
        }
        Verb::Unblock => ready(engine.unblock(&mut case, limit)).map(|_| ()),
        Verb::Reset => ready(engine.reset(&mut case, limit)).map(|_| ()),
    }
    .unwrap();
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Block(u64, Option<Level>),
    Unblock,
    Reset,
}

#[derive(Clone, Debug)]
enum Step {
    Decide(&'static str, u64),
    Settle(Index, u64),
    Amend(&'static str, &'static str, Verb),
    Wait(u64),
}

const SECOND: u64 = 1_000_000;

fn step() -> impl Strategy<Value = Step> {
    let account = || select(vec!["a", "b"]);
    let lasts = select(vec![1, 15 * SECOND, 600 * SECOND, 86_400 * SECOND]);
    let level = proptest::option::of(select(Level::ALL.to_vec()));
    let verb = prop_oneof![
        2 => (lasts, level).prop_map(|(lasts, level)| Verb::Block(lasts, level)),
        1 => Just(Verb::Unblock),
        1 => Just(Verb::Reset),
    ];
    let limit = select(vec!["dual", "ladder", "distinct", "ladder-forgiving"]);
    let waits = select(vec![1, 999, SECOND, 7_654_321, 61 * SECOND, 400 * SECOND, 3_600 * SECOND]);
    prop_oneof![
        6 => (account(), 1_u64..12).prop_map(|(account, weight)| Step::Decide(account, weight)),
        3 => (any::<Index>(), 0_u64..30).prop_map(|(ticket, weight)| Step::Settle(ticket, weight)),
        1 => (account(), limit, verb).prop_map(|(who, limit, verb)| Step::Amend(who, limit, verb)),
        2 => waits.prop_map(Step::Wait),
    ]
}

fn limit(title: &str, shape: Shape) -> Limit {
    Limit::new(name(title), Scope::of([Dimension::Account]), shape).settling()
}

fn policies(limits: impl IntoIterator<Item = Limit>) -> PolicySet {
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Auth);
    let spec = limits.into_iter().fold(spec, |spec, limit| spec.limit(limit.with_named_key()));
    PolicySet::builder().policy(spec).build(None).unwrap()
}

fn bucket() -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_second(3).unwrap(), 5).unwrap())
}

fn window(count: u64) -> Shape {
    Shape::Window(Window::try_new(count, Span::MINUTE, Counts::Admitted).unwrap())
}

fn quota(period: Period) -> Shape {
    Shape::Quota(Quota::try_new(40, period, Counts::Admitted).unwrap())
}

fn log(title: &str, attempts: &Attempts) -> Limit {
    limit(title, Shape::Attempts(attempts.clone()))
}

/// Every shape, and abuse logs of every manner; those that settle together are in one policy.
fn numbers() -> PolicySet {
    let slow = Bucket::try_new(Rate::try_new(7, Span::from_secs(11)).unwrap(), 20).unwrap();
    policies([
        limit("bucket", Shape::Bucket(slow)),
        limit("ring", window(40)),
        limit("grid", window(100)),
        limit("fixed", quota(Period::Fixed(Span::MINUTE))),
        limit("first", quota(Period::FirstUse(Span::MINUTE))),
        limit("requests", window(50)).costing(CostRule::PerRequest(Cost::ONE)),
    ])
}

fn logs() -> PolicySet {
    policies([
        log("dual", &dual(3, 6)),
        log("dual-forgiving", &dual(3, 6)).forgiving(),
        log("ladder", &climbing(3)),
        log("ladder-forgiving", &climbing(3)).forgiving(),
        log("distinct", &climbing(3)).distinct(Dimension::User),
    ])
}

fn agree(set: fn() -> PolicySet, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (both, mut tickets) = (Both::new(set), Vec::new());
    for step in steps {
        match &step {
            Step::Decide(account, weight) => tickets.extend(both.decide(account, *weight)),
            Step::Settle(place, weight) if !tickets.is_empty() => {
                let (script, rule): &(Ticket, Ticket) = place.get(&tickets);
                let settled = ready(both.scripts.settle(script.as_str(), *weight));
                prop_assert_eq!(settled, ready(both.steps.settle(rule.as_str(), *weight)));
            }
            Step::Settle(..) => {}
            Step::Amend(account, limit, verb) => {
                if both
                    .steps
                    .policies()
                    .get("p")
                    .unwrap()
                    .limits()
                    .iter()
                    .any(|it| it.name().as_str() == *limit)
                {
                    both.amend(account, limit, *verb);
                }
            }
            Step::Wait(micros) => both.clock.advance(Span::from_micros(*micros)),
        }
        prop_assert_eq!(written(&both.keys), left(both.steps.store()), "{:?}", step);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn p91_p96_settled_by_the_scripts_the_records_are_those_of_the_core(steps in vec(step(), 1..50)) {
        agree(numbers, steps)?;
    }

    #[test]
    fn p92_p96_logs_left_by_the_scripts_are_the_records_of_the_core(steps in vec(step(), 1..50)) {
        agree(logs, steps)?;
    }
}

fn words(letters: &[u8], numbers: &[u64]) -> Vec<u8> {
    [letters.to_vec(), numbers.iter().flat_map(|number| number.to_le_bytes()).collect()].concat()
}

/// The bytes and the expiry that one request of this weight leaves.
#[expect(clippy::needless_pass_by_value, reason = "a shape is made for the call")]
fn leaves(shape: Shape, weight: u64) -> (Vec<u8>, u64) {
    let both = Both::new(|| policies([limit("l", shape.clone())]));
    let _ = both.decide("a", weight);
    both.only()
}

/// Redis: 2026-03-28T22:59:57.123457Z is 1 774 738 797 123 457.
#[test]
fn p96_the_bytes_on_a_server_do_not_change() {
    assert_eq!(START, Timestamp::from_micros(1_774_738_797_123_457));
    let now = START.as_micros();

    // 333 334 µs until it is full, 1 666 667 µs of slack, and the next millisecond.
    let expiry = 1_774_738_799_124;
    let bytes = words(b"b1", &[3, 1_000_000, 5, 4_000_000, now, expiry]);
    assert_eq!(leaves(bucket(), 1), (bytes, expiry));

    // The end of the day and a minute.
    let expiry = 1_774_742_460_000;
    let bytes = words(b"q1", &[1_774_656_000_000_000, 7, expiry]);
    assert_eq!(leaves(quota(Period::Fixed(Span::DAY)), 7), (bytes, expiry));

    // A day from now and a minute, rounded down.
    let expiry = 1_774_825_257_123;
    let bytes = words(b"q1", &[now, 7, expiry]);
    assert_eq!(leaves(quota(Period::FirstUse(Span::DAY)), 7), (bytes, expiry));

    // A minute, rounded up, and a minute of slack.
    let expiry = 1_774_738_917_124;
    let bytes = words(b"r1\x02", &[expiry, now, now]);
    assert_eq!(leaves(window(5), 2), (bytes, expiry));

    // 61 slots of a second after the beginning of this one, and a minute; slot 1 774 738 797 mod 61.
    let expiry = 1_774_738_918_000;
    let mut counts = [0_u8; 4 * 61];
    counts[4 * 39] = 2;
    let bytes = [words(b"g1", &[60_000_000, now, 0, expiry]), counts.to_vec()].concat();
    assert_eq!(leaves(window(500), 2), (bytes, expiry));
}

#[test]
fn p92_p96_the_bytes_of_a_log_on_a_server_do_not_change() {
    let both = Both::new(|| policies([log("l", &climbing(3))]));
    let id = both.steps.policies().get("p").unwrap().limits()[0].id();
    let now = START.as_micros();
    let _ = both.decide("a", 1);
    // Ten minutes, rounded up, and a minute of slack.
    let expiry = 1_774_739_457_124;
    let head = words(b"a1", &[expiry, 0, id]);
    let bytes = [head, vec![0, 0, 1, 0], words(b"", &[now])].concat();
    assert_eq!(both.only(), (bytes, expiry));

    let _ = (both.decide("a", 1), both.decide("a", 1));
    // A block of 15 seconds; the next one is higher for an hour after it. And a minute.
    let expiry = 1_774_742_472_124;
    let until = now + 15 * SECOND;
    let blocked = [words(b"a1", &[expiry, until, id]), vec![1, 1, 0, 0]].concat();
    assert_eq!(both.only(), (blocked, expiry));

    // For a day, from level 2 on: two hours more, and the next millisecond.
    both.amend("a", "l", Verb::Block(86_400 * SECOND, Some(Level::L2)));
    let expiry = 1_774_832_397_124;
    let until = now + 86_400 * SECOND;
    let blocked = [words(b"a1", &[expiry, until, id]), vec![3, 2, 0, 0]].concat();
    assert_eq!(both.only(), (blocked, expiry));
}

/// A log whose only attempt had a member, and was given back, has no members: the next attempt, after
/// a reload that counts all of them, must find a log that can be read.
#[test]
fn p91_a_log_that_was_emptied_can_be_read_once_distinct_values_are_no_more() {
    let distinct = || policies([log("l", &climbing(3)).distinct(Dimension::User)]);
    let both = Both::new(distinct);
    let (script, rule) = both.decide("a", 1).unwrap();
    ready(both.scripts.settle(script.as_str(), 0)).unwrap();
    ready(both.steps.settle(rule.as_str(), 0)).unwrap();
    let plain = || {
        let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Auth);
        PolicySet::builder().policy(spec.limit(log("l", &climbing(3)).with_named_key()))
    };
    both.scripts.reload(&plain()).unwrap();
    both.steps.reload(&plain()).unwrap();
    for _ in 0..2 {
        let _ = both.decide("a", 1);
        both.clock.advance(Span::SECOND);
    }
    assert_eq!(both.only().0[28..30], [2, 0], "two attempts without members");
}
