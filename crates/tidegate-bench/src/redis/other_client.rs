//! `INCR` by a client that is not ours: redis-benchmark, which comes with the server.
//!
//! Fifty connections through the `redis` crate mostly measure its tasks and wake-ups.
//! redis-benchmark is written in C, has one thread and an event loop, and shows what is left of the
//! comparison when the client costs next to nothing.

use std::process::Command;
use std::time::Duration;

use super::asker::DatabaseAddress;
use super::load::CallsDone;
use crate::Fallible;

const PROGRAM: &str = "redis-benchmark";
/// Requests in a turn, which take about half a second.
const REQUESTS: u32 = 40_000;

/// Takes one turn: [`REQUESTS`] requests over fifty connections, one at a time on each.
pub(crate) fn run(door: DatabaseAddress, keys: usize) -> Fallible<CallsDone> {
    let (port, db, count, keys) =
        (door.port.to_string(), door.db.to_string(), REQUESTS.to_string(), keys.to_string());
    let output = Command::new(PROGRAM)
        .args(["-h", "127.0.0.1", "-p", &port, "--dbnum", &db, "-c", "50", "-n", &count])
        .args(["-r", &keys, "-t", "incr", "--csv"])
        .output()
        .map_err(|error| format!("{PROGRAM}: {error} (by redis-tools)"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let per_second = parse(&text).ok_or_else(|| format!("{PROGRAM} said:\n{text}"))?;
    let wall = Duration::from_secs_f64(f64::from(REQUESTS) / per_second);
    Ok(CallsDone { asked: u64::from(REQUESTS), wall, latencies: Vec::new() })
}

/// Reads the requests per second from a line such as `"INCR","98765.43","0.257",…`.
fn parse(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("\"INCR\",\""))?;
    line.split('"').next()?.parse().ok().filter(|per_second| *per_second > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_figure_is_read_and_a_failure_is_none() {
        let text = "\"test\",\"rps\",\"avg_latency_ms\"\n\"INCR\",\"98765.43\",\"0.257\"\n";
        assert_eq!(parse(text), Some(98_765.43));
        assert_eq!(parse("Could not connect to Redis at 127.0.0.1:1\n"), None);
        assert_eq!(parse("\"INCR\",\"0.00\",\"0.000\"\n"), None);
    }
}
