//! From readings to the answer: who is named, what is told, and what a refusal leaves behind.

use proptest::prelude::*;
use tidegate_core::{
    Bucket, Case, Cost, Denial, FailureMode, Limit, ManualClock, Name, Overflow, PolicySet,
    PolicySpec, Rate, Reading, Retry, Room, Scope, Shape, Span, Stage, Store, Subject, Verdict,
    fold,
};
use tidegate_test::drive::{ChargeOrPeek, PlainDecision, ask, digests};
use tidegate_test::plain::PlainStore;
use tidegate_test::ready;
use tidegate_test::trace::{LimitPlan, Moment, START, StagePlan, told_wait, traces, walk_new};

use crate::{cases, memory};

/// The enforced limits that were asked, in order, each with what it said.
fn enforced<'m, S>(moment: &'m Moment<'_, S>) -> Vec<(&'m LimitPlan, Reading)> {
    let limits = moment.policy.limits.iter().filter(|limit| !limit.shadow);
    let asked = limits.filter(|limit| limit.counter(&moment.who).is_some());
    asked.map(|limit| (limit, *moment.answer.of(&limit.name()))).collect()
}

fn folds<S: Store>(moment: &Moment<'_, S>) {
    let limits = enforced(moment);
    let refusing: Vec<_> = limits.iter().filter(|(_, said)| said.room != Room::Now).collect();
    let binding = limits.iter().find(|(limit, _)| limit.name() == moment.answer.binding);
    let Verdict::Deny(Denial { retry, source }) = moment.answer.verdict else {
        assert!(refusing.is_empty(), "admitted against {refusing:?}");
        return;
    };
    let is_global = |limit: &LimitPlan| limit.stage == StagePlan::Global;
    let global = refusing.iter().any(|(limit, _)| is_global(limit));
    assert_eq!(source, if global { Stage::Global } else { Stage::Action });

    let (limit, said) = binding.expect("who refuses is enforced");
    assert_ne!(said.room, Room::Now, "the limit that is named did refuse");
    assert_eq!(is_global(limit), global, "it is of the stage that refused");
    let wait = |said: &Reading| {
        if said.room == Room::Never { Span::from_micros(u64::MAX) } else { said.wait }
    };
    let stage = refusing.iter().filter(|(limit, _)| is_global(limit) == global);
    assert_eq!(Some(wait(said)), stage.map(|(_, said)| wait(said)).max(), "and waits longest");

    let longest = limits.iter().map(|(_, said)| wait(said)).max().unwrap();
    let never = limits.iter().any(|(_, said)| said.room == Room::Never);
    assert_eq!(retry, if never { Retry::Never } else { Retry::After(longest) });
}

/// The share left is compared across limits: `a/b` against `c/d`.
fn names_the_scarcest<S: Store>(moment: &Moment<'_, S>) {
    let limits = enforced(moment);
    if !moment.answer.is_admitted() || limits.iter().any(|(limit, _)| limit.other.is_some()) {
        return;
    }
    let share = |(limit, said): &(&LimitPlan, Reading)| {
        (u128::from(said.remaining.max(0).unsigned_abs()), u128::from(limit.built().capacity()))
    };
    let Some(named) = limits.iter().find(|(limit, _)| limit.name() == moment.answer.binding) else {
        assert!(limits.is_empty(), "an enforced limit is named before a shadow");
        return;
    };
    let (left, of) = share(named);
    for other in &limits {
        let (other_left, other_of) = share(other);
        assert!(left * other_of <= other_left * of, "{:?}", moment.answer);
    }
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn a_refusal_names_the_longest_wait_and_tells_the_longest_of_all(trace in traces(40)) {
        walk_new(&trace, PlainStore::new, folds);
    }

    #[test]
    fn an_admission_names_the_limit_with_the_smallest_share_left(trace in traces(40)) {
        walk_new(&trace, PlainStore::new, names_the_scarcest);
    }
}

/// Answers of a charge, and of looking right before and right after it.
fn around_charges(
    answers: &[(ChargeOrPeek, PlainDecision)],
    mut check: impl FnMut(&PlainDecision, &PlainDecision, &PlainDecision),
) {
    for triple in answers.windows(3) {
        if let [
            (ChargeOrPeek::Peek, before),
            (ChargeOrPeek::Charge, charge),
            (ChargeOrPeek::Peek, after),
        ] = triple
        {
            check(before, charge, after);
        }
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn pitfall_c_a_refused_request_charges_no_other_limit(trace in traces(40)) {
        let trace = trace.considered().without_overrides();
        let named = |which: fn(&LimitPlan) -> bool| -> Vec<String> {
            let limits = trace.policy.limits.iter();
            limits.filter(|limit| which(limit)).map(LimitPlan::name).collect()
        };
        let (counted, logs) = (named(LimitPlan::counts_attempts), named(LimitPlan::is_attempts));
        let mut answers = Vec::new();
        walk_new(&trace, memory::roomy, |moment| {
            answers.push((moment.how, moment.answer.clone()));
        });
        around_charges(&answers, |before, charge, after| {
            for ((name, was), (_, is)) in before.readings.iter().zip(&after.readings) {
                // The block that a ladder begins is its own.
                let own = logs.contains(name) && was.room != Room::Now;
                let free = !charge.is_admitted() && !counted.contains(name) && !own;
                assert!(!free || (was.remaining, was.room) == (is.remaining, is.room), "{name}");
            }
        });
    }

    /// A look says what a charge will say about admission, and changes nothing itself.
    #[test]
    fn a_look_meets_what_a_charge_meets(trace in traces(40)) {
        let trace = trace.considered();
        let mut answers = Vec::new();
        walk_new(&trace, memory::roomy, |moment| {
            answers.push((moment.how, moment.answer.clone()));
        });
        around_charges(&answers, |before, charge, _| {
            assert_eq!(before.is_admitted(), charge.is_admitted());
            let rooms = |answer: &PlainDecision| -> Vec<Room> {
                answer.readings.iter().map(|(_, reading)| reading.room).collect()
            };
            assert_eq!(rooms(before), rooms(charge));
        });
    }
}

fn overflowing(overflow: Overflow) -> PolicySet {
    let bucket = Bucket::try_new(Rate::per_second(1).unwrap(), 1).unwrap();
    let limit = Limit::new(Name::try_new("l").unwrap(), Scope::GLOBAL, Shape::Bucket(bucket));
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
    PolicySet::builder().policy(spec.limit(limit).overflow(overflow)).build(None).unwrap()
}

#[test]
fn past_a_limit_the_overflow_of_the_policy_decides() {
    let second = |overflow, units| {
        let (set, clock) = (overflowing(overflow), ManualClock::new(START));
        let store = PlainStore::new(&clock);
        let ask = |units| {
            let cost = Cost::try_new(units).unwrap();
            ask(&store, &set.policies()[0], &Subject::new(), cost, ChargeOrPeek::Charge).unwrap()
        };
        assert_eq!(ask(1).verdict, Verdict::Admit);
        ask(units)
    };
    let denied = |retry| Verdict::Deny(Denial { retry, source: Stage::Action });
    assert_eq!(second(Overflow::Reject, 1).verdict, denied(Retry::After(Span::SECOND)));
    assert_eq!(second(Overflow::Queue, 1).verdict, Verdict::Queue(Span::SECOND));
    assert_eq!(second(Overflow::Degrade, 1).verdict, Verdict::Degrade);
    assert_eq!(second(Overflow::Reject, 2).verdict, denied(Retry::Never));
    assert_eq!(second(Overflow::Queue, 2).verdict, denied(Retry::Never), "no queue helps");
    assert_eq!(told_wait(&second(Overflow::Queue, 1)), Some(Span::SECOND));
}

/// No zero of a decision means "admit": not without limits, not without answers, not with old ones.
#[test]
fn a_case_nobody_has_answered_is_denied() {
    let (set, clock) = (overflowing(Overflow::Reject), ManualClock::new(START));
    let (store, subject) = (PlainStore::new(&clock), Subject::new());
    let mut case = Case::new(&set.policies()[0], &subject);
    assert!(!fold(&mut case).is_admitted(), "not resolved");
    case.resolve(&digests());
    assert!(!fold(&mut case).is_admitted(), "not answered");
    let (batch, readings) = case.ask();
    ready(store.charge(batch, readings)).unwrap();
    assert!(fold(&mut case).is_admitted());
    case.resolve(&digests());
    assert!(!fold(&mut case).is_admitted(), "answered, and then resolved anew");
}

/// What a decision says of itself in the words of seed 003.
#[test]
fn the_status_of_a_decision_has_the_numbers_of_the_limit_that_decided() {
    let clock = ManualClock::new(START);
    let store = PlainStore::new(&clock);
    let limit = |name: &str, stage, burst| {
        let bucket = Bucket::try_new(Rate::per_minute(1).unwrap(), burst).unwrap();
        let limit = Limit::new(Name::try_new(name).unwrap(), Scope::GLOBAL, Shape::Bucket(bucket));
        limit.at_stage(stage).with_named_key()
    };
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen)
        .limit(limit("everybody", Stage::Global, 2))
        .limit(limit("action", Stage::Action, 9));
    let set = PolicySet::builder().policy(spec).build(None).unwrap();
    let subject = Subject::new();
    let status = |weight: u64| {
        let weight = Cost::try_new(weight).unwrap();
        let mut case = Case::new(set.get("p").unwrap(), &subject).weighing(weight);
        case.resolve(&digests());
        let (batch, readings) = case.ask();
        ready(store.charge(batch, readings)).unwrap();
        fold(&mut case).status()
    };
    let admitted = status(2);
    assert_eq!((admitted.limit, admitted.remaining, admitted.blocked), (2, 0, false));
    assert_eq!((admitted.retry, admitted.next_allowed_at), (None, Some(START)));
    assert_eq!((admitted.source, admitted.backoff), (Stage::Global, Span::ZERO));
    assert_eq!(admitted.reset_after, Span::from_secs(120), "two units, one a minute");

    let denied = status(1);
    assert_eq!((denied.limit, denied.remaining, denied.blocked), (2, 0, true));
    assert_eq!(denied.retry, Some(Retry::After(Span::MINUTE)));
    assert_eq!(denied.next_allowed_at, Some(START.after(Span::MINUTE)));
    assert_eq!(denied.source, Stage::Global);

    let never = status(10);
    assert_eq!((never.retry, never.next_allowed_at), (Some(Retry::Never), None));
    assert!(never.blocked);
}
