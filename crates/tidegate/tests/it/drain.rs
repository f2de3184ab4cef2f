//! Signals that end the process.

use std::io::{Read, Write};

use crate::process::Server;
use crate::wire::{answer, connect, posting, verdict};

const BODY: &str = r#"{"policy":"api","subject":{"org":"acme","user":"u7"}}"#;

/// A request of which the server has the head and waits for the last byte of the body.
fn in_flight(server: std::net::SocketAddr) -> std::net::TcpStream {
    let request =
        posting("/v1/decide", BODY).replace("connection: close\r\n", "expect: 100-continue\r\n");
    let mut stream = connect(server);
    let (head, _) = request.split_once("\r\n\r\n").unwrap();
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    // It says so when it begins to read the body; from then on the request is in progress.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

#[test]
fn sigterm_and_sigint_finish_what_is_in_progress() {
    for signal in ["TERM", "INT"] {
        let (mut server, address) = Server::start(&[]);
        let mut stream = in_flight(address);
        server.signal(signal);
        server.wait_for("stopping");
        stream.write_all(BODY.as_bytes()).unwrap();
        let (status, body) = answer(stream);
        assert_eq!(status, 200, "{body}");
        assert!(body.contains(r#""verdict":"admit""#), "{body}");
        let (status, said) = server.ended();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(said.contains("stopped"), "{said}");
    }
}

#[test]
fn nobody_new_is_let_in_while_it_drains() {
    let (mut server, address) = Server::start(&[]);
    let held = in_flight(address);
    server.signal("TERM");
    server.wait_for("stopping");
    // The listener closes right after the line; then connections are refused or reset.
    let refused = (0..10_000).any(|_| {
        let Ok(mut stream) = std::net::TcpStream::connect(address) else { return true };
        let mut byte = [0];
        let asked = stream.write_all(posting("/v1/decide", BODY).as_bytes());
        asked.is_err() || stream.read(&mut byte).is_ok_and(|read| read == 0)
    });
    assert!(refused);
    drop(held);
    assert_eq!(server.ended().0.code(), Some(0));
}

#[test]
fn a_second_signal_ends_at_once() {
    let (mut server, address) = Server::start(&[]);
    let _held = in_flight(address);
    server.signal("TERM");
    server.wait_for("stopping");
    server.signal("TERM");
    let (status, said) = server.ended();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("at once"), "{said}");
}

#[test]
fn an_idle_server_ends_right_away() {
    let (server, address) = Server::start(&[]);
    let _idle = connect(address);
    assert_eq!(verdict(address, "report", "acme"), "admit");
    server.signal("TERM");
    assert_eq!(server.ended().0.code(), Some(0));
}
