//! Limits that reject, queue or degrade what is past them, in one policy.

use std::sync::Arc;

use proptest::prelude::*;
use tidegate_core::{
    Bucket, Case, Clock as _, Cost, Denial, FailureMode, Limit, ManualClock, Name, Overflow,
    PolicySet, PolicySpec, Rate, Reading, Retry, Room, Scope, Shape, Span, Stage, Store, Subject,
    Timestamp, Verdict,
};
use tidegate_engine::{Engine, ready};
use tidegate_test::drive::{ChargeOrPeek, ask};
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::trace::{
    LimitPlan, Moment, START, answers, overflowing, traces, walk_new, with_reloads,
};

use crate::differential::same;
use crate::{cases, lua, memory};

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn p96_the_rules_agree_with_the_model_whatever_limits_do_past_them(
        trace in overflowing(with_reloads(40)),
    ) {
        same(&answers(&trace, PlainStore::new), &answers(&trace, ModelStore::new))?;
    }

    #[test]
    fn p96_the_memory_agrees_with_the_model_whatever_limits_do_past_them(
        trace in overflowing(with_reloads(40)),
    ) {
        same(&answers(&trace, memory::roomy), &answers(&trace, ModelStore::born_now))?;
    }

    #[test]
    fn p96_the_scripts_agree_with_the_model_whatever_limits_do_past_them(
        trace in overflowing(traces(16)),
    ) {
        let trace = trace.forward();
        same(&answers(&trace, lua::serving), &answers(&trace, ModelStore::new))?;
    }

    #[test]
    fn the_strictest_limit_without_room_decides(trace in overflowing(traces(40))) {
        walk_new(&trace, PlainStore::new, strictest_decides);
    }
}

/// Reject over queue over degrade, among the limits that have no room.
fn strictest_decides<S: Store>(moment: &Moment<'_, S>) {
    let limits = moment.policy.limits.iter().filter(|limit| !limit.shadow);
    let asked = limits.filter(|limit| limit.counter(&moment.who).is_some());
    let said: Vec<(&LimitPlan, Reading)> =
        asked.map(|limit| (limit, *moment.answer.of(&limit.name()))).collect();
    let is_soft = |limit: &LimitPlan| limit.overflow == Overflow::Degrade && !limit.is_attempts();
    let full: Vec<_> = said.iter().filter(|(_, said)| said.room != Room::Now).collect();
    let firm: Vec<_> = full.iter().filter(|(limit, _)| !is_soft(limit)).collect();
    let binding = said.iter().find(|(limit, _)| limit.name() == moment.answer.binding);
    // An abuse log that is told to degrade rejects.
    let queues = |limit: &LimitPlan| limit.overflow == Overflow::Queue;
    match moment.answer.verdict {
        Verdict::Admit => assert!(full.is_empty(), "{full:?}"),
        Verdict::Degrade => {
            assert!(firm.is_empty() && !full.is_empty(), "{full:?}");
            assert!(is_soft(binding.expect("a soft limit is named").0));
        }
        Verdict::Queue(wait) => {
            assert!(!firm.is_empty() && firm.iter().all(|(limit, _)| queues(limit)), "{firm:?}");
            assert!(queues(binding.expect("a limit that queues is named").0));
            let firm = said.iter().filter(|(limit, _)| !is_soft(limit));
            assert_eq!(Some(wait), firm.map(|(_, said)| said.wait).max());
        }
        Verdict::Deny(Denial { retry, .. }) => {
            let never = said.iter().filter(|(limit, _)| !is_soft(limit));
            let never = never.into_iter().any(|(_, said)| said.room == Room::Never);
            assert!(firm.iter().any(|(limit, _)| !queues(limit)) || never, "{firm:?}");
            assert_eq!(retry == Retry::Never, never);
        }
    }
}

fn bucket(burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::try_new(1, Span::HOUR).unwrap(), burst).unwrap())
}

fn limit(name: &str, burst: u64, overflow: Overflow) -> Limit {
    let name = Name::try_new(name).unwrap();
    Limit::new(name, Scope::GLOBAL, bucket(burst)).with_named_key().on_overflow(overflow)
}

fn policies(limits: impl IntoIterator<Item = Limit>) -> PolicySet {
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    PolicySet::builder().policy(spec).build(None).unwrap()
}

/// The verdicts of some requests, one after the other, and what the limits have left after them.
fn verdicts(set: &PolicySet, requests: usize) -> (Vec<&'static str>, Vec<i64>) {
    let clock = ManualClock::new(START);
    let store = PlainStore::new(&clock);
    let ask = || {
        let policy = &set.policies()[0];
        ask(&store, policy, &Subject::new(), Cost::ONE, ChargeOrPeek::Charge).unwrap()
    };
    let mut left = Vec::new();
    let names = (0..requests).map(|_| {
        let answer = ask();
        left = answer.readings.iter().map(|(_, reading)| reading.remaining).collect();
        answer.verdict.name()
    });
    let names = names.collect();
    (names, left)
}

#[test]
fn a_soft_limit_without_room_degrades_and_the_firm_ones_are_charged() {
    let set = policies([
        limit("soft", 2, Overflow::Degrade),
        limit("queue", 4, Overflow::Queue),
        limit("firm", 6, Overflow::Reject),
    ]);
    let (names, left) = verdicts(&set, 6);
    assert_eq!(names, ["admit", "admit", "degrade", "degrade", "queue", "queue"]);
    assert_eq!(left, [0, 0, 2], "what is queued is charged nowhere");
    let set = policies([limit("soft", 1, Overflow::Degrade), limit("firm", 2, Overflow::Reject)]);
    assert_eq!(verdicts(&set, 4).0, ["admit", "degrade", "deny", "deny"]);
    let set = policies([limit("queue", 1, Overflow::Queue), limit("firm", 1, Overflow::Reject)]);
    assert_eq!(verdicts(&set, 2).0, ["admit", "deny"], "reject over queue");
}

#[test]
fn the_overflow_of_a_policy_is_that_of_limits_which_say_nothing() {
    let named = |text: &str| Name::try_new(text).unwrap();
    let silent = |name: &str, burst| Limit::new(named(name), Scope::GLOBAL, bucket(burst));
    let built = |overflow, own: Limit| {
        let spec = PolicySpec::new(named("p"), FailureMode::FailOpen).overflow(overflow);
        let spec = spec.shared_limit(named("shared")).limit(own.with_named_key());
        let other = PolicySpec::new(named("z"), FailureMode::FailOpen);
        let other = other.shared_limit(named("shared"));
        let builder = PolicySet::builder().shared(silent("shared", 1).with_named_key());
        builder.policy(spec).policy(other).build(None).unwrap()
    };
    let set = built(Overflow::Degrade, silent("own", 2));
    assert_eq!(verdicts(&set, 3).0, ["admit", "degrade", "degrade"]);
    let set = built(Overflow::Degrade, silent("own", 2).on_overflow(Overflow::Reject));
    assert_eq!(verdicts(&set, 3).0, ["admit", "degrade", "deny"]);
    let set = built(Overflow::Queue, silent("own", 2));
    assert_eq!(verdicts(&set, 2).0, ["admit", "queue"]);
    let overflows = set.policies().iter().map(|policy| policy.limits()[0].overflow());
    assert!(overflows.eq([Overflow::Queue, Overflow::Reject]), "a shared limit, by its policy");
    // A reload and a plan that is learnt keep it.
    let again = set.forgetting(Timestamp::MAX).unwrap_or(set);
    assert_eq!(again.get("p").unwrap().limits()[0].overflow(), Overflow::Queue);
}

#[test]
fn a_degraded_request_has_a_ticket_and_gives_back_what_it_took() {
    let set = policies([
        limit("soft", 1, Overflow::Degrade).settling(),
        limit("firm", 3, Overflow::Reject).settling(),
    ]);
    let clock = Arc::new(ManualClock::new(START));
    let engine = Engine::new(memory::roomy(Arc::clone(&clock)), set);
    let (set, subject) = (engine.policies(), Subject::new());
    let decide = || {
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        let decision = ready(engine.decide(&mut case)).unwrap().unwrap();
        let left = decision.explain().map(|said| said.reading.remaining).collect::<Vec<_>>();
        (decision.verdict().name(), engine.ticket(&decision), left)
    };
    assert_eq!(decide().0, "admit");
    let (verdict, ticket, left) = decide();
    assert_eq!((verdict, left), ("degrade", vec![0, 1]));
    let settled = ready(engine.settle(ticket.unwrap().as_str(), 0)).unwrap().unwrap();
    assert_eq!(settled.returned, 1, "from the firm limit alone");
    assert_eq!(decide().2, [0, 1]);
    let (verdict, _, _) = (decide(), decide(), ()).0;
    assert_eq!(verdict, "degrade");
    let (verdict, ticket, _) = decide();
    assert_eq!((verdict, ticket), ("deny", None));
    assert_eq!(clock.now(), START);
}

#[test]
fn the_source_of_a_denial_is_the_first_stage_in_which_a_firm_limit_refused() {
    let set = policies([
        limit("global", 1, Overflow::Degrade).at_stage(Stage::Global),
        limit("action", 1, Overflow::Reject),
    ]);
    let clock = ManualClock::new(START);
    let store = PlainStore::new(&clock);
    let ask = || {
        let policy = &set.policies()[0];
        ask(&store, policy, &Subject::new(), Cost::ONE, ChargeOrPeek::Charge).unwrap()
    };
    ask();
    let refused = ask();
    let retry = Retry::After(Span::HOUR);
    assert_eq!(refused.verdict, Verdict::Deny(Denial { retry, source: Stage::Action }));
    assert_eq!(refused.binding, "action");
}
