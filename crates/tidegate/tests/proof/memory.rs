//! Threats T12 and T35: clients that make a server keep things. Each attack is a few hundred connections
//! that send little or read nothing; the server stays below 256 MiB, and others are answered almost as
//! fast as by a server that nobody attacks.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::frames::{GET, POST, drain, frame, head, literal, shut};
use crate::latency::{assert_within_twice, decide};
use crate::process::Server;

const BODY: &str = r#"{"policy":"api","subject":{"user":"u1"}}"#;

/// The most memory that the server may take.
const MOST_KIB: u64 = 256 << 10;

/// Two servers alike, one of which is attacked.
struct Pair {
    attacked: Server,
    address: SocketAddr,
    calm: SocketAddr,
    /// Ends with this value.
    _calm: Server,
}

fn started(dir: &tempfile::TempDir) -> Pair {
    let file = dir.path().join("policies.yaml");
    let text = "version: 1\nserver: { max_connections_per_address: 10000, body_timeout: 60s }\n\
         policies:\n- name: api\n  failure_mode: fail_open\n  limits:\n  \
         - { name: l, by: user, bucket: { rate: 1000000/s, burst: 1000000 } }\n";
    std::fs::write(&file, text).unwrap();
    let ((attacked, address), (_calm, calm)) = (Server::on(&file), Server::on(&file));
    Pair { attacked, address, calm, _calm }
}

// === impl Pair ===

impl Pair {
    /// Asserts that the attack has cost little memory, and others little time.
    fn assert_well(&self, attack: &str) {
        assert_within_twice(attack, self.calm, self.address, &decide(BODY));
        let memory = self.attacked.memory_kib();
        println!("{attack}: {} MiB", memory >> 10);
        assert!(memory < MOST_KIB, "{attack}: {memory} KiB");
    }
}

#[test]
fn t35_answers_that_nobody_takes_are_not_kept_for_ever_more() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let pair = started(&dir);
    let address = pair.address;
    let authority = address.to_string();
    let mut connections = Vec::new();
    for _ in 0..200 {
        let mut stream = shut(address);
        let mut requests = Vec::new();
        for number in 0..128 {
            requests.extend(frame(1, 5, 2 * number + 1, &head(GET, "/metrics", &authority)));
        }
        // A server that has heard enough closes.
        let _ = stream.write_all(&requests);
        drain(&mut stream);
        connections.push(stream);
    }
    pair.assert_well("25,600 copies of the metrics");
}

#[test]
fn t35_batches_whose_answers_nobody_takes_are_not_kept_for_ever_more() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let pair = started(&dir);
    let address = pair.address;
    let authority = address.to_string();
    let one = r#"{"policy":"api","subject":{"user":"u1"}}"#;
    let batch = format!(r#"{{"requests":[{}]}}"#, vec![one; 100].join(","));
    let mut posted = head(POST, "/v1/decide/batch", &authority);
    posted.extend(literal("content-type", "application/json"));
    let mut connections = Vec::new();
    for _ in 0..200 {
        let mut stream = shut(address);
        for number in 0..128 {
            let stream_id = 2 * number + 1;
            let mut request = frame(1, 4, stream_id, &posted);
            request.extend(frame(0, 1, stream_id, batch.as_bytes()));
            if stream.write_all(&request).is_err() {
                break;
            }
            drain(&mut stream);
        }
        connections.push(stream);
    }
    pair.assert_well("25,600 answers of batches");
}

#[test]
fn t35_heads_of_a_few_bytes_that_stand_for_many_fields_are_not_kept() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let pair = started(&dir);
    let sent = crate::frames::many_fields(pair.address, "/v1/decide", 180 << 20);
    pair.assert_well(&format!("{} MiB of heads of 400 fields", sent >> 20));
}

#[test]
fn t12_bodies_that_stop_before_their_end_are_bounded_together() {
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let pair = started(&dir);
    let address = pair.address;
    let head = format!(
        "POST /v1/decide HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: 62000\r\n\r\n"
    );
    let half = [head.as_bytes(), &[b' '; 61_000]].concat();
    // As many at once as there may be, ten times.
    let mut connections = std::collections::VecDeque::new();
    for _ in 0..60_000 {
        if connections.len() == 6_000 {
            connections.pop_front();
        }
        let mut stream = TcpStream::connect(address).unwrap();
        let _ = stream.write_all(&half);
        connections.push_back(stream);
    }
    pair.assert_well("60,000 bodies of 61 KB, 6,000 at once");
}

#[test]
fn t12_a_hundred_and_sixty_connections_that_ask_for_metrics_slow_nobody_down() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let pair = started(&dir);
    let over = AtomicBool::new(false);
    let asked = format!("GET /metrics HTTP/1.1\r\nhost: {}\r\n\r\n", pair.address);
    std::thread::scope(|scope| {
        let ask = || {
            let mut streams: Vec<TcpStream> =
                (0..160).map(|_| TcpStream::connect(pair.address).unwrap()).collect();
            let (mut space, mut bytes) = (vec![0; 256 << 10], 0);
            while !over.load(Relaxed) {
                for stream in &mut streams {
                    stream.write_all(asked.as_bytes()).unwrap();
                }
                for stream in &mut streams {
                    bytes += stream.read(&mut space).unwrap();
                }
            }
            bytes
        };
        let asking = scope.spawn(ask);
        let judged = catch_unwind(AssertUnwindSafe(|| pair.assert_well("160 who ask for metrics")));
        over.store(true, Relaxed);
        println!("{} MiB of metrics", asking.join().unwrap() >> 20);
        judged.unwrap_or_else(|panic| resume_unwind(panic));
    });
}
