//! The report: Markdown, as it stands in `docs/benchmarks.md`.

use clap::ValueEnum as _;

use super::contender::{StoreClient, StoreContender};
use super::instructions::Instructions;
use super::workload::Workload;
use crate::args::name;
use crate::bars::Bound;
use crate::measure::{median, ratio};
use crate::report::{BenchReport, compared, shown};

/// Makes the whole report: where it was measured, the bars, the figures.
pub(crate) fn whole(
    contenders: &[StoreContender],
    instructions: &[Instructions],
    version: &str,
    rounds: u32,
) -> BenchReport {
    let mut report = BenchReport::new(&format!("redis --rounds {rounds}"));
    report.fact(&format!("server: Redis {version}"));
    let bars = Workload::value_variants().iter();
    report.bars("workload", bars.flat_map(|workload| bars_of(*workload, contenders, instructions)));
    report.table(
        "workload | who | per second: | to the script: | in rounds: | to INCR, 50 connections: | in rounds: | p50, µs: | p99, µs:",
        contenders.iter().map(|contender| speed(contender, contenders)),
    );
    report.table(
        "workload | who | server, µs: | to the script: | in rounds: | by its own account, µs: | client, µs:",
        contenders.iter().map(|contender| processor(contender, contenders)),
    );
    if instructions.is_empty() {
        report.say("Instructions were not counted: valgrind is not there.");
    }
    report.table(
        "workload | who | instructions, known keys: | to the script: | new keys: | to the script:",
        instructions.iter().map(|count| counted(count, instructions)),
    );
    report.table("workload | who | commands per request", contenders.iter().map(commands));
    report
}

/// The verdicts on the bars of one workload.
fn bars_of(
    workload: Workload,
    contenders: &[StoreContender],
    instructions: &[Instructions],
) -> [String; 3] {
    let (most, least) = match workload {
        Workload::Bucket => (Bound::AtMost(0.7), Bound::AtLeast(0.9)),
        Workload::ThreeAndQuota => (Bound::AtMost(0.65), Bound::AtLeast(0.5)),
    };
    let ours = find(contenders, StoreClient::Tidegate, workload);
    let counted = |who| {
        let one = |it: &&Instructions| it.who == who && it.workload == workload;
        instructions.iter().find(one).map(|it| it.known)
    };
    let counts = counted(StoreClient::Tidegate).zip(counted(StoreClient::Script));
    let work = counts.map(|(us, script)| us / script);
    let speed = ours.zip(incr(contenders)).map(|(us, incr)| ratio(&us.figures.per_second, incr));
    let trips = ours.map(|us| us.figures.round_trips());
    let about = name(&workload);
    [
        most.verdict(&about, "instructions of the server, to the script", work),
        least.verdict(&about, "decisions per second, to INCR, 50 connections", speed),
        Bound::Exactly(1.0).verdict(&about, "round trips per decision", trips),
    ]
}

/// The cells that name a contender.
fn who(contender: &StoreContender) -> String {
    format!("{} | {}", name(&contender.workload), contender.who.name())
}

fn speed(contender: &StoreContender, contenders: &[StoreContender]) -> String {
    let figures = &contender.figures;
    let script = find(contenders, StoreClient::Script, contender.workload);
    let script = script.map(|it| it.figures.per_second.as_slice());
    format!(
        "{} | {:.0} | {} | {} | {} | {}",
        who(contender),
        median(&figures.per_second),
        compared(&figures.per_second, script),
        compared(&figures.per_second, incr(contenders)),
        shown(figures.within(0.5), 0),
        shown(figures.within(0.99), 0),
    )
}

fn processor(contender: &StoreContender, contenders: &[StoreContender]) -> String {
    let figures = &contender.figures;
    let script = find(contenders, StoreClient::Script, contender.workload);
    let command = if figures.commands.contains_key("evalsha") { "evalsha" } else { "incr" };
    format!(
        "{} | {:.2} | {} | {} | {}",
        who(contender),
        median(&figures.server),
        compared(&figures.server, script.map(|it| it.figures.server.as_slice())),
        shown(figures.inside(command), 2),
        shown(Some(median(&figures.client)), 2),
    )
}

fn counted(
    Instructions { who, workload, new, known }: &Instructions,
    all: &[Instructions],
) -> String {
    let script = all.iter().find(|it| it.who == StoreClient::Script && it.workload == *workload);
    let to_known = shown(script.map(|it| known / it.known), 2);
    let to_new = shown(script.map(|it| new / it.new), 2);
    let (workload, who) = (name(workload), who.name());
    format!("{workload} | {who} | {known:.0} | {to_known} | {new:.0} | {to_new}")
}

/// The commands that the server ran per request, including those inside scripts; commands that run
/// only once are left out.
fn commands(contender: &StoreContender) -> String {
    let share = |(name, (calls, _)): (&String, &(u64, u64))| {
        let share = *calls as f64 / contender.figures.asked as f64;
        (share >= 0.005).then(|| format!("{name} {share:.2}"))
    };
    let shares: Vec<String> = contender.figures.commands.iter().filter_map(share).collect();
    format!("{} | {}", who(contender), shares.join(", "))
}

fn find(
    contenders: &[StoreContender],
    who: StoreClient,
    workload: Workload,
) -> Option<&StoreContender> {
    contenders.iter().find(|it| it.who == who && it.workload == workload)
}

/// Requests per second of `INCR` over fifty connections.
fn incr(contenders: &[StoreContender]) -> Option<&[f64]> {
    let incr = find(contenders, StoreClient::IncrUnpipelined, Workload::Bucket);
    incr.map(|incr| incr.figures.per_second.as_slice())
}
