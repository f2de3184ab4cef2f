//! Policies from a file, branching on the verdict, and a reload while the engine runs:
//! `cargo run -p tidegate --example from_file [policies.yaml]`

use std::error::Error;

use tidegate::file::File;
use tidegate::memory::MemoryStore;
use tidegate::{Case, Engine, Retry, Store, Subject, SystemClock, Verdict, ready};

/// The file that `tidegate` serves if it is given none. A `File` without a door, as here, refuses the
/// sections `server` and `log`; in the example they are comments.
const EXAMPLE: &str = include_str!("../example.yaml");

fn main() -> Result<(), Box<dyn Error>> {
    let text = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(path)?,
        None => EXAMPLE.to_owned(),
    };
    let file: File = File::parse("policies.yaml", &text)?;
    let store = MemoryStore::try_new(file.budget(), SystemClock::new())?;
    let engine = Engine::new(store, file.policies().clone().build(None)?);

    say(&engine)?;
    say(&engine)?;
    // Another file takes the place of the first; what was counted stays counted.
    let changed: File = File::parse("policies.yaml", &text.replace("rate: 1/min", "rate: 6/min"))?;
    engine.reload(changed.policies())?;
    say(&engine)
}

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn say<S: Store>(engine: &Engine<S>) -> Result<(), Box<dyn Error>> {
    let policies = engine.policies();
    let subject = Subject::new().org("acme");
    let mut case = Case::new(policies.get("report").ok_or("no such policy")?, &subject);
    let decision = ready(engine.decide(&mut case)).ok_or("memory never waits")??;
    let limit = decision.binding().map_or("-", |binding| binding.limit.name().as_str());
    match decision.verdict() {
        Verdict::Admit => println!("admitted; `{limit}` has the least left"),
        Verdict::Degrade => println!("pass it, with less"),
        Verdict::Queue(wait) => println!("let it wait {wait}"),
        Verdict::Deny(denial) => match denial.retry {
            Retry::After(wait) => println!("denied by `{limit}`; come back in {wait}"),
            Retry::Never => println!("denied by `{limit}`, for good: it is more than ever fits"),
        },
    }
    Ok(())
}
