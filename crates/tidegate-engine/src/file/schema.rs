//! The JSON schema of the format, for editors and other people's checks.
//!
//! It says what a schema can say: which fields there are, what form their values have and which of
//! them go together. Whether a policy makes sense is for [`File::parse`](super::File::parse).

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema as _, Schema};
use serde_json::Value;

use super::Door;
use super::written::Ours;
use super::written::schemas::tidied;
use super::written::top::SECTIONS;

/// The schema of a policy file with the sections of a door. The sections of other doors may be there
/// and hold anything.
#[must_use]
pub fn schema<D: Door>() -> Schema {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = Ours::json_schema(&mut generator);
    let mut theirs = D::json_schema(&mut generator);
    merge(&mut schema, &mut theirs, "properties");
    if let Some(Value::Object(sections)) = schema.get_mut("properties") {
        for elsewhere in SECTIONS {
            sections.entry(elsewhere).or_insert(Value::Bool(true));
        }
    }
    if let Some(Value::Array(more)) = theirs.remove("required")
        && let Some(Value::Array(required)) = schema.get_mut("required")
    {
        required.extend(more);
    }
    let version = generator.settings().meta_schema.clone();
    schema.insert("$schema".into(), version.map_or(Value::Null, |uri| uri.into_owned().into()));
    schema.insert("title".into(), "Tidegate policy file".into());
    schema.insert(
        "description".into(),
        "Which requests may pass: policies with their limits. See docs/policy-file.md.".into(),
    );
    schema.insert("$defs".into(), Value::Object(generator.take_definitions(true)));
    tidied(&mut schema);
    schema
}

/// Moves the entries of an object of one schema into that of another.
fn merge(into: &mut Schema, from: &mut Schema, key: &str) {
    let Some(Value::Object(more)) = from.remove(key) else { return };
    if let Some(Value::Object(entries)) = into.get_mut(key) {
        entries.extend(more);
    }
}
