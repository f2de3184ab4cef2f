//! Whatever in a file says that a policy guards an entrance, it can only fail closed; and no reload
//! makes it otherwise.

use std::sync::Arc;

use tidegate_core::{
    Bucket, FailureMode, Limit, ManualClock, Name, PolicyError, PolicySet, PolicySpec, Protects,
    Rate, Scope, Shape, Span, Subject, Timestamp, Window,
};
use tidegate_engine::file::{File, NoDoor};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

/// The table of the core, which is there for every door: class, what is protected, what comes of it.
const TABLE: &str = include_str!("../../../tidegate-core/src/policy/tests/entrances.txt");

/// The fields of a policy, and what comes of it.
#[derive(Debug)]
struct Row {
    class: Option<&'static str>,
    protects: Option<&'static str>,
    cell: &'static str,
}

fn rows() -> Vec<Row> {
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<&str> = lines.next().unwrap().split_whitespace().skip(1).collect();
    let mut rows = Vec::new();
    for line in lines {
        let mut cells = line.split_whitespace();
        let class = cells.next().filter(|class| *class != "-");
        rows.extend(columns.iter().zip(cells).map(|(column, cell)| Row {
            class,
            protects: Some(*column).filter(|said| *said != "nothing"),
            cell,
        }));
    }
    assert_eq!(rows.len(), 13 * 12, "every cell");
    rows
}

impl Row {
    /// The codes of the errors of a policy with this failure mode.
    fn codes(&self, failure: &str) -> &'static [&'static str] {
        match (self.cell, failure) {
            ("entrance", "fail_closed") | ("ordinary", "fail_open" | "degraded") => &[],
            ("spend", "fail_open") => &["open-spend"],
            ("spend", _) => &[],
            ("entrance", _) => &["not-fail-closed"],
            ("ordinary", _) => &["not-critical"],
            // A class that is an entrance says so as well.
            ("milder", "fail_open" | "degraded") if self.is_class_entrance() => {
                &["milder-than-class", "not-fail-closed"]
            }
            ("milder", "fail_closed") if !self.is_class_entrance() => {
                &["milder-than-class", "not-critical"]
            }
            ("milder", _) => &["milder-than-class"],
            other => panic!("{other:?}"),
        }
    }

    fn is_class_entrance(&self) -> bool {
        let class = self.class.unwrap_or_default();
        ["login", "otp", "step_up", "step-up", "auth", "admin"].contains(&class)
    }

    fn text(&self, failure: &str, environments: &str) -> String {
        let field = |name: &str, value: Option<&str>| {
            value.map(|value| format!("    {name}: {value}\n")).unwrap_or_default()
        };
        let (class, protects) = (field("class", self.class), field("protects", self.protects));
        format!(
            "version: 1\n{environments}policies:\n  - name: p\n    failure_mode: {failure}\n{class}\
             {protects}    limits:\n      - name: l\n        by: org\n        bucket: {{ rate: 1/s, \
             burst: 5 }}\n        in: {{ staging: {{ bucket: {{ burst: 6 }} }} }}\n"
        )
    }

    fn spec(&self, failure: FailureMode) -> PolicySpec {
        let bucket = Bucket::try_new(Rate::per_second(1).unwrap(), 5).unwrap();
        let limit = Limit::new(name("l"), Scope::GLOBAL, Shape::Bucket(bucket));
        let mut spec = PolicySpec::new(name("p"), failure).limit(limit);
        if let Some(class) = self.class {
            spec = spec.class(name(class));
        }
        let said = Protects::ALL.into_iter().find(|what| Some(what.name()) == self.protects);
        said.into_iter().fold(spec, PolicySpec::protecting)
    }
}

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

#[test]
fn p04_a34_what_a_file_takes_for_each_class_and_word_and_failure_mode() {
    for row in rows() {
        for failure in ["fail_closed", "fail_open", "degraded"] {
            let expected = row.codes(failure);
            let text = row.text(failure, "environments: [production, staging]\n");
            for environment in [None, Some("production"), Some("staging")] {
                let read = File::<NoDoor>::parse_in("f.yaml", &text, environment);
                let mut codes: Vec<&str> = match &read {
                    Ok(_) => Vec::new(),
                    Err(refused) => {
                        refused.problems().iter().map(|problem| problem.wrong().code()).collect()
                    }
                };
                codes.sort_unstable();
                assert_eq!(codes, expected, "{environment:?}\n{text}");
            }
        }
    }
}

#[test]
fn p04_a34_a_preset_and_a_class_in_a_file() {
    for (preset, class, failure, expected) in [
        ("login", "", "fail_closed", &[][..]),
        ("login", "", "fail_open", &["not-fail-closed"]),
        ("login", "", "degraded", &["not-fail-closed"]),
        ("otp", "", "fail_closed", &[]),
        ("otp", "", "fail_open", &["not-fail-closed"]),
        ("otp", "", "degraded", &["not-fail-closed"]),
        ("login", "class: login", "fail_closed", &[]),
        ("login", "class: read", "fail_closed", &[]),
        ("login", "class: read", "fail_open", &["not-fail-closed"]),
        ("login", "class: otp", "fail_closed", &["milder-than-class"]),
        ("login", "class: auth", "fail_closed", &["milder-than-class"]),
        ("login", "protects: api_heavy", "fail_open", &["other-preset"]),
        ("otp", "protects: login", "fail_closed", &["other-preset"]),
        ("otp", "class: step_up", "fail_closed", &[]),
        ("otp", "class: login", "degraded", &["not-fail-closed"]),
    ] {
        let text = format!(
            "version: 1\npolicies:\n  - name: p\n    preset: {preset}\n    failure_mode: {failure}\n    \
             {class}\n"
        );
        let codes: Vec<&str> = match &File::<NoDoor>::parse("f.yaml", &text) {
            Ok(_) => Vec::new(),
            Err(refused) => refused.problems().iter().map(|one| one.wrong().code()).collect(),
        };
        assert_eq!(codes, expected, "{text}");
    }
}

fn engine(spec: PolicySpec) -> Engine<MemoryStore<Arc<ManualClock>>> {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
    let set = PolicySet::builder().policy(spec).build(None).unwrap();
    Engine::new(MemoryStore::new(Budget::default(), clock), set)
}

#[test]
fn p04_a34_no_reload_of_an_engine_opens_an_entrance() {
    let first = Row { class: None, protects: Some("login"), cell: "entrance" };
    let engine = engine(first.spec(FailureMode::FailClosed));
    for row in rows() {
        for failure in FailureMode::ALL {
            let expected = row.codes(failure.name());
            let before = Arc::clone(&engine.policies());
            let reloaded = engine.reload(&PolicySet::builder().policy(row.spec(failure)));
            let told: &[&str] = match reloaded {
                Ok(()) => &[],
                Err(PolicyError::NotFailClosed { .. }) => &["not-fail-closed"],
                Err(PolicyError::Milder { .. }) => &["milder-than-class"],
                Err(PolicyError::NotCritical { .. }) => &["not-critical"],
                Err(PolicyError::OpenSpend(_)) => &["open-spend"],
                Err(other) => panic!("{other}"),
            };
            // The core tells the first thing it finds.
            assert_eq!(told.first(), expected.first(), "{:?} {:?}", row.class, row.protects);
            let kept = Arc::ptr_eq(&before, &engine.policies());
            assert_eq!(kept, !expected.is_empty(), "what is refused changes nothing");
        }
    }
}

#[test]
fn p04_a34_no_attempt_is_counted_under_a_policy_that_is_no_entrance() {
    let subject = Subject::new().org("acme");
    let told = |engine: &Engine<_>| {
        ready(engine.attempt("p", &subject)).unwrap().err().map(|error| error.to_string())
    };
    for row in rows() {
        let failure = match row.cell {
            "milder" => continue,
            "entrance" | "spend" => FailureMode::FailClosed,
            _ => FailureMode::FailOpen,
        };
        let engine = engine(row.spec(failure));
        assert_eq!(told(&engine).is_none(), row.cell == "entrance", "{row:?}");
    }
    let engine = engine(
        Row { class: None, protects: Some("login"), cell: "entrance" }
            .spec(FailureMode::FailClosed),
    );
    assert_eq!(told(&engine), None);
    let open = Row { class: None, protects: Some("read"), cell: "ordinary" };
    engine.reload(&PolicySet::builder().policy(open.spec(FailureMode::FailOpen))).unwrap();
    assert_eq!(
        told(&engine).unwrap(),
        "policy `p` does not protect an entrance, so an outage of the store could let everybody in; \
         write `protects: login` (or `otp`, `auth`, `step_up`, `admin`) and `failure_mode: fail_closed`"
    );
}

#[test]
fn p36_a36_no_plan_that_is_learnt_is_below_a_cap() {
    let window = |count| {
        let counts = tidegate_core::Counts::Admitted;
        Shape::Window(Window::try_new(count, Span::from_secs(600), counts).unwrap())
    };
    let by = Scope::of([tidegate_core::Dimension::Account, tidegate_core::Dimension::Ip]);
    let limit = Limit::new(name("tries"), by, window(9));
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).class(name("login"));
    let engine = engine(spec.limit(limit));
    let refused = engine.learn("trial", &[(name("tries"), window(2))]).unwrap_err();
    assert!(matches!(refused, PolicyError::NotAboveCap { admits: 2, least: 3, .. }), "{refused}");
    assert!(!engine.policies().knows_plan("trial"));
    engine.learn("gold", &[(name("tries"), window(3))]).unwrap();
    let policies = engine.policies();
    assert_eq!(policies.get("p").unwrap().failure(), FailureMode::FailClosed);
    assert_eq!(policies.get("p").unwrap().protects(), Some(Protects::Login));
}
