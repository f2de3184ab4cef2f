//! The file as it is written: the first of two stages.
//!
//! These types say which fields there are and refuse all others. Whether what stands in them makes
//! sense is left to [`check`](super::check), which sees the whole and reports everything at once; so
//! fields that are required are optional here, and words and numbers are taken as they come.

pub(super) mod attempts;
pub(super) mod limit;
pub(super) mod scalar;
pub(super) mod schemas;
pub(super) mod top;
pub(super) mod word;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use tidegate_core::{FailureMode, Overflow, Preset, Protects};

use self::limit::WrittenLimit;
use self::scalar::{DurationText, NameText, WrittenNumber};
use self::word::Word;
use super::place::Placed;

/// Reads a field that may be left out, but not left blank: a blank one is more likely forgotten than
/// meant, and silence is no answer to what a policy protects.
///
/// # Errors
///
/// If the value is not one of the field's type.
pub fn present<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// The sections of the file that belong to the engine.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Ours {
    /// The version of this format: 1.
    #[schemars(required, extend("const" = 1))]
    pub(super) version: Option<Placed<WrittenNumber>>,
    /// The environments in which these policies are in force, such as `production` and `staging`. A
    /// limit may have other numbers in some of them.
    #[schemars(length(max = super::MAX_ENVIRONMENTS))]
    pub(super) environments: Option<Placed<Vec<Placed<NameText>>>>,
    /// Limits that several policies count together: one counter for all of them.
    pub(super) shared: Option<Vec<Placed<SharedLimit>>>,
    /// The policies, in any order; at least one.
    #[schemars(required, length(min = 1))]
    pub(super) policies: Option<Placed<Vec<Placed<WrittenPolicy>>>>,
    /// How many keys the in-memory store counts exactly at the same time.
    pub(super) memory: Option<Placed<WrittenMemory>>,
}

/// A limit of the list `shared`.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct SharedLimit(pub(super) WrittenLimit);

/// Named limits, and what happens past them or without a store.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = schemas::limits_or_preset)]
pub(super) struct WrittenPolicy {
    /// The name by which requests select the policy.
    #[schemars(required)]
    pub(super) name: Option<Placed<NameText>>,
    /// What the policy does while its store fails. There is no default: somebody has to decide.
    #[schemars(required)]
    pub(super) failure_mode: Option<Placed<Word<FailureMode>>>,
    /// What the policy guards. Where somebody could get in, it must fail closed. Unless given, a
    /// preset or one of the classes `login`, `otp`, `step_up`, `auth`, `admin`, `read`, `write`,
    /// `bulk`, `health` and `metadata` says it.
    #[serde(default, deserialize_with = "present")]
    pub(super) protects: Option<Placed<Word<Protects>>>,
    /// Ready-made limits. A limit of the list `limits` replaces the ready-made one of the same
    /// name; the others come after them.
    #[serde(default, deserialize_with = "present")]
    pub(super) preset: Option<Placed<Word<Preset>>>,
    /// The endpoint class that the policy is bound to: its limits count by this class, whatever a
    /// request claims.
    #[serde(default, deserialize_with = "present")]
    pub(super) class: Option<Placed<NameText>>,
    /// What happens to a request past a limit; `reject` unless given.
    #[serde(default, deserialize_with = "present")]
    pub(super) overflow: Option<Placed<Word<Overflow>>>,
    /// How long the store may take for one decision, from 1ms to 2s; a later answer is a failure.
    /// Unless given, 250ms where somebody could get in and 100ms elsewhere.
    #[serde(default, deserialize_with = "present")]
    pub(super) deadline: Option<Placed<DurationText>>,
    /// How many nodes share the limits of a policy that protects `outbound` calls: in an outage of the
    /// store each node has that part of every limit. 10 unless given.
    #[serde(default, deserialize_with = "present")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(super) fleet_size: Option<Placed<WrittenNumber>>,
    /// The limits of the policy. A request is admitted if all of them have room.
    #[schemars(length(min = 1, max = tidegate_core::MAX_LIMITS))]
    pub(super) limits: Option<Placed<Vec<Placed<WrittenLimit>>>>,
}

/// How many keys in use are counted exactly, for each shape. Keys that do not fit are counted
/// coarsely.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenMemory {
    /// Buckets: about 60 bytes each.
    pub(super) buckets: Option<Placed<WrittenNumber>>,
    /// Quotas: about 60 bytes each.
    pub(super) quotas: Option<Placed<WrittenNumber>>,
    /// Windows: about 1,080 bytes each.
    pub(super) windows: Option<Placed<WrittenNumber>>,
    /// Attempts: about 150 bytes each.
    pub(super) attempts: Option<Placed<WrittenNumber>>,
}

// === impl SharedLimit ===

impl JsonSchema for SharedLimit {
    fn schema_name() -> Cow<'static, str> {
        "SharedLimit".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = WrittenLimit::json_schema(generator);
        schemas::limit_of_its_own(&mut schema);
        schema.insert(
            "description".into(),
            "One rule that several policies count together: who is counted, and in which shape."
                .into(),
        );
        schema
    }
}
