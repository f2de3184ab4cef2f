//! Threats T39 to T41: what operators are told stays bounded, legible and free of secrets.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate_test::page::SharedBuffer;
use tidegate_tower::Identity;
use tidegate_tower::report::{Audit, AuditRecord, Metrics, Reporter};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::example::tokens::Tokens;
use crate::site::{Ask, Setting, Site};

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn word(&mut self) -> String {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:x}", self.0 >> 16)
    }
}

/// The names of all series: everything on a line but its value.
async fn series(site: &Site) -> BTreeSet<String> {
    // Scrapers are limited, too.
    site.pass_time(1);
    let answer = site.send(&Ask::get("/metrics").from(9)).await;
    assert_eq!(answer.status, 200);
    let lines = answer.body.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
}

#[tokio::test]
async fn t39_ten_thousand_strangers_make_no_more_series() {
    let mut random = Random(7);
    let secrets: Vec<String> = (0..2_000).map(|_| random.word()).collect();
    let tokens = secrets.iter().fold(Tokens::example(), |tokens, secret| {
        let identity = Identity::new(random.word()).user(random.word()).token(random.word());
        tokens.with(secret, identity.scopes(["reports:read", "reports:write"]))
    });
    let site = Setting { tokens, ..Setting::default() }
        .replacing("bucket: { rate: 50/s, burst: 100 }", "bucket: { rate: 50/s, burst: 5000 }")
        .start()
        .await;
    let mut stream = site.connect([127, 0, 0, 1].into()).await;
    let mut seen = BTreeSet::new();
    let mut after_a_tenth = 0;
    for number in 0..10_000 {
        let (path, agent, id) = (random.word(), random.word(), random.word());
        let target = match number % 4 {
            0 => format!("/v1/reports/{path}"),
            1 => format!("/v1/reports/{path}?{agent}"),
            2 => format!("/{path}/{agent}"),
            _ => "/v1/reports".to_owned(),
        };
        let method = ["GET", "GET", "PURGE", "POST", "GET"][number % 5];
        // One in ten has a token that nobody knows.
        let secret = if number % 10 == 9 { &path } else { &secrets[number % secrets.len()] };
        let request = format!(
            "{method} {target} HTTP/1.1\r\nhost: {agent}\r\nuser-agent: {agent}\r\n\
             x-request-id: {id}\r\nauthorization: Bearer {secret}\r\nx-forwarded-for: {path}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut space = [0; 4096];
        assert!(stream.read(&mut space).await.unwrap() > 0);
        if number == 1_000 {
            after_a_tenth = series(&site).await.len();
        }
        if number % 500 == 0 {
            seen.extend(series(&site).await.into_iter().filter(|name| !name.contains("org")));
        }
    }
    let names = series(&site).await;
    println!("{} series after 1,000, {} after 10,000", after_a_tenth, names.len());
    assert_eq!(names.len(), after_a_tenth);
    assert!(names.len() < 400, "{}", names.len());
    assert!(names.iter().any(|name| name.contains("rate_limit_exceeded_total")), "{names:?}");
    assert!(seen.is_subset(&names), "a series that went away again");
}

/// A reporter that tells everything, and what it has written into the audit.
fn telling() -> (Reporter, Audit, Arc<Mutex<Vec<String>>>) {
    let records = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&records);
    let audit = Audit::builder().start(move |record: &AuditRecord| {
        written.lock().unwrap().push(serde_json::to_string(record).unwrap());
        Ok(())
    });
    let audit = audit.unwrap();
    let all = NonZeroU32::MIN;
    let reporter =
        Reporter::default().sampling(all).measuring(Metrics::default()).auditing(audit.clone());
    (reporter, audit, records)
}

const HOSTILE: &str = "acme\n{\"level\":\"ERROR\",\"forged\":true}\r\u{1b}[31m\u{2028}\u{202e}";

#[tokio::test]
async fn t40_nothing_a_client_sends_forges_a_line_and_t41_no_secret_is_told() {
    let page = SharedBuffer::default();
    let writer = page.clone();
    let subscriber = tracing_subscriber::fmt().json().with_max_level(tracing::Level::TRACE);
    let subscriber = subscriber.with_writer(move || writer.clone());
    let _logging = tracing::subscriber::set_default(subscriber.finish());
    let (reporter, audit, records) = telling();
    let hostile = Identity::new(HOSTILE).user("u\u{7}\u{9b}31m").token("t\"}\n");
    let tokens = Tokens::example().with("CANARY-token", hostile.scopes(["reports:read"]));
    let site = Setting { reporter, tokens, ..Setting::default() }.start().await;
    for id in ["fine-1", "a b", "x\u{1b}[2J", "\"},{\"forged\":true"] {
        let ask = Ask::get("/v1/reports/CANARY-path?key=CANARY-query")
            .bearing("CANARY-token")
            .header("cookie", "session=CANARY-cookie")
            .header("x-api-key", "CANARY-key")
            .header("user-agent", "CANARY-agent \u{9b}31m")
            .header("x-forwarded-for", "CANARY-address")
            .header("traceparent", "00-CANARY-trace")
            .header("x-request-id", id);
        for _ in 0..8 {
            let answer = site.send(&ask).await;
            assert!(!answer.head.contains("CANARY"), "{answer:?}");
            assert!(answer.status == 200 || !answer.body.contains("CANARY"), "{answer:?}");
        }
        let _ = site.send(&ask.clone().header("authorization", "Bearer CANARY-second")).await;
        let _ = site.send(&Ask::get("/CANARY-path%00").header("x-request-id", id)).await;
        let _ = site.send(&Ask::get("/v1/reports").bearing("CANARY-unknown")).await;
    }
    assert!(audit.finish(Duration::from_secs(10)), "the audit is written");
    let (log, audit) = (page.text(), records.lock().unwrap().join("\n"));
    let metrics = site.send(&Ask::get("/metrics")).await.body;
    assert!(log.lines().count() >= 20 && !audit.is_empty(), "there is something to look at");
    let ours = |line: &&str| line.contains("tidegate::throttle");
    for line in log.lines().filter(ours).chain(audit.lines()) {
        let told: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert_ne!(told["level"], "ERROR", "{line}");
        assert!(told.get("forged").is_none(), "{line}");
        let controls = |text: &str| {
            text.chars().any(|it| it.is_control() || "\u{2028}\u{2029}\u{202e}".contains(it))
        };
        assert!(!controls(line), "{line:?}");
        // Not even once a reader has unescaped it.
        let fields = told["fields"].as_object().or(told.as_object()).unwrap().clone();
        for (name, value) in fields {
            assert!(!value.as_str().is_some_and(controls), "{name} in {line}");
        }
    }
    for (what, text) in [("log", &log), ("audit", &audit), ("metrics", &metrics)] {
        assert!(!text.contains("CANARY"), "a canary is in the {what}: {text}");
    }
}

#[tokio::test]
async fn who_is_refused_again_and_again_is_in_the_audit_and_so_is_an_address_at_the_entrance() {
    let (reporter, audit, records) = telling();
    let site = Setting { reporter, ..Setting::default() }.start().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let ask = Ask::get("/v1/reports").bearing("ada-laptop").header("traceparent", trace);
    assert_eq!(site.passed(&ask, 25).await, 10);
    let login = Ask::new("POST", "/v1/login").json(r#"{"user":"a","password":"b"}"#);
    assert_eq!(site.statuses(&login, 12).await[10..], [429, 429]);
    assert!(audit.finish(Duration::from_secs(10)));
    let records: Vec<serde_json::Value> =
        records.lock().unwrap().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| records.iter().find(|record| record["kind"] == kind).cloned();
    let throttled = of("repeated_throttling").unwrap();
    assert_eq!(throttled["org_id"], "acme");
    assert_eq!((&throttled["actor_id"], &throttled["token_id"]), (&"ada".into(), &"tok-1".into()));
    assert_eq!(throttled["correlation_id"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(throttled["request_id"].as_str().map(str::len), Some(32));
    assert_eq!(throttled["run"], 10, "the tenth in a row, and not the fifteenth");
    let blocked = of("address_blocked").unwrap();
    assert_eq!(blocked["endpoint_class"], "auth");
    assert_eq!(blocked["client"], "127.0.0.1/32");
}
