//! `bench`: load, and what is told about it.

use serde_json::Value;

use crate::process::{Server, ran};

#[test]
fn every_request_is_counted_by_its_verdict() {
    let (_server, address) = Server::start(&[]);
    let url = format!("http://{address}");
    let bench = ["bench", &url, "--requests", "500", "--json"];
    let ran_all = ran(&bench);
    assert_eq!(ran_all.code, 0, "{}", ran_all.err);
    let told: Value = serde_json::from_str(&ran_all.out).unwrap();
    assert_eq!((&told["answers"], &told["verdicts"]["admit"]), (&500.into(), &500.into()));
    let latency = |name: &str| told["latency_us"][name].as_u64().unwrap();
    let told_in_order = ["p50", "p90", "p99", "p99.9", "max"].map(latency);
    assert!(told_in_order.is_sorted() && told_in_order[4] > 0, "{told}");

    let one = ["bench", &url, "-n", "50", "--policy", "report", "--org", "acme", "--json"];
    let told: Value = serde_json::from_str(&ran(&one).out).unwrap();
    assert_eq!(told["verdicts"]["admit"], 1, "{told}");
    assert_eq!(told["verdicts"]["deny"], 49, "{told}");
}

#[test]
fn a_summary_for_people_tells_rate_and_latency() {
    let (_server, address) = Server::start(&[]);
    let address = address.to_string();
    let ran = ran(&["bench", &address, "-n", "20"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "no progress bar without a terminal");
    for told in ["answers", "per second", "admitted", "latency p50", "latency p99.9", "latency max"]
    {
        assert!(ran.out.contains(told), "`{told}` in {}", ran.out);
    }
}

#[test]
fn a_rate_is_kept_and_not_exceeded() {
    let (_server, address) = Server::start(&[]);
    let bench = ["bench", &address.to_string(), "-n", "20", "--rate", "200", "-c", "4", "--json"];
    let told: Value = serde_json::from_str(&ran(&bench).out).unwrap();
    assert_eq!(told["answers"], 20, "{told}");
    // The last is due after nineteen times five milliseconds.
    assert!(told["duration_us"].as_u64().unwrap() >= 95_000, "{told}");
}

#[test]
fn a_path_is_got_instead() {
    let (_server, address) = Server::start(&[]);
    let url = format!("http://{address}/v1/gate/login");
    let told: Value =
        serde_json::from_str(&ran(&["bench", &url, "-n", "60", "-c", "1", "--json"]).out).unwrap();
    assert_eq!(told["answers"], 60, "{told}");
    let counts = |verdict: &str| told["verdicts"][verdict].as_u64().unwrap();
    assert!(counts("admit") >= 40 && counts("admit") + counts("deny") == 60, "{told}");
}

#[test]
fn other_machines_are_left_alone() {
    for url in ["http://192.0.2.1:7700", "http://[2001:db8::1]:7700"] {
        let ran = ran(&["bench", url]);
        assert_eq!(ran.code, 2);
        assert!(ran.err.contains("--allow-remote"), "{}", ran.err);
    }
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let ran = ran(&["bench", "http://127.0.0.1:1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("is the server running?"), "{}", ran.err);
    let ran = crate::process::ran(&["bench", "http://127.0.0.1:1/livez", "-n", "5"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("is the server running?"), "{}", ran.err);
}

#[test]
fn an_unknown_policy_is_told_before_any_load() {
    let (_server, address) = Server::start(&[]);
    let ran = ran(&["bench", &address.to_string(), "--policy", "apo"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("apo"), "{}", ran.err);
}
