//! Threat T12: what an idle connection costs, over HTTP/1 and over HTTP/2.
#![expect(
    clippy::disallowed_methods,
    reason = "what is attacked and measured here goes by real time"
)]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::frames::{GET, frame, head};
use crate::latency::decide;
use crate::process::{PATIENCE, Server};

const CONNECTIONS: usize = 9_000;

const POLICIES: &str = "version: 1\nserver: { max_connections_per_address: 10000 }\npolicies:\n\
    - name: api\n  failure_mode: fail_open\n  limits:\n  \
    - { name: l, by: user, bucket: { rate: 1000000/s, burst: 1000000 } }\n";

/// Asserts that idle connections cost little beyond their sockets, although each has been answered once.
/// `first` and `again` are what a client says: on a new connection, and on one that it has.
fn assert_idle_is_cheap(protocol: &str, first: &[u8], again: &[u8], most_bytes_each: u64) {
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    std::fs::write(&file, POLICIES).unwrap();
    let (server, address) = Server::on(&file);
    let mut last = connected(address, first);
    let before = server.resident_kib();
    let mut idle: Vec<_> = (0..CONNECTIONS).map(|_| connected(address, first)).collect();
    let busy = server.resident_kib();
    let each = || (server.resident_kib().saturating_sub(before) << 10) / CONNECTIONS as u64;
    let start = Instant::now();
    // The allocator gives memory back while it works, so somebody asks on.
    while each() > most_bytes_each && start.elapsed() < Duration::from_secs(15) {
        ask(&mut last, again);
    }
    println!(
        "{protocol}: {CONNECTIONS} connections, {} MiB busy, {} each idle",
        busy >> 10,
        each()
    );
    assert!(each() <= most_bytes_each, "{} bytes each", each());
    // They are all still good.
    idle.iter_mut().step_by(100).for_each(|stream| ask(stream, again));
}

fn connected(address: SocketAddr, first: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    ask(&mut stream, first);
    stream
}

fn ask(stream: &mut TcpStream, said: &[u8]) {
    stream.write_all(said).unwrap();
    let count = stream.read(&mut [0; 4096]).unwrap();
    assert!(count > 0, "closed");
}

#[test]
fn t12_nine_thousand_idle_connections_cost_little_memory() {
    let _alone = crate::alone();
    let request = decide(r#"{"policy":"api","subject":{"user":"u1"}}"#);
    assert_idle_is_cheap("HTTP/1", request.as_bytes(), request.as_bytes(), 12 << 10);
}

/// hyper keeps the state of an HTTP/2 connection for as long as it lives, so even an idle one costs ten
/// times as much as one of HTTP/1, whose buffers are freed. Therefore there are fewer of them.
#[test]
fn t12_idle_connections_of_http_2_are_bounded_and_leave_room_for_others() {
    const PLACES: usize = 4_096;
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    std::fs::write(&file, POLICIES).unwrap();
    let (server, address) = Server::on(&file);
    let before = server.resident_kib();
    let request = frame(1, 5, 1, &head(GET, "/livez", "localhost"));
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let said = [preface, &frame(4, 0, 0, &[])[..], &request].concat();
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // Closed at once, or answered.
        if stream.write_all(&said).is_ok() && matches!(stream.read(&mut [0; 512]), Ok(1..)) {
            idle.push(stream);
        }
    }
    let each = ((server.resident_kib() - before) << 10) / PLACES as u64;
    let memory = server.memory_kib() >> 10;
    println!(
        "HTTP/2: {} of {CONNECTIONS} connections, {each} bytes each, {memory} MiB",
        idle.len()
    );
    assert_eq!(idle.len(), PLACES);
    assert!(memory < 256, "{memory} MiB");
    let request = decide(r#"{"policy":"api","subject":{"user":"u1"}}"#);
    connected(address, request.as_bytes());
}
