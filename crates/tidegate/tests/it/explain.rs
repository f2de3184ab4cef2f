//! `explain`: in the process and against a server.

use crate::process::{Server, ran};
use crate::wire::verdict;

#[test]
fn it_tells_what_applies_with_which_numbers_and_what_is_missing() {
    let acme = ran(&["explain", "api", "--org", "acme", "--user", "u 7/ä"]);
    assert_eq!((acme.code, acme.err.as_str()), (0, ""));
    for told in [
        "policy `api`: such a request would get: admit",
        "50/s, burst 100",
        "100000 per day, Europe/Berlin",
        "does not apply; not given: ip",
        "100 of 100 left",
    ] {
        assert!(acme.out.contains(told), "`{told}` in {}", acme.out);
    }
    let other = ran(&["explain", "api", "--org", "other", "--user", "u7"]);
    assert!(other.out.contains("10/s, burst 20"), "no override for others: {}", other.out);
}

#[test]
fn a_subject_nobody_counts_is_told_so() {
    let ran = ran(&["explain", "report", "--user", "u7"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("no limit applies"), "{}", ran.out);
    assert!(ran.out.contains("not given: org"), "{}", ran.out);
}

#[test]
fn readings_are_those_of_the_server_and_nothing_is_counted() {
    let (_server, address) = Server::start(&[]);
    let url = format!("http://{address}");
    let explain = || ran(&["explain", "report", "--org", "acme", "--server", &url]).out;
    assert!(explain().contains("1 of 1 left"), "{}", explain());
    assert_eq!(verdict(address, "report", "acme"), "admit");
    let told = explain();
    assert!(told.contains("0 of 1 left; room in "), "{told}");
    assert!(told.contains("would get: deny"), "{told}");
}

#[test]
fn json_is_what_the_server_says() {
    let ran = ran(&["explain", "login", "--account", "alice", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["policy"], "login");
    let limits = told["limits"].as_array().unwrap();
    let applying = limits.iter().filter(|limit| limit["applies"] == true).count();
    assert_eq!((limits.len(), applying), (11, 2), "{told}");
}

#[test]
fn an_unknown_policy_is_told() {
    let ran = ran(&["explain", "apo"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("apo"), "{}", ran.err);
}
