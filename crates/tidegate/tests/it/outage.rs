//! A start during an outage: the process is up at once, and in the right modes.

use std::fs;
use std::net::{SocketAddr, TcpListener};

use serde_json::Value;
use tidegate::{Clock, Span, SystemClock};

use crate::process::Server;
use crate::store::SECRET;
use crate::wire::{get, post};

const POLICIES: &str = "
version: 1
policies:
- name: login
  failure_mode: fail_closed
  protects: login
  limits:
  - { name: guesses, by: account, window: { count: 5, per: 1min } }
- name: api
  failure_mode: fail_open
  protects: api_heavy
  limits:
  - { name: burst, by: ip, bucket: { rate: 10/s, burst: 20 } }
";

/// The bar for a start.
const AT_ONCE: Span = Span::from_millis(200);
/// How often it is tried: the machine may be busy with other tests, and only a slow program never
/// makes it.
const TRIES: u32 = 12;

/// Starts on this store, and asks at once; how long it took to answer.
fn start(store: &str) -> (Server, SocketAddr, Span) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policies.yaml");
    fs::write(&path, POLICIES).unwrap();
    let clock = SystemClock::new();
    let began = clock.now();
    let args = ["--config", path.to_str().unwrap(), "--threads", "1"];
    let (server, node) = Server::start_with(&args, &[SECRET, ("TIDEGATE_STORE", store)]);
    assert_eq!(get(node, "/readyz").0, 200);
    (server, node, clock.now().since(began))
}

fn decide(node: SocketAddr, policy: &str) -> Value {
    let subject = r#"{"account":"ada","ip":"203.0.113.7"}"#;
    let (status, decision) =
        post(node, "/v1/decide", &format!(r#"{{"policy":"{policy}","subject":{subject}}}"#));
    assert_eq!(status, 200, "{decision}");
    decision
}

/// That a node on this store is up at once, refuses logins and guards interfaces.
fn is_up_at_once(store: &str) {
    let mut fastest = Span::HOUR;
    for _ in 0..TRIES {
        let (mut server, node, took) = start(store);
        let login = decide(node, "login");
        assert_eq!((&login["verdict"], &login["mode"]), (&"deny".into(), &"fail_closed".into()));
        let api = decide(node, "api");
        assert_eq!((&api["verdict"], &api["mode"]), (&"admit".into(), &"fail_open".into()));
        assert!(api["guardrail"].is_object(), "{api}");
        let ready = get(node, "/readyz").1;
        assert!(ready.contains(r#""status":"degraded""#), "{ready}");
        server.wait_for("the store fails");
        fastest = fastest.min(took);
        if fastest < AT_ONCE {
            return;
        }
    }
    panic!("{fastest:?} at the fastest");
}

#[test]
fn p10_with_a_store_that_is_not_there_the_process_is_up_at_once() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    is_up_at_once(&format!("redis://{free}"));
}

#[test]
fn p10_with_a_store_that_never_answers_the_process_is_up_at_once() {
    // Connections are accepted, by the kernel; nobody reads from them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    is_up_at_once(&format!("redis://{}?timeout=2s", silent.local_addr().unwrap()));
}
