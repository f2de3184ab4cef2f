//! What is attacked: the server, its listener of operators, and a host of the layers, each beside another
//! one like it that nobody attacks.
#![expect(
    clippy::disallowed_methods,
    reason = "what is attacked and measured here goes by real time"
)]

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::attacks::{Aim, Progress, during};
use crate::example;
use crate::latency::{Others, assert_within_twice, decide};
use crate::process::{Server, address_in};
use crate::wire::{answer, connect, get, metric_now};

const TOKEN: &str = "token-of-the-operators";

/// The most memory that a process may take.
const MOST_KIB: u64 = 256 << 10;

/// A listener to attack, and what others ask the same process meanwhile.
pub(crate) struct Site {
    name: &'static str,
    attacked: Server,
    pub(crate) aim: Aim,
    /// Where the process tells what its connections hold.
    metrics: Option<SocketAddr>,
    /// What others ask: who, the calm process, the attacked one, the request.
    others: Vec<(&'static str, SocketAddr, SocketAddr, String)>,
    _calm: Server,
    _dir: Option<TempDir>,
}

/// Policies of which a page of metrics has 400 KB, as in a large installation.
fn policies(top: &str) -> String {
    let mut text = format!(
        "version: 1\n{top}\npolicies:\n\
         - name: api\n  failure_mode: fail_open\n  limits:\n  \
         - {{ name: l, by: user, bucket: {{ rate: 1000000/s, burst: 1000000 }} }}\n\
         - name: door\n  failure_mode: fail_open\n  limits:\n  \
         - {{ name: tries, by: account, attempts: {{ block_at: 5, per: 10min, ladder: all }} }}\n"
    );
    add_policies(&mut text, "", 125);
    text
}

fn add_policies(text: &mut String, indent: &str, count: usize) {
    for number in 0..count {
        let bucket = "bucket: { rate: 10/s, burst: 10 }";
        let limit = format!("{{ name: l{number}, by: org, named_key: true, {bucket} }}");
        writeln!(text, "{indent}- name: p{number}").unwrap();
        writeln!(text, "{indent}  failure_mode: fail_open").unwrap();
        writeln!(text, "{indent}  limits: [{limit}]").unwrap();
    }
}

/// The listener of the server.
pub(crate) fn server() -> Site {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    std::fs::write(
        &file,
        policies("server: { max_connections_per_address: 10000, body_timeout: 60s }"),
    )
    .unwrap();
    let ((attacked, address), (_calm, calm)) = (Server::on(&file), Server::on(&file));
    let page = get(address, "/metrics").1.len();
    assert!(page > 350_000, "{page} bytes of metrics");
    let aim =
        Aim { address, page: "/metrics", upload: "/v1/decide", token: None, from_one: 10_000 };
    let others = vec![("decisions", calm, address, decide_api())];
    let (name, metrics) = ("the server", Some(address));
    Site { name, attacked, aim, metrics, others, _calm, _dir: Some(dir) }
}

fn decide_api() -> String {
    decide(r#"{"policy":"api","subject":{"user":"u1"}}"#)
}

/// The listener of operators, who have blocked some accounts.
pub(crate) fn operators() -> Site {
    let dir = tempfile::tempdir().unwrap();
    let (file, token) = (dir.path().join("policies.yaml"), dir.path().join("token"));
    // Few places for logs, so that a page of the list of blocks, which goes by places, has many. It takes
    // some 30 MiB less than the usual budget.
    let top = "server: { body_timeout: 60s }\nmemory: { attempts: 1000 }";
    std::fs::write(&file, policies(top)).unwrap();
    std::fs::write(&token, TOKEN).unwrap();
    let (attacked, server, address) = with_operators(&file, &token);
    let (_calm, calm, calm_operators) = with_operators(&file, &token);
    let aim = Aim {
        address,
        // A page of the list that has some 150 blocks: it goes by places of the store.
        page: "/admin/blocks?after=286",
        upload: "/admin/block",
        token: Some(TOKEN),
        // All from one address: who knows the token may have every place, and half of them are for one.
        from_one: u32::MAX,
    };
    let list = format!(
        "GET /admin/blocks?at_most=3 HTTP/1.1\r\nhost: localhost\r\n\
         authorization: Bearer {TOKEN}\r\n\r\n"
    );
    let others = vec![
        ("decisions", calm, server, decide_api()),
        ("an operator", calm_operators, address, list),
    ];
    let (name, metrics) = ("operators", Some(server));
    Site { name, attacked, aim, metrics, others, _calm, _dir: Some(dir) }
}

fn with_operators(file: &Path, token: &Path) -> (Server, SocketAddr, SocketAddr) {
    let [file, token] = [file, token].map(|path| path.to_str().unwrap());
    let args = ["--config", file, "--admin-listen", "127.0.0.1:0", "--admin-token-file", token];
    let (mut server, address) = Server::start(&args);
    let operators = address_in(&server.wait_for("the admin listener is on")).unwrap();
    for number in 0..300 {
        let body =
            format!(r#"{{"policy":"door","subject":{{"account":"account-{number}"}},"for":"1h"}}"#);
        let request = format!(
            "POST /admin/block HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
             connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = connect(operators);
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let (status, told) = answer(stream);
        assert_eq!(status, 200, "{told}");
    }
    let request = format!(
        "GET /admin/blocks?after=286 HTTP/1.1\r\nhost: localhost\r\n\
         authorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n"
    );
    let mut stream = connect(operators);
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let (status, page) = answer(stream);
    assert!(status == 200 && page.len() > 10_000, "{page}");
    (server, address, operators)
}

/// A host of the layers.
pub(crate) fn host() -> Site {
    let ((attacked, address), (_calm, calm)) = (org_api(), org_api());
    let page = get(address, "/metrics").1.len();
    assert!(page > 350_000, "{page} bytes of metrics");
    let health = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".to_owned();
    let aim = Aim { address, page: "/metrics", upload: "/v1/login", token: None, from_one: 250 };
    let others = vec![("health checks", calm, address, health)];
    Site { name: "a host", attacked, aim, metrics: None, others, _calm, _dir: None }
}

/// The example as a process: this program, which is told to run nothing but it.
fn org_api() -> (Server, SocketAddr) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "site::org_api_as_a_process", "--nocapture"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Server::spawn(&mut command);
    let address = address_in(&server.wait_for("curl -i http")).unwrap();
    (server, address)
}

#[test]
#[ignore = "it serves until it is killed, by the tests of `listeners.rs`"]
fn org_api_as_a_process() {
    // The listener is the subject, so that no limit stands before it.
    let usual = "bucket: { rate: 10/s, burst: 20 }\n        named_key";
    let plenty = "bucket: { rate: 1000000/s, burst: 1000000 }\n        named_key";
    let mut policies = example::POLICIES
        .replace(usual, plenty)
        .replace("window: { count: 10, per: 1min }", "window: { count: 1000000, per: 1min }");
    add_policies(&mut policies, "  ", 1_250);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let production = Some("production".to_owned());
    runtime.block_on(example::run(&policies, production, None, "127.0.0.1:0")).unwrap();
}

// === impl Site ===

impl Site {
    /// Attacks, and asserts meanwhile that others are answered in time, that the attack gets through as
    /// often as `through` says, that the process tells of it, and that it takes little memory.
    pub(crate) fn holds(
        &self,
        attack: &str,
        run: impl Fn(&Aim, &Progress) + Sync,
        amounts: (usize, usize),
        through: usize,
        told: &[(&str, u64)],
    ) {
        let attack = format!("{}: {attack}", self.name);
        let started = std::time::Instant::now();
        let aim = &self.aim;
        during(
            |progress| run(aim, progress),
            amounts,
            || {
                for (who, calm, attacked, request) in &self.others {
                    let others = Others { calm: *calm, attacked: *attacked, request };
                    assert_within_twice(&format!("{attack}, {who}"), &others);
                }
                for (metric, least) in told {
                    let Some(server) = self.metrics else { continue };
                    let value = metric_now(server, metric).unwrap();
                    println!("{attack}: {metric} {value}");
                    assert!(value >= *least, "{attack}: {metric} {value}, and it should bite");
                }
            },
            |progress| {
                let (done, got) = progress.so_far();
                let memory = self.attacked.memory_kib();
                println!(
                    "{attack}: {done} done, {got} got through, {} MiB, {:?}",
                    memory >> 10,
                    started.elapsed()
                );
                assert!(got >= through, "{attack}: {got} got through, and it should bite");
                assert!(memory < MOST_KIB, "{attack}: {memory} KiB");
            },
        );
    }
}
