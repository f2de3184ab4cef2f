//! An explanation: read from the server's JSON, and shown to people.

use std::fmt;

use serde::Deserialize;
use tidegate_core::Span;

use crate::cli::blocked::Attempts;
use crate::text::{Table, escaped, in_words};

/// The part of an explanation's JSON that is shown.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
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
    reading: Option<Reading>,
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
    #[serde(default)]
    only: Option<String>,
    distinct: Option<String>,
    cost: Cost,
    shape: Shape,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Cost {
    PerRequest(u64),
    PerUnit(u64),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Shape {
    Bucket {
        units: u64,
        per_us: u64,
        burst: u64,
    },
    Window {
        count: u64,
        per_us: u64,
        counts_attempts: bool,
    },
    Quota {
        count: u64,
        period: Period,
        counts_attempts: bool,
    },
    Attempts {
        temp: Threshold,
        long: Option<Threshold>,
        ladder: Option<Ladder>,
    },
    /// A shape that this command does not know: its fields are shown as they are.
    #[serde(untagged)]
    Other(serde_json::Map<String, serde_json::Value>),
}

#[derive(Debug, Deserialize)]
struct Threshold {
    block_at: u64,
    per_us: u64,
    block_us: u64,
}

#[derive(Debug, Deserialize)]
struct Ladder {
    from: String,
    to: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Period {
    Fixed { per_us: u64 },
    FirstUse { per_us: u64 },
    Calendar { unit: String, zone: String, anchor_day: u8 },
}

#[derive(Debug, Deserialize)]
struct Reading {
    capacity: u64,
    remaining: i64,
    room: String,
    retry_after_us: Option<u64>,
    /// `None` if the limit is of another shape.
    attempts: Option<Attempts>,
}

// === impl Told ===

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict.as_deref() {
            Some(verdict) => format!("such a request would get: {verdict}{}", self.mode()),
            None => "no limit applies, so such a request could not be decided".to_owned(),
        };
        writeln!(f, "{}\n", escaped(&format!("policy `{}`: {verdict}", self.policy)))?;
        let mut table = Table::headed(["", "limit", "by", "numbers", "now"]);
        for explained in &self.limits {
            table.row(&explained.cells());
        }
        write!(f, "{table}")
    }
}

impl Told {
    /// The mode in words; empty if it is `normal` or not known.
    fn mode(&self) -> String {
        match self.mode.as_deref() {
            None | Some("normal") => String::new(),
            Some(mode) => format!(" ({mode}: the store does not decide)"),
        }
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
            Some(reading) => reading.to_string(),
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
        format!("{}{who}{cost}{settles}{shadow}", self.shape)
    }
}

// === impl Shape ===

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = match self {
            Self::Window { counts_attempts: true, .. }
            | Self::Quota { counts_attempts: true, .. } => ", refused attempts too",
            _ => "",
        };
        match self {
            Self::Bucket { units, per_us, burst } => {
                write!(f, "{units}/{}, burst {burst}", unit(*per_us))
            }
            Self::Window { count, per_us, .. } => {
                write!(f, "{count} in any {}{attempts}", in_words(*per_us))
            }
            Self::Quota { count, period, .. } => write!(f, "{count} {period}{attempts}"),
            Self::Attempts { temp, ladder: Some(Ladder { from, to }), .. } => {
                let Threshold { block_at, per_us, .. } = temp;
                write!(f, "block at {block_at} in any {}, {from} to {to}", in_words(*per_us))
            }
            Self::Attempts { temp, long: Some(long), .. } => write!(f, "block {temp}, {long}"),
            Self::Attempts { temp, .. } => write!(f, "block {temp}"),
            Self::Other(fields) => {
                let told: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
                f.write_str(&told.join(", "))
            }
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (per, block) = (in_words(self.per_us), in_words(self.block_us));
        write!(f, "at {} in any {per} for {block}", self.block_at)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed { per_us } => write!(f, "every {}", in_words(*per_us)),
            Self::FirstUse { per_us } => write!(f, "within {} of the first", in_words(*per_us)),
            Self::Calendar { unit, zone, anchor_day } if unit == "month" && *anchor_day != 1 => {
                write!(f, "per month from day {anchor_day}, {zone}")
            }
            Self::Calendar { unit, zone, .. } => write!(f, "per {unit}, {zone}"),
        }
    }
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

// === impl Reading ===

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} left", self.remaining, self.capacity)?;
        if let Some(block) = self.attempts.as_ref().and_then(|attempts| attempts.block.as_ref()) {
            return write!(f, "; {block}");
        }
        match (self.room.as_str(), self.retry_after_us) {
            ("now", _) => Ok(()),
            ("after", Some(wait)) => write!(f, "; room in {}", in_words(wait)),
            _ => f.write_str("; never room for this much"),
        }
    }
}
