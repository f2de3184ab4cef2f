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
pub(crate) struct Figures {
    /// The compiler with which the figures were measured, if the file says so.
    pub(crate) compiler: Option<String>,
    counts: BTreeMap<String, u64>,
}

/// Committed and present counts, side by side.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    rows: Vec<Row>,
}

#[derive(Debug, PartialEq, Eq)]
struct Row {
    scenario: String,
    committed: Option<u64>,
    now: Option<u64>,
}

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

// === impl Figures ===

/// Parses lines of `scenario count`; `#` begins a comment.
pub(crate) fn parse(text: &str) -> Result<Figures, String> {
    let mut figures = Figures::default();
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
    pub(crate) fn new(committed: &Figures, now: &[(String, u64)]) -> Self {
        let measured = now.iter().map(|(scenario, count)| Row {
            scenario: scenario.clone(),
            committed: committed.counts.get(scenario).copied(),
            now: Some(*count),
        });
        let is_gone = |scenario: &str| now.iter().all(|(name, _)| name != scenario);
        let gone = committed.counts.iter().filter(|(scenario, _)| is_gone(scenario)).map(
            |(scenario, count)| Row {
                scenario: scenario.clone(),
                committed: Some(*count),
                now: None,
            },
        );
        Self { rows: measured.chain(gone).collect() }
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
        self.rows.iter().map(Row::judgement)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.rows.iter().map(|row| row.scenario.chars().count());
        let width = names.chain(["scenario".len()]).max().unwrap_or_default();
        writeln!(f, "{:<width$} {:>10} {:>10} {:>9}", "scenario", "committed", "now", "change")?;
        for row in &self.rows {
            let number = |count: Option<u64>| count.map_or("-".into(), |n| n.to_string());
            let (committed, now) = (number(row.committed), number(row.now));
            let (change, judgement) = (row.change(), row.judgement());
            writeln!(
                f,
                "{:<width$} {committed:>10} {now:>10} {change:>9}  {judgement}",
                row.scenario
            )?;
        }
        Ok(())
    }
}

// === impl Row ===

impl Row {
    fn judgement(&self) -> Judgement {
        let (committed, now) = match (self.committed, self.now) {
            (Some(committed), Some(now)) => (u128::from(committed), u128::from(now)),
            (None, _) => return Judgement::Unknown,
            (_, None) => return Judgement::Gone,
        };
        if now * 100 > committed * (100 + TOLERANCE_PER_CENT) {
            Judgement::Worse
        } else if now * 100 < committed * (100 - TOLERANCE_PER_CENT) {
            Judgement::Better
        } else {
            Judgement::Steady
        }
    }

    /// The change in per cent with one decimal, without floats.
    fn change(&self) -> String {
        match (self.committed, self.now) {
            (Some(committed), Some(now)) if committed > 0 => {
                let sign = if now < committed { '-' } else { '+' };
                let tenths = u128::from(now.abs_diff(committed)) * 1_000 / u128::from(committed);
                format!("{sign}{}.{} %", tenths / 10, tenths % 10)
            }
            _ => "-".into(),
        }
    }
}

// === impl Judgement ===

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
