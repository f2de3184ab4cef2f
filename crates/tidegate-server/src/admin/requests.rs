//! Requests of operators, read as strictly as requests for decisions.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use tidegate_core::{Cost, Dimension, Level, Span};
use tidegate_engine::file::present;
use tidegate_tower::answer::{Code, Problem};
use tidegate_tower::json::{read, text};

use crate::settings::Length;
use crate::wire::ask::AskedFacts;
use crate::wire::query::{once, pairs};
use crate::wire::requests::{is_name, policy};

/// The counters that an operator means: those of a subject under a policy.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OrderTarget<'a> {
    #[serde(borrow, deserialize_with = "policy")]
    pub(crate) policy: Cow<'a, str>,
    #[serde(borrow, rename = "subject")]
    pub(crate) facts: AskedFacts<'a>,
    /// The limit whose counter is meant; if absent, all limits that count the subject.
    #[serde(borrow, default, deserialize_with = "limit")]
    pub(crate) limit: Option<Cow<'a, str>>,
}

/// The blocks that an operator wants lifted.
#[derive(Debug, PartialEq)]
pub(crate) enum Lift<'a> {
    /// The blocks of a subject.
    Of(OrderTarget<'a>),
    /// One block, by its key in the list of blocks.
    Listed(Cow<'a, str>),
}

/// The page of the list of blocks that an operator asks for.
#[derive(Debug, PartialEq)]
pub(crate) struct BlocksQuery<'a> {
    pub(crate) after: Option<Cow<'a, str>>,
    pub(crate) at_most: usize,
}

/// The body of `/admin/block`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocking<'a> {
    #[serde(borrow, deserialize_with = "policy")]
    policy: Cow<'a, str>,
    #[serde(borrow, rename = "subject")]
    facts: AskedFacts<'a>,
    #[serde(borrow, default, deserialize_with = "limit")]
    limit: Option<Cow<'a, str>>,
    #[serde(default, rename = "for", deserialize_with = "lasts")]
    lasts: Option<Span>,
    #[serde(default, deserialize_with = "level")]
    level: Option<Level>,
}

/// The body of `/admin/unblock`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unblocking<'a> {
    #[serde(borrow, default, deserialize_with = "some_policy")]
    policy: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "subject", deserialize_with = "present")]
    facts: Option<AskedFacts<'a>>,
    #[serde(borrow, default, deserialize_with = "limit")]
    limit: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "key")]
    key: Option<Cow<'a, str>>,
}

/// The longest block that an operator can set, 30 days: one that never ends would be forgotten.
const LONGEST: Span = Span::from_secs(30 * 86_400);

/// The most counters that one page of the list looks at, and the default.
const MOST_ON_A_PAGE: usize = 1_000;

/// The most bytes of a key or a cursor; those of every store are shorter.
const LONGEST_NAME: usize = 1_024;

/// Reads the body of `/admin/block`: the counters, how long the block lasts, and its level if it has one.
pub(crate) fn block(bytes: &[u8]) -> Result<(OrderTarget<'_>, Span, Option<Level>), Problem> {
    let Blocking { policy, facts, limit, lasts, level } = read(bytes)?;
    let (lasts, level) = match (lasts, level) {
        (Some(lasts), None) => (lasts, None),
        (None, Some(level)) => (level.lasts(), Some(level)),
        (None, None) => {
            let detail = "say for how long: `for`, as in 15min, or a `level` from L1 to L6";
            return Err(wrong("/for", detail));
        }
        (Some(_), Some(_)) => {
            let detail = "a level has its own length: write `for` or `level`, not both";
            return Err(wrong("/level", detail));
        }
    };
    Ok((OrderTarget { policy, facts, limit }, lasts, level))
}

/// Reads the body of `/admin/unblock`.
pub(crate) fn unblock(bytes: &[u8]) -> Result<Lift<'_>, Problem> {
    let required = |field| wrong(field, "this field is required");
    match read(bytes)? {
        Unblocking { policy, facts, limit, key: None } => Ok(Lift::Of(OrderTarget {
            policy: policy.ok_or_else(|| required("/policy"))?,
            facts: facts.ok_or_else(|| required("/subject"))?,
            limit,
        })),
        Unblocking { policy: None, facts: None, limit: None, key: Some(key) } => {
            Ok(Lift::Listed(key))
        }
        Unblocking { .. } => {
            let detail = "a key names one counter: leave out `policy`, `subject` and `limit`";
            Err(wrong("/key", detail))
        }
    }
}

/// Reads the body of `/admin/reset`.
pub(crate) fn reset(bytes: &[u8]) -> Result<OrderTarget<'_>, Problem> {
    read(bytes)
}

/// Reads the query of `/admin/blocks`.
pub(crate) fn listing(query: &str) -> Result<BlocksQuery<'_>, Problem> {
    let (mut after, mut at_most) = (None, None);
    for pair in pairs(query) {
        let (name, value) = pair?;
        match &*name {
            "after" if value.len() > LONGEST_NAME => {
                return Err(wrong("/after", "this is not the `next` of an earlier page"));
            }
            "after" => once(&mut after, value, &name)?,
            "at_most" => {
                let number = value.parse().ok();
                let number = number.filter(|number| (1..=MOST_ON_A_PAGE).contains(number));
                let number = number.ok_or_else(|| {
                    wrong("/at_most", format!("write a number from 1 to {MOST_ON_A_PAGE}"))
                })?;
                once(&mut at_most, number, &name)?;
            }
            _ => return Err(wrong("", "the only parameters are `after` and `at_most`")),
        }
    }
    Ok(BlocksQuery { after, at_most: at_most.unwrap_or(MOST_ON_A_PAGE) })
}

/// Reads the query of `/admin/quotas`: the organisation, and the other facts that its quotas count by.
pub(crate) fn quotas(query: &str) -> Result<AskedFacts<'_>, Problem> {
    let (facts, cost) = crate::wire::query::facts(query)?;
    if cost != Cost::ONE {
        return Err(wrong("/cost", "nothing is charged; leave it out"));
    }
    match facts.subject().get(Dimension::Org) {
        Some(_) => Ok(facts),
        None => Err(wrong("/org", "this parameter is required")),
    }
}

fn wrong(field: &'static str, detail: impl Into<Cow<'static, str>>) -> Problem {
    Code::InvalidField.problem(detail).about(field)
}

// === fields ===

/// A field that may be left out, but is a text if it is there.
type Optional<'de> = Option<Cow<'de, str>>;

fn some_policy<'de, D: Deserializer<'de>>(from: D) -> Result<Optional<'de>, D::Error> {
    policy(from).map(Some)
}

fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<Optional<'de>, D::Error> {
    let text = text(from)?;
    match is_name(&text) {
        true => Ok(Some(text)),
        false => Err(D::Error::custom("this cannot be the name of a limit")),
    }
}

fn key<'de, D: Deserializer<'de>>(from: D) -> Result<Optional<'de>, D::Error> {
    let text = text(from)?;
    match text.len() > LONGEST_NAME {
        true => Err(D::Error::custom("this is longer than any key")),
        false => Ok(Some(text)),
    }
}

fn level<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Level>, D::Error> {
    let text = text(from)?;
    let level = Level::ALL.into_iter().find(|level| level.to_string() == text);
    level.map(Some).ok_or_else(|| D::Error::custom("write a level from L1 to L6"))
}

/// Reads how long a block lasts, such as `15min`.
fn lasts<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Span>, D::Error> {
    let length = text(from)?.parse::<Length>().map_err(D::Error::custom)?;
    let span = Span::from_micros(u64::try_from(length.0.as_micros()).unwrap_or(u64::MAX));
    match (Span::from_secs(1)..=LONGEST).contains(&span) {
        true => Ok(Some(span)),
        false => Err(D::Error::custom("a block lasts from 1s to 30d")),
    }
}

#[cfg(test)]
mod tests;
