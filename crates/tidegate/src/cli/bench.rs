//! `tidegate bench`: load against a running server, and how fast it answered.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use tidegate_core::Dimension;
use tidegate_server::Length;
use tokio::runtime::Runtime;

use super::failure::{self, ExitFailure};
use super::subject::SubjectArgs;
use crate::bench::{BenchLoad, Running};
use crate::client::ServerAddress;

/// How often the progress bar is drawn.
const REDRAW: Duration = Duration::from_millis(100);

/// How long a run with --requests and without --duration may take.
const LONGEST: Duration = Duration::from_secs(60);

/// Put load on a running server, and tell how fast it answered
///
/// Sends decisions over connections that stay open, for ten seconds unless told otherwise, and only
/// to this machine unless allowed. The requests are counted like any others: use a server that is
/// there to be tested.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate bench                                   decide under the server's first policy
  tidegate bench --policy api --org acme           always the same subject
  tidegate bench --rate 5000 --duration 30s        a steady rate, and its latencies
  tidegate bench http://127.0.0.1:7700/v1/gate/api get a path instead")]
pub(super) struct BenchArgs {
    /// The server; with a path, GET that path instead of asking for decisions
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:7700")]
    url: String,
    /// The policy to decide by [default: the server's first]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// The cost of each request
    #[arg(long, value_name = "N")]
    cost: Option<u64>,
    /// How many different subjects to make up, if none is given below
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    subjects: u32,
    /// How many connections, each with one request under way
    #[arg(short, long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    connections: u16,
    /// How many threads make the requests
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// How long to run, such as 500ms, 10s or 2min [default: 10s]
    #[arg(short, long, value_name = "LENGTH")]
    duration: Option<Length>,
    /// How many requests, unless the time is up before [default: no limit]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// How many requests in a second, rather than as many as are answered
    #[arg(short, long, value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: Option<u64>,
    /// Let the server be another machine; make sure it is yours
    #[arg(long)]
    allow_remote: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    subject: SubjectArgs,
}

pub(super) fn run(args: &BenchArgs) -> Result<ExitCode, ExitFailure> {
    let peer = ServerAddress::find(&args.url).map_err(ExitFailure::misconfigured)?;
    args.allows(&peer).map_err(ExitFailure::misconfigured)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = runtime.block_on(peer.reach())?;
    let requests = runtime.block_on(prepare(args, &peer))?;
    let default = if args.requests.is_some() { LONGEST } else { Duration::from_secs(10) };
    let load = BenchLoad {
        server,
        requests,
        connections: args.connections.into(),
        threads: args.threads.into(),
        duration: args.duration.map_or(default, |length| length.0),
        most: args.requests,
        rate: args.rate,
    };
    let running = Running::start(load)?;
    watch(&runtime, &running, args);
    let tally = running.finish()?;
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{:#}", tally.json())?;
    } else {
        write!(out, "{}", tally.summary())?;
    }
    let good = tally.is_clean() && tally.answers() > 0;
    Ok(ExitCode::from(if good { 0 } else { failure::FAILED }))
}

/// Shows progress on a terminal until the load is done. An interrupt ends the load, not the summary.
#[expect(clippy::disallowed_methods, reason = "people watch in real time")]
fn watch(runtime: &Runtime, running: &Running, args: &BenchArgs) {
    let bar = if args.json || !io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(1)
    };
    let template = "{bar:40} {percent:>3}%  {msg}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar()));
    let course = &running.course;
    runtime.block_on(async {
        while !running.is_done() {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => course.stop(),
                () = tokio::time::sleep(REDRAW) => {}
            }
            let (passed, of) = course.passed();
            let (done, all) = match args.requests {
                Some(most) => (course.answered(), most),
                None => (passed.as_micros(), of.as_micros()),
            };
            bar.set_length(all);
            bar.set_position(done.min(all));
            let millis = (passed.as_micros() / 1_000).max(1);
            let per_second = course.answered().saturating_mul(1_000) / millis;
            bar.set_message(format!("{} answers, {per_second}/s", course.answered()));
        }
    });
    bar.finish_and_clear();
}

// === impl BenchArgs ===

impl BenchArgs {
    /// Refuses a server of which any address is another machine's, unless --allow-remote is given.
    fn allows(&self, peer: &ServerAddress) -> Result<()> {
        let is_here = |address: &&SocketAddr| address.ip().to_canonical().is_loopback();
        match peer.addresses.iter().find(|address| !is_here(address)) {
            Some(other) if !self.allow_remote => Err(anyhow!(
                "{} is not this machine; load is put on others only with --allow-remote",
                other.ip()
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// The facts of the subject with this number: those given, or made up so that every limit
    /// applies.
    fn facts(&self, number: u32) -> Result<Value> {
        if !self.subject.is_empty() {
            return Ok(serde_json::to_value(&self.subject)?);
        }
        let name = format!("u{number}");
        // The addresses that are set aside for benchmarks: 198.18.0.0/15.
        let ip = std::net::Ipv4Addr::from(0xc612_0000 | (number & 0x1_ffff)).to_string();
        let mut made_up = json!({});
        for dimension in Dimension::told().filter(|dimension| dimension.is_counted()) {
            let value = match dimension.prefix_length() {
                Some(_) => ip.as_str(),
                None if dimension.is_common() => "bench",
                None => name.as_str(),
            };
            made_up[dimension.name()] = value.into();
        }
        Ok(made_up)
    }
}

/// The requests as they go over the wire, after one has shown that the server understands them.
async fn prepare(args: &BenchArgs, peer: &ServerAddress) -> Result<Vec<Vec<u8>>> {
    let ServerAddress { authority: host, path, .. } = peer;
    if path != "/" {
        return Ok(vec![format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n").into()]);
    }
    let policy = match &args.policy {
        Some(policy) => policy.clone(),
        None => first_policy(peer).await?,
    };
    let made_up = args.subject.is_empty();
    let body = |number| {
        let mut body = json!({ "policy": policy, "subject": args.facts(number)? });
        if let Some(cost) = args.cost {
            body["cost"] = cost.into();
        }
        Ok::<_, anyhow::Error>(body)
    };
    let tried = peer.post("/v1/peek", &body(0)?).await?.json();
    tried.with_context(|| format!("trying policy `{policy}`"))?;
    let wire = |number| {
        let body = body(number)?.to_string();
        let length = body.len();
        let head = format!(
            "POST /v1/decide HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        );
        Ok((head + &body).into_bytes())
    };
    (0..if made_up { args.subjects } else { 1 }).map(wire).collect()
}

async fn first_policy(peer: &ServerAddress) -> Result<String> {
    let policies = peer.get("/v1/policies").await?.json()?;
    let name = policies.pointer("/policies/0/name").and_then(Value::as_str);
    name.map(str::to_owned).context("the server has no policies; is this a Tidegate server?")
}
