//! The load that every server gets: wrk, over kept-alive connections.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Fallible;

/// The requests that wrk sends to one server.
pub(crate) struct WrkLoad {
    /// The wrk script that makes the request, or `None` for a plain GET.
    script: Option<PathBuf>,
    url: String,
    expected: ExpectedAnswers,
}

/// The answers that a run must get to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedAnswers {
    Successes,
    /// Answers without success. A few successes are allowed, before the limit is used up.
    Refusals,
}

/// The result of one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TurnDone {
    pub(crate) requests: u64,
    pub(crate) per_second: f64,
}

const CONNECTIONS: &str = "-c64";
const THREADS: &str = "-t1";
const TURN: &str = "-d3s";
/// Successes that [`ExpectedAnswers::Refusals`] allows before the limit is used up.
const A_FEW: u64 = 10;

/// Fails if wrk is not installed, and says how to install it.
pub(crate) fn check() -> Fallible<()> {
    match Command::new("wrk").arg("--version").output() {
        Ok(_) => Ok(()),
        Err(_) => Err("the load generator wrk is missing; run: apt-get install -y wrk".into()),
    }
}

// === impl WrkLoad ===

impl WrkLoad {
    /// A load of POST requests with a JSON body, which have to succeed.
    pub(crate) fn post(scratch: &Path, name: &str, url: &str, body: &str) -> Fallible<Self> {
        let script = scratch.join(format!("{name}.lua"));
        let text = format!(
            "wrk.method = 'POST'\nwrk.body = '{body}'\n\
             wrk.headers['Content-Type'] = 'application/json'\n"
        );
        fs::write(&script, text)?;
        Ok(Self { script: Some(script), url: url.to_owned(), expected: ExpectedAnswers::Successes })
    }

    /// A load of GET requests.
    pub(crate) fn get(url: &str, expected: ExpectedAnswers) -> Self {
        Self { script: None, url: url.to_owned(), expected }
    }

    pub(crate) fn run(&self) -> Fallible<TurnDone> {
        let mut wrk = Command::new("wrk");
        wrk.args([THREADS, CONNECTIONS, TURN]);
        if let Some(script) = &self.script {
            wrk.arg("-s").arg(script);
        }
        let output = wrk.arg(&self.url).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        parse(&text, self.expected).ok_or_else(|| format!("{}: wrk said:\n{text}", self.url).into())
    }
}

/// Reads the summary of wrk; `None` if there were errors, or other answers than expected.
fn parse(text: &str, expected: ExpectedAnswers) -> Option<TurnDone> {
    if text.contains("Socket errors") {
        return None;
    }
    let line = text.lines().find(|line| line.contains(" requests in "))?;
    let requests: u64 = line.split_whitespace().next()?.parse().ok()?;
    let refused =
        text.lines().find_map(|line| line.trim().strip_prefix("Non-2xx or 3xx responses:"));
    let refused: u64 = refused.map_or(Ok(0), |count| count.trim().parse()).ok()?;
    let is_expected = match expected {
        ExpectedAnswers::Successes => refused == 0,
        ExpectedAnswers::Refusals => refused > 0 && requests.saturating_sub(refused) <= A_FEW,
    };
    let line = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"))?;
    let done = TurnDone { requests, per_second: line.trim().parse().ok()? };
    is_expected.then_some(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "Running 3s test @ http://127.0.0.1:1/\n  1 threads and 64 connections\n  \
        300123 requests in 3.00s, 40.00MB read\nRequests/sec: 100041.50\nTransfer/sec: 13.33MB\n";

    #[test]
    fn the_summary_is_read() {
        let done = TurnDone { requests: 300_123, per_second: 100_041.5 };
        assert_eq!(parse(SUMMARY, ExpectedAnswers::Successes), Some(done));
        let refused = format!("{SUMMARY}  Non-2xx or 3xx responses: 300120\n");
        assert_eq!(parse(&refused, ExpectedAnswers::Refusals), Some(done));
    }

    #[test]
    fn a_run_with_other_answers_counts_for_nothing() {
        let some = format!("{SUMMARY}  Non-2xx or 3xx responses: 3\n");
        assert_eq!(parse(&some, ExpectedAnswers::Successes), None);
        assert_eq!(parse(&some, ExpectedAnswers::Refusals), None);
        assert_eq!(parse(SUMMARY, ExpectedAnswers::Refusals), None);
    }
}
