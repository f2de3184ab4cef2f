//! Threats T12 and T35: clients that make a server keep things. Each attack is a few hundred connections
//! that send little or read nothing; the server stays below 256 MiB, and others are answered.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::latency::Client;
use crate::process::Server;

const BODY: &str = r#"{"policy":"api","subject":{"user":"u1"}}"#;

/// The most memory that the server may take.
const MOST_KIB: u64 = 256 << 10;

/// The connection preface of HTTP/2, with settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fn started(dir: &tempfile::TempDir) -> (Server, SocketAddr) {
    let file = dir.path().join("policies.yaml");
    let text = "version: 1\nserver: { max_connections_per_address: 10000, body_timeout: 60s }\n\
         policies:\n- name: api\n  failure_mode: fail_open\n  limits:\n  \
         - { name: l, by: user, bucket: { rate: 1000000/s, burst: 1000000 } }\n";
    std::fs::write(&file, text).unwrap();
    Server::on(&file)
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A connection of HTTP/2 whose client never opens a window, and reads nothing.
fn shut(server: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    // SETTINGS_INITIAL_WINDOW_SIZE is 4.
    let settings = frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]);
    stream.write_all(&[PREFACE, &settings].concat()).unwrap();
    stream
}

/// A field that is not indexed, with a name and a value of fewer than 127 bytes.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).unwrap();
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

/// The head of a request: `:method GET` or `POST` and `:scheme http` from the static table.
fn head(method: u8, path: &str, authority: &str) -> Vec<u8> {
    [&[method, 0x86][..], &literal(":path", path), &literal(":authority", authority)].concat()
}

const GET: u8 = 0x82;
const POST: u8 = 0x83;

/// How many of the streams that were opened the server has refused, and whether it still reads.
fn drain(stream: &mut TcpStream) {
    stream.set_nonblocking(true).unwrap();
    let mut space = [0; 16 << 10];
    while matches!(stream.read(&mut space), Ok(count) if count > 0) {}
    stream.set_nonblocking(false).unwrap();
}

/// Asks until the server has dealt with everything before, and looks at its memory.
fn is_well(server: &Server, address: SocketAddr, attack: &str) {
    let mut client = Client::new(address, BODY);
    for _ in 0..200 {
        assert_eq!(client.ask().0, 200, "{attack}: others are answered");
    }
    let memory = server.memory_kib();
    println!("{attack}: {} MiB", memory >> 10);
    assert!(memory < MOST_KIB, "{attack}: {memory} KiB");
}

#[test]
fn t35_answers_that_nobody_takes_are_not_kept_for_ever_more() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = started(&dir);
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
    is_well(&server, address, "25,600 copies of the metrics");
}

#[test]
fn t35_batches_whose_answers_nobody_takes_are_not_kept_for_ever_more() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = started(&dir);
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
    is_well(&server, address, "25,600 answers of batches");
}

#[test]
fn t35_heads_of_a_few_bytes_that_stand_for_many_fields_are_not_kept() {
    let _alone = crate::alone();
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = started(&dir);
    let authority = address.to_string();
    // The first head enters a field into the table; the others name it 400 times, a byte each.
    let entering = [&[0x40, 1][..], b"a", &[0]].concat();
    let mut connections = Vec::new();
    for _ in 0..200 {
        let mut stream = shut(address);
        let begun = head(POST, "/v1/decide", &authority);
        let first = [&begun[..], &entering].concat();
        let mut requests = frame(1, 4, 1, &first);
        let many = [&begun[..], &[0xbe; 400]].concat();
        for number in 1..128 {
            requests.extend(frame(1, 4, 2 * number + 1, &many));
        }
        let _ = stream.write_all(&requests);
        drain(&mut stream);
        connections.push(stream);
    }
    is_well(&server, address, "25,600 heads of 400 fields");
}

#[test]
fn t12_bodies_that_stop_before_their_end_are_bounded_together() {
    let _alone = crate::alone();
    rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = started(&dir);
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
    is_well(&server, address, "60,000 bodies of 61 KB, 6,000 at once");
}
