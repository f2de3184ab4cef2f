//! Who is let in, told by the head alone.

use http::Request;
use proptest::prelude::*;

use super::*;

/// What becomes of a request with this target and these fields that has reached 127.0.0.1.
fn checked(target: &str, fields: &[(&str, &str)]) -> Result<(), HeadRefusal> {
    checked_over(Version::HTTP_11, target, fields)
}

fn checked_over(
    version: Version,
    target: &str,
    fields: &[(&str, &str)],
) -> Result<(), HeadRefusal> {
    let mut request = Request::builder().version(version).uri(target);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let (head, ()) = request.body(()).unwrap().into_parts();
    let local = LocalEnd::at(Some(([127, 0, 0, 1], 7700).into()));
    let found = Fields::of(&head.headers);
    let first = check(&Hosts::default(), &local, &head, &found).map_err(Turned::reason);
    let again = check(&Hosts::default(), &local, &head, &found).map_err(Turned::reason);
    assert_eq!(first, again, "what is remembered of a connection changes no answer");
    first
}

#[test]
fn t43_a_name_that_leads_here_is_not_enough() {
    let host = |host| checked("/v1/decide", &[("host", host)]);
    assert_eq!(host("127.0.0.1:7700"), Ok(()));
    assert_eq!(host("localhost"), Ok(()));
    assert_eq!(host("attacker.example:7700"), Err(HeadRefusal::Host));
    let both = |target, host| checked(target, &[("host", host)]);
    assert_eq!(both("http://localhost/v1/decide", "localhost"), Ok(()));
    assert_eq!(both("http://attacker.example/v1/decide", "localhost"), Err(HeadRefusal::Host));
    assert_eq!(both("http://localhost/v1/decide", "attacker.example"), Err(HeadRefusal::Host));
    assert_eq!(checked("http://localhost:7700/v1/decide", &[]), Ok(()), "HTTP/2 has no field");
    assert_eq!(checked("http://u@localhost/", &[]), Err(HeadRefusal::Host));
    assert_eq!(checked("/livez", &[]), Ok(()), "no browser leaves its name out");
}

#[test]
fn t43_over_http_2_a_request_names_its_server_once() {
    let sent = |target, fields: &[(&str, &str)]| checked_over(Version::HTTP_2, target, fields);
    let (good, bad) = (("host", "localhost"), ("host", "attacker.example"));
    assert_eq!(sent("/v1/policies", &[good]), Ok(()));
    assert_eq!(sent("http://localhost/v1/policies", &[good]), Ok(()));
    assert_eq!(sent("/v1/policies", &[]), Err(HeadRefusal::Host), "no name at all");
    for twice in [[bad, bad], [good, bad], [bad, good], [good, good]] {
        for target in ["/v1/policies", "http://localhost/v1/policies"] {
            assert_eq!(sent(target, &twice), Err(HeadRefusal::Host), "{target} {twice:?}");
        }
    }
}

#[test]
fn t43_what_a_page_of_another_origin_sends_is_refused() {
    let sent = |more: &[(&str, &str)]| {
        checked("/v1/decide", &[&[("host", "127.0.0.1:7700")], more].concat())
    };
    let site = |value| sent(&[("sec-fetch-site", value)]);
    assert_eq!((site("same-origin"), site("none")), (Ok(()), Ok(())));
    for foreign in ["cross-site", "same-site", "Same-Origin", "", "something-new"] {
        assert_eq!(site(foreign), Err(HeadRefusal::CrossSite), "{foreign}");
    }
    let origin = |value| sent(&[("origin", value)]);
    assert_eq!(origin("http://127.0.0.1:7700"), Ok(()));
    for foreign in [
        "null",
        "",
        "127.0.0.1:7700",
        "http://127.0.0.1",
        "http://127.0.0.1:7701",
        "https://127.0.0.1",
        "http://localhost:7700",
        "http://attacker.example",
        "http://127.0.0.1:7700@attacker.example",
        "http://127.0.0.1:7700/",
        "file://127.0.0.1:7700",
    ] {
        assert_eq!(origin(foreign), Err(HeadRefusal::CrossSite), "{foreign}");
    }
    let twice = [("origin", "http://127.0.0.1:7700"), ("origin", "http://127.0.0.1:7700")];
    assert_eq!(sent(&twice), Err(HeadRefusal::CrossSite));
    let twice = [("sec-fetch-site", "none"), ("sec-fetch-site", "none")];
    assert_eq!(sent(&twice), Err(HeadRefusal::CrossSite));
    let both = [("sec-fetch-site", "same-origin"), ("origin", "http://127.0.0.1:7700")];
    assert_eq!(sent(&both), Ok(()));
    let ports = |host, origin| checked("/", &[("host", host), ("origin", origin)]);
    assert_eq!(ports("localhost", "http://localhost:80"), Ok(()));
    assert_eq!(ports("localhost:443", "https://LOCALHOST"), Ok(()));
    assert_eq!(checked("/", &[("origin", "http://localhost")]), Err(HeadRefusal::CrossSite));
}

#[test]
fn a_refusal_says_what_to_write() {
    let told = Turned::Misdirected(b"tidegate.internal:7700").problem();
    let told = String::from_utf8(told.to_json()).unwrap();
    assert!(told.contains("`tidegate.internal:7700`") && told.contains("`server.hosts`"), "{told}");
    let long = Turned::Misdirected(&[b'x'; 9_000]).problem().to_json();
    assert!(long.len() < 500, "{}", long.len());
}

proptest! {
    #[test]
    fn t43_only_our_own_origin_is_ours(origin in "[ -~]{0,40}") {
        let passed = checked("/", &[("host", "localhost:7700"), ("origin", &origin)]).is_ok();
        let ours = origin.eq_ignore_ascii_case("http://localhost:7700")
            || origin.eq_ignore_ascii_case("https://localhost:7700");
        prop_assert!(!passed || ours, "{}", origin);
    }
}
