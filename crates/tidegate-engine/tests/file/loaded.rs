//! What a file that is in order means.

use tidegate_core::{
    Account, Case, Cost, CostRule, Counts, FailureMode, ManualClock, Outcomes, Overflow, Period,
    Protects, Shape, Span, Stage, Subject, Timestamp, Unit,
};
use tidegate_engine::file::{File, NoDoor};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

const EVERYTHING: &str = "
version: 1
shared:
  - name: per-address
    by: ip
    bucket: { rate: 20/s, burst: 40 }
policies:
  - name: api
    failure_mode: degraded
    protects: bulk
    class: write
    overflow: queue
    deadline: 40ms
    limits:
      - shared: per-address
      - name: tokens
        by: [user, org]
        bucket: { rate: 100/10s, burst: 200 }
        cost: { per_request: 5 }
        stage: global
        shadow: true
        settles: true
        named_key: true
        overrides:
          - match: { org: acme }
            bucket: { burst: 1000 }
          - match: { org: trial-* }
            bucket: { rate: 1/s, burst: 10 }
  - name: login
    failure_mode: fail_closed
    protects: login
    limits:
      - name: attempts
        by: account
        window:
          count: 6
          per: 15min
          counts: attempts
          backoff: { base: 1s, factor: 3, cap: 1min }
        overrides:
          - match: { account: admin }
            window: { count: 4 }
      - name: monthly
        by: org
        quota: { count: 1000, per: month, zone: Europe/Berlin, billing_day: 15 }
        overrides:
          - match: { org: tokyo }
            quota: { zone: Asia/Tokyo }
      - name: half-day
        by: global
        quota: { count: 500, per: 12h, starts: first_use }
memory: { buckets: 1000, windows: 50, attempts: 30 }
";

fn parse(text: &str) -> File {
    File::parse("policies.yaml", text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_field_reaches_the_policy() {
    let file = parse(EVERYTHING);
    assert_eq!(*file.door(), NoDoor {});
    assert_eq!(
        file.budget(),
        Budget { buckets: 1000, windows: 50, attempts: 30, ..Budget::default() }
    );
    let set = file.policies().clone().build(None).unwrap();
    let api = set.get("api").unwrap();
    assert_eq!(api.failure(), FailureMode::Degraded);
    assert_eq!(api.protects(), Some(Protects::Bulk));
    assert_eq!(api.class().unwrap().as_str(), "write");
    assert_eq!(api.overflow(), Overflow::Queue);
    assert_eq!(api.deadline(), Span::from_millis(40));
    let [shared, tokens] = api.limits() else { panic!("two limits") };
    assert_eq!(shared.name().as_str(), "per-address");
    assert_eq!(tokens.scope().to_string(), "org+user");
    assert_eq!(tokens.stage(), Stage::Global);
    assert!(tokens.is_shadow() && tokens.settles());
    let Shape::Bucket(bucket) = tokens.shape() else { panic!("a bucket") };
    assert_eq!((bucket.rate().tokens(), bucket.rate().per()), (100, Span::from_secs(10)));
    assert_eq!(bucket.burst(), 200);
    assert_eq!(tokens.cost(), CostRule::PerRequest(Cost::try_new(5).unwrap()));
    assert!(tokens.key_form().contains(":limit:tokens"), "{}", tokens.key_form());

    let login = set.get("login").unwrap();
    assert_eq!(login.deadline(), Span::from_millis(250));
    let [attempts, monthly, half_day] = login.limits() else { panic!("three limits") };
    let Shape::Window(window) = attempts.shape() else { panic!("a window") };
    let Counts::Attempts(Some(backoff)) = window.counts() else { panic!("with a backoff") };
    assert_eq!(backoff.at(3), Span::from_secs(9));
    assert_eq!((window.count(), window.per()), (6, Span::from_secs(900)));
    let Shape::Quota(quota) = monthly.shape() else { panic!("a quota") };
    let calendar = quota.calendar().unwrap();
    assert_eq!((calendar.unit(), calendar.zone()), (Unit::Month, "Europe/Berlin"));
    assert_eq!(calendar.anchor_day(), 15);
    assert_eq!([monthly, half_day].map(|limit| limit.shape().capacity()), [1_000, 500]);
    let Shape::Quota(quota) = half_day.shape() else { panic!("a quota") };
    assert!(
        matches!(quota.period(), Period::FirstUse(length) if length.as_micros() == 12 * 3_600_000_000)
    );
}

/// The numbers that hold for a subject.
fn numbers(text: &str, policy: &str, subject: &Subject<'_>, limit: &str) -> Shape {
    let set = parse(text).policies().clone().build(None).unwrap();
    let clock = ManualClock::new(Timestamp::from_micros(1_790_000_000_000_000));
    let store =
        MemoryStore::new(Budget { buckets: 100, quotas: 100, windows: 100, attempts: 100 }, &clock);
    let engine = Engine::new(store, set.clone());
    let mut case = Case::new(set.get(policy).unwrap(), subject);
    let _ = ready(engine.decide(&mut case)).unwrap().unwrap();
    let charges = case.batch().charges().iter();
    let mut charges = charges.filter(|charge| charge.limit().name().as_str() == limit);
    charges.next().unwrap().shape().clone()
}

#[test]
fn what_an_override_leaves_out_is_as_the_limit_says() {
    let bucket = |org: &str| {
        let subject = Subject::new().org(org).user("u7");
        let Shape::Bucket(bucket) = numbers(EVERYTHING, "api", &subject, "tokens") else {
            panic!("a bucket")
        };
        (bucket.rate().tokens(), bucket.burst())
    };
    assert_eq!(bucket("acme"), (100, 1000), "the rate is the limit's");
    assert_eq!(bucket("trial-7"), (1, 10));
    assert_eq!(bucket("other"), (100, 200));

    let admin = Account::new("admin");
    let subject = Subject::new().account(&admin);
    let Shape::Window(window) = numbers(EVERYTHING, "login", &subject, "attempts") else {
        panic!("a window")
    };
    assert_eq!((window.count(), window.per()), (4, Span::from_secs(900)));
    assert!(window.counts().attempts(), "what is counted is the limit's");

    let other = Account::new(" ＡDMIN\u{a0}");
    let subject = Subject::new().account(&other);
    assert_eq!(numbers(EVERYTHING, "login", &subject, "attempts"), Shape::Window(window));
    let written = EVERYTHING.replace("account: admin", "account: ' Ａdmin'");
    let subject = Subject::new().account(&admin);
    assert_eq!(
        numbers(&written, "login", &subject, "attempts"),
        numbers(EVERYTHING, "login", &subject, "attempts"),
        "both are spellings of one name"
    );

    let subject = Subject::new().org("tokyo");
    let Shape::Quota(quota) = numbers(EVERYTHING, "login", &subject, "monthly") else {
        panic!("a quota")
    };
    let calendar = quota.calendar().unwrap();
    assert_eq!((calendar.zone(), calendar.anchor_day()), ("Asia/Tokyo", 15));
}

#[test]
fn anchors_aliases_and_merges_are_welcome() {
    let text = "
version: 1
policies:
  - &base
    name: api
    failure_mode: fail_open
    limits:
      - name: burst
        by: [org, user]
        bucket: &usual { rate: 10/s, burst: 20 }
      - name: tokens
        by: token
        bucket: { <<: *usual, burst: 5 }
";
    let set = parse(text).policies().clone().build(None).unwrap();
    let capacities: Vec<u64> =
        set.get("api").unwrap().limits().iter().map(|limit| limit.shape().capacity()).collect();
    assert_eq!(capacities, [20, 5]);
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_read() {
    let text = EVERYTHING.replace('\n', "\r\n");
    assert!(File::<NoDoor>::parse("f", &format!("\u{feff}{text}")).is_ok());
    let text = text.replace("20/s", "0/s");
    let refused = File::<NoDoor>::parse("f", &format!("\u{feff}{text}")).unwrap_err();
    assert_eq!((refused.problems()[0].line(), refused.problems()[0].column()), (6, 21));
}

#[test]
fn p05_a_policy_that_does_not_say_how_it_fails_is_refused() {
    let text = EVERYTHING.replace("    failure_mode: degraded\n", "");
    let refused = File::<NoDoor>::parse("f", &text).unwrap_err();
    assert_eq!(refused.problems()[0].wrong().code(), "no-failure-mode");
}

#[test]
fn a_class_says_what_a_policy_guards_unless_it_does() {
    let protects = |text: &str| {
        let set = parse(text).policies().clone().build(None).unwrap();
        set.get("api").unwrap().protects()
    };
    assert_eq!(protects(EVERYTHING), Some(Protects::Bulk));
    let unsaid = EVERYTHING.replace("    protects: bulk\n", "");
    assert_eq!(protects(&unsaid), Some(Protects::Write));
    assert_eq!(
        protects(&unsaid.replace("class: write", "class: metadata")),
        Some(Protects::Health)
    );
    assert_eq!(protects(&unsaid.replace("class: write", "class: exports")), None);
}

#[test]
fn shared_limits_are_one_counter_for_all_who_use_them() {
    let text = "
version: 1
shared: [{ name: all, by: global, bucket: { rate: 1/h, burst: 2 } }]
policies:
  - { name: a, failure_mode: fail_open, limits: [{ shared: all }] }
  - { name: b, failure_mode: fail_open, limits: [{ shared: all }] }
";
    let set = parse(text).policies().clone().build(None).unwrap();
    let clock = ManualClock::new(Timestamp::from_micros(1_790_000_000_000_000));
    let store =
        MemoryStore::new(Budget { buckets: 10, quotas: 10, windows: 10, attempts: 10 }, &clock);
    let engine = Engine::new(store, set.clone());
    let admitted = ["a", "b", "a", "b"].map(|policy| {
        let subject = Subject::new();
        let mut case = Case::new(set.get(policy).unwrap(), &subject);
        ready(engine.decide(&mut case)).unwrap().unwrap().is_admitted()
    });
    assert_eq!(admitted, [true, true, false, false]);
}

#[test]
fn a_limit_counts_by_the_outcomes_that_are_written() {
    let text = "
version: 1
policies:
  - name: api
    failure_mode: degraded
    limits:
      - name: burst
        by: org
        bucket: { rate: 20/s, burst: 40 }
      - name: probing
        by: token
        window: { count: 20, per: 10min }
        outcome: [403, 401, 403]
";
    let set = parse(text).policies().clone().build(None).unwrap();
    let api = set.get("api").unwrap();
    assert_eq!(api.outcomes(), Some(&Outcomes::REFUSED));
    let [burst, probing] = api.limits() else { panic!("two limits") };
    assert_eq!(burst.outcomes(), None);
    assert_eq!(probing.outcomes(), Some(&Outcomes::REFUSED));
    assert!(probing.settles() && !burst.settles());
}

#[test]
fn an_override_may_match_the_plan_whatever_is_counted_by() {
    let text = "
version: 1
policies:
  - name: api
    failure_mode: degraded
    limits:
      - name: burst
        by: org
        bucket: { rate: 10/s, burst: 20 }
        overrides:
          - match: { plan: gold }
            bucket: { burst: 200 }
          - match: { plan: trial-* }
            bucket: { burst: 5 }
          - match: { org: acme }
            bucket: { burst: 1000 }
";
    let burst = |subject: &Subject<'_>| numbers(text, "api", subject, "burst").capacity();
    assert_eq!(burst(&Subject::new().org("o").plan("gold")), 200);
    assert_eq!(burst(&Subject::new().org("o").plan("trial-7")), 5);
    assert_eq!(burst(&Subject::new().org("o")), 20);
    assert_eq!(burst(&Subject::new().org("acme").plan("gold")), 1000);
    let set = parse(text).policies().clone().build(None).unwrap();
    assert!(set.knows_plan("gold") && !set.knows_plan("trial-7"));
}

#[test]
fn a_pattern_holds_for_every_dimension_of_text_those_that_are_hashed_in_keys_too() {
    for (dimension, subject) in [
        ("org", Subject::new().org("kiosk-7")),
        ("device", Subject::new().device("kiosk-7")),
        ("agent", Subject::new().agent("kiosk-7")),
    ] {
        let text = format!(
            "
version: 1
policies:
  - name: api
    failure_mode: degraded
    limits:
      - name: burst
        by: {dimension}
        bucket: {{ rate: 10/s, burst: 20 }}
        overrides: [{{ match: {{ {dimension}: kiosk-* }}, bucket: {{ burst: 200 }} }}]
"
        );
        assert_eq!(numbers(&text, "api", &subject, "burst").capacity(), 200, "{dimension}");
    }
}

#[test]
fn a_limit_whose_numbers_depend_on_the_plan_is_not_said_to_be_idle() {
    let text = "
version: 1
policies:
  - name: api
    failure_mode: degraded
    limits:
      - { name: org, by: org, bucket: { rate: 10/s, burst: 20 } }
      - name: user
        by: [org, user]
        bucket: { rate: 20/s, burst: 40 }
";
    let refused = File::<NoDoor>::parse("f", text).unwrap_err();
    assert_eq!(refused.problems()[0].wrong().code(), "never-binds");
    let gold = "        overrides: [{ match: { plan: gold }, bucket: { burst: 50 } }]\n";
    parse(&format!("{text}{gold}"));
}
