//! Limits that count by outcome: counted at the start, given back when the answer was a good one.

use tidegate_core::{
    Attempts, Bucket, Case, Counts, Dimension, FailureMode, Ladder, Limit, ManualClock, Name,
    Outcomes, Period, PolicySet, PolicySpec, Quota, Rate, Scope, Shape, Span, Store, Subject,
    Threshold, Ticket, Timestamp, Window,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{DecideError, Engine};
use tidegate_test::drive::digests;
use tidegate_test::plain::PlainStore;
use tidegate_test::ready;

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const BUDGET: Budget = Budget { buckets: 100, quotas: 100, windows: 100, attempts: 100 };

/// How many bad answers every probing limit here bears.
const BEARS: u16 = 5;

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

fn probing(shape: Shape) -> Limit {
    let scope = Scope::of([Dimension::Token]);
    Limit::new(name("probing"), scope, shape).counting_outcomes(Outcomes::REFUSED)
}

fn window() -> Shape {
    Shape::Window(Window::try_new(BEARS.into(), Span::MINUTE, Counts::Admitted).unwrap())
}

/// Every shape that a probing limit can have, each of which lets [`BEARS`] pass in a minute.
fn shapes() -> Vec<Shape> {
    let per_minute = Rate::per_minute(1).unwrap();
    let minute = Period::Fixed(Span::MINUTE);
    let temp = Threshold { block_at: BEARS + 1, per: Span::MINUTE, block: Span::MINUTE };
    vec![
        window(),
        Shape::Bucket(Bucket::try_new(per_minute, BEARS.into()).unwrap()),
        Shape::Quota(Quota::try_new(BEARS.into(), minute, Counts::Admitted).unwrap()),
        Shape::Attempts(Attempts::try_new(temp, None).unwrap()),
        Shape::Attempts(Attempts::climbing(BEARS + 1, Span::MINUTE, Ladder::default()).unwrap()),
    ]
}

fn policies(limits: impl IntoIterator<Item = Limit>) -> PolicySet {
    let spec = PolicySpec::new(name("p"), FailureMode::FailOpen);
    let spec = limits.into_iter().fold(spec, |spec, limit| spec.limit(limit.with_named_key()));
    PolicySet::builder().policy(spec).build(None).unwrap()
}

/// A burst and a quota by token beside the probing limit.
fn with_others() -> PolicySet {
    let scope = Scope::of([Dimension::Token]);
    let burst = Shape::Bucket(Bucket::try_new(Rate::per_minute(1).unwrap(), 100).unwrap());
    let day = Period::Fixed(Span::DAY);
    let quota = Shape::Quota(Quota::try_new(1_000, day, Counts::Admitted).unwrap());
    policies([
        Limit::new(name("burst"), scope, burst),
        Limit::new(name("quota"), scope, quota),
        probing(window()),
    ])
}

/// Whether a request may go on, and its ticket.
fn begin<S: Store>(engine: &Engine<S>, token: &str) -> Option<Ticket> {
    let (set, subject) = (engine.policies(), Subject::new().token(token));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let decision = ready(engine.decide(&mut case)).unwrap();
    let ticket = engine.ticket(&decision);
    assert_eq!(decision.is_admitted(), ticket.is_some(), "what passes can be given back");
    ticket
}

/// Answers a request as a door does: what is none of the outcomes is given back.
fn answer<S: Store>(engine: &Engine<S>, ticket: &Ticket, status: u16) {
    let set = engine.policies();
    let outcomes = set.get("p").unwrap().outcomes().unwrap();
    if !outcomes.contains(status) {
        let settled = ready(engine.settle(ticket.as_str(), 0)).unwrap();
        assert_eq!((settled.returned, settled.added), (1, 0));
    }
}

/// What is left of each limit.
fn left<S: Store>(engine: &Engine<S>, token: &str) -> Vec<(String, i64)> {
    let (set, subject) = (engine.policies(), Subject::new().token(token));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let decision = ready(engine.peek(&mut case)).unwrap();
    decision.explain().map(|said| (said.limit.name().to_string(), said.reading.remaining)).collect()
}

/// The same of the store in memory and of the plainest one there is.
macro_rules! in_both_stores {
    ($check:ident, $set:expr) => {{
        let clock = ManualClock::new(START);
        $check(&clock, &Engine::with_digests(MemoryStore::new(BUDGET, &clock), $set, digests()));
        let clock = ManualClock::new(START);
        $check(&clock, &Engine::with_digests(PlainStore::new(&clock), $set, digests()));
    }};
}

#[test]
fn requests_at_once_cannot_slip_past_before_the_first_answer() {
    fn check<S: Store>(_: &ManualClock, engine: &Engine<S>) {
        let begun: Vec<_> = (0..BEARS).map(|_| begin(engine, "t").unwrap()).collect();
        assert!(begin(engine, "t").is_none(), "one more than may be wrong, none answered yet");
        // The answers come, and all were bad ones.
        begun.iter().for_each(|ticket| answer(engine, ticket, 403));
        assert!(begin(engine, "t").is_none());
        assert!(begin(engine, "another").is_some(), "who has not probed");
    }
    for shape in shapes() {
        in_both_stores!(check, policies([probing(shape.clone())]));
    }
}

#[test]
fn of_threads_that_begin_at_once_no_more_pass_than_may_be_wrong() {
    let clock = ManualClock::new(START);
    for shape in shapes() {
        let set = policies([probing(shape)]);
        let engine = Engine::with_digests(MemoryStore::new(BUDGET, &clock), set, digests());
        let passed = std::thread::scope(|scope| {
            let begun = || (0..BEARS).filter(|_| begin(&engine, "t").is_some()).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(begun)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
        });
        assert_eq!(passed, usize::from(BEARS));
    }
}

#[test]
fn good_answers_are_given_back_however_many_they_are() {
    fn check<S: Store>(_: &ManualClock, engine: &Engine<S>) {
        for status in [200, 404, 500].into_iter().cycle().take(10 * usize::from(BEARS)) {
            let ticket = begin(engine, "t").unwrap();
            answer(engine, &ticket, status);
        }
        assert_eq!(left(engine, "t")[0].1, i64::from(BEARS));
    }
    for shape in shapes() {
        in_both_stores!(check, policies([probing(shape.clone())]));
    }
}

#[test]
fn bad_answers_count_until_the_window_frees_them() {
    fn check<S: Store>(clock: &ManualClock, engine: &Engine<S>) {
        for status in [401, 403, 200].into_iter().cycle() {
            let Some(ticket) = begin(engine, "t") else { break };
            answer(engine, &ticket, status);
        }
        assert_eq!(left(engine, "t")[0].1, 0);
        let just_before = START.after(Span::MINUTE).as_micros() - 1;
        clock.set(Timestamp::from_micros(just_before));
        assert!(begin(engine, "t").is_none());
        clock.set(START.after(Span::MINUTE));
        assert_eq!(left(engine, "t")[0].1, i64::from(BEARS));
        assert!(begin(engine, "t").is_some());
    }
    in_both_stores!(check, policies([probing(window())]));
}

#[test]
fn an_answer_that_nobody_told_of_counts_as_a_bad_one() {
    fn check<S: Store>(_: &ManualClock, engine: &Engine<S>) {
        let lost: Vec<_> = (0..BEARS).map(|_| begin(engine, "t")).collect();
        drop(lost);
        assert!(begin(engine, "t").is_none());
    }
    in_both_stores!(check, policies([probing(window())]));
}

#[test]
fn a_request_that_is_refused_before_the_rest_counts_as_probing_alone() {
    fn check<S: Store>(_: &ManualClock, engine: &Engine<S>) {
        let (set, subject) = (engine.policies(), Subject::new().token("t"));
        let policy = set.get("p").unwrap();
        for passed in 0..=BEARS {
            let mut case = Case::new(policy, &subject).only_outcomes();
            let decision = ready(engine.decide(&mut case)).unwrap();
            assert_eq!(decision.is_admitted(), passed < BEARS);
            assert!(decision.explain().map(|said| said.limit.name().as_str()).eq(["probing"]));
        }
        let left = left(engine, "t");
        let untouched = [("burst".into(), 100), ("quota".into(), 1_000), ("probing".into(), 0)];
        assert_eq!(left, untouched);
        assert!(begin(engine, "t").is_none(), "whoever has probed is refused");
    }
    in_both_stores!(check, with_others());
}

#[test]
fn where_nothing_counts_by_outcome_such_a_request_is_not_decided() {
    let clock = ManualClock::new(START);
    let burst = Shape::Bucket(Bucket::try_new(Rate::per_minute(1).unwrap(), 100).unwrap());
    let set = policies([Limit::new(name("burst"), Scope::GLOBAL, burst).settling()]);
    let engine = Engine::with_digests(MemoryStore::new(BUDGET, &clock), set, digests());
    let (set, subject) = (engine.policies(), Subject::new());
    let mut case = Case::new(set.get("p").unwrap(), &subject).only_outcomes();
    let refused = ready(engine.decide(&mut case)).unwrap_err();
    assert_eq!(refused, DecideError::NothingApplies { policy: Box::new(name("p")) });
}

#[test]
fn a_refused_burst_takes_nothing_of_the_probing_limit() {
    fn check<S: Store>(_: &ManualClock, engine: &Engine<S>) {
        while begin(engine, "t").inspect(|ticket| answer(engine, ticket, 200)).is_some() {}
        assert_eq!(left(engine, "t")[0], ("burst".into(), 0));
        assert_eq!(left(engine, "t")[2], ("probing".into(), i64::from(BEARS)));
    }
    in_both_stores!(check, with_others());
}
