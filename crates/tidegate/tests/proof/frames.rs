//! HTTP/2 by hand, for clients that no library would be.
#![expect(
    clippy::disallowed_methods,
    reason = "what is attacked and measured here goes by real time"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

/// The connection preface of HTTP/2, with settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection of HTTP/2 whose client never opens a window.
pub(crate) struct Shut {
    pub(crate) stream: TcpStream,
    /// What was read and not yet understood.
    read: Vec<u8>,
    /// Heads of responses that have come.
    pub(crate) answers: usize,
    /// The bytes of bodies that the server takes on this connection.
    window: usize,
}

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

// === impl Shut ===

impl Shut {
    pub(crate) fn connect(number: u8, server: SocketAddr) -> Self {
        let mut stream = connect_from(number, server);
        stream.set_nodelay(true).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
        // SETTINGS_INITIAL_WINDOW_SIZE is 4.
        let settings = frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]);
        // A server that has no place for it closes.
        let _ = stream.write_all(&[PREFACE, &settings].concat());
        Self { stream, read: Vec::new(), answers: 0, window: 65_535 }
    }

    /// Sends bytes; `false` if the server has heard enough, and closed.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Waits until the server takes a body of this length; `false` if it does not.
    pub(crate) fn has_window_for(&mut self, body: usize) -> bool {
        let start = Instant::now();
        while self.window < body {
            self.drain();
            if start.elapsed() > Duration::from_secs(1) {
                return false;
            }
            std::thread::yield_now();
        }
        self.window -= body;
        true
    }

    /// Takes what has come, so that the server is not kept from writing by a full socket, and counts the
    /// heads of responses in it.
    pub(crate) fn drain(&mut self) {
        self.stream.set_nonblocking(true).unwrap();
        let mut space = [0; 16 << 10];
        while let Ok(count @ 1..) = self.stream.read(&mut space) {
            self.read.extend_from_slice(&space[..count]);
        }
        self.stream.set_nonblocking(false).unwrap();
        let mut at = 0;
        while let Some(header) = self.read.get(at..at + 9) {
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            if self.read.len() < at + 9 + length {
                break;
            }
            let (kind, of_connection) = (header[3], header[5..9] == [0; 4]);
            self.answers += usize::from(kind == 1);
            if kind == 8 && of_connection {
                let more = self.read[at + 9..at + 13].try_into().unwrap();
                self.window += u32::from_be_bytes(more) as usize;
            }
            at += 9 + length;
        }
        self.read.drain(..at);
    }
}
