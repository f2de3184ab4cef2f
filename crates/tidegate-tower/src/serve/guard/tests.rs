//! The guard lets one way to write a request pass, and finds the first byte of every other.

mod against_hyper;
mod agreement;
mod corpus;
mod grammar;
mod model;
mod scan;
mod tables;

use super::{HeadGuard, Malformed, Then};

/// All faults there are.
const ALL: [Malformed; 25] = [
    Malformed::EmptyLines,
    Malformed::BareLineFeed,
    Malformed::BareReturn,
    Malformed::Method,
    Malformed::Target,
    Malformed::Version,
    Malformed::Folded,
    Malformed::NameEmpty,
    Malformed::Name,
    Malformed::NameSpace,
    Malformed::Control,
    Malformed::HostTwice,
    Malformed::HostMissing,
    Malformed::Host,
    Malformed::LengthTwice,
    Malformed::Length,
    Malformed::LengthBesideCoding,
    Malformed::CodingTwice,
    Malformed::Coding,
    Malformed::CodingOld,
    Malformed::ConnectBody,
    Malformed::ChunkSize,
    Malformed::ChunkExtension,
    Malformed::ChunkEnd,
    Malformed::TrailerField,
];

/// The bytes of a connection, as a guard divides them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Division {
    /// Bytes that passed.
    passed: usize,
    /// The positions at which the guard asked whether the protocol is switched.
    upgrades: Vec<usize>,
    /// The fault after the bytes that passed.
    refused: Option<Malformed>,
    /// Whether the reading stopped inside a head.
    within_head: bool,
    /// Whether the reading stopped inside a body.
    within_body: bool,
}

/// Reads pieces of a connection; no protocol is ever switched.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Division {
    let mut guard = HeadGuard::default();
    let mut read = Division {
        passed: 0,
        upgrades: Vec::new(),
        refused: None,
        within_head: false,
        within_body: false,
    };
    for mut piece in pieces {
        loop {
            let passed = guard.read(piece);
            read.passed += passed.count;
            piece = &piece[passed.count..];
            match passed.then {
                Then::More => {
                    assert!(piece.is_empty(), "bytes are left over without a reason");
                    break;
                }
                Then::Upgrade => read.upgrades.push(read.passed),
                Then::Malformed(malformed) => {
                    assert!(read.refused.is_none_or(|before| before == malformed));
                    assert!(read.refused.is_none() || passed.count == 0);
                    read.refused = Some(malformed);
                    break;
                }
            }
        }
    }
    read.within_head = guard.is_within_head();
    read.within_body = guard.is_within_body();
    read
}

/// Reads a connection one byte at a time.
fn read_bytewise(bytes: &[u8]) -> Division {
    read(bytes.chunks(1))
}

#[test]
fn the_guard_is_small() {
    assert!(size_of::<HeadGuard>() <= 64, "{}", size_of::<HeadGuard>());
}

#[test]
fn nothing_to_read_changes_nothing() {
    let mut guard = HeadGuard::default();
    assert_eq!(guard.read(b"").then, Then::More);
    guard.read(b"GET / HTTP/1.1\r\n\n");
    let passed = guard.read(b"");
    assert_eq!((passed.count, passed.then), (0, Then::Malformed(Malformed::BareLineFeed)));
}

#[test]
fn a_head_is_known_from_its_first_byte_to_its_last() {
    let (empty, head, body) =
        ("\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", "hello");
    let mut guard = HeadGuard::default();
    for (at, byte) in [empty, head, body].concat().bytes().enumerate() {
        let begun = at > empty.len();
        let ended = at >= empty.len() + head.len();
        assert_eq!(guard.is_within_head(), begun && !ended, "{at}");
        assert_eq!(guard.is_within_body(), ended, "{at}");
        guard.read(&[byte]);
    }
    assert!(!guard.is_within_head() && !guard.is_within_body());
}

#[test]
fn trailers_are_no_head() {
    let bytes = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na: b\r\n";
    let read = read_bytewise(bytes);
    assert!(!read.within_head && read.within_body, "{read:?}");
}

#[test]
fn bytes_pass_unread_once_the_protocol_is_switched() {
    for head in [
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
    ] {
        let mut guard = HeadGuard::default();
        let bytes = [head.as_bytes(), b"\0\n\xff not HTTP"].concat();
        let passed = guard.read(&bytes);
        assert_eq!((passed.count, passed.then), (head.len(), Then::Upgrade), "{head}");
        assert!(!guard.is_within_head() && !guard.is_within_body());
        let rest = &bytes[passed.count..];
        guard.upgraded();
        let passed = guard.read(rest);
        assert_eq!((passed.count, passed.then), (rest.len(), Then::More), "{head}");
        assert!(!guard.is_within_head() && !guard.is_within_body());
    }
}

#[test]
fn bytes_are_http_if_the_protocol_is_not_switched() {
    let head = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n";
    let read = read([format!("{head}{head}\0").as_bytes()]);
    assert_eq!(read.upgrades, [head.len(), 2 * head.len()]);
    assert_eq!(read.refused, Some(Malformed::Method));
}

#[test]
fn a_fault_lasts_even_if_the_protocol_is_switched_late() {
    let mut guard = HeadGuard::default();
    guard.read(b"GET\n");
    guard.upgraded();
    assert_eq!(guard.read(b"more").then, Then::Malformed(Malformed::BareLineFeed));
}
