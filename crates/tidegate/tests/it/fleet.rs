//! Several nodes and one Redis: one truth, and what happens when it is gone.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tidegate_test::servers::{RunningServer as Redis, wait};

use crate::process::Server;
use crate::store::{PREVIOUS, SECRET};
use crate::wire::{get, metric, metric_now, post};

const POLICIES: &str = "
version: 1
policies:
- name: twenty
  protects: auth
  failure_mode: fail_closed
  deadline: 2s
  limits:
  - { name: burst, by: org, bucket: { rate: 1/h, burst: 20 } }
- name: model
  protects: spend
  failure_mode: fail_closed
  deadline: 2s
  limits:
  - { name: tokens, by: org, quota: { count: 1000, per: day }, settles: true }
- name: login
  protects: auth
  failure_mode: fail_closed
  deadline: 2s
  limits:
  - { name: guesses, by: account, window: { count: 5, per: 1h }, settles: true }
- name: open
  failure_mode: fail_open
  deadline: 2s
  limits:
  - { name: burst, by: org, bucket: { rate: 1000/s, burst: 1000 } }
";

/// A folder with the policies, and nodes that serve them.
struct Fleet {
    folder: tempfile::TempDir,
    url: String,
}

// === impl Fleet ===

impl Fleet {
    fn on(redis: &Redis) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("policies.yaml"), POLICIES).unwrap();
        // Longer than a busy machine takes; faults are told by the connection, not by the clock.
        Self { folder, url: format!("{}?timeout=2s", redis.url()) }
    }

    fn node(&self, args: &[&str]) -> (Server, SocketAddr) {
        self.node_under(&[SECRET], args)
    }

    fn node_under(&self, secrets: &[(&str, &str)], args: &[&str]) -> (Server, SocketAddr) {
        let path = self.folder.path().join("policies.yaml");
        let args = [&["--config", path.to_str().unwrap(), "--threads", "2"], args].concat();
        Server::start_with(&args, &[secrets, &[("TIDEGATE_STORE", &self.url)]].concat())
    }
}

fn decide(node: SocketAddr, policy: &str, org: &str, cost: u32) -> (u16, Value) {
    let body = format!(r#"{{"policy":"{policy}","subject":{{"org":"{org}"}},"cost":{cost}}}"#);
    post(node, "/v1/decide", &body)
}

/// What a decision says about how it was made.
fn made(node: SocketAddr, policy: &str) -> (String, String) {
    let (status, decision) = decide(node, policy, "acme", 1);
    assert_eq!(status, 200, "{decision}");
    let text = |field: &str| decision[field].as_str().unwrap_or_default().to_owned();
    (text("verdict"), text("mode"))
}

fn was(verdict: &str, mode: &str) -> (String, String) {
    (verdict.to_owned(), mode.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_admit_exactly_what_one_limit_holds() {
    let redis = Redis::start().await;
    let fleet = Fleet::on(&redis);
    let (_one, one) = fleet.node(&[]);
    let (_other, other) = fleet.node(&[]);
    let admitted = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..32)
            .map(|number| if number % 2 == 0 { one } else { other })
            .map(|node| scope.spawn(move || decide(node, "twenty", "acme", 1)))
            .collect();
        let answers = asked.into_iter().map(|asked| asked.join().unwrap());
        let verdicts = answers.map(|(status, answer)| {
            assert_eq!(status, 200, "{answer}");
            answer["verdict"].as_str().unwrap().to_owned()
        });
        verdicts.filter(|verdict| verdict == "admit").count()
    });
    assert_eq!(admitted, 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_of_one_node_is_settled_by_another_once() {
    let redis = Redis::start().await;
    let fleet = Fleet::on(&redis);
    let (_one, one) = fleet.node(&[]);
    let (_other, other) = fleet.node(&[]);
    let (status, decision) = decide(one, "model", "acme", 400);
    assert_eq!((status, &decision["remaining"]), (200, &600.into()), "{decision}");
    let settlement = format!(r#"{{"ticket":{},"cost":150}}"#, decision["ticket"]);
    let (status, settled) = post(other, "/v1/settle", &settlement);
    assert_eq!((status, &settled["returned"]), (200, &250.into()), "{settled}");
    assert_eq!(post(one, "/v1/settle", &settlement).0, 409, "once for the whole fleet");
    let (_, decision) = decide(one, "model", "acme", 1);
    assert_eq!(decision["remaining"], 849);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_gone_for_a_moment_is_told_and_so_is_its_return() {
    let redis = Redis::start().await;
    let (mut server, node) = Fleet::on(&redis).node(&[]);
    assert_eq!(made(node, "twenty"), was("admit", "normal"));
    assert_eq!(metric(node, r#"tidegate_store_changes_total{kind="restart"}"#), Some(0));
    redis.kill();
    let (status, decision) = decide(node, "twenty", "acme", 1);
    assert_eq!((status, &decision["verdict"]), (200, &"deny".into()), "{decision}");
    assert_eq!(decision["mode"], "fail_closed");
    // What was sent before the connection was known to be gone may have been counted.
    assert!(["unavailable", "timeout"].map(Into::into).contains(&decision["trouble"]));
    let line = server.wait_for("the store fails");
    assert!(line.contains("WARN") && line.contains(&redis.addr().to_string()), "{line}");
    let line = server.wait_for("store_suspected");
    assert!(line.contains("WARN") && line.contains("twenty"), "{line}");
    assert_eq!(get(node, "/livez").0, 200, "a restart of the node would not help");
    redis.restart().await;
    // The prober's, two seconds after the failure: nobody has to ask.
    server.wait_for("the store answers again");
    let line = server.wait_for("counts may have been lost");
    assert!(line.contains("WARN") && line.contains("restarted"), "{line}");
    assert_eq!(made(node, "twenty"), was("admit", "normal"));
    assert_eq!(metric(node, r#"tidegate_store_changes_total{kind="restart"}"#), Some(1));
    assert_eq!(metric(node, r#"tidegate_store_changes_total{kind="failover"}"#), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p52_a_store_that_is_killed_for_good_is_left_alone_and_the_node_goes_on() {
    let redis = Redis::start().await;
    let (mut server, node) = Fleet::on(&redis).node(&[]);
    assert_eq!(made(node, "twenty"), was("admit", "normal"));
    assert_eq!(made(node, "open").1, "normal");
    redis.kill();
    for _ in 0..3 {
        assert_eq!(made(node, "twenty"), was("deny", "fail_closed"));
        assert_eq!(made(node, "open"), was("admit", "fail_open"));
    }
    let line = server.wait_for("degraded_entered");
    assert!(line.contains("WARN") && line.contains("epoch"), "{line}");
    let (status, ready) = get(node, "/readyz");
    assert_eq!(status, 200, "the others share the store: nobody is better off elsewhere");
    assert!(ready.contains(r#""status":"degraded""#), "{ready}");
    assert_eq!(metric(node, r#"tidegate_mode{policy="open",mode="degraded"}"#), Some(1));
    assert_eq!(metric(node, r#"fail_open_admitted_total{policy="open"}"#), Some(3));
    let failed = r#"tidegate_store_failures_total{policy="open",kind="unavailable"}"#;
    let before = metric(node, failed);
    for _ in 0..20 {
        assert_eq!(made(node, "open"), was("admit", "degraded"));
        assert_eq!(made(node, "twenty"), was("deny", "fail_closed"));
    }
    assert_eq!(metric_now(node, failed), before, "no request has met the store");
    server.signal("TERM");
    assert!(server.ended().0.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_not_there_yet_is_waited_for() {
    let redis = Redis::start().await;
    redis.kill();
    let (mut server, node) = Fleet::on(&redis).node(&[]);
    server.wait_for("the store fails");
    let (status, ready) = get(node, "/readyz");
    assert!(status == 200 && ready.contains(r#""mode":"fail_closed""#), "{ready}");
    redis.restart().await;
    server.wait_for("store_proven");
    assert_eq!(made(node, "twenty"), was("admit", "normal"));
    assert!(get(node, "/readyz").1.contains(r#""status":"ready""#));
    assert!(!server.said().contains("lost"), "nothing was counted before: {}", server.said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_says_nothing_is_not_waited_for_beyond_its_timeout() {
    let redis = Redis::start().await;
    let mut fleet = Fleet::on(&redis);
    fleet.url = fleet.url.replace("timeout=2s", "timeout=300ms");
    // Connections are still accepted, by the kernel.
    redis.pause();
    let started = tokio::task::spawn_blocking(move || fleet.node(&[]));
    // Far less than a connection would be tried for without a deadline.
    let started = tokio::time::timeout(Duration::from_secs(20), started).await;
    let (mut server, node) = started.expect("it starts").unwrap();
    let line = server.wait_for("the store fails");
    assert!(line.contains("no answer within 300ms"), "{line}");
    redis.resume();
    server.wait_for("store_proven");
    assert_eq!(made(node, "twenty"), was("admit", "normal"));
    assert!(!server.said().contains("lost"), "it is the same server: {}", server.said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t17_guesses_stay_counted_when_the_secret_is_changed_and_the_name_is_spelt_otherwise() {
    let redis = Redis::start().await;
    let fleet = Fleet::on(&redis);
    let guess = |node, account: &str| {
        let body = format!(r#"{{"policy":"login","subject":{{"account":"{account}"}}}}"#);
        let (status, answer) = post(node, "/v1/decide", &body);
        assert_eq!(status, 200, "{answer}");
        (answer["remaining"].as_i64().unwrap(), answer["ticket"].as_str().map(str::to_owned))
    };
    let (old, node) = fleet.node_under(&[("TIDEGATE_SECRET", PREVIOUS.1)], &[]);
    assert_eq!(guess(node, "ada@example.org").0, 4);
    let ticket = guess(node, " Ada@Example.ORG").1.unwrap();
    drop(old);
    let file = fleet.folder.path().join("secret.before");
    fs::write(&file, PREVIOUS.1).unwrap();
    let (_one, one) = fleet.node_under(&[SECRET, PREVIOUS], &[]);
    let flag = ["--previous-secret-file", file.to_str().unwrap()];
    let (_two, two) = fleet.node_under(&[SECRET], &flag);
    let body = format!(r#"{{"ticket":"{ticket}","cost":0}}"#);
    assert_eq!(post(two, "/v1/settle", &body).0, 200, "a ticket of the secret before");
    assert_eq!(guess(one, "ADA@example.org").0, 3, "one of two was given back");
    assert_eq!(guess(two, "\u{ff41}da@example.org").0, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t41_p82_p84_neither_password_nor_secret_nor_who_asked_is_ever_shown() {
    let redis = Redis::builder().password("canary-password").start().await;
    let fleet = Fleet::on(&redis);
    for format in ["human", "json"] {
        let (mut server, node) = fleet.node(&["--log-level", "trace", "--log-format", format]);
        assert_eq!(decide(node, "twenty", "canary-org\\u001b[2J", 1).0, 200);
        redis.kill();
        let guess = r#"{"policy":"login","subject":{"account":"canary-account"}}"#;
        for _ in 0..3 {
            let (status, decision) = decide(node, "twenty", "canary-org\\n", 1);
            assert!(status == 200 && !decision.to_string().contains("canary"), "{decision}");
            let (status, mut decision) = post(node, "/v1/decide", guess);
            // Who asks is told the account as it was counted, and nobody else is.
            assert_eq!(decision["account"].take(), "canary-account");
            assert!(status == 200 && !decision.to_string().contains("canary"), "{decision}");
        }
        server.wait_for("the store fails");
        server.wait_for("degraded_entered");
        for target in ["twenty", "login", "open", "twenty?deny=403"] {
            let (_, text) = get(node, &format!("/v1/gate/{target}"));
            assert!(!text.contains("canary") && !text.contains("degraded"), "{target}: {text}");
            assert!(!text.contains(&redis.addr().port().to_string()), "{target}: {text}");
        }
        redis.restart().await;
        server.wait_for("the store answers again");
        for path in ["/metrics", "/readyz", "/v1/policies", "/openapi.json"] {
            let (_, text) = get(node, path);
            assert!(!text.contains("canary"), "{path}: {text}");
        }
        server.signal("TERM");
        let (_, said) = server.ended();
        assert!(said.contains(&redis.addr().to_string()), "where, and not who: {said}");
        assert!(!said.contains("canary"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_changed_in_the_file_waits_for_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policies.yaml");
    fs::write(&path, POLICIES).unwrap();
    let (mut server, node) = Server::on(&path);
    let sections = "store: redis://:canary@127.0.0.1:1\nsecret_file: fleet.secret\n";
    fs::write(&path, format!("{sections}{POLICIES}")).unwrap();
    let line = server.wait_for("restarted");
    assert!(line.contains("WARN") && line.contains("store, secret_file"), "{line}");
    assert!(get(node, "/readyz").1.contains(r#""store":"memory""#));
    // The same store in other words is no change.
    fs::write(&path, format!("store: memory\n{POLICIES}")).unwrap();
    server.wait_for("are in force");
    server.wait_for("are in force");
    fs::write(&path, format!("store: rdis://:canary@h\n{POLICIES}")).unwrap();
    server.wait_for("NOT reloaded");
    server.signal("TERM");
    let (_, said) = server.ended();
    assert_eq!(said.matches("restarted").count(), 1, "{said}");
    assert!(!said.contains("canary"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_another_secret_than_the_fleet_says_so() {
    const OTHER: (&str, &str) = ("TIDEGATE_SECRET", "canary-secret-of-another-fleet");
    const TOLD: &str = "another secret than the fleet";
    let redis = Redis::start().await;
    let fleet = Fleet::on(&redis);
    let (one, _) = fleet.node(&[]);
    let compared = || async { redis.text(&["EXISTS", "tg:secret"]).await == "1" };
    wait::until("the first node has left its value", compared).await;
    let (mut stranger, node) = fleet.node_under(&[OTHER], &[]);
    let line = stranger.wait_for(TOLD);
    assert!(line.contains("WARN") && !line.contains("canary"), "{line}");
    assert_eq!(made(node, "open"), was("admit", "normal"), "it serves all the same");
    one.signal("TERM");
    let (_, said) = one.ended();
    assert!(!said.contains(TOLD), "{said}");
}
