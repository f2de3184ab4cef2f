//! Every refusal is a problem document that names what it is about, and charges nothing.

use serde_json::{Value, json};

use crate::raw::Client;
use crate::world::World;

#[test]
fn wrong_bodies_name_their_field_and_charge_nothing() {
    let world = World::new();
    let subject = r#""subject":{"org":"acme","user":"u7"}"#;
    let long = "x".repeat(257);
    for (body, field) in [
        (format!(r#"{{{subject}}}"#), "/policy"),
        (format!(r#"{{"policy":"api",{subject},"cost":0}}"#), "/cost"),
        (format!(r#"{{"policy":"api",{subject},"cost":-1}}"#), "/cost"),
        (format!(r#"{{"policy":"api",{subject},"cost":1.5}}"#), "/cost"),
        (format!(r#"{{"policy":"api",{subject},"cost":9007199254740992}}"#), "/cost"),
        (format!(r#"{{"policy":"api",{subject},"cost":"1"}}"#), "/cost"),
        (format!(r#"{{"policy":"api",{subject},"cots":1}}"#), "/cots"),
        (format!(r#"{{"policy":"api",{subject},{subject}}}"#), "/subject"),
        (r#"{"policy":"api","subject":{"org":"acme","user":"u7","ip":"x"}}"#.into(), "/subject/ip"),
        (r#"{"policy":"api","subject":{"org":"acme","user":7}}"#.into(), "/subject/user"),
        (format!(r#"{{"policy":"api","subject":{{"org":"{long}","user":"u7"}}}}"#), "/subject/org"),
    ] {
        for target in ["/v1/decide", "/v1/peek"] {
            let reply = world.client().post(target, body.as_bytes());
            assert_eq!(reply.status, 400, "{body}");
            assert_eq!(reply.problem()["field"], field, "{body}");
        }
    }
    let ask = json!({"policy": "api", "subject": {"org": "acme", "user": "u7"}});
    assert_eq!(world.post("/v1/decide", &ask).json()["remaining"], 2, "p89: nothing was charged");
}

#[test]
fn what_is_not_json_is_told_where() {
    let world = World::new();
    let reply = world.client().post("/v1/decide", b"{\"policy\": \"api\"");
    assert_eq!(reply.status, 400);
    let problem = reply.problem();
    assert_eq!(problem["type"], "urn:tidegate:problem:not-json");
    assert!(problem["detail"].as_str().unwrap().contains("line 1 column 16"), "{problem}");
}

#[test]
fn an_unknown_policy_gets_a_suggestion() {
    let world = World::new();
    let reply = world.post("/v1/decide", &json!({"policy": "logn"}));
    assert_eq!(reply.status, 404);
    let problem = reply.problem();
    assert_eq!(problem["field"], "/policy");
    assert_eq!(problem["suggestion"], "login");
    let reply = world.post("/v1/decide", &json!({"policy": "something-else"}));
    assert_eq!(reply.problem().get("suggestion"), None);
}

#[test]
fn a_subject_that_no_limit_counts_is_not_decided() {
    let world = World::new();
    for subject in [json!({}), json!({"org": "acme"}), json!({"org": "", "user": ""})] {
        let reply = world.post("/v1/decide", &json!({"policy": "api", "subject": subject}));
        assert_eq!(reply.status, 422);
        assert_eq!(reply.problem()["field"], "/subject");
    }
}

#[test]
fn there_is_nothing_elsewhere() {
    let world = World::new();
    for target in ["/", "/v1", "/v1/decide/", "/v1/gate/", "/v2/decide", "/v1/decide%2Fbatch"] {
        let reply = world.get(target);
        assert_eq!(reply.status, 404, "{target}");
        assert_eq!(reply.problem()["type"], "about:blank");
    }
}

#[test]
fn other_methods_are_told_which_there_are() {
    let world = World::new();
    let posts = ["/v1/decide", "/v1/peek", "/v1/decide/batch", "/v1/settle"];
    let gets = [
        "/v1/policies",
        "/v1/explain/api",
        "/v1/gate/api",
        "/livez",
        "/readyz",
        "/metrics",
        "/openapi.json",
    ];
    let all = posts.map(|target| (target, "POST")).into_iter();
    for (target, allowed) in all.chain(gets.map(|target| (target, "GET, HEAD"))) {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            if allowed.contains(method) {
                continue;
            }
            let mut client = world.client();
            client.send(format!("{method} {target} HTTP/1.1\r\nhost: t\r\n\r\n").as_bytes());
            let reply = client.reply();
            assert_eq!(reply.status, 405, "{method} {target}");
            assert_eq!(reply.header("allow"), Some(allowed), "{method} {target}");
            reply.problem();
        }
    }
}

fn declared(client: &mut Client, headers: &str) -> Value {
    let body = r#"{"policy":"api","subject":{"ip":"203.0.113.7"}}"#;
    let length = body.len();
    let head = "POST /v1/decide HTTP/1.1\r\nhost: t\r\n";
    client.send(format!("{head}{headers}content-length: {length}\r\n\r\n{body}").as_bytes());
    let reply = client.reply();
    json!(reply.status)
}

#[test]
fn bodies_must_be_json() {
    let world = World::new();
    for (headers, status) in [
        ("content-type: application/json\r\n", 200),
        ("content-type: application/json;charset=utf-8\r\n", 200),
        ("", 415),
        ("content-type: text/plain\r\n", 415),
        ("content-type: application/x-www-form-urlencoded\r\n", 415),
        ("content-type: application/json\r\ncontent-encoding: gzip\r\n", 415),
    ] {
        assert_eq!(declared(&mut world.client(), headers), status, "{headers}");
    }
}

#[test]
fn a_store_that_fails_is_no_problem_of_a_decision() {
    let world = crate::limits::failing_world();
    let reply = world.post("/v1/decide", &json!({"policy": "queue"}));
    assert_eq!((reply.status, &reply.json()["verdict"]), (200, &json!("deny")));
    assert_eq!(world.get("/v1/explain/queue").json()["mode"], "fail_closed");
}
