//! The report: Markdown, as it stands in `docs/benchmarks.md`.

use std::fmt::Write as _;

use crate::args::Options;
use crate::bars::verdicts;
use crate::footprint::Footprint;
use crate::machine;
use crate::measure::{Row, median};
use crate::scenarios::{Found, Outcome, Scenario};

/// Writes the whole report: where it was measured, the bars, the figures.
pub(crate) fn whole(outcomes: &[Outcome], options: &Options) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_whole(&mut text, outcomes, options);
    text
}

fn write_whole(
    text: &mut String,
    outcomes: &[Outcome],
    options: &Options,
) -> Result<(), std::fmt::Error> {
    for (fact, value) in machine::facts() {
        writeln!(text, "- {fact}: {value}")?;
    }
    writeln!(text, "- command: `{}`", command(options))?;
    write_bars(text, outcomes)?;
    if outcomes.iter().any(|outcome| matches!(outcome.found, Found::Nanos(_))) {
        write_heading(text, "ns per decision")?;
    }
    for outcome in outcomes {
        if let Found::Nanos(rows) = &outcome.found {
            write_rows(text, outcome.scenario, rows)?;
        }
    }
    for outcome in outcomes {
        match &outcome.found {
            Found::Nanos(_) => {}
            Found::Throughput { wall, processor } => {
                for (unit, rows) in [("M/s", wall), ("M per s of both processors", processor)] {
                    write_heading(text, unit)?;
                    write_rows(text, outcome.scenario, rows)?;
                }
            }
            Found::Bytes(footprints) => write_footprints(text, footprints, options.keys)?,
        }
    }
    Ok(())
}

fn command(options: &Options) -> String {
    let mut command = format!("cargo xtask bench --rounds {}", options.rounds);
    let _ = write!(command, " --keys {}", options.keys);
    if options.scenarios != Scenario::ALL {
        for scenario in &options.scenarios {
            let _ = write!(command, " --only {}", scenario.name());
        }
    }
    command
}

fn write_bars(text: &mut String, outcomes: &[Outcome]) -> Result<(), std::fmt::Error> {
    let verdicts = verdicts(outcomes);
    if verdicts.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n| scenario | bar | measured | |\n|---|---|---:|---|")?;
    for verdict in verdicts {
        let word = if verdict.met { "met" } else { "**MISSED**" };
        writeln!(
            text,
            "| {} | {} | {:.2} | {word} |",
            verdict.scenario, verdict.bar, verdict.measured
        )?;
    }
    Ok(())
}

fn write_heading(text: &mut String, unit: &str) -> Result<(), std::fmt::Error> {
    writeln!(text, "\n| scenario | contender | {unit} | ratio | in rounds | admitted |")?;
    writeln!(text, "|---|---|---:|---:|---:|---:|")
}

/// Writes the rows of one scenario; ratios are to the first of them.
fn write_rows(text: &mut String, scenario: Scenario, rows: &[Row]) -> Result<(), std::fmt::Error> {
    let Some(base) = rows.first() else { return Ok(()) };
    for row in rows {
        let (low, high) = row.spread_to(base);
        writeln!(
            text,
            "| {} | {} | {:.1} | {:.2} | {low:.2}–{high:.2} | {:.0} % |",
            scenario.name(),
            row.name,
            median(&row.figures),
            row.ratio_to(base),
            100.0 * row.admitted
        )?;
    }
    Ok(())
}

fn write_footprints(
    text: &mut String,
    footprints: &[Footprint],
    keys: u32,
) -> Result<(), std::fmt::Error> {
    writeln!(text, "\n| contender | bytes per key | keys without a counter of their own |")?;
    writeln!(text, "|---|---:|---:|")?;
    for Footprint { name, bytes_per_key, exact } in footprints {
        let without = match exact {
            None => "–".to_owned(),
            Some(exact) => format!("{} of {keys}", keys.saturating_sub(*exact)),
        };
        writeln!(text, "| {name} | {bytes_per_key:.1} | {without} |")?;
    }
    Ok(())
}
