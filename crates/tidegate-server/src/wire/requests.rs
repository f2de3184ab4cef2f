//! Request bodies: read strictly, borrowed from the bytes that came.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tidegate_core::{Cost, CostError, Dimension, MAX_EXACT, Name, Ticket};
use tidegate_tower::answer::Problem;
use tidegate_tower::json::{read, text};

use super::ask::{Ask, AskedFacts, fact_names};

/// A request to settle a ticket.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settle<'a> {
    #[serde(borrow, deserialize_with = "ticket")]
    pub(crate) ticket: Cow<'a, str>,
    #[serde(deserialize_with = "settled_cost")]
    pub(crate) cost: u64,
}

/// Many requests for decisions, none of them read yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch<'a> {
    #[serde(borrow, deserialize_with = "requests")]
    requests: Vec<&'a RawValue>,
}

/// The most requests in a batch.
pub(crate) const MAX_BATCH: usize = 100;

/// Reads the body of `/v1/decide` and `/v1/peek`.
pub(crate) fn ask(bytes: &[u8]) -> Result<Ask<'_>, Problem> {
    read(bytes)
}

/// Reads the body of `/v1/settle`.
pub(crate) fn settle(bytes: &[u8]) -> Result<Settle<'_>, Problem> {
    read(bytes)
}

/// Reads the body of `/v1/decide/batch`, all of it before anything is decided: if one request is wrong,
/// nothing has been charged, and the whole batch can be sent again.
pub(crate) fn batch(bytes: &[u8]) -> Result<Vec<Ask<'_>>, Problem> {
    let Batch { requests } = read(bytes)?;
    let requests = requests.into_iter().enumerate().map(|(place, request)| {
        let read = ask(request.get().as_bytes());
        read.map_err(|problem| problem.under(&format!("/requests/{place}")))
    });
    requests.collect()
}

/// Whether a text can be a [`Name`] at all, without making one.
#[inline]
pub(crate) fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.');
    (1..=Name::MAX_LEN).contains(&text.len()) && text.bytes().all(allowed)
}

/// Reads the name of a policy.
#[inline]
pub(crate) fn policy<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'de, str>, D::Error> {
    let text = text(from)?;
    match is_name(&text) {
        true => Ok(text),
        false => Err(D::Error::custom(
            "this cannot be the name of a policy: they have 1 to 64 of a-z, 0-9, `_`, `-` and `.`",
        )),
    }
}

fn ticket<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'de, str>, D::Error> {
    let text = text(from)?;
    match text.chars().count() > Ticket::MAX_TEXT {
        true => Err(D::Error::custom("this is longer than any ticket")),
        false => Ok(text),
    }
}

// === costs ===

/// Reads what a request weighs.
#[inline]
pub(super) fn cost<'de, D: Deserializer<'de>>(from: D) -> Result<Cost, D::Error> {
    Cost::try_new(from.deserialize_u64(CostVisitor(1))?).map_err(wrong_cost)
}

/// The weight of a request that names none.
pub(super) const fn one() -> Cost {
    Cost::ONE
}

fn settled_cost<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    from.deserialize_u64(CostVisitor(0))
}

/// Reads a cost of at least so many units: one in a request, zero in a settlement.
struct CostVisitor(u64);

impl Visitor<'_> for CostVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    #[inline]
    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        match (number, self.0) {
            (0, 0) => Ok(0),
            _ => Cost::try_new(number).map(Cost::get).map_err(|error| wrong_cost(error)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(wrong_cost(CostError::NotAWholeNumber)),
        }
    }

    /// Reads numbers with a point or an exponent, and those that are too large for an integer. In JSON
    /// Schema `21.0` is an integer, and many clients write it so.
    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        if number.fract() != 0.0 || number < 0.0 {
            return Err(wrong_cost(CostError::NotAWholeNumber));
        }
        if number > EXACT {
            return Err(wrong_cost(CostError::TooLarge));
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

#[cold]
fn wrong_cost<E: Error>(error: CostError) -> E {
    E::custom(error)
}

// === facts ===

struct FactsVisitor;
struct FactName;

/// Adds the fact that is read to those that are known.
struct Told<'f, 'a>(&'f mut AskedFacts<'a>, Dimension);

impl<'de: 'a, 'a> Deserialize<'de> for AskedFacts<'a> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(FactsVisitor)
    }
}

impl<'de> Visitor<'de> for FactsVisitor {
    type Value = AskedFacts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the facts about who asks")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<AskedFacts<'de>, M::Error> {
        let mut facts = AskedFacts::default();
        while let Some(dimension) = map.next_key_seed(FactName)? {
            map.next_value_seed(Told(&mut facts, dimension))?;
        }
        Ok(facts)
    }
}

impl<'de> DeserializeSeed<'de> for FactName {
    type Value = Dimension;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Dimension, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FactName {
    type Value = Dimension;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a fact")
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<Dimension, E> {
        Dimension::told_as(name).ok_or_else(|| {
            E::custom(format_args!("there is no such field here; there are {}", fact_names()))
        })
    }
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Told<'_, 'a> {
    type Value = ();

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        let told = self.0.tell(self.1, text(from)?);
        told.map_err(|unfit| D::Error::custom(unfit.detail("field")))
    }
}

// === batches ===

fn requests<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<&'de RawValue>, D::Error> {
    from.deserialize_seq(Requests)
}

struct Requests;

impl<'de> Visitor<'de> for Requests {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of requests")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut requests = Vec::new();
        while let Some(request) = seq.next_element()? {
            if requests.len() == MAX_BATCH {
                let most = format_args!("a batch has at most {MAX_BATCH} requests");
                return Err(A::Error::custom(most));
            }
            requests.push(request);
        }
        match requests.is_empty() {
            true => Err(A::Error::custom("a batch has at least one request")),
            false => Ok(requests),
        }
    }
}

#[cfg(test)]
mod tests;
