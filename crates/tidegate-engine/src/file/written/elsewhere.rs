//! Other numbers in some environments, as they are written.

use core::fmt;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::limit::Elsewhere;
use super::scalar::NameText;
use crate::file::place::Placed;

/// Environments, each with the numbers that hold there.
#[derive(Clone, Debug)]
pub(in crate::file) struct In(pub(in crate::file) Vec<(Placed<String>, Placed<Elsewhere>)>);

struct InVisitor;

// === impl In ===

impl<'de> Deserialize<'de> for In {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InVisitor)
    }
}

impl JsonSchema for In {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "In".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "propertyNames": NameText::json_schema(generator),
            "additionalProperties": generator.subschema_for::<Elsewhere>(),
            "minProperties": 1,
        })
    }
}

impl<'de> Visitor<'de> for InVisitor {
    type Value = In;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "environments with their numbers, such as `{ staging: { bucket: { burst: 9 } } }`",
        )
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<In, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(In(pairs))
    }
}
