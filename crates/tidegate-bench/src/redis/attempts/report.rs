//! The report: Markdown, as it stands in `docs/benchmarks.md`.

use super::super::server::SLOW;
use super::history::History;
use super::instructions::LogInstructions;
use super::stall::{EXPIRED, Stall};
use super::{LogContender, LogLimiter};
use crate::bars::Bound;
use crate::measure::{median, ratio};
use crate::report::{BenchReport, compared, shown};

/// Everything that was measured.
pub(crate) struct Measured {
    pub(crate) contenders: Vec<LogContender>,
    pub(crate) stalls: [Stall; 2],
    pub(crate) instructions: Vec<LogInstructions>,
}

/// The bar for blocked keys: Tidegate is at least this many times as fast as the seed's script.
const TIMES: Bound = Bound::AtLeast(3.0);

// === impl Measured ===

impl Measured {
    /// Makes the whole report: where it was measured, the bars, the figures.
    pub(crate) fn report(&self, version: &str, rounds: u32) -> BenchReport {
        let mut report = BenchReport::new(&format!("attempts --rounds {rounds}"));
        report.fact(&format!("server: Redis {version}"));
        report.bars("attempts before", self.bars());
        report.table(
            "attempts before | who | answer | calls per second: | to the seed's: | in rounds: | p50, µs: | p99, µs:",
            self.contenders.iter().map(|contender| self.speed(contender)),
        );
        report.table(
            "attempts before | who | server, µs: | to the seed's: | in rounds: | by its own account, µs: | client, µs: | instructions: | to the seed's:",
            self.contenders.iter().map(|contender| self.processor(contender)),
        );
        report.table(
            "attempts before | who | bytes of the key: | calls: | over 1 ms: | the longest, µs:",
            self.contenders.iter().map(memory),
        );
        let stall = |Stall { who, memory, micros }: &Stall| {
            format!("{} | {memory} | {:.2}", who.name(), *micros as f64 / 1e3)
        };
        report.table(
            &format!("{EXPIRED} attempts, all expired | bytes of the key: | the next call, ms:"),
            self.stalls.iter().map(stall),
        );
        report
    }

    fn bars(&self) -> Vec<String> {
        let mut rows = Vec::new();
        for history in History::ALL.into_iter().filter(|history| history.is_blocked()) {
            let of = |who| self.find(who, history).map(|it| &it.figures);
            let both = of(LogLimiter::Tidegate).zip(of(LogLimiter::Seed));
            let time = both.map(|(us, seed)| ratio(&seed.server, &us.server));
            let inside =
                both.and_then(|(us, seed)| Some(seed.inside("evalsha")? / us.inside("evalsha")?));
            let speed = both.map(|(us, seed)| ratio(&us.per_second, &seed.per_second));
            rows.extend(
                [
                    ("the server's time per call, the seed's to ours", time),
                    ("the same by the server's own account, in the script alone", inside),
                    ("calls per second, ours to the seed's", speed),
                ]
                .map(|(what, times)| TIMES.verdict(history.attempts, what, times)),
            );
        }
        for us in self.contenders.iter().filter(|it| it.who == LogLimiter::Tidegate) {
            let idle = self.find(LogLimiter::Nothing, us.history).map_or(0, |it| it.slow.calls);
            let bar = format!("our calls over 1 ms (of a script that does nothing: {idle})");
            let slow = us.slow.calls as f64;
            rows.push(Bound::Exactly(0.0).verdict(us.history.attempts, &bar, Some(slow)));
        }
        let [.., long, longest] = History::ALL;
        let bytes = |history| Some(self.find(LogLimiter::Tidegate, history)?.memory as f64);
        let growth = bytes(longest).zip(bytes(long)).map(|(more, less)| more / less);
        let bar = format!("our bytes for the key, to those after {}", long.attempts);
        rows.push(Bound::AtMost(1.0).verdict(longest.attempts, &bar, growth));
        let stalled = self.stalls.iter().find(|it| it.who == LogLimiter::Tidegate);
        let stalled = stalled.map(|it| it.micros as f64);
        let about = format!("{EXPIRED}, expired");
        rows.push(Bound::AtMost(SLOW as f64).verdict(about, "our call, in µs", stalled));
        rows
    }

    fn speed(&self, LogContender { who, history, figures, .. }: &LogContender) -> String {
        let answer = match (who, history.is_blocked()) {
            (LogLimiter::Nothing, _) => "–",
            (_, true) => "blocked",
            (_, false) => "passes",
        };
        let seed = self.find(LogLimiter::Seed, *history);
        format!(
            "{} | {} | {answer} | {:.0} | {} | {} | {}",
            history.attempts,
            who.name(),
            median(&figures.per_second),
            compared(&figures.per_second, seed.map(|it| it.figures.per_second.as_slice())),
            shown(figures.within(0.5), 0),
            shown(figures.within(0.99), 0),
        )
    }

    fn processor(&self, LogContender { who, history, figures, .. }: &LogContender) -> String {
        let seed = self.find(LogLimiter::Seed, *history);
        let counted = self.counted(*who, *history);
        let both = counted.zip(self.counted(LogLimiter::Seed, *history));
        format!(
            "{} | {} | {:.2} | {} | {} | {} | {} | {}",
            history.attempts,
            who.name(),
            median(&figures.server),
            compared(&figures.server, seed.map(|it| it.figures.server.as_slice())),
            shown(figures.inside("evalsha"), 2),
            shown(Some(median(&figures.client)), 2),
            shown(counted, 0),
            shown(both.map(|(it, seed)| it / seed), 2),
        )
    }

    fn find(&self, who: LogLimiter, history: History) -> Option<&LogContender> {
        self.contenders.iter().find(|it| it.who == who && it.history == history)
    }

    fn counted(&self, who: LogLimiter, history: History) -> Option<f64> {
        let one = |it: &&LogInstructions| it.who == who && it.history == history;
        self.instructions.iter().find(one).map(|it| it.each)
    }
}

fn memory(LogContender { who, history, figures, slow, memory }: &LogContender) -> String {
    let longest = if slow.calls == 0 { "–".to_owned() } else { slow.longest.to_string() };
    let (before, asked, calls) = (history.attempts, figures.asked, slow.calls);
    format!("{before} | {} | {memory} | {asked} | {calls} | {longest}", who.name())
}
