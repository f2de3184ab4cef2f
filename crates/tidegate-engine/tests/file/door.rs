//! A door as a server would have one, and what it relies on.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_engine::file::{Door, File, Hidden, NoDoor, Placed, Report, schema};

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
    assert_eq!(file.door().log.as_ref().unwrap().level.value, "info");
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
}

/// One file serves every door: a program passes what belongs to a door that it does not have.
#[test]
fn a_section_of_another_door_passes_unread_and_a_misspelt_one_does_not() {
    let theirs = "http: { whatever: [1] }\nstore: x\nsecret_file: y";
    File::<Sections>::parse("f.yaml", &with(theirs)).unwrap();
    File::<NoDoor>::parse("f.yaml", &with("server: { lisen: 7 }\nlog: 1")).unwrap();
    for (section, meant) in [("sever", "server"), ("htttp", "http"), ("Store", "store")] {
        let text = with(&format!("{section}: {{}}"));
        let refused = File::<NoDoor>::parse("f.yaml", &text).unwrap_err().to_string();
        assert!(refused.contains("f.yaml:2:1"), "{refused}");
        assert!(refused.contains(&format!("did you mean `{meant}`")), "{refused}");
    }
    // What a program does read it reads strictly.
    assert!(refused("server: { lisen: 7 }\nlog: 1").contains("no field `lisen`"));
}

/// A door that compares its section with the policies beside it.
#[derive(Debug, Deserialize, JsonSchema)]
struct Default {
    default: String,
}

impl Door for Default {
    fn check(&self, report: &mut Report<'_>) {
        if report.policies().is_some_and(|policies| policies.get(&self.default).is_none()) {
            report.say("default", "there is no such policy");
        }
    }
}

#[test]
fn a_door_sees_the_policies_of_the_file_if_they_are_in_order() {
    let told = |text: &str| match File::<Default>::parse("f.yaml", text) {
        Ok(file) => vec![file.policy_set().policies()[0].name().to_string()],
        Err(refused) => refused.problems().iter().map(ToString::to_string).collect(),
    };
    assert_eq!(told(&with("default: api")), ["api"]);
    assert_eq!(told(&with("default: other")), ["there is no such policy"]);
    let broken = with("default: other").replace("burst: 1", "burst: 0");
    assert!(!told(&broken).contains(&"there is no such policy".to_owned()), "one thing at a time");
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

/// Secrets at several depths, told by their type alone.
#[derive(Debug, Deserialize, JsonSchema)]
struct Secrets {
    upstream: Option<Upstream>,
    key: Option<Placed<Hidden>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Upstream {
    url: Option<String>,
    logins: Option<Vec<Hidden>>,
}

impl Door for Secrets {
    fn check(&self, report: &mut Report<'_>) {
        if let Some(key) = &self.key {
            report.say_at(key.place, "this key is too short");
        }
        if self.upstream.as_ref().is_some_and(|one| one.url.is_some() && one.logins.is_some()) {
            report.say("upstream.logins", "there are too few");
        }
    }
}

#[test]
fn t41_a_secret_is_told_by_its_type_and_never_shown() {
    for sections in [
        "key: canary",
        "key: canary\nmemroy: {}",
        "upstream: { url: shown, logins: [canary] }",
        "upstream:\n  url: shown\n  logins:\n  - canary\n  - 'canary",
        "upstream: { logins: [{ canary: canary }] }",
        "upstream: { logins: [canary, [canary]], url: [] }",
        "upstream: { logins: [canary }",
        "key: \"canary",
        "key: [canary]",
        "key: &a canary\nkey: canary",
        "\tkey: canary",
        "kye: canary",
        "unknown: [canary, canary]",
        "store: redis://:canary@host\nsever: 1",
        "server: { password: canary }\nsever: 1",
        "server: { password: canary",
    ] {
        let refused = File::<Secrets>::parse("f.yaml", &with(sections)).unwrap_err();
        assert!(!refused.to_string().contains("canary"), "{refused}");
        assert!(!format!("{refused:?}").contains("canary"), "{refused:?}");
    }
    let shown = File::<Secrets>::parse("f.yaml", &with("upstream: { url: shown, logins: [a] }"));
    assert!(shown.unwrap_err().to_string().contains("url: shown, logins: ***"));
    let schema = schema::<Secrets>().to_value();
    assert_eq!(
        schema["properties"]["key"]["writeOnly"], true,
        "for editors and others who show it"
    );
}
