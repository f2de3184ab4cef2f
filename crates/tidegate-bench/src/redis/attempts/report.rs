//! The report: Markdown, as it stands in `docs/benchmarks.md`.

use std::fmt::{Error, Write as _};

use super::super::report::{compared, row, shown};
use super::super::server::SLOW;
use super::history::History;
use super::instructions::Instructions;
use super::stall::{EXPIRED, Stall};
use super::{Contender, Who};
use crate::args::Options;
use crate::machine;
use crate::measure::median;

/// Everything that was measured.
pub(crate) struct Measured {
    pub(crate) contenders: Vec<Contender>,
    pub(crate) stalls: [Stall; 2],
    pub(crate) instructions: Vec<Instructions>,
}

/// The bar for blocked keys: Tidegate is at least this many times as fast as the seed's script.
const TIMES: f64 = 3.0;

/// Writes the whole report: where it was measured, the bars, the figures.
pub(crate) fn whole(measured: &Measured, version: &str, options: &Options) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_facts(&mut text, version, options)
        .and_then(|()| measured.write_bars(&mut text))
        .and_then(|()| measured.write_speed(&mut text))
        .and_then(|()| measured.write_processor(&mut text))
        .and_then(|()| measured.write_memory(&mut text))
        .and_then(|()| measured.write_stalls(&mut text));
    text
}

fn write_facts(text: &mut String, version: &str, options: &Options) -> Result<(), Error> {
    for (fact, value) in machine::facts() {
        writeln!(text, "- {fact}: {value}")?;
    }
    writeln!(text, "- server: Redis {version}")?;
    writeln!(text, "- command: `cargo xtask bench attempts --rounds {}`", options.rounds)
}

fn write_bar(
    text: &mut String,
    history: &str,
    bar: &str,
    measured: f64,
    met: bool,
) -> Result<(), Error> {
    let word = if met { "met" } else { "**MISSED**" };
    writeln!(text, "| {history} | {bar} | {measured:.2} | {word} |")
}

// === impl Measured ===

impl Measured {
    fn write_bars(&self, text: &mut String) -> Result<(), Error> {
        writeln!(text, "\n| attempts before | bar | measured | |\n|---|---|---:|---|")?;
        for history in History::ALL.into_iter().filter(|history| history.is_blocked()) {
            let (Some(us), Some(seed)) =
                (self.find(Who::Tidegate, history), self.find(Who::Seed, history))
            else {
                continue;
            };
            let name = history.attempts.to_string();
            let mut write = |what: &str, times: f64| {
                let bar = format!("{what} ≥ {TIMES}");
                write_bar(text, &name, &bar, times, times >= TIMES)
            };
            let processor = row(&seed.figures.server).ratio_to(&row(&us.figures.server));
            write("the server's time per call, the seed's to ours", processor)?;
            let inside = |it: &Contender| it.figures.inside("evalsha").unwrap_or(f64::NAN);
            let of_both = inside(seed) / inside(us);
            write("the same by the server's own account, in the script alone", of_both)?;
            let speed = row(&us.figures.per_second).ratio_to(&row(&seed.figures.per_second));
            write("calls per second, ours to the seed's", speed)?;
        }
        for us in self.contenders.iter().filter(|it| it.who == Who::Tidegate) {
            let (name, calls) = (us.history.attempts.to_string(), us.slow.calls);
            let idle = self.find(Who::Nothing, us.history).map_or(0, |it| it.slow.calls);
            let bar = format!("our calls over 1 ms = 0 (of a script that does nothing: {idle})");
            write_bar(text, &name, &bar, calls as f64, calls == 0)?;
        }
        let [.., long, longest] = History::ALL;
        let bytes = |history| self.find(Who::Tidegate, history).map_or(f64::NAN, Contender::bytes);
        let growth = bytes(longest) / bytes(long);
        let bar = format!("our bytes for the key, to those after {} ≤ 1", long.attempts);
        write_bar(text, &longest.attempts.to_string(), &bar, growth, growth <= 1.0)?;
        let stalled = self.stalls.iter().find(|it| it.who == Who::Tidegate);
        let stalled = stalled.map_or(u64::MAX, |it| it.micros);
        let (name, millis) = (format!("{EXPIRED}, expired"), stalled as f64 / 1e3);
        write_bar(text, &name, "our call, in ms ≤ 1", millis, stalled <= SLOW)
    }

    fn write_speed(&self, text: &mut String) -> Result<(), Error> {
        writeln!(
            text,
            "\n| attempts before | who | answer | calls per second | to the seed's | in rounds | p50, µs | p99, µs |"
        )?;
        writeln!(text, "|---|---|---|---:|---:|---:|---:|---:|")?;
        for Contender { who, history, figures, .. } in &self.contenders {
            let answer = match (who, history.is_blocked()) {
                (Who::Nothing, _) => "–",
                (_, true) => "blocked",
                (_, false) => "passes",
            };
            let seed = self.find(Who::Seed, *history).map(|it| row(&it.figures.per_second));
            writeln!(
                text,
                "| {} | {} | {answer} | {:.0} | {} | {} | {} |",
                history.attempts,
                who.name(),
                median(&figures.per_second),
                compared(&row(&figures.per_second), seed.as_ref()),
                shown(figures.within(0.5), 0),
                shown(figures.within(0.99), 0),
            )?;
        }
        Ok(())
    }

    fn write_processor(&self, text: &mut String) -> Result<(), Error> {
        writeln!(
            text,
            "\n| attempts before | who | server, µs | to the seed's | in rounds | by its own account, µs | client, µs | instructions | to the seed's |"
        )?;
        writeln!(text, "|---|---|---:|---:|---:|---:|---:|---:|---:|")?;
        for Contender { who, history, figures, .. } in &self.contenders {
            let seed = self.find(Who::Seed, *history).map(|it| row(&it.figures.server));
            let counted = self.counted(*who, *history);
            let ratio = counted.zip(self.counted(Who::Seed, *history)).map(|(it, seed)| it / seed);
            writeln!(
                text,
                "| {} | {} | {:.2} | {} | {} | {} | {} | {} |",
                history.attempts,
                who.name(),
                median(&figures.server),
                compared(&row(&figures.server), seed.as_ref()),
                shown(figures.inside("evalsha"), 2),
                shown(Some(median(&figures.client)), 2),
                shown(counted, 0),
                shown(ratio, 2),
            )?;
        }
        Ok(())
    }

    fn write_memory(&self, text: &mut String) -> Result<(), Error> {
        writeln!(
            text,
            "\n| attempts before | who | bytes of the key | calls | over 1 ms | the longest, µs |"
        )?;
        writeln!(text, "|---|---|---:|---:|---:|---:|")?;
        for Contender { who, history, figures, slow, memory } in &self.contenders {
            let longest = if slow.calls == 0 { "–".to_owned() } else { slow.longest.to_string() };
            writeln!(
                text,
                "| {} | {} | {memory} | {} | {} | {longest} |",
                history.attempts,
                who.name(),
                figures.asked,
                slow.calls,
            )?;
        }
        Ok(())
    }

    fn write_stalls(&self, text: &mut String) -> Result<(), Error> {
        writeln!(
            text,
            "\n| {EXPIRED} attempts, all expired | bytes of the key | the next call, ms |\n|---|---:|---:|"
        )?;
        for Stall { who, memory, micros } in &self.stalls {
            writeln!(text, "| {} | {memory} | {:.2} |", who.name(), *micros as f64 / 1e3)?;
        }
        Ok(())
    }

    fn find(&self, who: Who, history: History) -> Option<&Contender> {
        self.contenders.iter().find(|it| it.who == who && it.history == history)
    }

    fn counted(&self, who: Who, history: History) -> Option<f64> {
        let one = |it: &&Instructions| it.who == who && it.history == history;
        self.instructions.iter().find(one).map(|it| it.each)
    }
}

impl Contender {
    fn bytes(&self) -> f64 {
        self.memory as f64
    }
}
