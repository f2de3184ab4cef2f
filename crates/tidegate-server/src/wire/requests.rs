//! Request bodies: read strictly, borrowed from the bytes that came.
//!
//! Derived readers would do but for one thing: they cannot say which field is wrong.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tidegate_core::{Cost, CostError, Dimension, MAX_EXACT, Name, Ticket};

use super::ask::{Ask, FactNames, Facts};
use super::strict::{Key, Text, Trail, read};
use crate::problem::Problem;

/// A request to settle a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settle<'a> {
    pub(crate) ticket: Cow<'a, str>,
    pub(crate) cost: u64,
}

/// The most requests in a batch.
pub(crate) const MAX_BATCH: usize = 100;

/// Reads the body of `/v1/decide` and `/v1/peek`.
pub(crate) fn ask(bytes: &[u8]) -> Result<Ask<'_>, Problem> {
    read(bytes, |json, trail| json.deserialize_map(AskVisitor(trail)))
}

/// Reads the body of `/v1/settle`.
pub(crate) fn settle(bytes: &[u8]) -> Result<Settle<'_>, Problem> {
    read(bytes, |json, trail| json.deserialize_map(SettleVisitor(trail)))
}

/// Reads the body of `/v1/decide/batch`, all of it before anything is decided: if one request is wrong,
/// nothing has been charged, and the whole batch can be sent again.
pub(crate) fn batch(bytes: &[u8]) -> Result<Vec<Ask<'_>>, Problem> {
    let requests = read(bytes, |json, trail| json.deserialize_map(BatchVisitor(trail)))?;
    let mut asks = Vec::with_capacity(requests.len());
    for (place, request) in requests.into_iter().enumerate() {
        let read = ask(request.get().as_bytes());
        asks.push(read.map_err(|problem| problem.under(&format!("/requests/{place}")))?);
    }
    Ok(asks)
}

struct AskVisitor<'t>(&'t Trail);
pub(crate) struct FactsSeed<'t>(pub(crate) &'t Trail);
struct CostSeed<'t>(&'t Trail, Least);
struct SettleVisitor<'t>(&'t Trail);
struct BatchVisitor<'t>(&'t Trail);
struct RequestsSeed<'t>(&'t Trail);

/// The smallest number that a cost may be: one in a request, zero in a settlement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Least {
    Zero,
    One,
}

// === impl AskVisitor ===

enum AskField {
    Policy,
    Subject,
    Cost,
}

impl<'de> Visitor<'de> for AskVisitor<'_> {
    type Value = Ask<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `policy`, `subject` and `cost`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Ask<'de>, M::Error> {
        let trail = self.0;
        let (mut policy, mut facts, mut cost) = (None, None, None);
        let key = || Key {
            trail,
            within: "",
            of: |name: &str| match name {
                "policy" => Some((AskField::Policy, "policy")),
                "subject" => Some((AskField::Subject, "subject")),
                "cost" => Some((AskField::Cost, "cost")),
                _ => None,
            },
            names: "`policy`, `subject` and `cost`",
        };
        while let Some(field) = map.next_key_seed(key())? {
            match field {
                AskField::Policy => {
                    let text = map.next_value_seed(Text)?;
                    if !is_name(&text) {
                        return Err(trail.wrong(NOT_A_NAME));
                    }
                    once(trail, &mut policy, text)?;
                }
                AskField::Subject => {
                    let value = map.next_value_seed(FactsSeed(trail))?;
                    trail.at("", "subject");
                    once(trail, &mut facts, value)?;
                }
                AskField::Cost => {
                    let value = map.next_value_seed(CostSeed(trail, Least::One))?;
                    once(trail, &mut cost, value)?;
                }
            }
        }
        let policy = required(trail, "policy", policy)?;
        let cost = Cost::try_new(cost.unwrap_or(1)).map_err(|error| wrong_cost(trail, error))?;
        Ok(Ask { policy, facts: facts.unwrap_or_default(), cost })
    }
}

/// Whether a text can be a [`Name`] at all, without making one.
#[inline]
pub(crate) fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.');
    (1..=Name::MAX_LEN).contains(&text.len()) && text.bytes().all(allowed)
}

pub(crate) const NOT_A_NAME: &str =
    "this cannot be the name of a policy: they have 1 to 64 of a-z, 0-9, `_`, `-` and `.`";

/// Stores the value of a field; an error if the field was there before.
#[inline]
pub(crate) fn once<T, E: Error>(trail: &Trail, slot: &mut Option<T>, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(trail.wrong("this field is given twice")),
    }
}

fn required<T, E: Error>(trail: &Trail, field: &'static str, value: Option<T>) -> Result<T, E> {
    value.ok_or_else(|| {
        trail.at("", field);
        trail.wrong("this field is required")
    })
}

fn wrong_cost<E: Error>(trail: &Trail, error: CostError) -> E {
    trail.wrong(error.to_string())
}

// === impl FactsSeed ===

impl<'de> DeserializeSeed<'de> for FactsSeed<'_> {
    type Value = Facts<'de>;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Facts<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FactsSeed<'_> {
    type Value = Facts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the facts about who asks")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Facts<'de>, M::Error> {
        let trail = self.0;
        let mut facts = Facts::default();
        let key = || Key {
            trail,
            within: "/subject",
            of: |name: &str| Dimension::told_as(name).map(|fact| (fact, fact.name())),
            names: FactNames,
        };
        while let Some(fact) = map.next_key_seed(key())? {
            let text = map.next_value_seed(Text)?;
            facts.tell(fact, text).map_err(|unfit| trail.wrong(unfit.detail("field")))?;
        }
        Ok(facts)
    }
}

// === impl CostSeed ===

impl<'de> DeserializeSeed<'de> for CostSeed<'_> {
    type Value = u64;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_u64(self)
    }
}

impl Visitor<'_> for CostSeed<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    #[inline]
    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        match (number, self.1) {
            (0, Least::Zero) => Ok(0),
            _ => Cost::try_new(number).map(Cost::get).map_err(|error| wrong_cost(self.0, error)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(wrong_cost(self.0, CostError::NotAWholeNumber)),
        }
    }

    /// Reads numbers with a point or an exponent, and those that are too large for an integer. In JSON
    /// Schema `21.0` is an integer, and many clients write it so.
    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        if number.fract() != 0.0 || number < 0.0 {
            return Err(wrong_cost(self.0, CostError::NotAWholeNumber));
        }
        if number > EXACT {
            return Err(wrong_cost(self.0, CostError::TooLarge));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and from zero to the largest that is exact"
        )]
        self.visit_u64(number as u64)
    }
}

/// [`MAX_EXACT`] as a float, which is exactly the same number.
#[expect(clippy::cast_precision_loss, reason = "it is the largest that loses nothing")]
const EXACT: f64 = MAX_EXACT as f64;

// === impl SettleVisitor ===

enum SettleField {
    Ticket,
    Cost,
}

impl<'de> Visitor<'de> for SettleVisitor<'_> {
    type Value = Settle<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `ticket` and `cost`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Settle<'de>, M::Error> {
        let trail = self.0;
        let (mut ticket, mut cost) = (None, None);
        let key = || Key {
            trail,
            within: "",
            of: |name: &str| match name {
                "ticket" => Some((SettleField::Ticket, "ticket")),
                "cost" => Some((SettleField::Cost, "cost")),
                _ => None,
            },
            names: "`ticket` and `cost`",
        };
        while let Some(field) = map.next_key_seed(key())? {
            match field {
                SettleField::Ticket => {
                    let text = map.next_value_seed(Text)?;
                    if text.chars().count() > Ticket::MAX_TEXT {
                        return Err(trail.wrong("this is longer than any ticket"));
                    }
                    once(trail, &mut ticket, text)?;
                }
                SettleField::Cost => {
                    let value = map.next_value_seed(CostSeed(trail, Least::Zero))?;
                    once(trail, &mut cost, value)?;
                }
            }
        }
        let ticket = required(trail, "ticket", ticket)?;
        let cost = required(trail, "cost", cost)?;
        Ok(Settle { ticket, cost })
    }
}

// === impl BatchVisitor ===

impl<'de> Visitor<'de> for BatchVisitor<'_> {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `requests`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let trail = self.0;
        let mut requests = None;
        let key = || Key {
            trail,
            within: "",
            of: |name: &str| (name == "requests").then_some(((), "requests")),
            names: "`requests` only",
        };
        while map.next_key_seed(key())?.is_some() {
            once(trail, &mut requests, map.next_value_seed(RequestsSeed(trail))?)?;
        }
        required(trail, "requests", requests)
    }
}

// === impl RequestsSeed ===

impl<'de> DeserializeSeed<'de> for RequestsSeed<'_> {
    type Value = Vec<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RequestsSeed<'_> {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of requests")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut requests = Vec::new();
        while let Some(request) = seq.next_element()? {
            if requests.len() == MAX_BATCH {
                return Err(self.0.wrong(format!("a batch has at most {MAX_BATCH} requests")));
            }
            requests.push(request);
        }
        if requests.is_empty() {
            return Err(self.0.wrong("a batch has at least one request"));
        }
        Ok(requests)
    }
}

#[cfg(test)]
mod tests;
