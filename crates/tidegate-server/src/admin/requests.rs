//! Requests of operators, read as strictly as requests for decisions.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use tidegate_core::{Cost, Dimension, Level, Span};

use crate::problem::{Kind, Problem};
use crate::settings::Length;
use crate::wire::ask::Facts;
use crate::wire::query::pairs;
use crate::wire::requests::{FactsSeed, NOT_A_NAME, is_name, once};
use crate::wire::strict::{Key, Text, Trail, read};

/// The counters that an operator means: those of a subject under a policy.
#[derive(Debug, PartialEq)]
pub(crate) struct Target<'a> {
    pub(crate) policy: Cow<'a, str>,
    pub(crate) facts: Facts<'a>,
    /// The limit whose counter is meant; if absent, all limits that count the subject.
    pub(crate) limit: Option<Cow<'a, str>>,
}

/// The blocks that an operator wants lifted.
#[expect(clippy::large_enum_variant, reason = "one at a time, on the stack of its request")]
#[derive(Debug, PartialEq)]
pub(crate) enum Lift<'a> {
    /// The blocks of a subject.
    Of(Target<'a>),
    /// One block, by its key in the list of blocks.
    Listed(Cow<'a, str>),
}

/// The page of the list of blocks that an operator asks for.
#[derive(Debug, PartialEq)]
pub(crate) struct Listing<'a> {
    pub(crate) after: Option<Cow<'a, str>>,
    pub(crate) at_most: usize,
}

/// The longest block that an operator can set, 30 days: one that never ends would be forgotten.
const LONGEST: Span = Span::from_secs(30 * 86_400);

/// The most counters that one page of the list looks at, and the default.
const MOST_ON_A_PAGE: usize = 1_000;

/// The most bytes of a key or a cursor; those of every store are shorter.
const LONGEST_NAME: usize = 1_024;

/// Reads the body of `/admin/block`: the counters, how long the block lasts, and its level if it has one.
pub(crate) fn block(bytes: &[u8]) -> Result<(Target<'_>, Span, Option<Level>), Problem> {
    const FIELDS: &[Field] =
        &[Field::Policy, Field::Subject, Field::Limit, Field::For, Field::Level];
    let names = "`policy`, `subject`, `limit`, and `for` or `level`";
    let order = order(bytes, FIELDS, names)?;
    let (lasts, level) = match (order.lasts, order.level) {
        (Some(lasts), None) => (lasts, None),
        (None, Some(level)) => (level.lasts(), Some(level)),
        (None, None) => {
            let detail = "say for how long: `for`, as in 15min, or a `level` from L1 to L6";
            return Err(Kind::InvalidField.problem(detail).about("/for"));
        }
        (Some(_), Some(_)) => {
            let detail = "a level has its own length: write `for` or `level`, not both";
            return Err(Kind::InvalidField.problem(detail).about("/level"));
        }
    };
    Ok((order.target()?, lasts, level))
}

/// Reads the body of `/admin/unblock`.
pub(crate) fn unblock(bytes: &[u8]) -> Result<Lift<'_>, Problem> {
    const FIELDS: &[Field] = &[Field::Policy, Field::Subject, Field::Limit, Field::Key];
    let mut order = order(bytes, FIELDS, "`policy`, `subject` and `limit`, or `key` alone")?;
    match order.key.take() {
        None => Ok(Lift::Of(order.target()?)),
        Some(key) if order == Order::default() => Ok(Lift::Listed(key)),
        Some(_) => {
            let detail = "a key names one counter: leave out `policy`, `subject` and `limit`";
            Err(Kind::InvalidField.problem(detail).about("/key"))
        }
    }
}

/// Reads the body of `/admin/reset`.
pub(crate) fn reset(bytes: &[u8]) -> Result<Target<'_>, Problem> {
    const FIELDS: &[Field] = &[Field::Policy, Field::Subject, Field::Limit];
    order(bytes, FIELDS, "`policy`, `subject` and `limit`")?.target()
}

/// Reads the query of `/admin/blocks`.
pub(crate) fn listing(query: &str) -> Result<Listing<'_>, Problem> {
    let (mut after, mut at_most) = (None, None);
    for pair in pairs(query) {
        let (name, value) = pair?;
        let (field, first) = match &*name {
            "after" if value.len() > LONGEST_NAME => {
                return Err(wrong("/after", "this is not the `next` of an earlier page"));
            }
            "after" => ("/after", after.replace(value).is_none()),
            "at_most" => {
                let number = value.parse().ok();
                let number = number.filter(|number| (1..=MOST_ON_A_PAGE).contains(number));
                let number = number.ok_or_else(|| {
                    wrong("/at_most", format!("write a number from 1 to {MOST_ON_A_PAGE}"))
                })?;
                ("/at_most", at_most.replace(number).is_none())
            }
            _ => return Err(wrong("", "the only parameters are `after` and `at_most`")),
        };
        if !first {
            return Err(wrong(field, "this parameter is given twice"));
        }
    }
    Ok(Listing { after, at_most: at_most.unwrap_or(MOST_ON_A_PAGE) })
}

/// Reads the query of `/admin/quotas`: the organisation, and the other facts that its quotas count by.
pub(crate) fn quotas(query: &str) -> Result<Facts<'_>, Problem> {
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
    Kind::InvalidField.problem(detail).about(field)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Policy,
    Subject,
    Limit,
    For,
    Level,
    Key,
}

/// Every field that the body of an operator's request can have; each endpoint allows some of them.
#[derive(Debug, Default, PartialEq)]
struct Order<'a> {
    policy: Option<Cow<'a, str>>,
    facts: Option<Facts<'a>>,
    limit: Option<Cow<'a, str>>,
    lasts: Option<Span>,
    level: Option<Level>,
    key: Option<Cow<'a, str>>,
}

struct OrderVisitor<'t> {
    trail: &'t Trail,
    fields: &'static [Field],
    names: &'static str,
}

fn order<'a>(
    bytes: &'a [u8],
    fields: &'static [Field],
    names: &'static str,
) -> Result<Order<'a>, Problem> {
    read(bytes, |json, trail| json.deserialize_map(OrderVisitor { trail, fields, names }))
}

// === impl Order ===

impl<'a> Order<'a> {
    fn target(self) -> Result<Target<'a>, Problem> {
        let required = |field| wrong(field, "this field is required");
        Ok(Target {
            policy: self.policy.ok_or_else(|| required("/policy"))?,
            facts: self.facts.ok_or_else(|| required("/subject"))?,
            limit: self.limit,
        })
    }
}

// === impl Field ===

impl Field {
    fn of(name: &str) -> Option<(Self, &'static str)> {
        Some(match name {
            "policy" => (Self::Policy, "policy"),
            "subject" => (Self::Subject, "subject"),
            "limit" => (Self::Limit, "limit"),
            "for" => (Self::For, "for"),
            "level" => (Self::Level, "level"),
            "key" => (Self::Key, "key"),
            _ => return None,
        })
    }
}

// === impl OrderVisitor ===

impl<'de> Visitor<'de> for OrderVisitor<'_> {
    type Value = Order<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with {}", self.names)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Order<'de>, M::Error> {
        let Self { trail, fields, names } = self;
        let mut order = Order::default();
        let of = |name: &str| Field::of(name).filter(|(field, _)| fields.contains(field));
        while let Some(field) = map.next_key_seed(Key { trail, within: "", of, names })? {
            match field {
                Field::Subject => {
                    let value = map.next_value_seed(FactsSeed(trail))?;
                    trail.at("", "subject");
                    once(trail, &mut order.facts, value)?;
                }
                Field::Policy | Field::Limit => {
                    let text = map.next_value_seed(Text)?;
                    if !is_name(&text) {
                        return Err(trail.wrong(match field {
                            Field::Policy => NOT_A_NAME,
                            _ => "this cannot be the name of a limit",
                        }));
                    }
                    let is_policy = field == Field::Policy;
                    let slot = if is_policy { &mut order.policy } else { &mut order.limit };
                    once(trail, slot, text)?;
                }
                Field::For => {
                    let lasts = lasts(&map.next_value_seed(Text)?);
                    once(trail, &mut order.lasts, lasts.map_err(|detail| trail.wrong(detail))?)?;
                }
                Field::Level => {
                    let text = map.next_value_seed(Text)?;
                    let level = Level::ALL.into_iter().find(|level| level.to_string() == text);
                    let level = level.ok_or_else(|| trail.wrong("write a level from L1 to L6"))?;
                    once(trail, &mut order.level, level)?;
                }
                Field::Key => {
                    let text = map.next_value_seed(Text)?;
                    if text.len() > LONGEST_NAME {
                        return Err(trail.wrong("this is longer than any key"));
                    }
                    once(trail, &mut order.key, text)?;
                }
            }
        }
        Ok(order)
    }
}

/// Parses how long a block lasts, such as `15min`.
fn lasts(text: &str) -> Result<Span, String> {
    let length = text.parse::<Length>().map_err(|error| error.to_string())?;
    let micros = u64::try_from(length.0.as_micros()).unwrap_or(u64::MAX);
    let span = Span::from_micros(micros);
    match (Span::from_secs(1)..=LONGEST).contains(&span) {
        true => Ok(span),
        false => Err("a block lasts from 1s to 30d".to_owned()),
    }
}

#[cfg(test)]
mod tests;
