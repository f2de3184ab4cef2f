//! A reload is no amnesty, wherever counters live: what was used under another period or another name of
//! the counter still counts.

use std::sync::Arc;

use tidegate_core::{
    Bucket, Calendar, Case, Cost, Counts, Dimension, FailureMode, Limit, ManualClock, Name, Period,
    PolicySet, PolicySetBuilder, PolicySpec, Protects, Quota, Rate, Retry, Scope, Shape, Span,
    Store, Subject, Timestamp, Unit, Verdict, Window,
};
use tidegate_engine::Engine;
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_test::lua::{Expired, secret, store};
use tidegate_test::plain::PlainStore;
use tidegate_test::ready;

/// 2026-01-10T09:30:00Z.
const START: Timestamp = Timestamp::from_micros(1_768_037_400_000_000);
const HOUR: u64 = 3_600;

fn bucket(tokens: u64, secs: u64) -> Shape {
    let rate = Rate::try_new(tokens, Span::from_secs(secs)).unwrap();
    Shape::Bucket(Bucket::try_new(rate, tokens).unwrap())
}

fn window(count: u64, secs: u64) -> Shape {
    Shape::Window(Window::try_new(count, Span::from_secs(secs), Counts::Admitted).unwrap())
}

fn quota(count: u64, period: Period) -> Shape {
    Shape::Quota(Quota::try_new(count, period, Counts::Admitted).unwrap())
}

fn fixed(count: u64, secs: u64) -> Shape {
    quota(count, Period::Fixed(Span::from_secs(secs)))
}

fn first_use(count: u64, secs: u64) -> Shape {
    quota(count, Period::FirstUse(Span::from_secs(secs)))
}

fn monthly(count: u64, billing_day: u8) -> Shape {
    let month = Calendar::try_new(Unit::Month, "UTC", Some(billing_day)).unwrap();
    quota(count, Period::Calendar(month))
}

fn daily(count: u64) -> Shape {
    quota(count, Period::Calendar(Calendar::try_new(Unit::Day, "UTC", None).unwrap()))
}

fn limit(shape: Shape) -> Limit {
    Limit::new(Name::try_new("some").unwrap(), Scope::of([Dimension::Org]), shape).settling()
}

fn policies(limits: impl IntoIterator<Item = Limit>) -> PolicySetBuilder {
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailClosed)
        .protecting(Protects::Auth);
    PolicySet::builder().policy(limits.into_iter().fold(spec, PolicySpec::limit))
}

/// What an engine on a clock can be asked, whatever its store.
trait Node {
    /// Decides a request of the organisation that weighs this much: how long to wait, if it is refused.
    fn take(&self, weight: u64) -> Result<Option<String>, Span>;
    /// What the organisation has left of each limit.
    fn left(&self) -> Vec<i64>;
    fn settle(&self, ticket: &str, weight: u64);
    fn reset(&self);
    fn reload(&self, policies: &PolicySetBuilder);
}

impl<S: Store> Node for Engine<S> {
    fn take(&self, weight: u64) -> Result<Option<String>, Span> {
        let (set, subject) = (self.policies(), Subject::new().org("acme"));
        let weight = Cost::try_new(weight).unwrap();
        let mut case = Case::new(set.get("p").unwrap(), &subject).weighing(weight);
        let decision = ready(self.decide(&mut case)).unwrap();
        match decision.verdict() {
            Verdict::Admit => Ok(self.ticket(&decision).map(|ticket| ticket.to_string())),
            Verdict::Deny(denial) => match denial.retry {
                Retry::After(wait) => Err(wait),
                Retry::Never => panic!("a wait helps"),
            },
            other => panic!("{other:?}"),
        }
    }

    fn left(&self) -> Vec<i64> {
        let (set, subject) = (self.policies(), Subject::new().org("acme"));
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        let decision = ready(self.peek(&mut case)).unwrap();
        decision.explain().map(|said| said.reading.remaining).collect()
    }

    fn settle(&self, ticket: &str, weight: u64) {
        let _ = ready(Engine::settle(self, ticket, weight)).unwrap();
    }

    fn reset(&self) {
        let (set, subject) = (self.policies(), Subject::new().org("acme"));
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        let _ = ready(Engine::reset(self, &mut case, None)).unwrap();
    }

    fn reload(&self, policies: &PolicySetBuilder) {
        Engine::reload(self, policies).unwrap();
    }
}

/// The same policies on every store, on one clock.
fn nodes(clock: &Arc<ManualClock>, set: &PolicySetBuilder) -> Vec<(&'static str, Box<dyn Node>)> {
    let budget = Budget { buckets: 64, quotas: 64, windows: 64, attempts: 64 };
    let memory = MemoryStore::new(budget, Arc::clone(clock));
    let plain = PlainStore::by_name(Arc::clone(clock), secret().names());
    let lua = |expired, grouped| store(Arc::<ManualClock>::clone(clock), expired, grouped);
    vec![
        ("memory", Box::new(engine(clock, set, memory)) as Box<dyn Node>),
        ("plain", Box::new(engine(clock, set, plain))),
        ("lua", Box::new(engine(clock, set, lua(Expired::Gone, false)))),
        ("lua, grouped", Box::new(engine(clock, set, lua(Expired::Stays, true)))),
    ]
}

fn engine<S: Store>(clock: &Arc<ManualClock>, set: &PolicySetBuilder, store: S) -> Engine<S> {
    let clock = Arc::<ManualClock>::clone(clock);
    Engine::new(store, set.clone().build(None).unwrap()).timed_by(clock).sharing(&secret())
}

/// Ten of ten are used under `old`; under `new` there is none left until `wait` has passed, and not one
/// tick longer.
fn nothing_is_granted(old: Limit, new: Limit, wait: Span) {
    nothing_is_granted_for(old, new, wait, wait);
}

/// The same where the new period is the longer one. A server keeps a counter for as long as the numbers
/// it was written under need it, here for `kept`, until something is counted under the new ones.
fn nothing_is_granted_for(old: Limit, new: Limit, wait: Span, kept: Span) {
    // All stores have seen the periods begin that are running now.
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(START.as_micros() / 2)));
    let shown = format!("{:?} to {:?}", old.shape(), new.shape());
    let (old, new) = (policies([old]), policies([new]));
    for (name, node) in nodes(&clock, &old) {
        clock.set(START);
        node.take(10).unwrap();
        clock.advance(Span::from_secs(60));
        node.reload(&new);
        assert_eq!(node.take(1), Err(wait), "{name}: {shown}");
        let still = if name == "lua" { kept } else { wait };
        clock.advance(Span::from_micros(still.as_micros() - 1));
        let rest = Span::from_micros(wait.as_micros() - still.as_micros() + 1);
        assert_eq!(node.take(1), Err(rest), "{name}: {shown}");
        clock.advance(rest);
        assert!(node.take(1).is_ok(), "{name}: {shown}");
    }
}

#[test]
fn p86_a_bucket_with_another_period_is_not_full() {
    // One token in twelve minutes, of which one has passed; it was six before.
    let wait = Span::from_secs(11 * 60);
    nothing_is_granted(limit(bucket(10, HOUR)), limit(bucket(10, 2 * HOUR)), wait);
    // The slower rate holds until it is written again.
    nothing_is_granted(limit(bucket(10, 2 * HOUR)), limit(bucket(10, HOUR)), wait);
}

#[test]
fn p86_a_window_with_another_length_is_not_empty() {
    let wait = |secs: u64| Span::from_secs(secs - 60);
    let (old, new) = (limit(window(10, HOUR)), limit(window(10, 2 * HOUR)));
    nothing_is_granted_for(old, new, wait(2 * HOUR), wait(HOUR));
    nothing_is_granted(limit(window(10, 2 * HOUR)), limit(window(10, HOUR)), wait(HOUR));
}

#[test]
fn p86_a_quota_with_another_period_is_not_unused() {
    // From 09:00 on until 10:00, and until the day is over.
    let ends = |hours: u64, minutes: u64| Span::from_secs(hours * HOUR + minutes * 60);
    let (old, new) = (limit(fixed(10, HOUR)), limit(fixed(10, 24 * HOUR)));
    nothing_is_granted_for(old, new, ends(14, 29), ends(0, 29));
    // The day that was begun counts to its end, also in the hour that began at 09:00.
    nothing_is_granted(limit(fixed(10, 24 * HOUR)), limit(fixed(10, HOUR)), ends(14, 29));
    nothing_is_granted(limit(first_use(10, 3 * HOUR)), limit(first_use(10, HOUR)), ends(2, 59));
    let (old, new) = (limit(first_use(10, HOUR)), limit(first_use(10, 3 * HOUR)));
    nothing_is_granted_for(old, new, ends(2, 59), ends(0, 59));
    nothing_is_granted(limit(first_use(10, HOUR)), limit(fixed(10, 60)), ends(0, 59));
}

/// What is used in a shorter period after a reload counts, with what was used before, until the longer
/// one would have ended.
#[test]
fn p86_what_is_added_in_a_shorter_period_ends_with_the_longer_one() {
    let clock = Arc::new(ManualClock::new(START));
    for (name, node) in nodes(&clock, &policies([limit(fixed(10, 24 * HOUR))])) {
        clock.set(START);
        node.take(4).unwrap();
        node.reload(&policies([limit(fixed(10, HOUR))]));
        node.take(1).unwrap();
        // 10:30, 11:30, and a minute before midnight.
        for minutes in [60, 120, 14 * 60 + 29] {
            clock.set(START.after(Span::from_secs(minutes * 60)));
            assert_eq!(node.left(), [5], "{name}, {minutes} minutes later");
        }
        clock.set(START.after(Span::from_secs(14 * HOUR + 30 * 60)));
        assert_eq!(node.left(), [10], "{name}: the next day");
    }
}

#[test]
fn p86_a_month_from_another_billing_day_is_not_unused() {
    // The 10th of January: 21 days and 14:29 hours to February, 4 days and so many hours to the 15th.
    let until = |days: u64| Span::from_secs(days * 24 * HOUR + 14 * HOUR + 29 * 60);
    nothing_is_granted(limit(monthly(10, 1)), limit(monthly(10, 15)), until(21));
    // A month that began in December ends on the 15th, whatever has begun since.
    nothing_is_granted(limit(monthly(10, 15)), limit(monthly(10, 1)), until(4));
    nothing_is_granted(limit(monthly(10, 15)), limit(monthly(10, 10)), until(4));
    nothing_is_granted(limit(monthly(10, 1)), limit(daily(10)), until(21));
}

#[test]
fn p86_a_name_in_the_key_is_no_fresh_limit() {
    let named = |shape| limit(shape).with_named_key();
    let wait = Span::from_secs(5 * 60);
    nothing_is_granted(limit(bucket(10, HOUR)), named(bucket(10, HOUR)), wait);
    nothing_is_granted(named(bucket(10, HOUR)), limit(bucket(10, HOUR)), wait);
    nothing_is_granted(limit(window(10, HOUR)), named(window(10, HOUR)), Span::from_secs(59 * 60));
}

#[test]
fn p86_to_raise_a_count_helps_at_once_under_another_period_too() {
    for (old, new) in [
        (fixed(10, 24 * HOUR), fixed(15, HOUR)),
        (monthly(10, 1), monthly(15, 15)),
        (window(10, HOUR), window(15, 2 * HOUR)),
    ] {
        let clock = Arc::new(ManualClock::new(START));
        for (name, node) in nodes(&clock, &policies([limit(old.clone())])) {
            node.take(10).unwrap();
            node.reload(&policies([limit(new.clone())]));
            assert_eq!(node.left(), [5], "{name}: {new:?}");
            assert!(node.take(5).is_ok(), "{name}: {new:?}");
            assert!(node.take(1).is_err(), "{name}: {new:?}");
        }
    }
}

/// A reload that is taken back finds what was counted meanwhile, and not what was there before it.
#[test]
fn p86_a_reload_that_comes_back_forgets_nothing_in_between() {
    let periods: [fn(u64) -> Shape; 3] = [
        |hours| bucket(10, hours * 10_000_000),
        |hours| window(10, hours * HOUR),
        |hours| fixed(10, hours * 24 * HOUR),
    ];
    for shape in periods {
        let clock = Arc::new(ManualClock::new(START));
        let of = |hours| policies([limit(shape(hours))]);
        for (name, node) in nodes(&clock, &of(1)) {
            node.take(4).unwrap();
            node.reload(&of(2));
            node.take(5).unwrap();
            node.reload(&of(1));
            assert_eq!(node.left(), [1], "{name}");
            node.take(1).unwrap();
            node.reload(&of(2));
            assert_eq!(node.left(), [0], "{name}");
            node.reload(&of(3));
            node.reload(&of(1));
            assert_eq!(node.left(), [0], "{name}: under none of three names");
        }
    }
}

/// Walks over more names than are looked at. What was counted under the last two is never forgotten, and
/// nothing older ever counts instead of it.
#[test]
fn p86_however_often_a_reload_comes_back_the_last_counters_count() {
    let of = |hours: u64| policies([limit(window(10, (20 + hours) * HOUR))]);
    // Nothing is counted until the last but one.
    for walk in [&[1, 2, 3, 1, 4][..], &[1, 2, 1, 3, 1, 4], &[1, 2, 3, 4, 2, 5], &[1, 2, 3, 4, 1]] {
        let clock = Arc::new(ManualClock::new(START));
        for (name, node) in nodes(&clock, &of(walk[0])) {
            let (last, before) = walk[1..].split_last().unwrap();
            before.iter().for_each(|hours| node.reload(&of(*hours)));
            node.take(10).unwrap();
            node.reload(&of(*last));
            assert_eq!(node.left(), [0], "{name}: {walk:?}");
        }
    }
    // Something is counted under each.
    for walk in [&[1, 2, 3, 4, 1][..], &[1, 2, 3, 4, 5, 1, 3, 2], &[1, 2, 3, 1, 4, 2, 1, 5, 3]] {
        let clock = Arc::new(ManualClock::new(START));
        for (name, node) in nodes(&clock, &of(walk[0])) {
            for (nth, hours) in (0..).zip(walk) {
                node.reload(&of(*hours));
                assert_eq!(node.left(), [10 - nth], "{name}: {walk:?}, step {nth}");
                node.take(1).unwrap();
            }
        }
    }
}

/// More names than are remembered at all.
#[test]
fn p86_after_very_many_names_no_old_counter_counts_again() {
    let of = |hours: u64| policies([limit(window(10, (20 + hours) * HOUR))]);
    let clock = Arc::new(ManualClock::new(START));
    for (name, node) in nodes(&clock, &of(0)) {
        node.take(1).unwrap();
        (1..=20).for_each(|hours| node.reload(&of(hours)));
        node.take(if name == "memory" { 9 } else { 10 }).unwrap();
        node.reload(&of(0));
        assert_eq!(node.left(), [0], "{name}");
    }
}

#[test]
fn p86_a_reset_forgets_what_is_under_former_names_too() {
    let clock = Arc::new(ManualClock::new(START));
    for (name, node) in nodes(&clock, &policies([limit(window(10, HOUR))])) {
        node.take(10).unwrap();
        node.reload(&policies([limit(window(10, 2 * HOUR))]));
        node.reset();
        assert_eq!(node.left(), [10], "{name}");
        node.take(3).unwrap();
        assert_eq!(node.left(), [7], "{name}");
        node.reset();
        assert_eq!(node.left(), [10], "{name}");
    }
}

/// Units that are taken or given back when a ticket is settled are moved where the counter is now.
#[test]
fn p91_a_ticket_from_before_a_reload_finds_its_counter() {
    for (old, new) in [
        (bucket(10, 10_000_000), bucket(10, 20_000_000)),
        (window(10, HOUR), window(10, 2 * HOUR)),
        (window(100, HOUR), window(100, 2 * HOUR)),
    ] {
        let clock = Arc::new(ManualClock::new(START));
        let all = i64::try_from(old.capacity()).unwrap();
        for (name, node) in nodes(&clock, &policies([limit(old.clone())])) {
            let tickets = [1, 1, 1].map(|weight| node.take(weight).unwrap().unwrap());
            node.reload(&policies([limit(new.clone())]));
            node.settle(&tickets[0], 3);
            assert_eq!(node.left(), [all - 5], "{name}: two more, before any other charge");
            node.settle(&tickets[1], 0);
            assert_eq!(node.left(), [all - 4], "{name}: one given back");
            node.take(1).unwrap();
            node.settle(&tickets[2], 2);
            assert_eq!(node.left(), [all - 6], "{name}: one more, after another charge");
        }
    }
}

/// A quota is the one counter that is given back to under its own expiry.
#[test]
fn p71_p91_a_refund_to_a_quota_under_a_former_name_keeps_its_end() {
    let clock = Arc::new(ManualClock::new(START));
    for (name, node) in nodes(&clock, &policies([limit(fixed(10, 24 * HOUR))])) {
        let ticket = node.take(4).unwrap().unwrap();
        node.reload(&policies([limit(fixed(10, 24 * HOUR)).with_named_key()]));
        node.settle(&ticket, 1);
        assert_eq!(node.left(), [9], "{name}");
        node.take(9).unwrap();
        assert_eq!(node.take(1), Err(Span::from_secs(14 * HOUR + 30 * 60)), "{name}");
    }
}

/// A name that another limit has now is that one's, and stays so.
#[test]
fn p86_a_name_that_another_limit_has_now_is_not_read() {
    let clock = Arc::new(ManualClock::new(START));
    let other = |shape| {
        Limit::new(Name::try_new("other").unwrap(), Scope::of([Dimension::Org]), shape).settling()
    };
    let nodes = nodes(&clock, &policies([limit(window(10, HOUR))]));
    for (name, node) in nodes.into_iter().filter(|(name, _)| *name != "memory") {
        node.take(10).unwrap();
        let named = limit(window(20, 2 * HOUR)).with_named_key();
        node.reload(&policies([named.clone(), other(window(10, HOUR))]));
        assert_eq!(node.left(), [20, 0], "{name}: the name is the other limit's");
        node.reload(&policies([named]));
        assert_eq!(node.left(), [20], "{name}: and was");
    }
}

/// Nodes that are reloaded one after the other: those that have been find what was counted, and those
/// that have not still do.
#[test]
fn p86_a_fleet_that_is_reloaded_node_by_node_grants_no_fresh_limit() {
    for (old, new) in [
        (bucket(10, 10_000_000), bucket(10, 20_000_000)),
        (window(10, HOUR), window(10, 2 * HOUR)),
        (fixed(10, HOUR), fixed(10, 24 * HOUR)),
    ] {
        let clock = Arc::new(ManualClock::new(START));
        let shared = store(Arc::<ManualClock>::clone(&clock), Expired::Gone, false);
        let (old, new) = (policies([limit(old)]), policies([limit(new)]));
        let first = engine(&clock, &old, shared.clone());
        let second = engine(&clock, &old, shared);
        Node::take(&first, 10).unwrap();
        Node::reload(&first, &new);
        assert!(Node::take(&first, 1).is_err());
        assert!(Node::take(&second, 1).is_err(), "the node that has not been reloaded");
        Node::reload(&second, &new);
        assert!(Node::take(&second, 1).is_err());
    }
}

/// Former names are asked for as long as counters may be left under them, and no longer.
#[test]
fn a_former_name_is_forgotten_when_its_period_is_over() {
    let clock = Arc::new(ManualClock::new(START));
    let shared = store(Arc::<ManualClock>::clone(&clock), Expired::Stays, false);
    let node = engine(&clock, &policies([limit(window(10, HOUR))]), shared);
    Node::reload(&node, &policies([limit(window(10, 2 * HOUR))]));
    let names = || {
        let (set, subject) = (node.policies(), Subject::new().org("acme"));
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        case.resolve(&tidegate_test::drive::digests());
        let batch = case.batch();
        let names = secret().names().names(&batch.key(&batch.charges()[0]));
        names.in_order().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["rl:{acme}:sw2h", "rl:{acme}:sw1h"]);
    // Three times the window, and a day for nodes that are reloaded later.
    clock.advance(Span::from_secs(27 * HOUR - 1));
    let _ = node.poll(clock_now(&clock));
    assert_eq!(names(), ["rl:{acme}:sw2h", "rl:{acme}:sw1h"]);
    clock.advance(Span::SECOND);
    let _ = node.poll(clock_now(&clock));
    assert_eq!(names(), ["rl:{acme}:sw2h"]);
}

fn clock_now(clock: &Arc<ManualClock>) -> Timestamp {
    tidegate_core::Clock::now(clock)
}

/// At most two former names are looked at: a counter that three reloads have passed by is found no more.
#[test]
fn a_counter_has_at_most_two_former_names() {
    let clock = Arc::new(ManualClock::new(START));
    let of = |hours| policies([limit(window(10, hours * HOUR))]);
    for (name, node) in nodes(&clock, &of(10)).into_iter().filter(|(name, _)| *name != "memory") {
        node.take(10).unwrap();
        node.reload(&of(11));
        node.reload(&of(12));
        assert_eq!(node.left(), [0], "{name}");
        node.reload(&of(13));
        assert_eq!(node.left(), [10], "{name}");
    }
}

/// What was carried over lives no shorter than what it was carried over from: else that would be found
/// again when the present counter is as good as new, and count a second time.
#[test]
fn p86_a_counter_that_was_carried_over_is_not_found_again() {
    // A bucket that is full after an hour, and one that is after ten seconds.
    let clock = Arc::new(ManualClock::new(START));
    for (name, node) in nodes(&clock, &policies([limit(bucket(10, HOUR))])) {
        clock.set(START);
        node.take(5).unwrap();
        node.reload(&policies([limit(bucket(10, 10))]));
        node.take(1).unwrap();
        // Long enough for the one and its minute of slack, not for the other.
        clock.advance(Span::from_secs(120));
        assert_eq!(node.left(), [10], "{name}");
    }
}

/// A limit that counts by something else for a while has other counters, and finds its own again.
#[test]
fn p86_a_scope_that_comes_back_finds_its_counters_under_former_names() {
    let clock = Arc::new(ManualClock::new(START));
    let everybody =
        |secs| Limit::new(Name::try_new("some").unwrap(), Scope::GLOBAL, window(10, secs));
    for (name, node) in nodes(&clock, &policies([limit(window(10, HOUR))])) {
        node.take(10).unwrap();
        node.reload(&policies([everybody(HOUR)]));
        assert_eq!(node.left(), [10], "{name}: all others are counted together, and anew");
        node.reload(&policies([limit(window(10, 2 * HOUR))]));
        assert_eq!(node.left(), [0], "{name}");
    }
}
