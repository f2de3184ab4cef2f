//! Requests by hand, over a plain socket.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::process::PATIENCE;

/// A connection that does not wait forever.
pub(crate) fn connect(server: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Gets a path: status and body.
#[track_caller]
pub(crate) fn get(server: SocketAddr, path: &str) -> (u16, String) {
    exchange(
        server,
        &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
    )
}

/// Posts JSON: status and body.
#[track_caller]
pub(crate) fn post(server: SocketAddr, path: &str, body: &str) -> (u16, Value) {
    let (status, body) = exchange(server, &posting(path, body));
    (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("not JSON: {body:?}")))
}

/// A request to be answered and closed.
pub(crate) fn posting(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[track_caller]
fn exchange(server: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = connect(server);
    stream.write_all(request.as_bytes()).unwrap();
    answer(stream)
}

/// Reads to the end of an answer.
#[track_caller]
pub(crate) fn answer(mut stream: TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// The verdict of one decision.
#[track_caller]
pub(crate) fn verdict(server: SocketAddr, policy: &str, org: &str) -> String {
    let body = format!(r#"{{"policy":"{policy}","subject":{{"org":"{org}"}}}}"#);
    let (status, answer) = post(server, "/v1/decide", &body);
    assert_eq!(status, 200, "{answer}");
    answer["verdict"].as_str().unwrap().to_owned()
}

/// The value of one metric, by the beginning of its line. Whoever asks within a second of another is told
/// the same; [`metric_now`] waits for another page.
#[track_caller]
pub(crate) fn metric(server: SocketAddr, begins: &str) -> Option<u64> {
    let (status, text) = get(server, "/metrics");
    assert_eq!(status, 200);
    let line = text.lines().find(|line| line.starts_with(begins))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// The value of one metric now: from a page that was made after this was called.
#[track_caller]
pub(crate) fn metric_now(server: SocketAddr, begins: &str) -> Option<u64> {
    let (_, ready) = get(server, "/readyz");
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let asked_at = ready["uptime_seconds"].as_u64();
    let later = |_: &u32| metric(server, "tidegate_uptime_seconds") > asked_at;
    (0..100_000).find(later).expect("a page is made every second");
    metric(server, begins)
}
