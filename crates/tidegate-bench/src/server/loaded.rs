//! A server under load: what it answers in a second, and what that costs it.

use super::load::WrkLoad;
use super::process::ServerProcess;
use crate::Fallible;
use crate::measure::progress;

/// A server, its load, and the figures of each round.
pub(crate) struct Loaded {
    pub(crate) name: &'static str,
    process: ServerProcess,
    load: WrkLoad,
    /// Requests per second.
    pub(crate) per_second: Vec<f64>,
    /// Microseconds of processor time per request.
    pub(crate) micros: Vec<f64>,
}

// === impl Loaded ===

impl Loaded {
    pub(crate) const fn new(name: &'static str, process: ServerProcess, load: WrkLoad) -> Self {
        Self { name, process, load, per_second: Vec::new(), micros: Vec::new() }
    }

    /// Lets the servers take turns. Round 0 warms up and is not counted.
    pub(crate) fn take_turns(label: &str, servers: &mut [Self], rounds: u32) -> Fallible<()> {
        for round in 0..=rounds {
            progress(label, round, rounds);
            for server in &mut *servers {
                let before = server.process.on_processor()?;
                let done = server.load.run()?;
                let took = server.process.on_processor()? - before;
                if round > 0 {
                    server.per_second.push(done.per_second);
                    server.micros.push(took.as_secs_f64() * 1e6 / done.requests as f64);
                }
            }
        }
        Ok(())
    }
}
