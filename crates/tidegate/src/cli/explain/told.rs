//! An explanation: read from the server's JSON, and shown to people.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use tidegate_core::Span;

use crate::cli::reading::ShownReading;
use crate::text::{TextTable, escaped, in_words};

/// The part of an explanation's JSON that is shown.
#[derive(Debug, Deserialize)]
pub(super) struct ShownExplanation {
    policy: String,
    /// `None` if no limit applies.
    verdict: Option<String>,
    /// `None` if no limit applies, or the server is an older one.
    mode: Option<String>,
    limits: Vec<Explained>,
}

#[derive(Debug, Deserialize)]
struct Explained {
    limit: Limit,
    applies: bool,
    missing: Vec<String>,
    reading: Option<ShownReading>,
}

#[derive(Debug, Deserialize)]
struct Limit {
    name: String,
    scope: String,
    shadow: bool,
    settles: bool,
    #[serde(default)]
    forgives: bool,
    #[serde(default)]
    outcome: Vec<u16>,
    unless: Option<String>,
    only: Option<String>,
    distinct: Option<String>,
    cost: Cost,
    shape: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Cost {
    PerRequest(u64),
    PerUnit(u64),
}

// === impl ShownExplanation ===

impl fmt::Display for ShownExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode.as_deref() {
            None | Some("normal") => String::new(),
            Some(mode) => format!(" ({mode}: the store does not decide)"),
        };
        let verdict = match self.verdict.as_deref() {
            Some(verdict) => format!("such a request would get: {verdict}{mode}"),
            None => "no limit applies, so such a request could not be decided".to_owned(),
        };
        writeln!(f, "{}\n", escaped(&format!("policy `{}`: {verdict}", self.policy)))?;
        let mut table = TextTable::headed(["", "limit", "by", "numbers", "now"]);
        for explained in &self.limits {
            table.row(&explained.cells());
        }
        write!(f, "{table}")
    }
}

// === impl Explained ===

impl Explained {
    fn cells(&self) -> [String; 5] {
        let Limit { name, scope, .. } = &self.limit;
        let applies = if self.applies { "+" } else { "-" }.to_owned();
        [applies, name.clone(), scope.clone(), self.limit.numbers(), self.now()]
    }

    fn now(&self) -> String {
        match &self.reading {
            Some(reading) => match reading.block() {
                Some(block) => format!("{} left; {block}", reading.left()),
                None => {
                    let room = reading.room(["", "; room in", "; never room for this much"]);
                    format!("{} left{room}", reading.left())
                }
            },
            None if self.applies => "not known".to_owned(),
            None => format!("does not apply; {}", self.why_not()),
        }
    }

    /// Why the limit does not apply.
    fn why_not(&self) -> String {
        match (self.missing.as_slice(), &self.limit.unless, &self.limit.only) {
            ([], Some(known), None) => format!("{known} is given"),
            ([], None, Some(only)) => format!("for {only} only"),
            ([], Some(known), Some(only)) => {
                format!("for {only} only, and not if {known} is given")
            }
            (missing, ..) => format!("not given: {}", missing.join(", ")),
        }
    }
}

// === impl Limit ===

impl Limit {
    fn numbers(&self) -> String {
        let cost = match self.cost {
            Cost::PerUnit(1) => String::new(),
            Cost::PerUnit(units) => format!("; {units} for each unit of cost"),
            Cost::PerRequest(units) => format!("; {units} for each request"),
        };
        let distinct = self.distinct.as_ref().map(|of| format!("; distinct {of}"));
        let unless = self.unless.as_ref().map(|known| format!("; unless {known}"));
        let only = self.only.as_ref().map(|only| format!("; {only} only"));
        let who = [distinct, unless, only].map(Option::unwrap_or_default).concat();
        let codes: Vec<String> = self.outcome.iter().map(u16::to_string).collect();
        let settles = match (self.forgives, self.settles) {
            _ if !codes.is_empty() => format!("; answers {}", codes.join(", ")),
            (true, _) => "; forgives".into(),
            (false, true) => "; settles".into(),
            (false, false) => String::new(),
        };
        let shadow = if self.shadow { "; shadow" } else { "" };
        // The fields of a shape that is not known are shown as they are.
        let shape = numbers(&self.shape).unwrap_or_else(|| {
            let fields = self.shape.as_object().into_iter().flatten();
            let told: Vec<_> = fields.map(|(name, value)| format!("{name} {value}")).collect();
            told.join(", ")
        });
        format!("{shape}{who}{cost}{settles}{shadow}")
    }
}

/// The numbers of a shape; `None` if it is one that this command does not know.
fn numbers(shape: &Value) -> Option<String> {
    let number = |name: &str| shape[name].as_u64();
    let length = |of: &Value, name: &str| of[name].as_u64().map(in_words);
    let reached = |of: &Value| {
        Some(format!("at {} in any {}", of["block_at"].as_u64()?, length(of, "per_us")?))
    };
    let blocks = |of: &Value| Some(format!("{} for {}", reached(of)?, length(of, "block_us")?));
    let attempts = if shape["counts_attempts"] == true { ", refused attempts too" } else { "" };
    Some(match shape["kind"].as_str()? {
        "bucket" => {
            let (units, per, burst) = (number("units")?, unit(number("per_us")?), number("burst")?);
            format!("{units}/{per}, burst {burst}")
        }
        "window" => format!("{} in any {}{attempts}", number("count")?, length(shape, "per_us")?),
        "quota" => format!("{} {}{attempts}", number("count")?, period(&shape["period"])?),
        "attempts" => {
            let [temp, long, ladder] = ["temp", "long", "ladder"].map(|name| &shape[name]);
            match (ladder["from"].as_str(), ladder["to"].as_str()) {
                (Some(from), Some(to)) => format!("block {}, {from} to {to}", reached(temp)?),
                _ if long.is_null() => format!("block {}", blocks(temp)?),
                _ => format!("block {}, {}", blocks(temp)?, blocks(long)?),
            }
        }
        _ => return None,
    })
}

/// The period of a quota; `None` if it is one that this command does not know.
fn period(period: &Value) -> Option<String> {
    let length = || period["per_us"].as_u64().map(in_words);
    let text = |name: &str| period[name].as_str();
    Some(match text("kind")? {
        "fixed" => format!("every {}", length()?),
        "first_use" => format!("within {} of the first", length()?),
        "calendar" => match (text("unit")?, text("zone")?, period["anchor_day"].as_u64()?) {
            (unit, zone, 1) => format!("per {unit}, {zone}"),
            ("month", zone, day) => format!("per month from day {day}, {zone}"),
            (unit, zone, _) => format!("per {unit}, {zone}"),
        },
        _ => return None,
    })
}

/// The unit after the slash of a rate, as it is written in a policy file.
fn unit(micros: u64) -> String {
    match Span::from_micros(micros) {
        Span::SECOND => "s".to_owned(),
        Span::MINUTE => "min".to_owned(),
        Span::HOUR => "h".to_owned(),
        Span::DAY => "d".to_owned(),
        other => other.to_string(),
    }
}
