//! P96: the production scripts, told the time, give the answers of the model and of the rules.

use std::sync::Arc;

use proptest::prelude::*;
use tidegate_core::{
    Attempts, Backoff, Bucket, Calendar, Case, Counts, FailureMode, Limit, MAX_LIMITS, ManualClock,
    Name, Period, PolicySet, PolicySpec, Quota, Rate, Scope, Shape, Span, Subject, Threshold, Unit,
    Window,
};
use tidegate_engine::Engine;
use tidegate_stores::redis::RedisStore;
use tidegate_test::lua::{Expired, secret, store};
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::ready;
use tidegate_test::trace::{START, answers, traces, with_reloads};

use crate::cases;
use crate::differential::same;

/// On a server, whose keys are gone when their time is over.
pub(crate) fn serving(clock: Arc<ManualClock>) -> RedisStore {
    store(clock, Expired::Gone, false)
}

/// On a server that forgets nothing: for clocks that are set back.
fn remembering(clock: Arc<ManualClock>) -> RedisStore {
    store(clock, Expired::Stays, false)
}

/// The rules, by the names of counters.
fn by_name(clock: Arc<ManualClock>) -> PlainStore<Arc<ManualClock>> {
    PlainStore::by_name(clock, secret().names())
}

proptest! {
    #![proptest_config(cases(25_000))]

    #[test]
    fn p96_the_scripts_agree_with_the_model(trace in traces(12)) {
        let trace = trace.forward();
        same(&answers(&trace, serving), &answers(&trace, ModelStore::new))?;
    }

    #[test]
    fn p96_the_scripts_agree_with_the_rules_over_longer_traces(trace in traces(30)) {
        let trace = trace.forward();
        same(&answers(&trace, serving), &answers(&trace, by_name))?;
    }

    #[test]
    fn p59_p96_the_scripts_agree_with_the_rules_when_clocks_are_set_back(trace in traces(16)) {
        same(&answers(&trace, remembering), &answers(&trace, by_name))?;
    }

    /// Other periods, billing days and names in keys change what counters are called, and not what they
    /// count. No limit has more than two former names here.
    #[test]
    fn p96_the_scripts_agree_with_the_model_across_reloads(trace in with_reloads(16)) {
        let trace = trace.forward().with_reloads_up_to(2);
        same(&answers(&trace, remembering), &answers(&trace, ModelStore::new))?;
    }

    #[test]
    fn p96_the_scripts_agree_with_the_rules_across_reloads(trace in with_reloads(20)) {
        same(&answers(&trace, remembering), &answers(&trace, by_name))?;
    }
}

#[test]
fn vectors_of_limits_and_attempts_hold_by_the_scripts() {
    crate::vectors::holds(serving);
}

/// Lua has room for 200 names in a script: the largest batch of the largest shape fits.
#[test]
fn a_batch_of_twelve_fits_a_script() {
    let backoff = Some(Backoff::exponential(Span::SECOND, 2, Span::MINUTE));
    let window =
        |count, counts| Shape::Window(Window::try_new(count, Span::MINUTE, counts).unwrap());
    let day = Calendar::try_new(Unit::Day, "UTC", None).unwrap();
    let bucket = Bucket::try_new(Rate::per_second(1).unwrap(), 9).unwrap();
    let threshold = |block_at, per| Threshold { block_at, per, block: Span::MINUTE };
    let long = threshold(100, Span::DAY);
    let attempts = Attempts::try_new(threshold(10, Span::MINUTE), Some(long)).unwrap();
    for shape in [
        window(9, Counts::Admitted),
        window(900, Counts::Attempts(backoff)),
        Shape::Quota(Quota::try_new(9, Period::Calendar(day), Counts::Admitted).unwrap()),
        Shape::Bucket(bucket),
        Shape::Attempts(attempts),
    ] {
        let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
        let spec = (0..MAX_LIMITS).fold(spec, |spec, place| {
            let name = Name::try_new(&format!("l{place}")).unwrap();
            spec.limit(Limit::new(name, Scope::GLOBAL, shape.clone()).settling().with_named_key())
        });
        let set = PolicySet::builder().policy(spec).build(None).unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let engine = Engine::new(serving(clock), set).sharing(&secret());
        let (policies, subject) = (engine.policies(), Subject::new());
        let mut case = Case::new(policies.get("p").unwrap(), &subject);
        let decision = ready(engine.decide(&mut case)).unwrap();
        assert!(decision.is_admitted());
        assert!(
            decision
                .explain()
                .all(|said| said.reading.remaining % 10 == 8 || said.reading.remaining == 899)
        );
        let ticket = engine.ticket(&decision).unwrap();
        let settled = ready(engine.settle(ticket.as_str(), 0)).unwrap();
        assert_eq!(settled.returned, 12);
    }
}
