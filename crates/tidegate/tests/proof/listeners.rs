//! The attacks of `memory.rs` on the other two listeners: that of operators, and that of a host of the
//! layers, which is the example `org-api` as a process.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::example;
use crate::frames::{GET, connect_from, drain, frame, head, literal, many_fields, shut};
use crate::latency::{assert_within_twice, decide};
use crate::process::{Server, address_in};

const TOKEN: &str = "token-of-the-operators";

const POLICIES: &str = "version: 1\npolicies:\n- name: api\n  failure_mode: fail_open\n  limits:\n  \
    - { name: l, by: user, bucket: { rate: 1000000/s, burst: 1000000 } }\n";

/// The most memory that a process may take.
const MOST_KIB: u64 = 256 << 10;

/// A listener to attack, and what others ask the same process meanwhile.
struct Site {
    name: &'static str,
    attacked: Server,
    address: SocketAddr,
    /// A page that anybody may ask for over and over, and a path that takes bodies.
    page: &'static str,
    upload: &'static str,
    /// The token that gets in, if one is needed.
    token: Option<&'static str>,
    /// Where others ask: the process under attack, and another one like it.
    others: SocketAddr,
    calm: SocketAddr,
    request: String,
    _calm: Server,
    _dir: Option<TempDir>,
}

/// The listener of operators.
fn operators() -> Site {
    let dir = tempfile::tempdir().unwrap();
    let (policies, token) = (dir.path().join("policies.yaml"), dir.path().join("token"));
    std::fs::write(&policies, POLICIES).unwrap();
    std::fs::write(&token, TOKEN).unwrap();
    let [policies, token] = [&policies, &token].map(|path| path.to_str().unwrap());
    let listen = ["--config", policies, "--admin-listen", "127.0.0.1:0"];
    let (mut attacked, others) =
        Server::start(&[&listen[..], &["--admin-token-file", token]].concat());
    let address = address_in(&attacked.wait_for("the admin listener is on")).unwrap();
    let (_calm, calm) = Server::on(Path::new(policies));
    let request = decide(r#"{"policy":"api","subject":{"user":"u1"}}"#);
    let (page, upload) = ("/admin/blocks", "/admin/block");
    let (name, token) = ("operators", Some(TOKEN));
    Site {
        name,
        attacked,
        address,
        page,
        upload,
        token,
        others,
        calm,
        request,
        _calm,
        _dir: Some(dir),
    }
}

/// A host of the layers.
fn host() -> Site {
    let ((attacked, address), (_calm, calm)) = (org_api(), org_api());
    let request = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".to_owned();
    let (page, upload) = ("/metrics", "/v1/login");
    let (name, token, others) = ("a host", None, address);
    Site { name, attacked, address, page, upload, token, others, calm, request, _calm, _dir: None }
}

/// The example as a process: this program, which is told to run nothing but it.
fn org_api() -> (Server, SocketAddr) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "listeners::org_api_as_a_process", "--nocapture"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Server::spawn(&mut command);
    let address = address_in(&server.wait_for("curl -i http")).unwrap();
    (server, address)
}

#[test]
#[ignore = "it serves until it is killed, by the tests of this file"]
fn org_api_as_a_process() {
    // The listener is the subject, so that no limit stands before it.
    let usual = "bucket: { rate: 10/s, burst: 20 }\n        named_key";
    let plenty = "bucket: { rate: 1000000/s, burst: 1000000 }\n        named_key";
    let policies = example::POLICIES
        .replace(usual, plenty)
        .replace("window: { count: 10, per: 1min }", "window: { count: 1000000, per: 1min }");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let production = Some("production".to_owned());
    runtime.block_on(example::run(&policies, production, None, "127.0.0.1:0")).unwrap();
}

impl Site {
    fn assert_well(&self, attack: &str) {
        let attack = format!("{}: {attack}", self.name);
        assert_within_twice(&attack, self.calm, self.others, &self.request);
        let memory = self.attacked.memory_kib();
        println!("{attack}: {} MiB", memory >> 10);
        assert!(memory < MOST_KIB, "{attack}: {memory} KiB");
    }
}

#[test]
fn t35_answers_that_nobody_takes_are_not_kept_by_the_other_listeners() {
    let _alone = crate::alone();
    for site in [operators(), host()] {
        let mut asked = head(GET, site.page, &site.address.to_string());
        if let Some(token) = site.token {
            asked.extend(literal("authorization", &format!("Bearer {token}")));
        }
        let mut connections = Vec::new();
        for _ in 0..200 {
            let mut stream = shut(site.address);
            let requests = (0..128).flat_map(|number| frame(1, 5, 2 * number + 1, &asked));
            // A server that has heard enough closes.
            let _ = stream.write_all(&requests.collect::<Vec<u8>>());
            drain(&mut stream);
            connections.push(stream);
        }
        site.assert_well("25,600 answers that nobody takes");
    }
}

#[test]
fn t35_heads_of_many_fields_are_not_kept_by_the_other_listeners() {
    let _alone = crate::alone();
    for site in [operators(), host()] {
        let sent = many_fields(site.address, site.upload, 20 << 20);
        site.assert_well(&format!("{} MiB of heads of 400 fields", sent >> 20));
    }
}

#[test]
fn t12_half_bodies_are_bounded_at_the_other_listeners() {
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    for site in [operators(), host()] {
        let line = |token| format!("authorization: Bearer {token}\r\n");
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n{}\
             content-length: 62000\r\n\r\n",
            site.upload,
            site.address,
            site.token.map(line).unwrap_or_default()
        );
        let half = [head.as_bytes(), &[b' '; 61_000]].concat();
        let mut connections = Vec::new();
        for number in 0..6_000_u32 {
            // No address may have more than 256 places.
            let mut stream = connect_from((number / 250).try_into().unwrap(), site.address);
            let _ = stream.write_all(&half);
            connections.push(stream);
        }
        site.assert_well("6,000 bodies of 61 KB at once, from 24 addresses");
    }
}

/// Idle connections cost their sockets and little else, although each has been answered once.
#[test]
#[expect(clippy::disallowed_methods, reason = "the allocator is given real time")]
fn t12_nine_thousand_idle_connections_cost_little_memory() {
    const CONNECTIONS: usize = 9_000;
    const MOST_BYTES_EACH: u64 = 12 << 10;
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    let text = format!("server: {{ max_connections_per_address: 10000 }}\n{POLICIES}");
    std::fs::write(&file, text).unwrap();
    let (server, address) = Server::on(&file);
    let request = decide(r#"{"policy":"api","subject":{"user":"u1"}}"#);
    let ask = |stream: &mut TcpStream| {
        stream.write_all(request.as_bytes()).unwrap();
        let count = stream.read(&mut [0; 4096]).unwrap();
        assert!(count > 0, "closed");
    };
    let mut last = TcpStream::connect(address).unwrap();
    ask(&mut last);
    let before = server.resident_kib();
    let mut idle = Vec::with_capacity(CONNECTIONS);
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(address).unwrap();
        ask(&mut stream);
        idle.push(stream);
    }
    let busy = server.resident_kib();
    let each = || (server.resident_kib().saturating_sub(before) << 10) / CONNECTIONS as u64;
    let start = std::time::Instant::now();
    // The allocator gives memory back while it works, so somebody asks on.
    while each() > MOST_BYTES_EACH && start.elapsed() < crate::process::PATIENCE {
        ask(&mut last);
    }
    println!("{CONNECTIONS} connections: {} MiB busy, {} bytes each idle", busy >> 10, each());
    assert!(each() <= MOST_BYTES_EACH, "{} bytes each", each());
    // They are all still good.
    idle.iter_mut().step_by(100).for_each(ask);
}
