//! Every way to get a body wrong, and the field that is named for it.

use proptest::prelude::*;
use tidegate_core::{Dimension, Fact};

use super::*;

/// The status, kind and field of the problem with a body.
fn refused<T: fmt::Debug>(read: Result<T, Problem>) -> (String, String) {
    let problem = serde_json::to_value(read.unwrap_err()).unwrap();
    assert_eq!(problem["status"], 400);
    let kind = problem["type"].as_str().unwrap().trim_start_matches("urn:tidegate:problem:");
    (kind.to_owned(), problem["field"].as_str().unwrap_or("-").to_owned())
}

fn check_ask(body: &str, kind: &str, field: &str) {
    let (found, at) = refused(ask(body.as_bytes()));
    assert_eq!((found.as_str(), at.as_str()), (kind, field), "{body}");
}

#[test]
fn a_whole_request_is_read() {
    let body = r#"{"policy":"api","subject":{"org":"acme","user":"u\u00377","ip":"203.0.113.7",
        "class":"write"},"cost":3}"#;
    let ask = ask(body.as_bytes()).unwrap();
    assert_eq!(ask.policy, "api");
    assert!(matches!(ask.policy, Cow::Borrowed(_)), "nothing is copied");
    assert_eq!(ask.cost.get(), 3);
    let subject = ask.facts.subject();
    assert_eq!(subject.get(Dimension::User), Some(Fact::Plain(b"u77")), "unescaped");
    assert!(subject.get(Dimension::Ip).is_some());
    assert!(subject.get(Dimension::Token).is_none());
}

#[test]
fn t17_every_spelling_of_a_login_name_is_one_account() {
    for typed in
        ["ada@example.org", " Ada@Example.ORG ", "\u{ff21}da@example.org", r"\u0041da@example.org"]
    {
        let body = format!(r#"{{"policy":"api","subject":{{"account":"{typed}"}}}}"#);
        let ask = ask(body.as_bytes()).unwrap();
        let account = ask.facts.subject().get(Dimension::Account);
        assert_eq!(account, Some(Fact::Private(b"ada@example.org")), "{typed:?}");
    }
    check_ask(
        r#"{"policy":"api","subject":{"account":"a","account":"b"}}"#,
        "invalid-field",
        "/subject/account",
    );
}

#[test]
fn subject_and_cost_may_be_left_out() {
    let ask = ask(br#"{"policy":"api"}"#).unwrap();
    assert_eq!((ask.cost, ask.facts), (Cost::ONE, AskedFacts::default()));
}

#[test]
fn what_is_not_json_is_told_so() {
    for body in [
        "",
        " ",
        "{",
        "nul",
        "{\"policy\":\"api\"",
        "{\"policy\":\"api\"}}",
        "{'policy':'api'}",
        "{\"policy\":\"api\",}",
        "{\"policy\":\"\u{1}\"}",
        "{\"cost\":01}",
        "{\"cost\":+1}",
        "{\"cost\":NaN}",
        "{\"cost\":1.}",
        "{\"policy\":\"\\ud800\"}",
    ] {
        check_ask(body, "not-json", "-");
    }
    let latin1 = b"{\"policy\":\"caf\xe9\"}";
    assert_eq!(refused(ask(latin1)).0, "not-json");
}

#[test]
fn unknown_missing_and_repeated_fields_are_named() {
    for (body, field) in [
        (r#"{}"#, "/policy"),
        (r#"{"cost":1}"#, "/policy"),
        (r#"{"policy":"api","weight":1}"#, "/weight"),
        (r#"{"policy":"api","a/b~c":1}"#, "/a~1b~0c"),
        (r#"{"policy":""}"#, "/policy"),
        (r#"{"policy":"Api"}"#, "/policy"),
        (r#"{"policy":"api","policy":"api"}"#, "/policy"),
        (r#"{"policy":"api","cost":1,"cost":1}"#, "/cost"),
        (r#"{"policy":"api","subject":{},"subject":{}}"#, "/subject"),
        (r#"{"policy":"api","subject":{"ip56":"2001:db8::"}}"#, "/subject/ip56"),
        (r#"{"policy":"api","subject":{"Org":"acme"}}"#, "/subject/Org"),
        (r#"{"policy":"api","subject":{"org":"a","org":"a"}}"#, "/subject/org"),
        (r#"{"policy":"api","subject":{"ip":"192.0.2.1","ip":"192.0.2.1"}}"#, "/subject/ip"),
    ] {
        check_ask(body, "invalid-field", field);
    }
}

#[test]
fn wrong_types_are_named() {
    for (body, field) in [
        ("[]", ""),
        ("null", ""),
        ("7", ""),
        (r#""api""#, ""),
        (r#"["api",{},1]"#, ""),
        (r#" ["api"]"#, ""),
        (r#"{"policy":7}"#, "/policy"),
        (r#"{"policy":null}"#, "/policy"),
        (r#"{"policy":["api"]}"#, "/policy"),
        (r#"{"policy":"api","subject":[]}"#, "/subject"),
        (r#"{"policy":"api","subject":null}"#, "/subject"),
        (r#"{"policy":"api","subject":{"org":7}}"#, "/subject/org"),
        (r#"{"policy":"api","subject":{"org":null}}"#, "/subject/org"),
        (r#"{"policy":"api","subject":{"org":{"id":"acme"}}}"#, "/subject/org"),
        (r#"{"policy":"api","subject":{"ip":3405803783}}"#, "/subject/ip"),
        (r#"{"policy":"api","cost":"1"}"#, "/cost"),
        (r#"{"policy":"api","cost":null}"#, "/cost"),
        (r#"{"policy":"api","cost":true}"#, "/cost"),
        (r#"{"policy":"api","cost":[1]}"#, "/cost"),
    ] {
        check_ask(body, "invalid-field", field);
    }
}

#[test]
fn p89_a_cost_is_a_positive_whole_number() {
    for cost in [
        "0",
        "-0",
        "-1",
        "0.5",
        "0.0",
        "21.5",
        "-1e3",
        "-1.0",
        "1e-3",
        "9007199254740992.0",
        "1e300",
        "1e400",
        "9007199254740992",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
    ] {
        check_ask(&format!(r#"{{"policy":"api","cost":{cost}}}"#), kind_of(cost), pointer_of(cost));
    }
    for cost in [1, 9_007_199_254_740_991_u64] {
        let body = format!(r#"{{"policy":"api","cost":{cost}}}"#);
        assert_eq!(ask(body.as_bytes()).unwrap().cost.get(), cost);
    }
    // By JSON Schema a number without a fraction is an integer, however it is written.
    for (text, cost) in [
        ("21.0", 21),
        ("1E0", 1),
        ("1e3", 1_000),
        ("2.5e1", 25),
        ("9007199254740991.0", 9_007_199_254_740_991),
    ] {
        let body = format!(r#"{{"policy":"api","cost":{text}}}"#);
        assert_eq!(ask(body.as_bytes()).unwrap().cost.get(), cost, "{text}");
        let body = format!(r#"{{"ticket":"abc","cost":{text}}}"#);
        assert_eq!(settle(body.as_bytes()).unwrap().cost, cost, "{text}");
    }
    for zero in ["0.0", "-0", "0e9"] {
        let body = format!(r#"{{"ticket":"abc","cost":{zero}}}"#);
        assert_eq!(settle(body.as_bytes()).unwrap().cost, 0, "{zero}");
    }
}

/// A number beyond all floats is not even JSON to serde.
fn kind_of(cost: &str) -> &'static str {
    if cost == "1e400" { "not-json" } else { "invalid-field" }
}

fn pointer_of(cost: &str) -> &'static str {
    if cost == "1e400" { "-" } else { "/cost" }
}

#[test]
fn addresses_are_addresses() {
    for ip in [
        "",
        "localhost",
        "203.0.113.7:80",
        "[2001:db8::1]",
        "203.0.113.0/24",
        "fe80::1%eth0",
        " 203.0.113.7",
        "203.0.113.07",
        "203.0.113",
        "0xcb007107",
        "203.0.113.256",
        "unknown",
    ] {
        let body = format!(r#"{{"policy":"api","subject":{{"ip":"{ip}"}}}}"#);
        check_ask(&body, "invalid-field", "/subject/ip");
    }
}

#[test]
fn every_fact_that_is_told_is_read_from_a_body_and_no_other() {
    for dimension in Dimension::ALL {
        let (name, example) = (dimension.name(), dimension.example());
        let body = format!(r#"{{"policy":"api","subject":{{"{name}":"{example}"}}}}"#);
        match ask(body.as_bytes()) {
            Ok(read) => {
                assert!(dimension.is_told(), "{name}");
                assert!(read.facts.subject().get(dimension).is_some(), "{name}");
            }
            Err(_) => check_ask(&body, "invalid-field", &format!("/subject/{name}")),
        }
    }
}

#[test]
fn t12_facts_that_are_too_long_are_named() {
    for dimension in Dimension::told().filter(|it| it.prefix_length().is_none()) {
        let name = dimension.name();
        let body = |length| {
            format!(r#"{{"policy":"api","subject":{{"{name}":"{}"}}}}"#, "x".repeat(length))
        };
        assert!(ask(body(256).as_bytes()).is_ok());
        check_ask(&body(257), "invalid-field", &format!("/subject/{name}"));
    }
}

#[test]
fn what_is_echoed_is_short() {
    let name = "x".repeat(10_000);
    for body in [
        format!(r#"{{"{name}":1}}"#),
        format!(r#"{{"policy":"api","cost":"{name}"}}"#),
        format!(r#"{{"policy":"api","subject":"{name}"}}"#),
    ] {
        let problem = serde_json::to_string(&ask(body.as_bytes()).unwrap_err()).unwrap();
        assert!(problem.len() < 1_000, "{} bytes", problem.len());
    }
}

#[test]
fn settling_takes_a_ticket_and_a_cost() {
    let read = settle(br#"{"ticket":"abc","cost":0}"#).unwrap();
    assert_eq!((read.ticket.as_ref(), read.cost), ("abc", 0));
    let long = format!(r#"{{"ticket":"{}","cost":0}}"#, "x".repeat(Ticket::MAX_TEXT + 1));
    for (body, field) in [
        (r#"{"cost":0}"#, "/ticket"),
        (r#"{"ticket":"abc"}"#, "/cost"),
        (r#"{"ticket":7,"cost":0}"#, "/ticket"),
        (r#"{"ticket":"abc","cost":-1}"#, "/cost"),
        (r#"{"ticket":"abc","cost":9007199254740992}"#, "/cost"),
        (r#"{"ticket":"abc","cost":0,"policy":"api"}"#, "/policy"),
        (&long, "/ticket"),
    ] {
        assert_eq!(refused(settle(body.as_bytes())).1, field, "{body}");
    }
}

#[test]
fn a_batch_has_one_to_a_hundred_requests() {
    let body = |count| {
        let requests = vec![r#"{"policy":"api"}"#; count].join(",");
        format!(r#"{{"requests":[{requests}]}}"#)
    };
    assert_eq!(batch(body(1).as_bytes()).unwrap().len(), 1);
    assert_eq!(batch(body(100).as_bytes()).unwrap().len(), 100);
    assert_eq!(refused(batch(body(0).as_bytes())).1, "/requests");
    assert_eq!(refused(batch(body(101).as_bytes())).1, "/requests");
    assert_eq!(refused(batch(b"{}")).1, "/requests");
    assert_eq!(refused(batch(br#"{"requests":{}}"#)).1, "/requests");
    assert_eq!(refused(batch(br#"{"requests":[1],"requests":[1]}"#)).1, "/requests");
    assert_eq!(refused(batch(br#"{"request":[]}"#)).1, "/request");
    assert_eq!(refused(batch(br#"{"requests":[["api"]]}"#)).1, "/requests/0");
    let one_is_wrong = br#"{"requests":[{"policy":"api"},{"policy":"api","subject":{"ip":"x"}}]}"#;
    assert_eq!(refused(batch(one_is_wrong)).1, "/requests/1/subject/ip");
}

#[test]
fn depth_is_bounded() {
    let deep = format!(r#"{{"requests":[{}1{}]}}"#, "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(refused(batch(deep.as_bytes())).1, "/requests/0");
    let deep = format!(r#"{{"policy":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
    assert!(ask(deep.as_bytes()).is_err());
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = (ask(&bytes), settle(&bytes), batch(&bytes));
    }

    #[test]
    fn a_policy_is_named_as_policies_can_be(text in "[a-zA-Z0-9_. é-]{0,70}") {
        let body = serde_json::json!({"policy": text}).to_string();
        prop_assert_eq!(ask(body.as_bytes()).is_ok(), Name::try_new(&text).is_ok());
    }

    #[test]
    fn no_json_is_too_strange(
        policy in "\\PC{0,20}",
        name in "\\PC{0,20}",
        value in "\\PC{0,300}",
        cost in any::<f64>(),
    ) {
        let value = serde_json::json!({"policy": policy, "subject": {name: value}, "cost": cost});
        let _ = ask(value.to_string().as_bytes());
    }

    #[test]
    fn every_fact_comes_through_as_it_was_sent(value in "\\PC{1,256}") {
        let body = serde_json::json!({"policy": "api", "subject": {"user": &value}}).to_string();
        let ask = ask(body.as_bytes()).unwrap();
        let subject = ask.facts.subject();
        prop_assert_eq!(subject.get(Dimension::User), Some(Fact::Plain(value.as_bytes())));
    }
}
