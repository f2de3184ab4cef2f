//! What one listener puts up with.

use std::time::Duration;

/// What a listener puts up with: from everybody, from one address, on one connection.
///
/// The defaults suit a service that browsers, programs and proxies talk to directly. Behind a proxy
/// that keeps many connections of its own, raise [`connections_of_one`](Self::connections_of_one).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(super) connections: usize,
    pub(super) of_one: usize,
    pub(super) header_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) body_timeout: Option<Duration>,
    pub(super) drain: Duration,
    pub(super) head: u32,
    pub(super) headers: usize,
    pub(super) streams: u32,
    pub(super) resets: usize,
}

/// What hyper needs at least for its buffer.
const SMALLEST_HEAD: u32 = 8 << 10;

// === impl Bounds ===

impl Bounds {
    /// How many connections are open at most; 10,000 unless this is called.
    #[must_use]
    pub const fn connections(mut self, most: usize) -> Self {
        self.connections = most;
        self
    }

    /// How many connections one address has at most, an IPv6 /64 being one; 256 unless this is called.
    #[must_use]
    pub const fn connections_of_one(mut self, most: usize) -> Self {
        self.of_one = most;
        self
    }

    /// How long a head may take from its first byte, and how long a new client may say nothing; 5
    /// seconds unless this is called.
    #[must_use]
    pub const fn header_timeout(mut self, timeout: Duration) -> Self {
        self.header_timeout = timeout;
        self
    }

    /// How long a connection is kept between requests, or while a client does not take its answer; 60
    /// seconds unless this is called.
    #[must_use]
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// How long a body may take for each KiB; 30 seconds unless this is called. None for a service
    /// whose clients say a little now and then for a long time, as with streams of gRPC.
    #[must_use]
    pub const fn body_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.body_timeout = timeout;
        self
    }

    /// How long connections may finish what they are at when the listener stops; 10 seconds unless this
    /// is called.
    #[must_use]
    pub const fn drain(mut self, timeout: Duration) -> Self {
        self.drain = timeout;
        self
    }

    /// How many bytes a head has at most, 8 KiB being the least that can be said; 16 KiB unless this is
    /// called.
    #[must_use]
    pub fn head(mut self, bytes: u32) -> Self {
        self.head = bytes.max(SMALLEST_HEAD);
        self
    }

    /// How many header fields an HTTP/1 request has at most; 100 unless this is called. With HTTP/2 only
    /// their size counts, and each counts 32 bytes more than it has.
    #[must_use]
    pub const fn headers(mut self, most: usize) -> Self {
        self.headers = most;
        self
    }

    /// How many requests an HTTP/2 connection has under way at most; 128 unless this is called.
    #[must_use]
    pub const fn streams(mut self, most: u32) -> Self {
        self.streams = most;
        self
    }

    /// How many requests an HTTP/2 client may give up before they have been looked at, until its
    /// connection is closed; 32 unless this is called.
    #[must_use]
    pub const fn resets(mut self, most: usize) -> Self {
        self.resets = most;
        self
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 10_000,
            of_one: 256,
            header_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(60),
            body_timeout: Some(Duration::from_secs(30)),
            drain: Duration::from_secs(10),
            head: 16 << 10,
            headers: 100,
            streams: 128,
            resets: 32,
        }
    }
}
