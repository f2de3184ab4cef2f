//! Attempts as they are written: two windows with blocks of fixed length, or one window and a
//! ladder.

use core::fmt;

use schemars::{JsonSchema, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tidegate_core::{Level, MAX_BLOCK_AT};

use super::present;
use super::scalar::{DurationText, WrittenNumber};
use super::schemas::{inlined, one_manner};
use super::word::Word;
use crate::file::place::Placed;

/// A count of tries, and a block when there are too many. Either `temp`, and `long` if wanted:
/// every try counts, and blocks have a fixed length. Or `block_at`, `per` and `ladder`: tries that
/// are refused leave no trace, and blocks that come often grow longer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Attempts", transform = one_manner)]
pub(in crate::file) struct AttemptsNumbers {
    /// The short window, and its block.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) temp: Option<Placed<ThresholdNumbers>>,
    /// A longer window with a larger threshold, and its block.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) long: Option<Placed<ThresholdNumbers>>,
    /// The attempt that is refused and begins a block: 5 lets 4 pass.
    #[serde(default, deserialize_with = "present")]
    #[schemars(range(min = 2, max = MAX_BLOCK_AT))]
    pub(in crate::file) block_at: Option<Placed<WrittenNumber>>,
    /// The length of the window.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) per: Option<Placed<DurationText>>,
    /// The levels that blocks climb: `all`, or some of L1 (15 s), L2 (1 min), L3 (5 min), L4 (30 min),
    /// L5 (6 h) and L6 (24 h).
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) ladder: Option<Placed<LadderText>>,
}

/// When attempts become too many, and for how long that blocks.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Threshold", extend("minProperties" = 1))]
pub(in crate::file) struct ThresholdNumbers {
    /// The attempt that is refused and begins the block: 5 lets 4 pass.
    #[schemars(range(min = 2, max = MAX_BLOCK_AT))]
    pub(in crate::file) block_at: Option<Placed<WrittenNumber>>,
    /// The length of the window.
    pub(in crate::file) per: Option<Placed<DurationText>>,
    /// How long the block lasts.
    pub(in crate::file) block: Option<Placed<DurationText>>,
}

/// The levels of a ladder.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::file) enum LadderText {
    /// A word, which has to be `all`.
    Word(String),
    /// The levels from one to another.
    Some(Levels),
}

/// The level at which blocks begin, and the level they rise to.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct Levels {
    /// The level of the first block; `L1` unless given.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) from: Option<Placed<Word<Level>>>,
    /// The highest level; `L6` unless given.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) to: Option<Placed<Word<Level>>>,
}

/// What can be written as a ladder, for errors.
pub(in crate::file) const LADDER: &str = "`all`, or levels such as `{ from: L1, to: L4 }`";

struct LadderVisitor;

// === impl LadderText ===

impl<'de> Deserialize<'de> for LadderText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LadderVisitor)
    }
}

inlined!(LadderText, "Ladder", |generator| {
    let all = json_schema!({ "const": "all", "description": "All six levels, L1 to L6." });
    json_schema!({ "anyOf": [{ "oneOf": [all] }, generator.subschema_for::<Levels>()] })
});

impl<'de> Visitor<'de> for LadderVisitor {
    type Value = LadderText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LADDER)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<LadderText, E> {
        Ok(LadderText::Word(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LadderText, A::Error> {
        Levels::deserialize(MapAccessDeserializer::new(map)).map(LadderText::Some)
    }
}

// === impl AttemptsNumbers ===

impl AttemptsNumbers {
    /// The number that says how many attempts pass, and where it stands.
    pub(in crate::file) fn block_at(&self) -> Option<&Placed<WrittenNumber>> {
        let of_temp = || self.temp.as_ref().and_then(|temp| temp.value.block_at.as_ref());
        self.block_at.as_ref().or_else(of_temp)
    }

    /// Whether any field of the manner with windows is written.
    pub(in crate::file) const fn has_windows(&self) -> bool {
        self.temp.is_some() || self.long.is_some()
    }

    /// Whether any field of the manner with a ladder is written.
    pub(in crate::file) const fn climbs(&self) -> bool {
        self.block_at.is_some() || self.per.is_some() || self.ladder.is_some()
    }
}
