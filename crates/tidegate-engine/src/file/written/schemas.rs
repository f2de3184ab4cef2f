//! What a derived schema cannot say: which fields go together.

use schemars::transform::RecursiveTransform;
use schemars::{Schema, transform::Transform};
use serde_json::{Value, json};
use tidegate_core::ShapeKind;

/// Gives a type a schema that is inlined wherever the type is used.
macro_rules! inlined {
    ($type:ty, $name:literal, |$generator:pat_param| $schema:expr) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}
pub(in crate::file) use inlined;

/// The fields of which a limit or an override has exactly one: the names of the shapes.
fn shapes() -> [&'static str; ShapeKind::ALL.len()] {
    ShapeKind::ALL.map(ShapeKind::name)
}

/// Makes the schema of a limit in a policy require `shared` alone, or a name, dimensions and one
/// shape.
pub(in crate::file) fn limit_in_policy(schema: &mut Schema) {
    let mut forms = vec![json!({ "required": ["shared"], "maxProperties": 1 })];
    forms.extend(shapes().map(|shape| own(&["name", "by"], shape)));
    schema.insert("oneOf".into(), forms.into());
}

/// Makes the schema of a policy require limits of its own, a preset, or both.
pub(in crate::file) fn limits_or_preset(schema: &mut Schema) {
    let either = ["limits", "preset"].map(|field| json!({ "required": [field] }));
    schema.insert("anyOf".into(), Value::from_iter(either));
}

/// Makes the schema of a limit of the list `shared` require a name, dimensions and one shape, and
/// forbid `shared`.
pub(in crate::file) fn limit_of_its_own(schema: &mut Schema) {
    let forms = shapes().map(|shape| own(&["name", "by"], shape));
    schema.insert("oneOf".into(), Value::from_iter(forms));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.remove("shared");
    }
}

/// Makes the schema of attempts require one manner of blocks: one or two windows, each with all its
/// numbers, or one window and a ladder.
pub(in crate::file) fn one_manner(schema: &mut Schema) {
    let whole = json!({ "required": ["block_at", "per", "block"] });
    let windows = json!({
        "required": ["temp"],
        "properties": {
            "temp": whole, "long": whole, "block_at": false, "per": false, "ladder": false,
        },
    });
    let climbing = json!({
        "required": ["block_at", "per", "ladder"],
        "properties": { "temp": false, "long": false },
    });
    schema.insert("oneOf".into(), Value::from_iter([windows, climbing]));
}

/// Makes the schema of an override, or of an environment's numbers, require exactly one shape.
pub(in crate::file) fn exactly_one_shape(schema: &mut Schema) {
    let forms = shapes().map(|shape| own(&[], shape));
    schema.insert("oneOf".into(), Value::from_iter(forms));
}

/// Takes `null` out of a schema, because a field that is not used is left out, and line ends out of
/// descriptions.
pub(in crate::file) fn tidied(schema: &mut Schema) {
    RecursiveTransform(|schema: &mut Schema| {
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
        if let Some(Value::String(description)) = schema.get_mut("description") {
            *description = description.replace('\n', " ");
        }
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                schema.insert("type".into(), only);
            }
        }
        let Some(Value::Array(forms)) = schema.get_mut("anyOf") else { return };
        forms.retain(|form| form.get("type") != Some(&json!("null")));
        if let [Value::Object(only)] = forms.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                schema.insert(key, value);
            }
        }
    })
    .transform(schema);
}

fn own(with: &[&str], shape: &str) -> Value {
    let required: Vec<&str> = with.iter().copied().chain([shape]).collect();
    let mut refused = shapes().to_vec();
    refused.retain(|other| *other != shape);
    let refused: serde_json::Map<String, Value> =
        refused.into_iter().chain(["shared"]).map(|name| (name.to_owned(), false.into())).collect();
    json!({ "required": required, "properties": refused })
}
