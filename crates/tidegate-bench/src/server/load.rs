//! The same load for everybody: wrk, with a POST of JSON over kept-alive connections.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Fallible;

/// What is sent to one server.
pub(crate) struct Load {
    script: PathBuf,
    url: String,
}

/// What came of one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Done {
    pub(crate) requests: u64,
    pub(crate) per_second: f64,
}

const CONNECTIONS: &str = "-c64";
const THREADS: &str = "-t1";
const TURN: &str = "-d3s";

/// Fails if wrk is not there, and says how to get it.
pub(crate) fn check() -> Fallible<()> {
    match Command::new("wrk").arg("--version").output() {
        Ok(_) => Ok(()),
        Err(_) => Err("the load generator wrk is missing; run: apt-get install -y wrk".into()),
    }
}

// === impl Load ===

impl Load {
    pub(crate) fn new(scratch: &Path, name: &str, url: &str, body: &str) -> Fallible<Self> {
        let script = scratch.join(format!("{name}.lua"));
        let text = format!(
            "wrk.method = 'POST'\nwrk.body = '{body}'\n\
             wrk.headers['Content-Type'] = 'application/json'\n"
        );
        fs::write(&script, text)?;
        Ok(Self { script, url: url.to_owned() })
    }

    pub(crate) fn run(&self) -> Fallible<Done> {
        let output = Command::new("wrk")
            .args([THREADS, CONNECTIONS, TURN, "-s"])
            .arg(&self.script)
            .arg(&self.url)
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        parse(&text).ok_or_else(|| format!("{}: wrk said:\n{text}", self.url).into())
    }
}

/// Reads the summary of wrk. A run with errors is none.
fn parse(text: &str) -> Option<Done> {
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        return None;
    }
    let line = text.lines().find(|line| line.contains(" requests in "))?;
    let requests = line.split_whitespace().next()?.parse().ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"))?;
    Some(Done { requests, per_second: line.trim().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "Running 3s test @ http://127.0.0.1:1/\n  1 threads and 64 connections\n  \
        300123 requests in 3.00s, 40.00MB read\nRequests/sec: 100041.50\nTransfer/sec: 13.33MB\n";

    #[test]
    fn the_summary_is_read() {
        assert_eq!(parse(SUMMARY), Some(Done { requests: 300_123, per_second: 100_041.5 }));
    }

    #[test]
    fn a_run_with_errors_counts_for_nothing() {
        assert_eq!(parse(&format!("{SUMMARY}  Non-2xx or 3xx responses: 3\n")), None);
    }
}
