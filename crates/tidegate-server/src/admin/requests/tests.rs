//! What is read, and what is said about the rest.

use super::*;

fn field<T: std::fmt::Debug>(read: Result<T, Problem>) -> String {
    let problem = serde_json::to_value(read.unwrap_err()).unwrap();
    assert_eq!(problem["status"], 400, "{problem}");
    problem["field"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_block_has_a_length_or_a_level() {
    let of = |rest: &str| format!(r#"{{"policy":"login","subject":{{"account":"a"}}{rest}}}"#);
    let text = of(r#","for":"15min""#);
    let (target, lasts, level) = block(text.as_bytes()).unwrap();
    assert_eq!((&*target.policy, target.limit), ("login", None));
    assert_eq!((lasts, level), (Span::from_secs(900), None));
    let text = of(r#","level":"L3","limit":"attempts""#);
    let (target, lasts, level) = block(text.as_bytes()).unwrap();
    assert_eq!(target.limit.as_deref(), Some("attempts"));
    assert_eq!((lasts, level), (Level::L3.lasts(), Some(Level::L3)));
    for (rest, told) in [
        ("", "/for"),
        (r#","for":"1s","level":"L1""#, "/level"),
        (r#","for":"999ms""#, "/for"),
        (r#","for":"31d""#, "/for"),
        (r#","for":"15m""#, "/for"),
        (r#","for":900"#, "/for"),
        (r#","for":"1s","for":"1s""#, "/for"),
        (r#","level":"L7""#, "/level"),
        (r#","level":"l1""#, "/level"),
        (r#","level":3"#, "/level"),
        (r#","for":"1s","limit":"A B""#, "/limit"),
        (r#","for":"1s","key":"x""#, "/key"),
        (r#","for":"1s","cost":1"#, "/cost"),
        (r#","for":"1s","subject":{}"#, "/subject"),
    ] {
        assert_eq!(field(block(of(rest).as_bytes())), told, "{rest}");
    }
}

#[test]
fn a_subject_is_said_on_purpose() {
    type Read = fn(&'static [u8]) -> Result<(), Problem>;
    let readers: [Read; 2] = [|bytes| reset(bytes).map(drop), |bytes| unblock(bytes).map(drop)];
    for read in readers {
        assert_eq!(field(read(br#"{"policy":"login"}"#)), "/subject");
        assert_eq!(field(read(br#"{"subject":{"account":"a"}}"#)), "/policy");
        assert_eq!(field(read(br#"{"policy":"LOGIN","subject":{}}"#)), "/policy");
        assert_eq!(field(read(br#"{"policy":"login","subject":{"name":"a"}}"#)), "/subject/name");
        assert_eq!(field(read(br#"{"policy":"login","subject":{"ip":"a"}}"#)), "/subject/ip");
    }
    assert_eq!(field(reset(br#"{"key":"00"}"#)), "/key", "only a block has one");
}

#[test]
fn a_block_is_lifted_by_its_subject_or_by_its_key() {
    assert_eq!(unblock(br#"{"key":"00ff"}"#).unwrap(), Lift::Listed("00ff".into()));
    let both = br#"{"key":"00ff","policy":"login","subject":{}}"#;
    assert_eq!(field(unblock(both)), "/key");
    let long = format!(r#"{{"key":"{}"}}"#, "k".repeat(LONGEST_NAME + 1));
    assert_eq!(field(unblock(long.as_bytes())), "/key");
    let of = br#"{"policy":"login","subject":{"account":"a"},"limit":"x"}"#;
    assert!(matches!(unblock(of).unwrap(), Lift::Of(target) if target.policy == "login"));
}

#[test]
fn a_page_is_bounded() {
    assert_eq!(listing("").unwrap(), BlocksQuery { after: None, at_most: MOST_ON_A_PAGE });
    let second = listing("at_most=7&after=a%2Fb").unwrap();
    assert_eq!((second.after.as_deref(), second.at_most), (Some("a/b"), 7));
    let long = format!("after={}", "x".repeat(LONGEST_NAME + 1));
    for (query, told) in [
        ("at_most=0", "/at_most"),
        ("at_most=1001", "/at_most"),
        ("at_most=all", "/at_most"),
        ("after=1&after=1", "/after"),
        ("before=1", ""),
        (&*long, "/after"),
    ] {
        assert_eq!(field(listing(query)), told, "{query}");
    }
}
