//! Threat T34: five thousand clients that say nothing, and one that works.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::latency::{Client, Others, assert_within_twice, decide};
use crate::process::{PATIENCE, Server};
use crate::wire::get;

const SLOW: usize = 5_000;
const BODY: &str = r#"{"policy":"api","subject":{"user":"u1"}}"#;

fn started(dir: &tempfile::TempDir, name: &str, header_timeout: &str) -> (Server, SocketAddr) {
    let file: PathBuf = dir.path().join(name);
    let text = format!(
        "version: 1\nserver: {{ max_connections_per_address: 10000, header_timeout: {header_timeout}, body_timeout: 120s, idle_timeout: 120s }}\n\
         policies:\n- name: api\n  failure_mode: fail_open\n  limits:\n  \
         - {{ name: l, by: user, bucket: {{ rate: 1000000/s, burst: 1000000 }} }}\n"
    );
    std::fs::write(&file, text).unwrap();
    Server::on(&file)
}

/// A third say nothing, a third half a head, a third half a body.
fn slow(server: SocketAddr, number: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server).unwrap();
    let said: &[u8] = match number % 3 {
        0 => b"",
        1 => b"POST /v1/decide HTTP/1.1\r\nhost: localhost\r\nx-sl",
        _ => b"POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 40\r\n\r\n{\"policy\"",
    };
    stream.write_all(said).unwrap();
    stream
}

fn enough_descriptors() {
    let most = rlimit::increase_nofile_limit(u64::MAX).unwrap();
    assert!(most > SLOW as u64 + 200, "only {most} descriptors; raise the hard limit (ulimit -Hn)");
}

/// How many connections the server has.
fn connections(server: SocketAddr) -> usize {
    let (status, body) = get(server, "/readyz");
    assert_eq!(status, 200, "{body}");
    let details: serde_json::Value = serde_json::from_str(&body).unwrap();
    usize::try_from(details["connections"].as_u64().unwrap()).unwrap()
}

#[test]
fn t34_five_thousand_slow_sockets_leave_the_latency_of_others_within_twice() {
    let _alone = crate::alone();
    enough_descriptors();
    let dir = tempfile::tempdir().unwrap();
    let (_calm, calm) = started(&dir, "calm.yaml", "120s");
    let (_attacked, attacked) = started(&dir, "attacked.yaml", "120s");
    let mut sockets: Vec<TcpStream> = (0..SLOW).map(|number| slow(attacked, number)).collect();
    // All of them are served, and not merely waiting to be.
    while connections(attacked) < SLOW {}
    let others = Others { calm, attacked, request: &decide(BODY) };
    assert_within_twice("5,000 slow sockets", &others);
    // They were there all the time.
    let last = sockets.last_mut().unwrap();
    last.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let still = last.read(&mut [0]).unwrap_err().kind();
    assert!(matches!(still, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{still:?}");
}

#[test]
fn t34_five_thousand_slow_sockets_are_closed_and_make_room() {
    let _alone = crate::alone();
    enough_descriptors();
    let dir = tempfile::tempdir().unwrap();
    let (_server, address) = started(&dir, "short.yaml", "1s");
    let sockets: Vec<TcpStream> =
        (0..SLOW).filter(|n| n % 3 != 2).map(|n| slow(address, n)).collect();
    let count = sockets.len();
    for mut socket in sockets {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        // Closed, with or without a word about it; or reset, because it said something unread.
        let mut said = Vec::new();
        match socket.read_to_end(&mut said) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    println!("{count} closed");
    assert_eq!(Client::new(address, BODY).ask().0, 200);
}
