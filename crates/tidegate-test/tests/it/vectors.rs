//! The vectors hold, in every store, and none is skipped.

use tidegate_core::Store;
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::vectors::{Section, TEXT, Vectors, check};

use crate::memory;

fn vectors() -> Vectors {
    Vectors::parse(TEXT).unwrap()
}

/// Runs every vector of limits and of attempts, all of them and no fewer.
pub(crate) fn holds<S: Store>(store: impl Fn(std::sync::Arc<tidegate_core::ManualClock>) -> S) {
    let vectors = vectors();
    let run = check(&vectors, store).unwrap();
    let named = vectors.names(Section::Limits).chain(vectors.names(Section::Attempts));
    assert_eq!(run, named.collect::<Vec<_>>());
    assert_eq!(vectors.names(Section::Attempts).count(), 4);
    assert_eq!(run.len(), 28);
}

#[test]
fn vectors_of_limits_and_attempts_hold_in_the_model() {
    holds(ModelStore::new);
}

#[test]
fn vectors_of_limits_and_attempts_hold_by_the_rules_alone() {
    holds(PlainStore::new);
}

#[test]
fn vectors_of_limits_and_attempts_hold_in_memory() {
    holds(memory::roomy);
}

#[test]
fn vectors_of_merges_hold() {
    assert_eq!(vectors().check_merges().unwrap().len(), 3);
}

#[test]
fn vectors_of_keys_hold() {
    assert_eq!(vectors().check_keys().unwrap().len(), 1);
}

#[test]
fn vectors_of_prefixes_hold() {
    assert_eq!(vectors().check_prefixes().unwrap().len(), 1);
}

#[test]
fn vectors_of_failures_hold() {
    let vectors = vectors();
    let run = vectors.check_failures().unwrap();
    assert_eq!(run, vectors.names(Section::Failover).collect::<Vec<_>>());
    assert_eq!(run.len(), 6);
}

#[test]
fn a_wrong_expectation_of_failures_is_found() {
    let run = |policy: &str, steps: &str| {
        let vectors =
            Vectors::parse(&format!("- {{name: n, failover: {policy}, steps: [{steps}]}}"));
        vectors.unwrap().check_failures().map(|names| names.len())
    };
    let trips = "{at: 0s, trips: true, mode: DEGRADED, event: degraded_entered}";
    assert_eq!(run("login", trips), Ok(1));
    let admits = "verdict: admit, decision: DEGRADED, mode: DEGRADED}";
    assert_eq!(run("login", &format!("{trips}, {{at: 1s, requests: 20, {admits}")), Ok(1));
    for (policy, wrong) in [
        ("nothing", "{at: 0s, store: fails}"),
        ("login", "{at: 0s, store: sleeps}"),
        ("login", "{at: 0s, store: fails, probes: sometimes}"),
        ("login", "{at: 0s, store: fails, mode: DEGRADED}"),
        ("login", "{at: 0s, store: fails, decision: NORMAL}"),
        ("login", "{at: 0s, store: fails, verdict: admit}"),
        ("login", "{at: 0s, store: fails, event: degraded_entered}"),
        ("login", "{at: 0s, store: fails, retry_after: 9s}"),
        ("login", "{at: 0s, store: answers, retry_after: 10s}"),
        ("login", "{at: 0s, store: fails, remaining: 1}"),
        ("login", "{at: 0s, trips: true, event: critical}"),
        ("login", "{at: 0s, trips: true}, {at: 299s, after: exit, trips: true}"),
        ("login", "{at: 0s, trips: true}, {at: 1s, store: heals}, {at: 299s, mode: NORMAL}"),
        ("login", "{at: 0s, trips: true}, {at: 1s, requests: 21, verdict: admit}"),
        ("api_heavy", "{at: 0s, store: down, requests: 3, verdict: admit, decision: FAIL_CLOSED}"),
        ("api_heavy", "{at: 0s, store: down, requests: 61, verdict: admit, agent: a}"),
    ] {
        assert!(run(policy, wrong).is_err(), "{policy}: {wrong} passed");
    }
}

#[test]
fn no_vector_is_skipped() {
    use Section::{Attempts, Failover, Keys, Limits, Merge, Prefixes};
    let vectors = vectors();
    let sections = [Limits, Attempts, Merge, Keys, Prefixes, Failover];
    let run = sections.map(|section| vectors.names(section).count());
    assert_eq!(run.iter().sum::<usize>(), TEXT.matches("\n- name: ").count());
}

#[test]
fn a_field_nobody_checks_is_refused() {
    let vector = |fields: &str| {
        Vectors::parse(&format!("- {{name: n, bucket: {{rate: 1, per: 1s, burst: 1}}, {fields}}}"))
    };
    let step = |fields: &str| vector(&format!("steps: [{{at: 0s, verdict: admit{fields}}}]"));
    let run =
        |fields: &str| check(&step(fields).unwrap(), PlainStore::new).map(|names| names.len());
    assert_eq!(run(""), Ok(1));
    assert!(step(", colour: red").is_err(), "an unknown field of a step");
    assert!(vector("steps: [], colour: red").is_err(), "an unknown field of a vector");
    assert!(vector("steps: [], failover: login").is_err(), "two sections in one");
    assert!(vector("keys: []").is_err(), "two sections in one, and no steps");
    assert!(run(", mode: DEGRADED").is_err(), "a field of failures");
}

#[test]
fn a_wrong_expectation_is_found() {
    let run = |steps: &str| {
        let limits = "limits: {a: {bucket: {rate: 1, per: 1s, burst: 1}}}";
        let text = format!("- {{name: n, {limits}, steps: [{{at: 0s, verdict: admit}}, {steps}]}}");
        let vectors = Vectors::parse(&text).unwrap();
        check(&vectors, PlainStore::new).map(|names| names.len())
    };
    let right = "{at: 0s, verdict: deny, remaining: 0, retry_after: 1s, reset_after: 1s, \
                 backoff: 0s, binding: a, source: action, shadow: {a: deny}}";
    assert_eq!(run(right), Ok(1));
    for wrong in [
        "{at: 0s}",
        "{at: 0s, verdict: admit}",
        "{at: 0s, verdict: deny, remaining: 1}",
        "{at: 0s, verdict: deny, remaining: {a: 1}}",
        "{at: 0s, verdict: deny, remaining: {}}",
        "{at: 0s, verdict: deny, retry_after: 2s}",
        "{at: 0s, verdict: deny, reset_after: 2s}",
        "{at: 0s, verdict: deny, backoff: 2s}",
        "{at: 0s, verdict: deny, never: true}",
        "{at: 0s, verdict: deny, binding: b}",
        "{at: 0s, verdict: deny, source: global}",
        "{at: 0s, verdict: deny, shadow: {a: admit}}",
        "{at: 0s, reload: {a: {bucket: {rate: 1, per: 1s, burst: 1}}}, verdict: deny}",
    ] {
        assert!(run(wrong).is_err(), "{wrong} passed");
    }
    assert!(run("{at: 0s, cost: 2, verdict: deny}").is_err(), "a never that is not expected");
}

#[test]
fn a_wrong_expectation_of_attempts_is_found() {
    let run = |step: &str| {
        let temp = "temp: {block_at: 2, per: 60s, block: 30s}";
        let attempts = format!("attempts: {{{temp}, long: {{block_at: 6, per: 10m, block: 1h}}}}");
        let steps = format!("steps: [{{at: 0s, verdict: admit}}, {step}]");
        let vectors = Vectors::parse(&format!("- {{name: n, {attempts}, {steps}}}")).unwrap();
        check(&vectors, PlainStore::new).map(|names| names.len())
    };
    let right = "{at: 1s, verdict: deny, scope: temp, temp_count: 2, long_count: 2, \
                 block_ends_in: 30s, retry_after: 60s}";
    assert_eq!(run(right), Ok(1));
    for wrong in ["scope: long", "temp_count: 1", "long_count: 1", "block_ends_in: 29s"] {
        assert!(run(&format!("{{at: 1s, verdict: deny, {wrong}}}")).is_err(), "{wrong} passed");
    }
    let bucket = "bucket: {rate: 1, per: 1s, burst: 1}, steps: [{at: 0s, verdict: admit";
    let vectors = Vectors::parse(&format!("- {{name: n, {bucket}, temp_count: 0}}]}}")).unwrap();
    assert!(check(&vectors, PlainStore::new).is_err(), "a count of what counts no attempts");
}
