//! Policies from a file, branching on the verdict, and a reload while the engine runs:
//! `cargo run -p tidegate --example from_file [policies.yaml]`

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use tidegate::file::File;
use tidegate::memory::MemoryStore;
use tidegate::{Case, Engine, Retry, Store, Subject, SystemClock, Verdict, ready};

/// The file that `tidegate` serves if it is given none. A `File` without a door, as here, refuses the
/// sections `server` and `log`; in the example they are comments.
pub(crate) const EXAMPLE: &str = include_str!("../example.yaml");

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        Some(path) => run(&mut std::io::stdout(), &std::fs::read_to_string(path)?),
        None => run(&mut std::io::stdout(), EXAMPLE),
    }
}

/// Runs the example; it writes to `out`, so that a test can read along.
pub(crate) fn run(out: &mut impl Write, text: &str) -> Result<(), Box<dyn Error>> {
    let file: File = File::parse("policies.yaml", text)?;
    let store = MemoryStore::try_new(file.budget(), SystemClock::new())?;
    let engine = Engine::new(store, file.policies().clone().build(None)?);

    for org in ["acme", "acme"] {
        say(out, &engine, org)?;
    }
    // Another file takes the place of the first while requests are decided. What was counted stays
    // counted: acme is not given anything by the change.
    let changed: File = File::parse("policies.yaml", &text.replace("burst: 1 }", "burst: 2 }"))?;
    engine.reload(changed.policies())?;
    for org in ["acme", "globex", "globex", "globex"] {
        say(out, &engine, org)?;
    }
    Ok(())
}

fn say<S: Store>(
    out: &mut impl Write,
    engine: &Engine<S>,
    org: &str,
) -> Result<(), Box<dyn Error>> {
    let policies = engine.policies();
    let subject = Subject::new().org(org);
    let mut case = Case::new(policies.get("report").ok_or("no such policy")?, &subject);
    let decision = ready(engine.decide(&mut case)).ok_or("memory never waits")??;
    let limit = decision.binding().map_or("-", |binding| binding.limit.name().as_str());
    match decision.verdict() {
        Verdict::Admit => writeln!(out, "{org}: admitted; `{limit}` has the least left"),
        Verdict::Degrade => writeln!(out, "{org}: pass it, with less"),
        Verdict::Queue(wait) => writeln!(out, "{org}: let it wait {:?}", Duration::from(wait)),
        Verdict::Deny(denial) => match denial.retry {
            Retry::After(wait) => {
                writeln!(out, "{org}: denied by `{limit}`; come back in {:?}", Duration::from(wait))
            }
            Retry::Never => writeln!(out, "{org}: denied by `{limit}`; it never fits"),
        },
    }?;
    Ok(())
}
