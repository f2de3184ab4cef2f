//! A door as a server would have one, and what it relies on.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_engine::file::{Door, File, NoDoor, Placed, Report};

/// The sections of a small server.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Sections {
    #[serde(default)]
    pub(crate) server: Server,
    pub(crate) log: Option<Log>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Server {
    #[schemars(with = "Option<String>")]
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) threads: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: Placed<String>,
}

impl Door for Sections {
    fn check(&self, report: &mut Report<'_>) {
        if self.server.threads == Some(0) {
            report.say("server.threads", "no thread can serve nobody; write 1 or more");
        }
        if let Some(Log { level }) = &self.log
            && level.value != "info"
        {
            report.say_at(level.place, "there is no such level; write `info`");
        }
    }
}

/// A file with these sections and a policy.
fn with(sections: &str) -> String {
    let policy = "{ name: api, failure_mode: fail_open, limits: [{ name: l, by: org, bucket: { rate: 1/s, burst: 1 } }] }";
    format!("version: 1\n{sections}\npolicies: [{policy}]\n")
}

fn refused(sections: &str) -> String {
    File::<Sections>::parse("f.yaml", &with(sections)).unwrap_err().to_string()
}

#[test]
fn sections_of_a_door_are_read_among_ours() {
    let text = with("server: { listen: 127.0.0.1:1, threads: 2 }\nlog: { level: info }");
    let file = File::<Sections>::parse("f.yaml", &text).unwrap();
    assert_eq!(file.door().server.threads, Some(2));
    assert_eq!(file.into_door().log.unwrap().level.value, "info");
}

#[test]
fn sections_that_may_be_left_out_are() {
    let file = File::<Sections>::parse("f.yaml", &with("")).unwrap();
    assert!(file.door().server.listen.is_none() && file.door().log.is_none());
}

#[test]
fn a_section_of_nobody_is_refused_with_those_there_are() {
    let refused = refused("metrics: {}");
    assert!(refused.contains("f.yaml:2:1"), "{refused}");
    assert!(refused.contains("`memory`, `server`, `log`"), "{refused}");
    let text = with("server: {}");
    let without = File::<NoDoor>::parse("f.yaml", &text).unwrap_err().to_string();
    assert!(without.contains("no field `server`"), "{without}");
}

#[test]
fn what_a_door_finds_wrong_is_shown_in_its_place() {
    for (sections, place) in [
        ("server: { threads: 0 }", "f.yaml:2:20"),
        ("server:\n  threads: 0", "f.yaml:3:12"),
        ("log: { level: loud }", "f.yaml:2:15"),
        ("server: { listen: nowhere }", "f.yaml:2:19"),
        ("server: { threads: many }", "f.yaml:2:20"),
    ] {
        let refused = refused(sections);
        assert!(refused.contains(place), "{sections}: {refused}");
    }
}

#[test]
fn what_is_wrong_with_policies_and_with_a_door_is_told_together() {
    let text = with("server: { threads: 0 }").replace("burst: 1", "burst: 0");
    let refused = File::<Sections>::parse("f.yaml", &text).unwrap_err();
    let codes: Vec<&str> =
        refused.problems().iter().map(|problem| problem.wrong().code()).collect();
    assert_eq!(codes, ["bad-value", "bad-numbers"]);
}

/// A store's URL has a password in it, and errors are shown to anybody: through miette, too, which
/// takes the whole text.
#[test]
fn t41_the_value_of_store_is_never_shown() {
    let wrong = "store: redis://:canary@host\nserver: { threads: 0 }\nmemroy: {}";
    let refused = File::<NoDoor>::parse("f.yaml", &with(wrong)).unwrap_err();
    assert!(refused.to_string().contains("no field `store`"), "{refused}");
    for problem in refused.problems() {
        let source = miette::Diagnostic::source_code(problem).unwrap();
        let whole = source.read_span(&(0, with(wrong).len()).into(), 0, 0).unwrap();
        let text = String::from_utf8_lossy(whole.data());
        assert!(text.contains("store: ****") && !text.contains("canary"), "{text}");
    }
    assert!(!refused.to_string().contains("canary"), "{refused}");
    assert!(!format!("{refused:?}").contains("canary"), "{refused:?}");
}
