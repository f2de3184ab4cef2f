//! A bare socket to a server, for tests that count bytes and see how a connection ends.

use core::time::Duration;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Long beside an answer on loopback, short beside a test.
const SILENCE: Duration = Duration::from_millis(150);

/// For tests whose subject is how long something takes.
#[allow(clippy::disallowed_methods, reason = "real servers take real time")]
pub(crate) fn start() -> Instant {
    Instant::now()
}

/// A client that knows what it sends.
pub(crate) struct Wire(pub(crate) TcpStream);

// === impl Wire ===

impl Wire {
    pub(crate) async fn to(addr: SocketAddr) -> Self {
        Self(TcpStream::connect(addr).await.unwrap())
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// One line, without its end.
    pub(crate) async fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.push(self.0.read_u8().await?);
        }
        Ok(String::from_utf8_lossy(&line[..line.len() - 2]).into_owned())
    }

    /// Sends an inline command and reads an answer of one line.
    pub(crate) async fn ask(&mut self, command: &str) -> io::Result<String> {
        self.0.write_all(format!("{command}\r\n").as_bytes()).await?;
        self.line().await
    }

    /// Whether nothing comes for a while.
    pub(crate) async fn is_silent(&mut self) -> bool {
        let mut byte = [0];
        tokio::time::timeout(SILENCE, self.0.peek(&mut byte)).await.is_err()
    }

    /// What still comes, and the error that ends it, if not an orderly end.
    pub(crate) async fn rest(&mut self) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut all = Vec::new();
        let error = self.0.read_to_end(&mut all).await.err();
        (all, error.map(|error| error.kind()))
    }
}
