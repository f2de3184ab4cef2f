//! Facts about the machine, the time and the commit of a measurement.

use std::fs;
use std::process::Command;

/// Facts about the machine, the toolchain and the commit, each on a line of a Markdown list.
pub(crate) fn facts() -> String {
    let facts = [
        ("machine", format!("{}, {} cores", processor(), cores())),
        ("kernel", said("uname", &["-sr"])),
        ("compiler", said("rustc", &["--version"])),
        ("date", said("date", &["--utc", "+%F"])),
        ("load average at the end", load()),
        ("commit", commit()),
    ];
    facts.iter().map(|(fact, value)| format!("- {fact}: {value}\n")).collect()
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "unknown processor".to_owned(), |(_, model)| model.to_owned())
}

fn cores() -> String {
    std::thread::available_parallelism().map_or_else(|_| "?".to_owned(), |cores| cores.to_string())
}

/// The commit, with a note if the measured sources differ from it.
fn commit() -> String {
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"]);
    let sources = [
        "crates/tidegate-core/src",
        "crates/tidegate-engine/src",
        "crates/tidegate-stores/src",
        "crates/tidegate-tower/src",
        "Cargo.lock",
    ];
    let status = Command::new("git").args(["diff", "--quiet", "HEAD", "--"]).args(sources).status();
    match status.map(|status| status.success()) {
        Ok(true) => commit,
        _ => format!("{commit}, with changes that were not committed"),
    }
}

fn said(program: &str, arguments: &[&str]) -> String {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => format!("unknown ({program} does not say)"),
    }
}

/// The load average of the last one, five and fifteen minutes; it includes this benchmark.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(", ")
}
