//! The committed figures, and the comparison with new ones.
//!
//! Three per cent is wide enough for where a counter happens to lie in its table, and narrow enough
//! to see a field that every decision copies. With ten per cent, several changes went unseen that
//! together made a decision take a quarter longer. Another compiler may need new figures.

use std::collections::BTreeMap;
use std::fmt;

/// Growth beyond this fails; a gain beyond it should be blessed.
const TOLERANCE_PER_CENT: u128 = 3;

const COMPILER: &str = "# compiler: ";

/// The content of the committed file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GuardFigures {
    /// The compiler with which the figures were measured, if the file says so.
    pub(crate) compiler: Option<String>,
    counts: BTreeMap<String, u64>,
}

/// Committed and present counts, side by side: the scenario and both counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comparison(Vec<(String, Option<u64>, Option<u64>)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Steady,
    /// Cheaper by more than the tolerance: should be blessed, or the gain can be lost unnoticed.
    Better,
    /// More expensive by more than the tolerance.
    Worse,
    /// The scenario was measured, but is not in the file.
    Unknown,
    /// The scenario is in the file, but was not measured.
    Gone,
}

// === impl GuardFigures ===

/// Parses lines of `scenario count`; `#` begins a comment.
pub(crate) fn parse(text: &str) -> Result<GuardFigures, String> {
    let mut figures = GuardFigures::default();
    for (index, line) in text.lines().enumerate() {
        if let Some(compiler) = line.strip_prefix(COMPILER) {
            figures.compiler = Some(compiler.trim().to_owned());
        }
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        let (scenario, count) = parse_line(line)
            .ok_or_else(|| format!("line {}: expected `scenario count`: {line}", index + 1))?;
        if figures.counts.insert(scenario.to_owned(), count).is_some() {
            return Err(format!("line {}: {scenario} appears twice", index + 1));
        }
    }
    Ok(figures)
}

fn parse_line(line: &str) -> Option<(&str, u64)> {
    let (scenario, count) = line.trim().split_once(char::is_whitespace)?;
    Some((scenario, count.trim().parse().ok()?))
}

/// Renders `counts` as a file that [`parse`] reads.
pub(crate) fn render(counts: &[(String, u64)], compiler: &str) -> String {
    let mut text = format!(
        "# Instructions per decision, counted by callgrind.\n\
         # `cargo xtask guard` compares with these, `cargo xtask guard --bless` rewrites them.\n\
         {COMPILER}{compiler}\n"
    );
    for (scenario, count) in counts {
        text += &format!("{scenario} {count}\n");
    }
    text
}

// === impl Comparison ===

impl Comparison {
    /// Compares counts in the order of measurement; scenarios that are gone come last.
    pub(crate) fn new(committed: &GuardFigures, now: &[(String, u64)]) -> Self {
        let measured = now.iter().map(|(scenario, count)| {
            (scenario.clone(), committed.counts.get(scenario).copied(), Some(*count))
        });
        let is_gone = |scenario: &str| now.iter().all(|(name, _)| name != scenario);
        let gone = committed.counts.iter().filter(|(scenario, _)| is_gone(scenario));
        let gone = gone.map(|(scenario, count)| (scenario.clone(), Some(*count), None));
        Self(measured.chain(gone).collect())
    }

    /// Whether nothing grew too much, and both sides have the same scenarios.
    pub(crate) fn is_accepted(&self) -> bool {
        self.judgements().all(|it| matches!(it, Judgement::Steady | Judgement::Better))
    }

    /// Whether something became so much cheaper that the new figure should be blessed.
    pub(crate) fn has_gains(&self) -> bool {
        self.judgements().any(|it| it == Judgement::Better)
    }

    fn judgements(&self) -> impl Iterator<Item = Judgement> + '_ {
        self.0.iter().map(|(_, committed, now)| Judgement::of(*committed, *now))
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(scenario, ..)| scenario.chars().count());
        let width = names.chain(["scenario".len()]).max().unwrap_or_default();
        writeln!(f, "{:<width$} {:>10} {:>10} {:>9}", "scenario", "committed", "now", "change")?;
        for ((scenario, committed, now), judgement) in self.0.iter().zip(self.judgements()) {
            let number = |count: &Option<u64>| count.map_or("-".into(), |n| n.to_string());
            let change = committed.zip(*now).and_then(|(committed, now)| change(committed, now));
            let (committed, now) = (number(committed), number(now));
            let change = change.unwrap_or_else(|| "-".into());
            writeln!(f, "{scenario:<width$} {committed:>10} {now:>10} {change:>9}  {judgement}")?;
        }
        Ok(())
    }
}

/// The change in per cent with one decimal, without floats; `None` if nothing was committed.
fn change(committed: u64, now: u64) -> Option<String> {
    let sign = if now < committed { '-' } else { '+' };
    let tenths = (u128::from(now.abs_diff(committed)) * 1_000).checked_div(committed.into())?;
    Some(format!("{sign}{}.{} %", tenths / 10, tenths % 10))
}

// === impl Judgement ===

impl Judgement {
    fn of(committed: Option<u64>, now: Option<u64>) -> Self {
        let (committed, now) = match (committed, now) {
            (Some(committed), Some(now)) => (u128::from(committed), u128::from(now)),
            (None, _) => return Self::Unknown,
            (_, None) => return Self::Gone,
        };
        if now * 100 > committed * (100 + TOLERANCE_PER_CENT) {
            Self::Worse
        } else if now * 100 < committed * (100 - TOLERANCE_PER_CENT) {
            Self::Better
        } else {
            Self::Steady
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Steady => "ok",
            Self::Better => "better: bless it",
            Self::Worse => "WORSE",
            Self::Unknown => "NOT COMMITTED: bless it",
            Self::Gone => "GONE: bless to forget it",
        })
    }
}

#[cfg(test)]
mod tests;
