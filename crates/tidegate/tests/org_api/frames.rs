//! HTTP/2 by hand: what is sent in one write arrives in one packet.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection that has said nothing but that it speaks HTTP/2.
pub(crate) struct Frames {
    stream: TcpStream,
    read: Vec<u8>,
}

/// A frame that came.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;

/// What a client says first, with settings that change nothing.
pub(crate) fn preface() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A whole request without a body: its fields as literals that nobody remembers.
pub(crate) fn get(stream: u32, path: &str, token: &str) -> Vec<u8> {
    let text = |text: &str| {
        let mut bytes = vec![u8::try_from(text.len()).unwrap()];
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    // `:method: GET`, `:scheme: http`, and then `:path` by the number of its name.
    let mut block = vec![0x82, 0x86, 0x04];
    block.extend(text(path));
    block.push(0x00);
    block.extend(text("authorization"));
    block.extend(text(&format!("Bearer {token}")));
    // The end of the stream and of the fields.
    frame(HEADERS, 0x05, stream, &block)
}

// === impl Frames ===

impl Frames {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// Sends all of it in one write.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let written = self.stream.write(bytes).await.unwrap();
        assert_eq!(written, bytes.len(), "all in one");
    }

    /// The next frame; none if the connection has ended.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let [a, b, c, kind, flags, s1, s2, s3, s4, rest @ ..] = &self.read[..] {
                let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
                if rest.len() >= length {
                    let (kind, flags, payload) = (*kind, *flags, rest[..length].to_vec());
                    let stream = u32::from_be_bytes([*s1, *s2, *s3, *s4]);
                    self.read.drain(..9 + length);
                    return Some(Frame { kind, flags, stream, payload });
                }
            }
            if !matches!(self.stream.read_buf(&mut self.read).await, Ok(1..)) {
                return None;
            }
        }
    }
}

// === impl Frame ===

impl Frame {
    /// Whether these are the fields of a response that begins with `:status: 200`, which has a number
    /// of its own.
    pub(crate) fn is_ok(&self) -> bool {
        self.kind == HEADERS && self.payload.first() == Some(&0x88)
    }
}
