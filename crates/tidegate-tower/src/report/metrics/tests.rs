//! What is counted, and that it stays bounded.

mod busiest;

use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tidegate_core::{FailureMode, Mode, PolicySet, PolicySpec, Span, Standing};
use tidegate_engine::Engine;
use tidegate_engine::memory::MemoryStore;
use tidegate_test::openmetrics;

use super::{Enforcement, Metrics};
use crate::answer::Code;
use crate::identity::Identity;
use crate::metrics::Format;
use crate::report::tests::{Ask, World, name, policies};
use crate::report::{Audit, AuditRecord, Reporter, Ruled, RulingStage};
use crate::request_id::RequestId;

const ATTACKER: [u8; 4] = [198, 51, 100, 7];

fn measured() -> (World, Metrics, Reporter) {
    let metrics = Metrics::default();
    (World::new(), metrics.clone(), Reporter::default().measuring(metrics))
}

/// All series, without the comments.
fn series(world: &World, metrics: &Metrics) -> Vec<String> {
    let text = metrics.encode(Arc::clone(&world.engine)).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

/// The names and labels of all series.
fn names(world: &World, metrics: &Metrics) -> HashSet<String> {
    let name = |line: &String| line.rsplit_once(' ').unwrap().0.to_owned();
    series(world, metrics).iter().map(name).collect()
}

#[track_caller]
fn assert_has(series: &[String], lines: &[&str]) {
    for line in lines {
        assert!(series.iter().any(|found| found == line), "{line} in\n{}", series.join("\n"));
    }
}

fn busy() -> (World, Metrics) {
    let (world, metrics, reporter) = measured();
    for _ in 0..8 {
        world.ask(&reporter, &Ask::of(Identity::new("acme").user("u7")));
    }
    for _ in 0..24 {
        world.ask(&reporter, &Ask::from(ATTACKER.into(), "login"));
    }
    for _ in 0..5 {
        let ask = Ask { class: "auth", place: 1, ..Ask::from(ATTACKER.into(), "front") };
        world.ask(&reporter, &ask);
    }
    for _ in 0..3 {
        world.ask(&reporter, &Ask { policy: "soft", ..Ask::of(Identity::new("globex")) });
    }
    world.rule(&Ask::of(Identity::new("initech")), |ruled| {
        let (code, stage) = (Some(Code::InsufficientScope), RulingStage::Enqueue);
        reporter.ruled(&Ruled { code, stage, decision: None, took: Span::ZERO, ..*ruled });
    });
    reporter.unseen(Code::InvalidPath, &RequestId::generate());
    (world, metrics)
}

#[test]
fn everything_is_counted_once() {
    let (world, metrics) = busy();
    let series = series(&world, &metrics);
    assert_has(
        &series,
        &[
            "rate_limit_exceeded_total{scope=\"org\",endpoint_class=\"read\"} 3",
            "rate_limit_exceeded_total{scope=\"ip\",endpoint_class=\"public\"} 3",
            "rate_limit_exceeded_total{scope=\"ip+class\",endpoint_class=\"auth\"} 2",
            "limiter_blocked_total{scope=\"temp\"} 3",
            "limiter_blocked_total{scope=\"operator\"} 0",
            "tidegate_http_rulings_total{stage=\"org\",verdict=\"admit\"} 6",
            "tidegate_http_rulings_total{stage=\"org\",verdict=\"deny\"} 3",
            "tidegate_http_rulings_total{stage=\"org\",verdict=\"degrade\"} 2",
            "tidegate_http_rulings_total{stage=\"early\",verdict=\"admit\"} 24",
            "tidegate_http_rulings_total{stage=\"early\",verdict=\"deny\"} 5",
            "tidegate_http_rulings_total{stage=\"enqueue\",verdict=\"refuse\"} 1",
            "tidegate_http_refusals_total{code=\"throttling.rate_limit_exceeded\"} 8",
            "tidegate_http_refusals_total{code=\"authorization.insufficient_scope\"} 1",
            "tidegate_http_refusals_total{code=\"request.invalid_path\"} 1",
            "tidegate_http_refusals_total{code=\"internal.misconfigured\"} 0",
            "tidegate_decision_duration_seconds_count 40",
            "tidegate_decision_duration_seconds_sum 0.0012",
            "tidegate_decision_duration_seconds_bucket{le=\"0.000025\"} 0",
            "tidegate_decision_duration_seconds_bucket{le=\"0.00005\"} 40",
            "tidegate_quota_remaining{org_id=\"acme\",policy=\"api\",limit=\"day\"} 995",
            "tidegate_mode{policy=\"api\",mode=\"normal\"} 1",
            "tidegate_mode{policy=\"api\",mode=\"degraded\"} 0",
        ],
    );
    assert!(!series.iter().any(|line| line.contains("globex")), "it has no quota");
}

#[test]
fn promtool_has_nothing_to_say() {
    let (world, metrics) = busy();
    let reporter = Reporter::default().measuring(metrics.clone());
    for hostile in ["\"} 1\nforged 2", "a\\b", "back\\", "ESC\u{1b}", "other", "日本", "a b"] {
        world.ask(&reporter, &Ask::of(Identity::new(hostile)));
    }
    let text = Format::Prometheus.of(metrics.encode(Arc::clone(&world.engine)).unwrap());
    assert!(text.contains("日本") && !text.contains("forged"), "{text}");
    openmetrics::lint(&text);
}

#[test]
fn a_quantile_of_durations_can_be_told() {
    let (world, metrics) = busy();
    let families = openmetrics::read(&metrics.encode(Arc::clone(&world.engine)).unwrap()).unwrap();
    // All 40 took 30 µs, which is in the bucket from 25 to 50.
    let median = "histogram_quantile(0.5, tidegate_decision_duration_seconds_bucket)";
    openmetrics::evaluates(&families, &format!("round({median} * 1e7)"), "375");
}

#[test]
fn t39_p83_nothing_that_is_sent_makes_another_series() {
    let (world, metrics, reporter) = measured();
    let mut runner = TestRunner::deterministic();
    let text = || prop_oneof!["[a-z]{1,8}", "\\PC{0,40}", any::<String>()];
    let sent = (text(), text(), text(), text(), any::<u128>());
    let mut ask = || {
        let (org, user, token, path, address) = sent.new_tree(&mut runner).unwrap().current();
        let client = IpAddr::V6(Ipv6Addr::from_bits(address));
        // An empty name is none, and asked about no limit.
        let known = Ask::of(Identity::new(format!("o{org}")).user(user).token(token));
        let known = Ask { route: path.clone().into(), client, ..known };
        for _ in 0..6 {
            world.ask(&reporter, &known);
        }
        for policy in ["front", "login"] {
            world.ask(&reporter, &Ask { route: path.clone().into(), ..Ask::from(client, policy) });
        }
    };
    for _ in 0..200 {
        ask();
    }
    let count = |names: &HashSet<String>| {
        let of_orgs = |name: &&String| name.starts_with("tidegate_quota_remaining");
        (names.len(), names.iter().filter(of_orgs).count())
    };
    let before = count(&names(&world, &metrics));
    assert_eq!(before.1, 33, "32 organisations, and the others");
    for _ in 0..10_000 {
        ask();
    }
    assert_eq!(count(&names(&world, &metrics)), before);
}

#[test]
fn watched_organisations_are_shown_and_the_least_of_the_rest() {
    let (world, metrics) = (World::new(), Metrics::watching(["acme", "globex", "acme"]));
    let reporter = Reporter::default().measuring(metrics.clone());
    let ask = |org: &str| world.ask(&reporter, &Ask::of(Identity::new(org)));
    let line = |org: &str, left: u64| {
        format!("tidegate_quota_remaining{{org_id=\"{org}\",policy=\"api\",limit=\"day\"}} {left}")
    };
    let shown = || {
        let quota = |line: &String| line.starts_with("tidegate_quota");
        let mut lines: Vec<_> = series(&world, &metrics).into_iter().filter(quota).collect();
        lines.sort();
        lines
    };
    for org in ["acme", "initech", "initech", "initech", "initech", "umbrella"] {
        ask(org);
    }
    assert_eq!(shown(), [line("acme", 999), line("other", 996)]);
    world.clock.advance(Span::MINUTE);
    ask("umbrella");
    assert_eq!(shown(), [line("acme", 999), line("other", 996)], "of this minute and the last");
    world.clock.advance(Span::MINUTE);
    ask("umbrella");
    ask("globex");
    assert_eq!(shown(), [line("acme", 999), line("globex", 999), line("other", 997)]);
}

#[test]
fn who_takes_a_place_takes_nothing_else() {
    let (world, metrics) = (World::new(), Metrics::busiest(NonZeroUsize::MIN));
    let reporter = Reporter::default().measuring(metrics.clone());
    let ask = |org: &str, policy| {
        world.ask(&reporter, &Ask { policy, ..Ask::of(Identity::new(org)) });
    };
    ask("acme", "api");
    ask("acme", "bulk");
    let names = || names(&world, &metrics);
    let line = |org: &str, policy: &str, limit: &str| {
        format!(
            "tidegate_quota_remaining{{org_id=\"{org}\",policy=\"{policy}\",limit=\"{limit}\"}}"
        )
    };
    assert!(names().contains(&line("acme", "bulk", "hour")));
    for _ in 0..3 {
        ask("globex", "api");
    }
    let names = names();
    assert!(names.contains(&line("globex", "api", "day")), "it is busier: {names:?}");
    assert!(!names.iter().any(|name| name.contains("acme")));
    assert!(!names.contains(&line("globex", "bulk", "hour")), "that was another's");
}

/// Other policies than those that were decided by, in another mode.
struct Elsewhere(Arc<PolicySet>);

// === impl Elsewhere ===

impl Enforcement for Elsewhere {
    fn policies(&self) -> Arc<PolicySet> {
        Arc::clone(&self.0)
    }

    fn standing(&self, _policy: &str) -> (Standing, tidegate_engine::StoreHistory) {
        let record = tidegate_engine::StoreHistory { fail_open_admitted: 7, ..Default::default() };
        (Standing { mode: Mode::Degraded, ..Standing::NORMAL }, record)
    }
}

#[test]
fn modes_are_told_as_they_are_and_quotas_that_are_gone_are_not() {
    let (world, metrics, reporter) = measured();
    world.ask(&reporter, &Ask::of(Identity::new("acme")));
    let gone = policies().get("front").unwrap().limits()[0].clone();
    let set = PolicySet::builder()
        .policy(PolicySpec::new(name("only"), FailureMode::FailOpen).limit((*gone).clone()))
        .build(None);
    let text = metrics.encode(Elsewhere(Arc::new(set.unwrap()))).unwrap();
    assert!(text.contains("tidegate_mode{policy=\"only\",mode=\"degraded\"} 1\n"), "{text}");
    assert!(text.contains("tidegate_mode{policy=\"only\",mode=\"normal\"} 0\n"), "{text}");
    assert!(text.contains("fail_open_admitted_total{policy=\"only\"} 7\n"), "{text}");
    assert!(!text.contains("tidegate_quota_remaining{"), "{text}");
    world.ask(&reporter, &Ask::of(Identity::new("acme")));
    assert_has(
        &series(&world, &metrics),
        &["tidegate_quota_remaining{org_id=\"acme\",policy=\"api\",limit=\"day\"} 998"],
    );
}

/// An engine with an audit beside it.
struct Audited(Arc<Engine<MemoryStore<Arc<tidegate_core::ManualClock>>>>, Audit);

// === impl Audited ===

impl Enforcement for Audited {
    fn policies(&self) -> Arc<PolicySet> {
        Enforcement::policies(&self.0)
    }

    fn standing(&self, policy: &str) -> (Standing, tidegate_engine::StoreHistory) {
        Enforcement::standing(&self.0, policy)
    }

    fn audit(&self) -> Option<&Audit> {
        Some(&self.1)
    }
}

#[test]
fn an_audit_that_cannot_be_written_is_told() {
    let (world, metrics, reporter) = measured();
    let full = |_: &AuditRecord| Err(std::io::ErrorKind::StorageFull.into());
    let audit = Audit::builder().start(full).unwrap();
    let reporter = reporter.auditing(audit.clone());
    for _ in 0..25 {
        world.ask(&reporter, &Ask::from(ATTACKER.into(), "login"));
    }
    assert!(!audit.finish(std::time::Duration::from_secs(60)));
    let text = metrics.encode(Audited(Arc::clone(&world.engine), audit)).unwrap();
    assert!(text.contains("tidegate_audit_records_waiting 1\n"), "{text}");
    let failures =
        text.lines().find_map(|line| line.strip_prefix("tidegate_audit_failures_total "));
    assert!(failures.is_some_and(|count| count != "0"), "{text}");
}

#[test]
fn threads_count_together() {
    let (world, metrics, reporter) = measured();
    std::thread::scope(|scope| {
        for thread in 0..20 {
            let (world, reporter) = (&world, &reporter);
            scope.spawn(move || {
                let ask = Ask::of(Identity::new(format!("org{thread}")));
                for _ in 0..1_000 {
                    world.ask(reporter, &ask);
                }
            });
        }
    });
    assert_has(
        &series(&world, &metrics),
        &[
            "tidegate_http_rulings_total{stage=\"org\",verdict=\"admit\"} 100",
            "rate_limit_exceeded_total{scope=\"org\",endpoint_class=\"read\"} 19900",
            "tidegate_decision_duration_seconds_count 20000",
        ],
    );
}
