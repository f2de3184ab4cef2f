//! The decision server beside a hello world and a peer, over real sockets.
//!
//! Load generator and server share the machine, so requests per second depend on both of them;
//! processor time per request is the cost of the server alone. Both are reported. All servers stay
//! up for the whole run and take turns.

mod hello;
pub(crate) mod load;
pub(crate) mod loaded;
pub(crate) mod process;

pub(crate) use hello::run as hello;

use std::path::PathBuf;

use crate::Fallible;
use crate::args::Rounds;
use crate::bars::Bound;
use crate::measure::{median, ratio};
use crate::report::{BenchReport, compared};
use load::WrkLoad;
use loaded::Loaded;
use process::ServerProcess;

/// The first bar for the decision server: at least this share of the hello world's requests per second.
const RATE_BAR: Bound = Bound::AtLeast(0.88);

/// The second bar for the decision server: at most this multiple of the hello world's processor time.
const TIME_BAR: Bound = Bound::AtMost(1.2);

/// A policy with one bucket that is never empty, so that the server is measured while it admits.
const POLICIES: &str = "\
version: 1
policies:
  - name: api
    failure_mode: fail_open
    limits:
      - name: per-user
        by: user
        bucket: { rate: 1000000/s, burst: 1000000 }
";

const BODY: &str = r#"{"policy":"api","subject":{"user":"user-0001"}}"#;
const PEER_BODY: &str =
    r#"{"key":"user-0001","max_burst":1000000,"count_per_period":1000000,"period":1}"#;

/// Builds and starts the servers, lets them take turns, and prints the report.
pub(crate) fn run(Rounds { rounds }: Rounds) -> Fallible<()> {
    load::check()?;
    let mut servers = start()?;
    Loaded::take_turns("server", &mut servers, rounds)?;
    println!("{}", report(&servers, rounds));
    Ok(())
}

/// Starts the hello world, Tidegate and the peer.
fn start() -> Fallible<[Loaded; 3]> {
    let scratch = process::scratch()?;
    let policies = scratch.join("policies.yaml");
    std::fs::write(&policies, POLICIES)?;
    let start = |name, binary: PathBuf, args: &[&str], port: u16, path, body| {
        let process = ServerProcess::start(&binary, args, port)?;
        let load = WrkLoad::post(&scratch, name, &format!("http://127.0.0.1:{port}{path}"), body)?;
        Fallible::Ok(Loaded::new(name, process, load))
    };

    let port = process::free_port()?;
    let listen = format!("127.0.0.1:{port}");
    let myself = std::env::current_exe()?;
    let hello = start("hello", myself, &["hello", &listen], port, "/", BODY)?;

    let port = process::free_port()?;
    let listen = format!("127.0.0.1:{port}");
    let config = policies.display().to_string();
    let args = ["serve", "--config", &config, "--listen", &listen, "--log-level", "warn"];
    let tidegate = process::build_tidegate()?;
    let tidegate = start("tidegate", tidegate, &args, port, "/v1/decide", BODY)?;

    let port = process::free_port()?;
    let text = port.to_string();
    let args = ["--http", "--http-host", "127.0.0.1", "--http-port", &text, "--log-level", "error"];
    let peer = process::build_peer()?;
    let peer = start("throttlecrab", peer, &args, port, "/throttle", PEER_BODY)?;
    Ok([hello, tidegate, peer])
}

fn report(servers: &[Loaded; 3], rounds: u32) -> BenchReport {
    let mut report = BenchReport::new(&format!("server --rounds {rounds}"));
    let [hello, ours, _] = servers;
    let row = |Loaded { name, per_second, micros, .. }: &Loaded| {
        let rates = compared(per_second, Some(&hello.per_second));
        let times = compared(micros, Some(&hello.micros));
        format!("{name} | {:.0} | {rates} | {:.2} | {times}", median(per_second), median(micros))
    };
    report.table(
        "server | requests/s: | to hello: | in rounds: | µs of processor per request: | to hello: | in rounds:",
        servers.iter().map(row),
    );
    let rate = ratio(&ours.per_second, &hello.per_second);
    let time = ratio(&ours.micros, &hello.micros);
    let rows = [
        RATE_BAR.verdict(ours.name, "requests/s, to hello", Some(rate)),
        TIME_BAR.verdict(ours.name, "processor time per request, to hello", Some(time)),
    ];
    report.bars("server", rows);
    report
}
