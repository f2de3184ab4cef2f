//! The report of the middleware benchmark, as Markdown.

use std::fmt::{Error, Write as _};

use super::{Contender, Stack};
use crate::args::Options;
use crate::machine;
use crate::measure::{Row, median};

/// The bar for the org layer: at most this many times the processor time without a limiter.
const BAR: f64 = 1.15;

pub(crate) fn whole(contenders: &[Contender], options: &Options) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, contenders, options);
    text
}

fn write(text: &mut String, contenders: &[Contender], options: &Options) -> Result<(), Error> {
    for (fact, value) in machine::facts() {
        writeln!(text, "- {fact}: {value}")?;
    }
    writeln!(text, "- command: `cargo xtask bench middleware --rounds {}`", options.rounds)?;
    writeln!(
        text,
        "\n| around the hello world | µs of processor per request | to none | in rounds | requests/s \
         | to none | instructions, without HTTP |"
    )?;
    writeln!(text, "|---|---:|---:|---:|---:|---:|---:|")?;
    let Some(bare) = of(contenders, Stack::Bare) else { return Ok(()) };
    for contender in contenders {
        let (cpu, base) = (row(&contender.micros), row(&bare.micros));
        let (low, high) = cpu.spread_to(&base);
        let instructions = contender.instructions.map(|count| format!("{count:.0}"));
        writeln!(
            text,
            "| {} | {:.2} | {:.3} | {low:.2}–{high:.2} | {:.0} | {:.2} | {} |",
            contender.stack.title(),
            median(&contender.micros),
            cpu.ratio_to(&base),
            median(&contender.per_second),
            row(&contender.per_second).ratio_to(&row(&bare.per_second)),
            instructions.as_deref().unwrap_or("not counted"),
        )?;
    }
    let ratio = |stack, to| {
        let (one, other) = (of(contenders, stack)?, of(contenders, to)?);
        Some(row(&one.micros).ratio_to(&row(&other.micros)))
    };
    writeln!(text, "\n| bar: processor time per request | measured | |\n|---|---:|---|")?;
    let to_bare = ratio(Stack::Org, Stack::Bare).unwrap_or(f64::INFINITY);
    let met = verdict(to_bare <= BAR);
    writeln!(text, "| org layer ≤ {BAR} of none | {to_bare:.3} | {met} |")?;
    let to_peer = ratio(Stack::Org, Stack::Governor).unwrap_or(f64::INFINITY);
    let met = verdict(to_peer < 1.0);
    writeln!(text, "| org layer < 1 of `tower_governor` | {to_peer:.3} | {met} |")
}

fn of(contenders: &[Contender], stack: Stack) -> Option<&Contender> {
    contenders.iter().find(|contender| contender.stack == stack)
}

fn row(figures: &[f64]) -> Row {
    Row { name: "", figures: figures.to_vec(), admitted: 1.0 }
}

const fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "**MISSED**" }
}
