//! HTTP/2 by hand, for clients that no library would be.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// The connection preface of HTTP/2, with settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame of HTTP/2.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A connection from one of many addresses of this machine, none of which others use: an address has a share
/// of the places, and attackers must not use up that of the clients who are measured.
pub(crate) fn connect_from(number: u8, server: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 1, number], 0)).into()).unwrap();
    socket.connect(&server.into()).unwrap();
    socket.into()
}

/// A connection of HTTP/2 whose client never opens a window, and reads nothing.
pub(crate) fn shut(server: SocketAddr) -> TcpStream {
    let mut stream = connect_from(0, server);
    stream.set_nodelay(true).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    // SETTINGS_INITIAL_WINDOW_SIZE is 4.
    let settings = frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]);
    // A server that has no place for it closes.
    let _ = stream.write_all(&[PREFACE, &settings].concat());
    stream
}

/// A field that is not indexed, with a name and a value of fewer than 127 bytes.
pub(crate) fn literal(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).unwrap();
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

/// The head of a request: `:method GET` or `POST` and `:scheme http` from the static table.
pub(crate) fn head(method: u8, path: &str, authority: &str) -> Vec<u8> {
    [&[method, 0x86][..], &literal(":path", path), &literal(":authority", authority)].concat()
}

pub(crate) const GET: u8 = 0x82;
pub(crate) const POST: u8 = 0x83;

/// Takes what has come, so that the server is not kept from writing by a full socket.
pub(crate) fn drain(stream: &mut TcpStream) {
    stream.set_nonblocking(true).unwrap();
    let mut space = [0; 16 << 10];
    while matches!(stream.read(&mut space), Ok(count) if count > 0) {}
    stream.set_nonblocking(false).unwrap();
}

/// Sends heads of a few bytes that stand for 400 fields each, over two hundred connections at a time, until
/// sockets have taken so many bytes. Connections that the server closes are replaced.
pub(crate) fn many_fields(server: SocketAddr, path: &str, bytes: usize) -> usize {
    let begun = head(POST, path, &server.to_string());
    // The first head enters a field into the table; the others name it 400 times, a byte each.
    let entering = [&begun[..], &[0x40, 1], b"a", &[0]].concat();
    let many = [&begun[..], &[0xbe; 400]].concat();
    let mut requests = frame(1, 4, 1, &entering);
    for number in 1..128 {
        requests.extend(frame(1, 4, 2 * number + 1, &many));
    }
    let (mut sent, mut connections) = (0, VecDeque::new());
    while sent < bytes {
        if connections.len() == 200 {
            connections.pop_front();
        }
        let mut stream = shut(server);
        if stream.write_all(&requests).is_ok() {
            sent += requests.len();
        }
        drain(&mut stream);
        connections.push_back(stream);
    }
    sent
}
