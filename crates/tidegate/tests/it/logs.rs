//! What the log says, and what it never says.

use serde_json::Value;

use crate::process::Server;
use crate::wire::{get, post};

/// Facts that must not be found again.
const CANARIES: [&str; 5] =
    ["canary-org", "canary-user", "canary-token", "canary-account", "203.0.113.77"];

fn subject() -> String {
    let [org, user, token, account, ip] = CANARIES;
    format!(
        r#"{{"org":"{org}","user":"{user}","token":"{token}","account":"{account}","ip":"{ip}"}}"#
    )
}

#[test]
fn p84_json_logs_are_json_line_by_line_and_hold_no_facts() {
    let (server, address) = Server::start(&["--log-format", "json", "--log-level", "trace"]);
    for policy in ["api", "report", "report", "login", "model", "no-such-policy"] {
        post(address, "/v1/decide", &format!(r#"{{"policy":"{policy}","subject":{}}}"#, subject()));
    }
    post(address, "/v1/settle", r#"{"ticket":"canary-ticket","cost":0}"#);
    post(address, "/v1/decide", r#"{"canary-field":1}"#);
    get(address, "/v1/explain/api?org=canary-org&user=canary-user");
    get(address, "/canary-path");
    server.signal("TERM");
    let (status, said) = server.ended();
    assert!(status.success());
    for line in said.lines() {
        let object: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        for field in ["at", "level", "target", "message"] {
            assert!(object[field].is_string(), "{field} in {line}");
        }
    }
    assert!(!said.contains("canary") && !said.contains("203.0.113.77"), "{said}");
    assert!(said.contains(r#""verdict":"deny""#), "decisions are there, without who asked: {said}");
}

#[test]
fn t41_the_other_outputs_hold_no_facts_either() {
    let (_server, address) = Server::start(&[]);
    for policy in ["api", "login"] {
        post(address, "/v1/decide", &format!(r#"{{"policy":"{policy}","subject":{}}}"#, subject()));
    }
    for path in ["/metrics", "/v1/policies", "/readyz", "/openapi.json"] {
        let (status, text) = get(address, path);
        assert_eq!(status, 200);
        for canary in CANARIES {
            assert!(!text.contains(canary), "{canary} at {path}");
        }
    }
}

#[test]
fn the_first_line_says_what_runs() {
    let (server, address) = Server::start(&["--log-format", "json"]);
    server.signal("TERM");
    let (_, said) = server.ended();
    let first: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(first["message"], "listening");
    assert_eq!(first["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(first["address"], address.to_string());
    assert_eq!((&first["policies"], &first["store"]), (&4.into(), &"memory".into()));
}

#[test]
fn p84_a_hostile_path_and_name_stay_on_their_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a\nERROR forged\x1b[2J.yaml");
    std::fs::write(&file, crate::process::ran(&["example"]).out).unwrap();
    let (mut server, _) = Server::on(&file);
    std::fs::write(&file, "version: 1\n\"\\e[2J\\nERROR forged\": 1\n").unwrap();
    server.wait_for("NOT reloaded");
    server.signal("TERM");
    let (_, said) = server.ended();
    assert!(!said.contains('\x1b'), "{said:?}");
    assert!(!said.lines().any(|line| line.starts_with("ERROR forged")), "{said}");
}
