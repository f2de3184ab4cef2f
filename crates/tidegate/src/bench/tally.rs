//! The result of a load: counts, and how long answers took.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tidegate::latencies::Latencies;
use tidegate_core::{Span, Timestamp};

use super::answer::AskOutcome;
use crate::text::{TextTable, in_words};

/// The latencies that are shown, by the share of answers that took at most as long.
const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// The outcomes of requests that are counted, each with its name in a summary, and whether that shows the
/// count even if it is zero. The order is that of [`LoadTally::counts`].
const OUTCOMES: [(&str, bool); 7] = [
    ("admitted", true),
    ("denied", true),
    ("queued", false),
    ("degraded", false),
    ("problems (4xx)", false),
    ("failures (5xx)", false),
    ("without an answer", false),
];

/// The counts and latencies of a load.
#[derive(Clone, Debug)]
pub(crate) struct LoadTally {
    /// The number of requests with each of the [`OUTCOMES`].
    counts: [u64; OUTCOMES.len()],
    /// Why the last request without a decision got none.
    trouble: Option<String>,
    latencies: Latencies,
    start: Timestamp,
    /// When the last answer came.
    last: Timestamp,
}

// === impl LoadTally ===

impl LoadTally {
    pub(super) fn new(start: Timestamp) -> Result<Self> {
        let latencies = Latencies::try_new().context("making a histogram")?;
        Ok(Self { counts: [0; OUTCOMES.len()], trouble: None, latencies, start, last: start })
    }

    /// Counts an answer that came at `now` to a request that began at `began`.
    pub(super) fn answered(&mut self, outcome: AskOutcome, began: Timestamp, now: Timestamp) {
        let [admit, deny, queue, degrade, problems, failures, _] = &mut self.counts;
        let count = match outcome {
            AskOutcome::Admit => admit,
            AskOutcome::Queue => queue,
            AskOutcome::Degrade => degrade,
            AskOutcome::Deny => deny,
            AskOutcome::Problem(_) => problems,
            AskOutcome::Failure(_) => failures,
        };
        *count += 1;
        if let AskOutcome::Problem(status) | AskOutcome::Failure(status) = outcome {
            self.trouble = Some(format!("the server answered with status {status}"));
        }
        self.latencies.record(now.since(began).into());
        self.last = self.last.max(now);
    }

    /// Counts a request that got no answer: the connection broke or could not be made, the answer could
    /// not be read, or it did not come in time.
    pub(super) fn broke(&mut self, trouble: String) {
        let [.., broken] = &mut self.counts;
        *broken += 1;
        self.trouble = Some(trouble);
    }

    /// The time from the beginning to the last answer.
    const fn took(&self) -> Span {
        self.last.since(self.start)
    }

    /// The number of answers, whatever their outcome.
    pub(crate) fn answers(&self) -> u64 {
        let [answered @ .., _] = &self.counts;
        answered.iter().sum()
    }

    /// Whether every request got a decision.
    pub(crate) const fn is_clean(&self) -> bool {
        let [.., problems, failures, broken] = self.counts;
        problems + failures + broken == 0
    }

    /// Answers in a second, rounded down.
    fn per_second(&self) -> u64 {
        let micros = u128::from(self.took().as_micros().max(1));
        u64::try_from(u128::from(self.answers()) * 1_000_000 / micros).unwrap_or(u64::MAX)
    }

    /// Each of the [`QUANTILES`] with its latency in microseconds.
    fn quantiles(&self) -> impl Iterator<Item = (&'static str, u64)> {
        QUANTILES.into_iter().map(|(name, share)| {
            let latency = self.latencies.within(share).unwrap_or_default();
            (name, u64::try_from(latency.as_micros()).unwrap_or(u64::MAX))
        })
    }

    /// The result as a table, for people.
    pub(crate) fn summary(&self) -> String {
        let mut table = TextTable::default();
        let mut row = |name: &str, value: String| table.row(&[name.to_owned(), value]);
        row("answers", format!("{} in {}", self.answers(), in_words(self.took().as_micros())));
        row("per second", self.per_second().to_string());
        for ((name, always), count) in OUTCOMES.into_iter().zip(self.counts) {
            if always || count > 0 {
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
        let [admit, deny, queue, degrade, problems, failures, broken] = self.counts;
        let latency: Value = self.quantiles().collect();
        json!({
            "duration_us": self.took().as_micros(),
            "answers": self.answers(),
            "answers_per_second": self.per_second(),
            "verdicts": { "admit": admit, "queue": queue, "degrade": degrade, "deny": deny },
            "problems": problems,
            "failures": failures,
            "without_answer": broken,
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
