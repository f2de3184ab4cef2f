//! The page for operators says what there is.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::log::{acme, logged};
use super::{Ask, REQUEST, World};
use crate::report::{Audit, JsonLines, Metrics, Reporter};

const PAGE: &str = include_str!("../../../../../docs/observability.md");

fn assert_named(names: impl IntoIterator<Item = impl AsRef<str>>) {
    for name in names {
        assert!(PAGE.contains(&format!("`{}`", name.as_ref())), "`{}`", name.as_ref());
    }
}

#[test]
fn every_field_of_the_log_is_on_the_page() {
    let (json, _) = logged(tracing::Level::INFO, || {
        let (world, reporter) = (World::new(), Reporter::default());
        while world.ask(&reporter, &Ask::of(acme())) {}
        while world.ask(&reporter, &Ask::from([198, 51, 100, 7].into(), "login")) {}
    });
    for line in &json {
        let fields = line["fields"].as_object().unwrap().keys();
        assert_named(fields.filter(|field| *field != "message"));
    }
}

#[test]
fn every_metric_is_on_the_page() {
    let world = World::new();
    let text = Metrics::default().encode(Arc::clone(&world.engine)).unwrap();
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    assert_named(names.map(|line| match line.split_once(' ').unwrap() {
        (name, "counter") => format!("{name}_total"),
        (name, _) => name.to_owned(),
    }));
}

#[test]
fn the_record_on_the_page_is_as_records_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.jsonl");
    let audit = Audit::builder().start(JsonLines::open(&path).unwrap()).unwrap();
    let (world, reporter) = (World::new(), Reporter::default().auditing(audit.clone()));
    for _ in 0..15 {
        world.ask(&reporter, &Ask::of(acme()));
    }
    assert!(audit.finish(Duration::from_secs(60)));
    let mut written: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let shown = PAGE.lines().find(|line| line.starts_with("{\"kind\"")).unwrap();
    let shown: Value = serde_json::from_str(shown).unwrap();
    // The page shows a name as one is made for every request; this one was told by its proxy.
    assert_eq!(written["request_id"], REQUEST);
    let name = shown["request_id"].as_str().unwrap();
    assert!(name.len() == 32 && name.bytes().all(|byte| b"0123456789abcdef".contains(&byte)));
    written["request_id"] = shown["request_id"].clone();
    assert_eq!(written, shown);
    assert_named(shown.as_object().unwrap().keys());
}
