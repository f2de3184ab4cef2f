//! HTTP/1.1 by hand, so that it can also be got wrong.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// One connection.
pub(crate) struct Client {
    stream: TcpStream,
    /// Read, and not yet part of a reply.
    buffer: Vec<u8>,
}

/// One response.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// A test that waits this long has failed.
const TOO_LONG: Duration = Duration::from_secs(20);

// === impl Client ===

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(TOO_LONG)).unwrap();
        stream.set_write_timeout(Some(TOO_LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends as much as the other side takes.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    pub(crate) fn get(&mut self, target: &str) -> Reply {
        self.send(format!("GET {target} HTTP/1.1\r\nhost: t\r\n\r\n").as_bytes());
        self.reply()
    }

    pub(crate) fn post(&mut self, target: &str, body: &[u8]) -> Reply {
        self.send(&post(target, body));
        self.reply()
    }

    /// The next response; of one to a `HEAD` there is only the head.
    pub(crate) fn reply(&mut self) -> Reply {
        self.try_reply(true).expect("a whole reply")
    }

    pub(crate) fn head_reply(&mut self) -> Reply {
        self.try_reply(false).expect("a whole head")
    }

    pub(crate) fn try_reply(&mut self, with_body: bool) -> Option<Reply> {
        loop {
            if let Some(reply) = self.parse(with_body) {
                return Some(reply);
            }
            if !self.read() {
                return None;
            }
        }
    }

    /// Whether the other side has closed, once everything it sent has been read.
    pub(crate) fn is_closed(&mut self) -> bool {
        while self.read() {}
        self.buffer.is_empty()
    }

    /// Whether the other side closes the connection within this time.
    pub(crate) fn ends_within(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let read = self.stream.read(&mut [0]);
        self.stream.set_read_timeout(Some(TOO_LONG)).unwrap();
        match read {
            Ok(count) => count == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// What has come so far, at least a byte of it.
    pub(crate) fn some(&mut self) -> Vec<u8> {
        while self.buffer.is_empty() && self.read() {}
        std::mem::take(&mut self.buffer)
    }

    pub(crate) fn close_write(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    fn read(&mut self) -> bool {
        let mut space = [0; 16 << 10];
        match self.stream.read(&mut space) {
            Ok(count) => {
                self.buffer.extend_from_slice(&space[..count]);
                count > 0
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("waited for the server in vain: {error}"),
        }
    }

    fn parse(&mut self, with_body: bool) -> Option<Reply> {
        let end = self.buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let head = String::from_utf8(self.buffer[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n").filter(|line| !line.is_empty());
        let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
        let headers: Vec<_> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, length)| length.parse().unwrap());
        let length = if with_body && status != 100 { length } else { 0 };
        if self.buffer.len() < end + length {
            return None;
        }
        let body = self.buffer[end..end + length].to_vec();
        self.buffer.drain(..end + length);
        Some(Reply { status, headers, body })
    }
}

/// The bytes of a request.
pub(crate) fn post(target: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {target} HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

// === impl Reply ===

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The document of a problem, after a look at its form.
    pub(crate) fn problem(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        assert_eq!(self.header("cache-control"), Some("no-store"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{problem}");
        assert!(problem["title"].is_string(), "{problem}");
        problem
    }
}
