//! Limits and overrides as they are written.

use core::fmt;
use core::marker::PhantomData;
use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tidegate_core::{Dimension, Overflow, Quota, Stage, Window};

use super::attempts::AttemptsNumbers;
use super::present;
use super::scalar::{DurationText, NameText, PeriodText, RateText, WrittenNumber};
use super::schemas::{exactly_one_shape, inlined, limit_in_policy};
use super::word::{Counted, CountedBy, Only, Starts, Word, Words};
use crate::file::place::Placed;

/// One rule: who is counted, in which shape, and for whom the numbers differ. Or `shared` alone: a
/// limit that several policies count together.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = limit_in_policy)]
pub(in crate::file) struct WrittenLimit {
    /// The name of a limit of the list `shared`. Nothing else stands beside it.
    pub(in crate::file) shared: Option<Placed<NameText>>,
    /// The name of the limit in answers and metrics; unique within its policy.
    pub(in crate::file) name: Option<Placed<NameText>>,
    /// What the limit counts by: a dimension, a list of them, or `global`. It applies to requests
    /// of which all of these are known.
    pub(in crate::file) by: Option<Placed<WrittenScope>>,
    /// A smooth rate with a burst.
    pub(in crate::file) bucket: Option<Placed<WrittenBucket>>,
    /// A count in any span of a given length.
    pub(in crate::file) window: Option<Placed<WindowNumbers>>,
    /// A budget per period.
    pub(in crate::file) quota: Option<Placed<QuotaNumbers>>,
    /// A count of tries, and a block when there are too many.
    pub(in crate::file) attempts: Option<Placed<AttemptsNumbers>>,
    /// A dimension, such as `device`: requests of which it is known are exempt from the limit.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) unless: Option<Placed<Word<Dimension>>>,
    /// The only kind of address that the limit is for. Limits by `ip56` and `ip48` beside one by
    /// `ip` say `ipv6`: for an IPv4 address, all three are the same.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) only: Option<Placed<Word<Only>>>,
    /// Count distinct values of this dimension, each of them once; for `attempts`.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) distinct: Option<Placed<Word<Dimension>>>,
    /// Forget all tries counted so far when one is settled at 0 because it succeeded; for
    /// `attempts`. Implies `settles`.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) forgiving: Option<Placed<bool>>,
    /// Count by the answer to a request: the HTTP status codes that count. A request is counted
    /// when it begins, and given back if its answer has none of these codes.
    #[serde(default, deserialize_with = "present")]
    #[schemars(length(min = 1), inner(range(min = 100, max = 599)))]
    pub(in crate::file) outcome: Option<Placed<Vec<Placed<WrittenNumber>>>>,
    /// What a request takes: units for each unit of its weight, or for each request; 1 unless
    /// given.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) cost: Option<Placed<WrittenCost>>,
    /// When the limit is asked; `action` unless given.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) stage: Option<Placed<Word<Stage>>>,
    /// Report what the limit would say, and never refuse.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) shadow: Option<Placed<bool>>,
    /// What happens past the limit; what the policy says unless given. A limit that says `degrade` never
    /// refuses: a request that it has no room for passes with a lower quality of service, and counts for
    /// the other limits.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) overflow: Option<Placed<Word<Overflow>>>,
    /// Put what the limit takes on a ticket, so that the real cost can be settled later.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) settles: Option<Placed<bool>>,
    /// Put the limit's name into its keys, to tell them from those of another limit of the same
    /// scope and period.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) named_key: Option<Placed<bool>>,
    /// Other numbers in some environments, which the list `environments` declares. Overrides then
    /// change those numbers.
    #[serde(default, rename = "in", deserialize_with = "present")]
    pub(in crate::file) elsewhere: Option<Placed<In>>,
    /// Other numbers for some requests: exact values are tried first, then patterns in the order of
    /// the list.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) overrides: Option<Placed<Vec<Placed<WrittenOverride>>>>,
}

/// Other numbers for the requests that it matches, in the shape of its limit. What is left out is
/// as the limit says.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = exactly_one_shape)]
pub(in crate::file) struct WrittenOverride {
    /// The requests that the override is for: one dimension of the limit, or `plan`, and its value.
    /// A `*` in the value stands for any text.
    #[serde(rename = "match")]
    #[schemars(required)]
    pub(in crate::file) matches: Option<Placed<Match>>,
    /// The numbers, if the limit is a bucket.
    #[schemars(with = "Option<Partly<WrittenBucket>>")]
    pub(in crate::file) bucket: Option<Placed<WrittenBucket>>,
    /// The numbers, if the limit is a window.
    #[schemars(with = "Option<Partly<WindowNumbers>>")]
    pub(in crate::file) window: Option<Placed<WindowNumbers>>,
    /// The numbers, if the limit is a quota.
    #[schemars(with = "Option<Partly<QuotaNumbers>>")]
    pub(in crate::file) quota: Option<Placed<QuotaNumbers>>,
    /// The numbers, if the limit counts attempts.
    #[schemars(with = "Option<Partly<AttemptsNumbers>>")]
    pub(in crate::file) attempts: Option<Placed<AttemptsNumbers>>,
}

/// Stands in a schema for some of the numbers of a shape: at least one.
struct Partly<T>(PhantomData<T>);

/// A smooth rate, and how much of it may come at once.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct WrittenBucket {
    /// How fast it refills: `10/s`, `600/min`, `100/10s`.
    #[schemars(required)]
    pub(in crate::file) rate: Option<Placed<RateText>>,
    /// How much may come at once.
    #[schemars(required)]
    pub(in crate::file) burst: Option<Placed<WrittenNumber>>,
}

/// At most a count of units in any span of a given length.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Window")]
pub(in crate::file) struct WindowNumbers {
    /// The most units in any such span.
    #[schemars(required, range(min = 1, max = Window::MAX_COUNT))]
    pub(in crate::file) count: Option<Placed<WrittenNumber>>,
    /// The length of the span.
    #[schemars(required)]
    pub(in crate::file) per: Option<Placed<DurationText>>,
    /// Which requests are counted; `admitted` unless given.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) counts: Option<Placed<Word<Counted>>>,
    /// The delay after attempts over the count; for `counts: attempts`.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) backoff: Option<Placed<WrittenBackoff>>,
}

/// A budget of units for each period.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Quota")]
pub(in crate::file) struct QuotaNumbers {
    /// The most units in a period.
    #[schemars(required, range(min = 1, max = Quota::MAX_COUNT))]
    pub(in crate::file) count: Option<Placed<WrittenNumber>>,
    /// `hour`, `day`, `week` or `month` of a calendar, or a duration.
    #[schemars(required)]
    pub(in crate::file) per: Option<Placed<PeriodText>>,
    /// The calendar's time zone, a name of the IANA database; `UTC` unless given.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) zone: Option<Placed<String>>,
    /// The day on which months start, 1 unless given. A month that lacks it starts on its last day.
    #[serde(default, deserialize_with = "present")]
    #[schemars(range(min = 1, max = 31))]
    pub(in crate::file) billing_day: Option<Placed<WrittenNumber>>,
    /// When a period of a fixed length starts; `epoch` unless given.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) starts: Option<Placed<Word<Starts>>>,
    /// Which requests are counted; `admitted` unless given.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) counts: Option<Placed<Word<Counted>>>,
    /// The delay after attempts over the count; for `counts: attempts`.
    #[serde(default, deserialize_with = "present")]
    pub(in crate::file) backoff: Option<Placed<WrittenBackoff>>,
}

/// A delay that grows with every attempt over the count.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct WrittenBackoff {
    /// The delay after the first attempt too many.
    #[schemars(required)]
    pub(in crate::file) base: Option<Placed<DurationText>>,
    /// How many times as long each further delay is; 2 unless given.
    pub(in crate::file) factor: Option<Placed<WrittenNumber>>,
    /// The longest delay.
    #[schemars(required)]
    pub(in crate::file) cap: Option<Placed<DurationText>>,
}

/// What a limit counts by.
#[derive(Clone, Debug)]
pub(in crate::file) enum WrittenScope {
    /// One word.
    One(String),
    /// A list of words.
    Many(Vec<Placed<String>>),
}

/// What a request takes.
#[derive(Clone, Debug)]
pub(in crate::file) enum WrittenCost {
    /// Units for each unit of its weight.
    Plain(WrittenNumber),
    /// A rule: per request, or per unit of weight.
    Rule(WrittenCostRule),
}

/// What a request takes, either for each request or for each unit of its weight.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub(in crate::file) struct WrittenCostRule {
    /// Units for each request, whatever it weighs.
    pub(in crate::file) per_request: Option<Placed<WrittenNumber>>,
    /// Units for each unit of the request's weight.
    pub(in crate::file) per_unit: Option<Placed<WrittenNumber>>,
}

/// The numbers of one environment, in the shape of their limit. What is left out is as the limit says.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = exactly_one_shape)]
pub(in crate::file) struct Elsewhere {
    /// The numbers, if the limit is a bucket.
    #[schemars(with = "Option<Partly<WrittenBucket>>")]
    pub(in crate::file) bucket: Option<Placed<WrittenBucket>>,
    /// The numbers, if the limit is a window.
    #[schemars(with = "Option<Partly<WindowNumbers>>")]
    pub(in crate::file) window: Option<Placed<WindowNumbers>>,
    /// The numbers, if the limit is a quota.
    #[schemars(with = "Option<Partly<QuotaNumbers>>")]
    pub(in crate::file) quota: Option<Placed<QuotaNumbers>>,
    /// The numbers, if the limit counts attempts.
    #[schemars(with = "Option<Partly<AttemptsNumbers>>")]
    pub(in crate::file) attempts: Option<Placed<AttemptsNumbers>>,
}

/// Environments, each with the numbers that hold there.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct In(pub(in crate::file) BTreeMap<Placed<String>, Placed<Elsewhere>>);

/// Dimensions and their values. Only one pair is accepted.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct Match(pub(in crate::file) BTreeMap<Placed<String>, Placed<String>>);

struct ByVisitor;
struct CostVisitor;

// === impl Partly ===

impl<T: JsonSchema> JsonSchema for Partly<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Some{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.remove("required");
        schema.remove("oneOf");
        schema.insert("minProperties".into(), 1.into());
        schema
    }
}

// === impl WrittenScope ===

impl<'de> Deserialize<'de> for WrittenScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ByVisitor)
    }
}

inlined!(WrittenScope, "By", |generator| {
    let one = Word::<CountedBy>::json_schema(generator);
    let dimensions = CountedBy::all().into_iter().map(|(word, ..)| word);
    let listed: Vec<&str> = dimensions.filter(|word| *word != "global").collect();
    let list = json_schema!({
        "type": "array", "items": { "enum": listed }, "minItems": 1, "uniqueItems": true,
    });
    json_schema!({ "anyOf": [one, list] })
});

impl<'de> Visitor<'de> for ByVisitor {
    type Value = WrittenScope;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dimension, a list of dimensions, or `global`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<WrittenScope, E> {
        Ok(WrittenScope::One(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<WrittenScope, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(WrittenScope::Many)
    }
}

// === impl WrittenCost ===

impl<'de> Deserialize<'de> for WrittenCost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CostVisitor)
    }
}

inlined!(WrittenCost, "Cost", |generator| {
    let plain = WrittenNumber::json_schema(generator);
    json_schema!({ "anyOf": [plain, generator.subschema_for::<WrittenCostRule>()] })
});

impl<'de> Visitor<'de> for CostVisitor {
    type Value = WrittenCost;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, `{ per_request: N }` or `{ per_unit: N }`")
    }

    fn visit_u64<E: Error>(self, units: u64) -> Result<WrittenCost, E> {
        Ok(WrittenCost::Plain(WrittenNumber::Whole(units)))
    }

    fn visit_i64<E: Error>(self, units: i64) -> Result<WrittenCost, E> {
        Ok(WrittenCost::Plain(
            u64::try_from(units).map_or(WrittenNumber::Other, WrittenNumber::Whole),
        ))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<WrittenCost, E> {
        Ok(WrittenCost::Plain(WrittenNumber::Other))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<WrittenCost, E> {
        Ok(WrittenCost::Plain(WrittenNumber::Other))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WrittenCost, A::Error> {
        WrittenCostRule::deserialize(MapAccessDeserializer::new(map)).map(WrittenCost::Rule)
    }
}

// === impl In ===

inlined!(In, "In", |generator| json_schema!({
    "type": "object",
    "propertyNames": NameText::json_schema(generator),
    "additionalProperties": generator.subschema_for::<Elsewhere>(),
    "minProperties": 1,
}));

// === impl Match ===

inlined!(Match, "Match", |_| {
    let named: Vec<&str> = <Dimension as Words>::all().into_iter().map(|(word, ..)| word).collect();
    json_schema!({
        "type": "object",
        "propertyNames": { "enum": named },
        "additionalProperties": { "type": ["string", "number", "boolean"] },
        "minProperties": 1,
        "maxProperties": 1,
        "examples": [{ "org": "acme" }, { "org": "trial-*" }],
    })
});
