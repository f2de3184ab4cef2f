//! The JSON schema says the same as the reader, as far as a schema can.

use serde_json::Value;
use tidegate_core::Dimension;
use tidegate_engine::file::{File, NoDoor, Wrong, schema};

use crate::door::Sections;
use crate::texts;

/// The errors that are also against the schema, whatever else is in the file.
const EXPRESSIBLE: &[&str] = &[
    "bad-billing-day",
    "bad-cost",
    "bad-duration",
    "bad-name",
    "bad-rate",
    "cost-rules",
    "empty-scope",
    "global-among-others",
    "match-not-one",
    "missing-field",
    "no-failure-mode",
    "no-limits",
    "no-policies",
    "no-shape",
    "not-a-number",
    "number-too-large",
    "other-type",
    "repeated-dimension",
    "shared-in-shared",
    "shared-with-more",
    "too-many-limits",
    "two-shapes",
    "unknown-field",
    "unknown-version",
    "unknown-word",
];

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(schema::<Sections>().as_value()).unwrap()
}

/// What is against the schema in a file, if it is YAML at all.
fn objections(validator: &jsonschema::Validator, text: &str) -> Option<Vec<String>> {
    let value: Value = serde_saphyr::from_str(text).ok()?;
    Some(
        validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect(),
    )
}

#[test]
fn every_fact_that_is_counted_can_be_written_and_no_other() {
    let validator = validator();
    for dimension in Dimension::ALL {
        let name = dimension.name();
        let text = format!(
            "version: 1\npolicies:\n  - name: api\n    failure_mode: fail_open\n    limits:\n\
             \x20     - {{ name: l, by: {name}, bucket: {{ rate: 1/s, burst: 9 }} }}\n"
        );
        let objections = objections(&validator, &text).unwrap();
        assert_eq!(objections.is_empty(), dimension.is_counted(), "{name}: {objections:?}");
        assert_eq!(File::<Sections>::parse("f.yaml", &text).is_ok(), dimension.is_counted());
    }
    let schema = schema::<Sections>().as_value().to_string();
    for dimension in Dimension::ALL {
        assert!(schema.contains(dimension.meaning()), "{}", dimension.name());
    }
}

#[test]
fn what_a_schema_can_say_it_says() {
    let validator = validator();
    for code in EXPRESSIBLE {
        assert!(Wrong::CODES.contains(code), "there is no error {code}");
    }
    let mut silent = Vec::new();
    for (name, text) in texts("tests/file/cases", "yaml") {
        let Err(refused) = File::<Sections>::parse("f.yaml", &text) else { continue };
        let expressible =
            refused.problems().iter().any(|problem| EXPRESSIBLE.contains(&problem.wrong().code()));
        let against = objections(&validator, &text);
        if expressible && against.is_some_and(|against| against.is_empty()) {
            silent.push(name);
        }
    }
    // To a schema a number is a number, however it is written; and it does not know how many limits
    // are ready-made.
    silent.retain(|name| name != "not-a-number-hex" && name != "too-many-limits-of-preset");
    assert!(silent.is_empty(), "the schema accepts {silent:?}");
}

#[test]
fn every_file_that_is_read_is_within_the_schema() {
    let validator = validator();
    let folders = ["../../examples/policies", "../../fuzz/corpus/policy_file"];
    let files = folders.iter().flat_map(|folder| texts(folder, "yaml"));
    let mut read = 0;
    for (name, text) in files {
        if File::<Sections>::parse("f.yaml", &text).is_ok() {
            read += 1;
            assert_eq!(objections(&validator, &text), Some(vec![]), "{name}");
        }
    }
    assert!(read > 5, "only {read}");
}

#[test]
fn sections_of_a_door_are_in_the_schema_and_those_of_nobody_are_not() {
    let text = "version: 1\nserver: { threads: 1 }\npolicies:
  - { name: a, failure_mode: fail_open, limits: [{ name: l, by: org, bucket: { rate: 1/s, burst: 1 } }] }\n";
    assert_eq!(objections(&validator(), text), Some(vec![]));
    let wrong = text.replace("threads: 1", "threads: many");
    let against = objections(&validator(), &wrong).unwrap();
    assert!(against[0].contains("/server"), "{against:?}");
    let without = jsonschema::validator_for(schema::<NoDoor>().as_value()).unwrap();
    assert_eq!(objections(&without, &wrong), Some(vec![]), "the section of another door");
    let against = objections(&without, &wrong.replace("server", "sever")).unwrap();
    assert!(against[0].contains("sever"), "{against:?}");
}

/// An editor shows these while somebody types.
#[test]
fn every_field_is_described() {
    fn walk(path: &str, value: &Value, bare: &mut Vec<String>) {
        let Value::Object(object) = value else { return };
        if let Some(Value::Object(properties)) = object.get("properties") {
            for (name, property) in properties {
                let described = property.get("description").is_some() || !property.is_object();
                let path = format!("{path}/{name}");
                if !described {
                    bare.push(path.clone());
                }
                walk(&path, property, bare);
            }
        }
        if let Some(Value::Object(definitions)) = object.get("$defs") {
            for (name, definition) in definitions {
                walk(name, definition, bare);
            }
        }
    }
    let mut bare = Vec::new();
    walk("", schema::<NoDoor>().as_value(), &mut bare);
    assert!(bare.is_empty(), "no description: {bare:?}");
}

#[test]
fn nothing_in_the_schema_asks_for_null() {
    let text = schema::<Sections>().as_value().to_string();
    assert!(!text.contains("null"), "{text}");
}
