//! Settling: what is given back is what was taken, once, and by nobody else.

use std::sync::Arc;

use proptest::prelude::*;
use tidegate_core::{
    Account, Attempts, Bucket, Calendar, Case, Cost, CostRule, Counts, Dimension, FailureMode,
    Ladder, Limit, ManualClock, Name, Period, PolicySet, PolicySpec, Quota, Rate, Scope, Settled,
    Shape, Span, Store, Subject, Threshold, Ticket, TicketError, Timestamp, Unit, Window,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, SettleError};
use tidegate_test::drive::digests;
use tidegate_test::lua::{self, Expired};
use tidegate_test::plain::PlainStore;
use tidegate_test::ready;

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const BUDGET: Budget = Budget { buckets: 1_000, quotas: 1_000, windows: 1_000, attempts: 1_000 };

fn limit(name: &str, shape: Shape) -> Limit {
    Limit::new(Name::try_new(name).unwrap(), Scope::of([Dimension::Account]), shape).settling()
}

fn policies(limits: impl IntoIterator<Item = Limit>) -> PolicySet {
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
    let spec = limits.into_iter().fold(spec, |spec, limit| spec.limit(limit.with_named_key()));
    PolicySet::builder().policy(spec).build(None).unwrap()
}

fn bucket(per_minute: u64, burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_minute(per_minute).unwrap(), burst).unwrap())
}

fn window(count: u64) -> Shape {
    Shape::Window(Window::try_new(count, Span::MINUTE, Counts::Admitted).unwrap())
}

fn fixed_quota(count: u64) -> Shape {
    let minute = Period::Fixed(Span::MINUTE);
    Shape::Quota(Quota::try_new(count, minute, Counts::Admitted).unwrap())
}

fn daily(count: u64) -> Shape {
    let day = Period::Calendar(Calendar::try_new(Unit::Day, "Europe/Berlin", None).unwrap());
    Shape::Quota(Quota::try_new(count, day, Counts::Admitted).unwrap())
}

/// One of each shape, and one that counts requests rather than weight.
fn all_shapes() -> PolicySet {
    let per_request = CostRule::PerRequest(Cost::ONE);
    policies([
        limit("bucket", bucket(60, 20)),
        limit("ring", window(40)),
        limit("grid", window(100)),
        limit("fixed", fixed_quota(70)),
        limit("daily", daily(500)),
        limit("requests", window(50)).costing(per_request),
    ])
}

/// What is left of each limit, or of none if the request was refused; and the ticket.
fn decide<S: Store>(
    engine: &Engine<S>,
    account: &str,
    weight: u64,
) -> (Option<Vec<i64>>, Option<Ticket>) {
    let account = Account::new(account);
    let (set, subject) = (engine.policies(), Subject::new().account(&account));
    let weight = Cost::try_new(weight).unwrap();
    let mut case = Case::new(set.get("p").unwrap(), &subject).weighing(weight);
    let decision = ready(engine.decide(&mut case)).unwrap();
    let left = decision.explain().map(|said| said.reading.remaining).collect();
    (decision.is_admitted().then_some(left), engine.ticket(&decision))
}

/// Everything that can be seen of a counter, for a request of one.
fn seen<S: Store>(engine: &Engine<S>, account: &str) -> Vec<(String, i64, Span)> {
    let account = Account::new(account);
    let (set, subject) = (engine.policies(), Subject::new().account(&account));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let decision = ready(engine.peek(&mut case)).unwrap();
    let seen = decision.explain().map(|said| {
        (said.limit.name().to_string(), said.reading.remaining, said.reading.room.wait())
    });
    seen.collect()
}

fn settle<S: Store>(
    engine: &Engine<S>,
    ticket: &Ticket,
    weight: u64,
) -> Result<Settled, SettleError> {
    ready(engine.settle(ticket.as_str(), weight))
}

fn memory(clock: &ManualClock, set: PolicySet) -> Engine<MemoryStore<&ManualClock>> {
    Engine::with_digests(MemoryStore::new(BUDGET, clock), set, digests())
}

#[test]
fn p91_a_request_that_is_given_back_at_once_was_never_made() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, all_shapes());
    let _ = decide(&engine, "a", 3);
    let before = seen(&engine, "a");
    let ticket = decide(&engine, "a", 7).1.unwrap();
    assert_ne!(seen(&engine, "a"), before);
    assert_eq!(settle(&engine, &ticket, 0), Ok(Settled { returned: 5 * 7 + 1, added: 0 }));
    assert_eq!(seen(&engine, "a"), before);
}

#[test]
fn p91_a_ticket_is_settled_once() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, all_shapes());
    let ticket = decide(&engine, "a", 7).1.unwrap();
    assert!(settle(&engine, &ticket, 5).is_ok());
    let after = seen(&engine, "a");
    for weight in [0, 5, 100] {
        assert_eq!(settle(&engine, &ticket, weight), Err(TicketError::Settled.into()));
    }
    assert_eq!(seen(&engine, "a"), after);
}

#[test]
fn p91_a_request_has_one_ticket_however_often_it_is_asked_for() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, all_shapes());
    let account = Account::new("a");
    let (set, subject) = (engine.policies(), Subject::new().account(&account));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let decision = ready(engine.decide(&mut case)).unwrap();
    let tickets = [0, 1].map(|_| engine.ticket(&decision).unwrap());
    assert_eq!(tickets[0], tickets[1]);
    assert!(settle(&engine, &tickets[0], 0).is_ok());
    assert_eq!(settle(&engine, &tickets[1], 0), Err(TicketError::Settled.into()));
}

#[test]
fn p91_a_look_has_no_ticket_not_even_after_a_decision() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, all_shapes());
    let account = Account::new("a");
    let (set, subject) = (engine.policies(), Subject::new().account(&account));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    assert!(engine.ticket(&ready(engine.decide(&mut case)).unwrap()).is_some());
    assert!(engine.ticket(&ready(engine.peek(&mut case)).unwrap()).is_none());
}

#[test]
fn p91_of_threads_that_settle_one_ticket_one_does() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, policies([limit("bucket", bucket(60, 100))]));
    for _ in 0..200 {
        let ticket = decide(&engine, "a", 10).1.unwrap();
        let settled = std::thread::scope(|scope| {
            let one = || settle(&engine, &ticket, 0).is_ok();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|ok| *ok).count()
        });
        assert_eq!(settled, 1);
        assert_eq!(seen(&engine, "a")[0].1, 100);
    }
}

#[test]
fn p91_an_expired_ticket_changes_nothing() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, policies([limit("daily", daily(10))]));
    let tickets = [0, 1].map(|_| decide(&engine, "a", 2).1.unwrap());
    clock.set(Timestamp::from_micros(START.after(Ticket::LIFE).as_micros() - 1));
    assert_eq!(settle(&engine, &tickets[0], 0), Ok(Settled { returned: 2, added: 0 }));
    clock.set(START.after(Ticket::LIFE));
    assert_eq!(settle(&engine, &tickets[1], 0), Err(TicketError::Expired.into()));
    assert_eq!(seen(&engine, "a")[0].1, 8);
}

#[test]
fn p91_a_ticket_of_another_engine_is_refused() {
    let clock = ManualClock::new(START);
    let [one, other] = [0, 1].map(|_| memory(&clock, all_shapes()));
    let ticket = decide(&one, "a", 1).1.unwrap();
    assert_eq!(settle(&other, &ticket, 0), Err(TicketError::Altered.into()));
}

#[test]
fn a_request_that_cost_more_is_charged_more_even_without_room() {
    let clock = ManualClock::new(START);
    let engine =
        memory(&clock, policies([limit("tokens", bucket(60, 100)), limit("day", daily(150))]));
    let ticket = decide(&engine, "a", 60).1.unwrap();
    let settled = settle(&engine, &ticket, 200).unwrap();
    assert_eq!(
        settled,
        Settled { returned: 0, added: 40 + 140 },
        "a bucket has no more than it has"
    );
    assert_eq!(decide(&engine, "a", 1).0, None);
}

#[test]
fn a_denied_request_has_no_ticket_and_neither_has_one_whose_limits_do_not_settle() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, policies([limit("bucket", bucket(60, 1))]));
    assert!(decide(&engine, "a", 1).1.is_some());
    assert!(decide(&engine, "a", 1).1.is_none());
    let scope = Scope::of([Dimension::Account]);
    let plain = Limit::new(Name::try_new("plain").unwrap(), scope, bucket(60, 9));
    assert!(decide(&memory(&clock, policies([plain])), "a", 1).1.is_none());
}

#[test]
fn a_quota_gives_back_only_in_the_period_it_was_taken_in() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, policies([limit("fixed", fixed_quota(10))]));
    let ticket = decide(&engine, "a", 4).1.unwrap();
    clock.advance(Span::MINUTE);
    let _ = decide(&engine, "a", 3);
    assert_eq!(settle(&engine, &ticket, 0), Ok(Settled::default()));
    assert_eq!(seen(&engine, "a")[0].1, 7);
}

#[test]
fn p91_old_refunds_do_not_add_up_to_more_than_a_burst() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, policies([limit("bucket", bucket(60, 10))]));
    let tickets: Vec<Ticket> = (0..300)
        .map(|_| {
            clock.advance(Span::SECOND);
            decide(&engine, "a", 1).1.unwrap()
        })
        .collect();
    let mut passed = 0;
    for ticket in &tickets {
        passed += u64::from(decide(&engine, "a", 1).0.is_some());
        let _ = settle(&engine, ticket, 0);
    }
    assert!(passed <= 2 * 10, "{passed} at one instant");
}

#[test]
fn p91_a_refund_is_found_where_the_clock_has_gone_back() {
    for shape in [window(20), window(100)] {
        let clock = ManualClock::new(START);
        let engine = memory(&clock, policies([limit("window", shape)]));
        let _ = decide(&engine, "a", 1);
        clock.set(Timestamp::from_micros(START.as_micros() - 10_000_000));
        let ticket = decide(&engine, "a", 2).1.unwrap();
        assert_eq!(settle(&engine, &ticket, 0), Ok(Settled { returned: 2, added: 0 }));
    }
}

#[test]
fn p91_what_has_left_a_window_is_not_given_back() {
    for shape in [window(20), window(100)] {
        let clock = ManualClock::new(START);
        let engine = memory(&clock, policies([limit("window", shape)]));
        let ticket = decide(&engine, "a", 3).1.unwrap();
        clock.advance(Span::from_secs(61));
        let _ = decide(&engine, "a", 2);
        assert_eq!(settle(&engine, &ticket, 0), Ok(Settled::default()));
    }
}

#[test]
fn p91_a_period_that_a_reload_has_changed_gets_nothing_back() {
    let clock = ManualClock::new(START);
    let per = |length| {
        let quota = Quota::try_new(10, Period::Fixed(length), Counts::Admitted).unwrap();
        limit("quota", Shape::Quota(quota))
    };
    let engine = memory(&clock, policies([per(Span::DAY)]));
    let ticket = decide(&engine, "a", 5).1.unwrap();
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
    let hourly = spec.limit(per(Span::HOUR).with_named_key());
    engine.reload(&PolicySet::builder().policy(hourly)).unwrap();
    let _ = decide(&engine, "a", 5);
    let before = seen(&engine, "a");
    assert_eq!(settle(&engine, &ticket, 0), Ok(Settled::default()));
    assert_eq!(seen(&engine, "a"), before);
}

#[test]
fn a_weight_beyond_the_exact_range_is_an_error_and_leaves_the_ticket_good() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, all_shapes());
    let ticket = decide(&engine, "a", 1).1.unwrap();
    assert!(matches!(settle(&engine, &ticket, u64::MAX), Err(SettleError::Weight(_))));
    assert!(settle(&engine, &ticket, 0).is_ok());
}

#[test]
fn a_limit_that_has_left_the_policies_is_settled_as_it_was() {
    let clock = ManualClock::new(START);
    let engine = memory(&clock, policies([limit("bucket", bucket(60, 10))]));
    let ticket = decide(&engine, "a", 4).1.unwrap();
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
    let other = spec.clone().limit(limit("other", bucket(60, 10)).with_named_key());
    engine.reload(&PolicySet::builder().policy(other)).unwrap();
    assert_eq!(settle(&engine, &ticket, 0), Ok(Settled { returned: 4, added: 0 }));
    let back = spec.limit(limit("bucket", bucket(60, 10)).with_named_key());
    engine.reload(&PolicySet::builder().policy(back)).unwrap();
    assert_eq!(seen(&engine, "a")[0].1, 10);
}

/// One step of a trace.
#[derive(Clone, Debug)]
enum Step {
    Decide { account: &'static str, weight: u64 },
    Settle { ticket: prop::sample::Index, weight: u64 },
    Wait { micros: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let account = prop::sample::select(vec!["a", "b"]);
    let waits = prop::sample::select(vec![0, 1, 1_000_000, 7_654_321, 61_000_000, 400_000_000]);
    prop_oneof![
        4 => (account, 1_u64..12).prop_map(|(account, weight)| Step::Decide { account, weight }),
        3 => (any::<prop::sample::Index>(), 0_u64..30)
            .prop_map(|(ticket, weight)| Step::Settle { ticket, weight }),
        2 => waits.prop_map(|micros| Step::Wait { micros }),
    ]
}

/// Abuse logs of both manners, with what is given back one at a time and all at once.
fn logs() -> PolicySet {
    let threshold = |block_at, per| Threshold { block_at, per, block: Span::from_secs(90) };
    let long = threshold(9, Span::HOUR);
    let dual = Attempts::try_new(threshold(5, Span::MINUTE), Some(long)).unwrap();
    let ladder = Attempts::climbing(4, Span::HOUR, Ladder::default()).unwrap();
    let log = |name, attempts: &Attempts| limit(name, Shape::Attempts(attempts.clone()));
    policies([
        log("dual", &dual),
        log("dual-forgiving", &dual).forgiving(),
        log("ladder", &ladder),
        log("ladder-forgiving", &ladder).forgiving(),
        limit("bucket", bucket(60, 20)),
    ])
}

/// The most that is given back of what was taken: all shapes take what a request weighs, but one.
const fn at_most_all(taken: u64) -> u64 {
    5 * taken + 1
}

/// Of logs one attempt, or all that there are.
const fn at_most_the_logs(taken: u64) -> u64 {
    2 + 9 + 4 + taken
}

/// The same steps, settled by a store and by the rules.
fn agree<S: Store>(
    engine: &Engine<S>,
    clock: &ManualClock,
    (set, most): (PolicySet, fn(u64) -> u64),
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let plain = Engine::with_digests(PlainStore::new(clock), set, digests());
    let mut tickets: Vec<(Ticket, Ticket, u64)> = Vec::new();
    for step in steps {
        match step {
            Step::Decide { account, weight } => {
                let (left, ticket) = decide(engine, account, weight);
                let (expected, other) = decide(&plain, account, weight);
                prop_assert_eq!(left, expected);
                tickets.extend(ticket.zip(other).map(|(a, b)| (a, b, weight)));
            }
            Step::Settle { ticket, weight } if !tickets.is_empty() => {
                let (ticket, other, taken) = &tickets[ticket.index(tickets.len())];
                let settled = settle(engine, ticket, weight);
                prop_assert_eq!(&settled, &settle(&plain, other, weight));
                if let Ok(Settled { returned, .. }) = settled {
                    prop_assert!(returned <= most(*taken), "more than was taken");
                }
            }
            Step::Settle { .. } => {}
            Step::Wait { micros } => clock.advance(Span::from_micros(micros)),
        }
        for account in ["a", "b"] {
            prop_assert_eq!(seen(engine, account), seen(&plain, account));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn p91_p96_the_in_memory_store_settles_as_the_rules_do(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let clock = ManualClock::new(START);
        agree(&memory(&clock, all_shapes()), &clock, (all_shapes(), at_most_all), steps)?;
    }

    #[test]
    fn p91_p96_the_scripts_settle_as_the_rules_do(steps in prop::collection::vec(step(), 1..60)) {
        let clock = Arc::new(ManualClock::new(START));
        // What a server has forgotten it cannot give back, though it would not count any more either.
        let store = lua::store(Arc::<ManualClock>::clone(&clock), Expired::Stays, false);
        let engine = Engine::with_digests(store, all_shapes(), digests()).sharing(&lua::secret());
        agree(&engine, &clock, (all_shapes(), at_most_all), steps)?;
    }

    #[test]
    fn p91_p96_attempts_are_settled_in_memory_as_by_the_rules(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let clock = ManualClock::new(START);
        agree(&memory(&clock, logs()), &clock, (logs(), at_most_the_logs), steps)?;
    }

    #[test]
    fn p91_p96_attempts_are_settled_by_the_scripts_as_by_the_rules(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let clock = Arc::new(ManualClock::new(START));
        let store = lua::store(Arc::<ManualClock>::clone(&clock), Expired::Stays, false);
        let engine = Engine::with_digests(store, logs(), digests()).sharing(&lua::secret());
        agree(&engine, &clock, (logs(), at_most_the_logs), steps)?;
    }
}
