//! One file for every door: all of them take it whole, and a mistake is found wherever it is.

use std::sync::Arc;

use serde_json::Value;
use tidegate_engine::file::{File, NoDoor, SECTIONS};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, SystemClock};
use tidegate_tower::settings::HttpFile;

use crate::process::{Server, ran, ran_with};
use crate::wire::verdict;

const ONE: &str = include_str!("../../../../examples/policies/one-file.yaml");

/// Mistakes: what to replace and by what, at which part of that the error points, and what it says.
const MISTAKES: [(&str, &str, &str, &str); 12] = [
    ("early: address", "early: adress", "adress", "policy `adress`, which does not exist"),
    ("auth: { early: entrance }", "auth: { early: address }", "address }", "is an entrance"),
    ("policy: read", "policy: address", "address", "does not count by `org`"),
    ("default: read", "default: red", "red", "there is no class `red`"),
    ("[GET]", "[get]", "[get]", "`get` is not a method"),
    ("client_header: x", "client_header: x_", "x_", "choose one with `-`"),
    ("default: read", "defualt: read", "defualt", "did you mean `default`"),
    ("threads: 2", "threads: 0", "0", "out of range"),
    ("idle_timeout: 30s", "idle_timeout: 30m", "30m", "`min`"),
    ("listen: 127.0.0.1:7707", "listen: 0.0.0.0:7707", "0.0", "allow_remote"),
    ("level: info", "level: loud", "loud", "`loud`"),
    ("store: memory", "store: memroy", "memroy", "write `memory`"),
];

/// The line and column where a mistake is made.
fn place_of(text: &str, mistake: &str, part: &str) -> String {
    let at = text.find(mistake).unwrap() + mistake.find(part).unwrap();
    let line = text[..at].matches('\n').count() + 1;
    format!("{line}:{}", at - text[..at].rfind('\n').unwrap())
}

fn schema() -> Value {
    serde_json::from_str(&ran(&["schema"]).out).unwrap()
}

#[test]
fn every_door_takes_the_file_whole() {
    let engine = File::<NoDoor>::parse("one-file.yaml", ONE).unwrap();
    assert_eq!(engine.policy_set().policies().len(), 3);

    let library = File::<HttpFile>::parse("one-file.yaml", ONE).unwrap();
    let store = MemoryStore::new(Budget::default(), SystemClock::new());
    let engine = Arc::new(Engine::new(store, library.policy_set().clone()));
    library.door().http.gate(engine).unwrap().build().unwrap();

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("one-file.yaml");
    std::fs::write(&file, ONE).unwrap();
    let checked = ran(&["validate", file.to_str().unwrap()]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert!(checked.out.contains("good; 3 policies, 4 limits"), "{}", checked.out);
    let (_server, address) = Server::on(&file);
    assert_eq!(verdict(address, "read", "acme"), "admit");
}

#[test]
fn validate_finds_a_mistake_in_every_section_and_shows_its_place() {
    for (is, should, part, told) in MISTAKES {
        let text = ONE.replacen(is, should, 1);
        let place = place_of(&text, should, part);
        let ran = ran_with(&["validate", "-"], &text);
        assert_eq!(ran.code, 2, "{should}: {ran:?}");
        assert!(
            ran.err.contains(&format!("--> standard input:{place}\n")),
            "{should}: {}",
            ran.err
        );
        assert!(ran.err.contains(told), "`{told}` in {}", ran.err);
    }
}

#[test]
fn the_schema_takes_the_file_and_refuses_mistakes_of_form() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let follows = |text: &str| schema.is_valid(&serde_saphyr::from_str::<Value>(text).unwrap());
    assert!(follows(ONE));
    for (is, should) in [
        ("client_header: x", "client_header: x_"),
        ("  default", "  defualt"),
        ("body: problem", "body: prose"),
        ("idle_timeout: 30s", "idle_timeout: 30m"),
        ("threads: 2", "threads: many"),
        ("level: info", "level: loud"),
        ("store: memory", "store: memroy"),
        ("\nhttp:", "\nhtttp:"),
    ] {
        assert!(!follows(&ONE.replacen(is, should, 1)), "{should}");
    }
}

/// A program that has some of the doors passes the sections of the others by this list.
#[test]
fn the_list_of_sections_is_that_of_the_types() {
    let schema = schema();
    let mut types: Vec<&str> =
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let ours = ["environments", "memory", "policies", "shared", "version"];
    let mut listed = [&ours[..], &SECTIONS[..]].concat();
    types.sort_unstable();
    listed.sort_unstable();
    assert_eq!(types, listed);
    assert!(schema["properties"].as_object().unwrap().values().all(Value::is_object), "all typed");
    assert_eq!(schema["properties"]["store"]["writeOnly"], true);
}

#[test]
fn a_section_of_nobody_is_refused_by_every_door_with_what_was_meant() {
    let text = ONE.replacen("\nhttp:", "\nhtttp:", 1);
    let library = File::<HttpFile>::parse("f", &text).unwrap_err().to_string();
    let engine = File::<NoDoor>::parse("f", &text).unwrap_err().to_string();
    for refused in [ran_with(&["validate", "-"], &text).err, engine, library] {
        assert!(refused.contains("no field `htttp`"), "{refused}");
        assert!(refused.contains("did you mean `http`"), "{refused}");
    }
}

#[test]
fn t41_no_door_shows_a_secret() {
    let secret = ONE.replacen("store: memory", "store: redis://:canary@host", 1);
    for (is, should) in [
        ("version: 1", "version: 2"),
        ("memory: {", "memory: }"),
        ("store: redis", "store: rdis"),
        ("store: redis", "store: \"redis"),
        ("store: redis", "  store: redis"),
        ("store: redis", "stroe: redis"),
        ("host\n", "host\nstore: [canary]\n"),
        ("host\n", "host\nunknown: canary\n"),
        ("default: read", "default: red"),
        ("limits:", "limts:"),
    ] {
        let text = secret.replacen(is, should, 1);
        let binary = ran_with(&["validate", "-"], &text);
        let library = File::<HttpFile>::parse("f", &text).map(drop);
        let engine = File::<NoDoor>::parse("f", &text).map(drop);
        let shown = format!("{}{library:?}{engine:?}", binary.err);
        assert_eq!(binary.code, 2, "{should}: {shown}");
        assert!(!shown.contains("canary"), "{should}: {shown}");
        for refused in [library.err(), engine.err()].into_iter().flatten() {
            assert!(!refused.to_string().contains("canary"), "{should}: {refused}");
        }
    }
}
