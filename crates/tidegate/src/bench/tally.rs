//! The result of a load: counts, and how long answers took.

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tidegate_core::{Span, Timestamp};

use super::answer::Outcome;
use crate::text::{Table, in_words};

/// The longest latency that is recorded, in microseconds: a minute. Longer ones count as this long.
const LONGEST: u64 = 60_000_000;

/// The latencies that are shown, by the share of answers that took at most as long.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The counts and latencies of a load.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    admit: u64,
    queue: u64,
    degrade: u64,
    deny: u64,
    problems: u64,
    failures: u64,
    /// Requests without an answer: the connection broke or could not be made, the answer could not be
    /// read, or it did not come in time.
    broken: u64,
    /// Why the last request without a decision got none.
    trouble: Option<String>,
    /// Latencies, in microseconds.
    latencies: Histogram<u64>,
    start: Timestamp,
    /// When the last answer came.
    last: Timestamp,
}

// === impl Tally ===

impl Tally {
    pub(super) fn new(start: Timestamp) -> Result<Self> {
        let latencies = Histogram::new_with_bounds(1, LONGEST, 3).context("making a histogram")?;
        Ok(Self {
            admit: 0,
            queue: 0,
            degrade: 0,
            deny: 0,
            problems: 0,
            failures: 0,
            broken: 0,
            trouble: None,
            latencies,
            start,
            last: start,
        })
    }

    /// Counts an answer that came at `now` to a request that began at `began`.
    pub(super) fn answered(&mut self, outcome: Outcome, began: Timestamp, now: Timestamp) {
        let count = match outcome {
            Outcome::Admit => &mut self.admit,
            Outcome::Queue => &mut self.queue,
            Outcome::Degrade => &mut self.degrade,
            Outcome::Deny => &mut self.deny,
            Outcome::Problem(status) => {
                self.trouble = Some(format!("the server answered with status {status}"));
                &mut self.problems
            }
            Outcome::Failure(status) => {
                self.trouble = Some(format!("the server answered with status {status}"));
                &mut self.failures
            }
        };
        *count += 1;
        self.latencies.saturating_record(now.since(began).as_micros());
        self.last = now;
    }

    /// Counts a request that got no answer.
    pub(super) fn broke(&mut self, trouble: String) {
        self.broken += 1;
        self.trouble = Some(trouble);
    }

    pub(super) fn add(&mut self, other: &Self) -> Result<()> {
        self.admit += other.admit;
        self.queue += other.queue;
        self.degrade += other.degrade;
        self.deny += other.deny;
        self.problems += other.problems;
        self.failures += other.failures;
        self.broken += other.broken;
        self.last = self.last.max(other.last);
        self.trouble = self.trouble.take().or_else(|| other.trouble.clone());
        self.latencies.add(&other.latencies).context("adding histograms")
    }

    /// The time from the beginning to the last answer.
    const fn took(&self) -> Span {
        self.last.since(self.start)
    }

    /// The number of answers, whatever their outcome.
    pub(crate) const fn answers(&self) -> u64 {
        self.admit + self.queue + self.degrade + self.deny + self.problems + self.failures
    }

    /// Whether every request got a decision.
    pub(crate) const fn is_clean(&self) -> bool {
        self.problems + self.failures + self.broken == 0
    }

    /// Answers in a second, rounded down.
    fn per_second(&self) -> u64 {
        let micros = u128::from(self.took().as_micros().max(1));
        u64::try_from(u128::from(self.answers()) * 1_000_000 / micros).unwrap_or(u64::MAX)
    }

    fn quantiles(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let quantiles = QUANTILES.iter();
        let told = quantiles.map(|(name, share)| (*name, self.latencies.value_at_quantile(*share)));
        told.chain([("max", self.latencies.max())])
    }

    /// The result as a table, for people.
    pub(crate) fn summary(&self) -> String {
        let mut table = Table::default();
        let mut row = |name: &str, value: String| table.row(&[name.to_owned(), value]);
        let per_second = self.per_second();
        row("answers", format!("{} in {}", self.answers(), in_words(self.took().as_micros())));
        row("per second", per_second.to_string());
        for (name, count) in [("admitted", self.admit), ("denied", self.deny)] {
            row(name, count.to_string());
        }
        for (name, count) in [
            ("queued", self.queue),
            ("degraded", self.degrade),
            ("problems (4xx)", self.problems),
            ("failures (5xx)", self.failures),
            ("without an answer", self.broken),
        ] {
            if count > 0 {
                row(name, count.to_string());
            }
        }
        for (name, micros) in self.quantiles() {
            row(&format!("latency {name}"), fine(micros));
        }
        if let Some(trouble) = &self.trouble {
            row("last error", trouble.clone());
        }
        table.to_string()
    }

    /// The result as JSON, for machines.
    pub(crate) fn json(&self) -> Value {
        let latency: serde_json::Map<String, Value> =
            self.quantiles().map(|(name, micros)| (name.to_owned(), micros.into())).collect();
        json!({
            "duration_us": self.took().as_micros(),
            "answers": self.answers(),
            "answers_per_second": self.per_second(),
            "verdicts": {
                "admit": self.admit,
                "queue": self.queue,
                "degrade": self.degrade,
                "deny": self.deny,
            },
            "problems": self.problems,
            "failures": self.failures,
            "without_answer": self.broken,
            "last_trouble": self.trouble,
            "latency_us": latency,
        })
    }
}

/// A latency in words, with more digits than [`in_words`] gives a wait.
fn fine(micros: u64) -> String {
    match micros {
        1_000..1_000_000 => format!("{}.{:02} ms", micros / 1_000, micros % 1_000 / 10),
        _ => in_words(micros),
    }
}
