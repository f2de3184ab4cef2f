//! The report: Markdown, as it stands in `docs/benchmarks.md`.

use std::fmt::{Error, Write as _};

use super::contender::{Contender, Who};
use super::instructions::Instructions;
use super::workload::Workload;
use crate::args::Options;
use crate::machine;
use crate::measure::{Row, median};

/// The bars for one workload.
struct Bars {
    /// Upper bound on the server's instructions per call, relative to the script.
    instructions: f64,
    /// Lower bound on decisions per second, relative to `INCR` over fifty connections.
    per_second: f64,
}

/// Writes the whole report: where it was measured, the bars, the figures.
pub(crate) fn whole(
    contenders: &[Contender],
    instructions: &[Instructions],
    version: &str,
    options: &Options,
) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_facts(&mut text, version, options)
        .and_then(|()| write_bars(&mut text, contenders, instructions))
        .and_then(|()| write_speed(&mut text, contenders))
        .and_then(|()| write_processor(&mut text, contenders))
        .and_then(|()| write_instructions(&mut text, instructions))
        .and_then(|()| write_commands(&mut text, contenders));
    text
}

fn write_facts(text: &mut String, version: &str, options: &Options) -> Result<(), Error> {
    for (fact, value) in machine::facts() {
        writeln!(text, "- {fact}: {value}")?;
    }
    writeln!(text, "- server: Redis {version}")?;
    writeln!(text, "- command: `cargo xtask bench redis --rounds {}`", options.rounds)
}

fn write_bars(
    text: &mut String,
    contenders: &[Contender],
    instructions: &[Instructions],
) -> Result<(), Error> {
    writeln!(text, "\n| workload | bar | measured | |\n|---|---|---:|---|")?;
    for workload in Workload::ALL {
        let bars = Bars::of(workload);
        let name = workload.name();
        let mut write = |bar: String, measured: Option<f64>, met: bool| {
            let word = match measured {
                None => "not measured",
                Some(_) if met => "met",
                Some(_) => "**MISSED**",
            };
            writeln!(text, "| {name} | {bar} | {} | {word} |", shown(measured, 2))
        };
        let counted = |who| {
            let one = |it: &&Instructions| it.who == who && it.workload == workload;
            instructions.iter().find(one).map(|it| it.known)
        };
        let ratio = counted(Who::Tidegate).zip(counted(Who::Script)).map(|(us, it)| us / it);
        let bar = format!("instructions of the server, to the script ≤ {}", bars.instructions);
        write(bar, ratio, ratio.is_some_and(|ratio| ratio <= bars.instructions))?;

        let speed = |who| speed(contenders, who, workload);
        let incr = self::speed(contenders, Who::IncrUnpipelined, Workload::Bucket);
        let ratio = speed(Who::Tidegate).zip(incr).map(|(us, it)| us.ratio_to(&it));
        let bar = format!("decisions per second, to INCR, 50 connections ≥ {}", bars.per_second);
        write(bar, ratio, ratio.is_some_and(|ratio| ratio >= bars.per_second))?;

        let trips = find(contenders, Who::Tidegate, workload).map(|it| it.figures.round_trips());
        let exactly = trips.is_some_and(|trips| (trips - 1.0).abs() < f64::EPSILON);
        write("round trips per decision = 1".to_owned(), trips, exactly)?;
    }
    Ok(())
}

fn write_speed(text: &mut String, contenders: &[Contender]) -> Result<(), Error> {
    writeln!(
        text,
        "\n| workload | who | per second | to the script | in rounds | to INCR, 50 connections | in rounds | p50, µs | p99, µs |"
    )?;
    writeln!(text, "|---|---|---:|---:|---:|---:|---:|---:|---:|")?;
    let incr = speed(contenders, Who::IncrUnpipelined, Workload::Bucket);
    for Contender { who, workload, figures, .. } in contenders {
        let row = row(&figures.per_second);
        let script = speed(contenders, Who::Script, *workload);
        writeln!(
            text,
            "| {} | {} | {:.0} | {} | {} | {} | {} |",
            workload.name(),
            who.name(),
            median(&row.figures),
            compared(&row, script.as_ref()),
            compared(&row, incr.as_ref()),
            shown(figures.within(0.5), 0),
            shown(figures.within(0.99), 0),
        )?;
    }
    Ok(())
}

fn write_processor(text: &mut String, contenders: &[Contender]) -> Result<(), Error> {
    writeln!(
        text,
        "\n| workload | who | server, µs | to the script | in rounds | by its own account, µs | client, µs |"
    )?;
    writeln!(text, "|---|---|---:|---:|---:|---:|---:|")?;
    for Contender { who, workload, figures, .. } in contenders {
        let row = row(&figures.server);
        let script = find(contenders, Who::Script, *workload);
        let script = script.map(|it| self::row(&it.figures.server));
        let command = if figures.commands.contains_key("evalsha") { "evalsha" } else { "incr" };
        writeln!(
            text,
            "| {} | {} | {:.2} | {} | {} | {} |",
            workload.name(),
            who.name(),
            median(&row.figures),
            compared(&row, script.as_ref()),
            shown(figures.inside(command), 2),
            shown(Some(median(&figures.client)), 2),
        )?;
    }
    Ok(())
}

fn write_instructions(text: &mut String, counts: &[Instructions]) -> Result<(), Error> {
    if counts.is_empty() {
        return writeln!(text, "\nInstructions were not counted: valgrind is not there.");
    }
    writeln!(
        text,
        "\n| workload | who | instructions, known keys | to the script | new keys | to the script |"
    )?;
    writeln!(text, "|---|---|---:|---:|---:|---:|")?;
    for Instructions { who, workload, new, known } in counts {
        let script = counts.iter().find(|it| it.who == Who::Script && it.workload == *workload);
        let (to_known, to_new) =
            script.map_or((f64::NAN, f64::NAN), |it| (known / it.known, new / it.new));
        writeln!(
            text,
            "| {} | {} | {known:.0} | {to_known:.2} | {new:.0} | {to_new:.2} |",
            workload.name(),
            who.name(),
        )?;
    }
    Ok(())
}

/// Writes the commands that the server ran per request, including those inside scripts; commands
/// that run only once are left out.
fn write_commands(text: &mut String, contenders: &[Contender]) -> Result<(), Error> {
    writeln!(text, "\n| workload | who | commands per request |\n|---|---|---|")?;
    for Contender { who, workload, figures, .. } in contenders {
        let share = |(name, (calls, _)): (&String, &(u64, u64))| {
            let share = *calls as f64 / figures.asked as f64;
            (share >= 0.005).then(|| format!("{name} {share:.2}"))
        };
        let shares: Vec<String> = figures.commands.iter().filter_map(share).collect();
        writeln!(text, "| {} | {} | {} |", workload.name(), who.name(), shares.join(", "))?;
    }
    Ok(())
}

fn find(contenders: &[Contender], who: Who, workload: Workload) -> Option<&Contender> {
    contenders.iter().find(|it| it.who == who && it.workload == workload)
}

fn speed(contenders: &[Contender], who: Who, workload: Workload) -> Option<Row> {
    find(contenders, who, workload).map(|it| row(&it.figures.per_second))
}

pub(crate) fn row(figures: &[f64]) -> Row {
    Row { name: "", figures: figures.to_vec(), admitted: 1.0 }
}

/// Formats a figure, or a dash if there is none.
pub(crate) fn shown(figure: Option<f64>, digits: usize) -> String {
    let figure = figure.filter(|figure| figure.is_finite());
    figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.digits$}"))
}

/// The ratio of the medians and its spread, as two columns.
pub(crate) fn compared(row: &Row, base: Option<&Row>) -> String {
    let Some(base) = base else { return "– | –".to_owned() };
    let (low, high) = row.spread_to(base);
    format!("{:.2} | {low:.2}–{high:.2}", row.ratio_to(base))
}

// === impl Bars ===

impl Bars {
    const fn of(workload: Workload) -> Self {
        match workload {
            Workload::Bucket => Self { instructions: 0.7, per_second: 0.9 },
            Workload::ThreeAndQuota => Self { instructions: 0.65, per_second: 0.5 },
        }
    }
}
