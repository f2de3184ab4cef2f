//! `check`: in the process and against a server.

use serde_json::Value;

use crate::process::{Server, ran, tidegate};

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"))
}

#[test]
fn an_admission_shows_every_reading_and_ends_with_0() {
    let ran = ran(&["check", "api", "--org", "acme", "--user", "u7", "--ip", "203.0.113.7"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("ADMIT  policy `api`"), "{}", ran.out);
    for told in ["per-address", "39 of 40", "burst", "org+user", "99 of 100", "daily"] {
        assert!(ran.out.contains(told), "`{told}` in {}", ran.out);
    }
}

#[test]
fn a_refusal_says_how_long_and_ends_with_3() {
    let ran = ran(&["check", "report", "--org", "acme", "--count", "3"]);
    assert_eq!(ran.code, 3);
    let lines: Vec<_> = ran.out.lines().collect();
    assert!(lines[0].contains("1  ADMIT"), "{}", ran.out);
    assert!(lines[1].contains("2  DENY   policy `report`, decided by `once`"), "{}", ran.out);
    assert!(lines[2].contains("come back in "), "{}", ran.out);
    assert!(ran.out.contains("Allowed again at 2"), "{}", ran.out);
}

#[test]
fn what_never_fits_is_told_so() {
    let ran = ran(&["check", "model", "--org", "acme", "--cost", "20001"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.out.contains("never"), "{}", ran.out);
}

#[test]
fn a_limit_that_settles_gives_a_ticket() {
    let ran = ran(&["check", "model", "--org", "acme", "--cost", "1500", "--json"]);
    let decision = json(&ran.out);
    assert_eq!(decision["verdict"], "admit");
    assert!(decision["ticket"].as_str().is_some_and(|ticket| !ticket.is_empty()), "{decision}");
}

#[test]
fn json_is_what_the_server_says() {
    let (_server, address) = Server::start(&[]);
    let url = format!("http://{address}");
    let arguments = ["check", "api", "--org", "acme", "--user", "u7", "--json"];
    let alone = json(&ran(&arguments).out);
    let asked = json(&ran(&[&arguments[..], &["--server", &url]].concat()).out);
    let fields =
        |decision: &Value| decision.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&alone), fields(&asked));
    assert_eq!(alone["readings"][0]["remaining"], asked["readings"][0]["remaining"]);
}

#[test]
fn peeking_counts_nothing() {
    let (_server, address) = Server::start(&[]);
    let url = format!("http://{address}");
    let check = |more: &[&str]| {
        let arguments = ["check", "report", "--org", "acme", "--server", &url];
        ran(&[&arguments[..], more].concat()).code
    };
    assert_eq!(check(&["--peek", "--count", "3"]), 0);
    assert_eq!(check(&[]), 0, "the first that counts");
    assert_eq!(check(&["--peek"]), 3);
    assert_eq!(check(&[]), 3);
}

#[test]
fn what_cannot_be_decided_is_told_and_ends_with_1() {
    let unknown = ran(&["check", "apo", "--org", "acme"]);
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(unknown.err.contains("apo"), "{}", unknown.err);
    let nothing = ran(&["check", "report", "--user", "u7"]);
    assert_eq!(nothing.code, 1, "{nothing:?}");
    assert!(nothing.err.contains("applies"), "{}", nothing.err);
    let nobody = ran(&["check", "api", "--server", "http://127.0.0.1:1"]);
    assert_eq!(nobody.code, 1);
    assert!(nobody.err.contains("is the server running?"), "{}", nobody.err);
}

#[test]
fn a_bad_file_ends_with_2() {
    let ran = ran(&["check", "api", "--config", "no-such-file.yaml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no-such-file.yaml"), "{}", ran.err);
}

#[test]
fn a_server_comes_before_the_file_of_the_environment() {
    let (_server, address) = Server::start(&[]);
    let url = format!("http://{address}");
    let mut command = tidegate(&["check", "api", "--org", "acme", "--server", &url]);
    let output = command.env("TIDEGATE_CONFIG", "no-such-file.yaml").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let mut command = tidegate(&["check", "api", "--org", "acme"]);
    let output = command.env("TIDEGATE_CONFIG", "no-such-file.yaml").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "without one, the environment names the file");
}
