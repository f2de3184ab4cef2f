//! The bounds of one listener.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::client::Trust;

/// The bounds of a listener: for all clients together, for one address, and for one connection.
///
/// The defaults suit a service that browsers, programs and proxies talk to directly. Behind a proxy
/// that keeps many connections of its own, [trust](Self::trust) it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(super) threads: Option<NonZeroUsize>,
    pub(super) connections: usize,
    of_one: usize,
    pub(super) trusted: Trust,
    pub(super) reserve: usize,
    pub(super) health: Vec<&'static str>,
    pub(super) header_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) body_timeout: Option<Duration>,
    pub(super) write_timeout: Duration,
    pub(super) drain: Duration,
    pub(super) head: u32,
    pub(super) headers: usize,
    pub(super) streams: u32,
    pub(super) resets: usize,
    pub(super) window: u32,
    pub(super) buffer: usize,
    pub(super) vectored: bool,
    pub(super) prompt: bool,
    pub(super) heads_memory: usize,
    pub(super) bodies_memory: usize,
    pub(super) answers_memory: usize,
}

/// The smallest head that can be allowed, because hyper's buffer is not smaller.
const SMALLEST_HEAD: u32 = 8 << 10;

/// The buffer for what a client sends, and the HTTP/2 window, where bodies are small.
const SMALL: u32 = 16 << 10;

// === impl Bounds ===

impl Bounds {
    /// Sets the number of threads that serve, each with a runtime of its own. Unless this is called,
    /// connections are tasks of the runtime that calls [`Serve`](super::Serve).
    #[must_use]
    pub const fn threads(mut self, count: NonZeroUsize) -> Self {
        self.threads = Some(count);
        self
    }

    /// Sets the most open connections; 10,000 unless this is called.
    #[must_use]
    pub const fn connections(mut self, most: usize) -> Self {
        self.connections = most;
        self
    }

    /// Sets the most open connections of one address, an IPv6 /64 being one; 256 unless this is called.
    #[must_use]
    pub const fn connections_of_one(mut self, most: usize) -> Self {
        self.of_one = most;
        self
    }

    /// Sets the proxies, your own, that may have all connections. None unless this is called.
    #[must_use]
    pub fn trust(mut self, proxies: Trust) -> Self {
        self.trusted = proxies;
        self
    }

    /// Keeps connections for health checks when all others are taken. Requests on them are answered only
    /// if their path is one of `health`, and otherwise refused with 503. None unless this is called.
    #[must_use]
    pub fn reserve(mut self, connections: usize, health: &[&'static str]) -> Self {
        self.reserve = connections;
        self.health = health.to_vec();
        self
    }

    /// Sets how long a head may take from its first byte, and how long a new client may say nothing; 5
    /// seconds unless this is called.
    #[must_use]
    pub const fn header_timeout(mut self, timeout: Duration) -> Self {
        self.header_timeout = timeout;
        self
    }

    /// Sets how long a connection is kept between requests; 60 seconds unless this is called.
    #[must_use]
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets how long a body may take for each KiB; 30 seconds unless this is called. `None` is for a
    /// service whose clients send a little now and then for a long time, as with streams of gRPC.
    #[must_use]
    pub const fn body_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.body_timeout = timeout;
        self
    }

    /// Sets how long a client may take nothing of an answer that waits for it; 60 seconds unless this is
    /// called.
    #[must_use]
    pub const fn write_timeout(mut self, timeout: Duration) -> Self {
        self.write_timeout = timeout;
        self
    }

    /// Sets how long connections may finish their requests when the listener stops; 10 seconds unless
    /// this is called.
    #[must_use]
    pub const fn drain(mut self, timeout: Duration) -> Self {
        self.drain = timeout;
        self
    }

    /// Sets the most bytes of a head, which are at least 8 KiB; 16 KiB unless this is called.
    #[must_use]
    pub fn head(mut self, bytes: u32) -> Self {
        self.head = bytes.max(SMALLEST_HEAD);
        self
    }

    /// Sets the most header fields of a request; 100 unless this is called.
    #[must_use]
    pub const fn headers(mut self, most: usize) -> Self {
        self.headers = most;
        self
    }

    /// Sets the most requests that an HTTP/2 connection has under way; 128 unless this is called. Fewer
    /// are advertised when the [memory for heads](Self::memory) is scarce.
    #[must_use]
    pub const fn streams(mut self, most: u32) -> Self {
        self.streams = most;
        self
    }

    /// Sets how many requests an HTTP/2 client may give up before they have been looked at, until its
    /// connection is closed; 32 unless this is called.
    #[must_use]
    pub const fn resets(mut self, most: usize) -> Self {
        self.resets = most;
        self
    }

    /// Suits a service whose bodies are small: at most 16 KiB of what a client sends is buffered, on a
    /// connection of HTTP/1 and on a stream of HTTP/2, and the body of an answer is written together
    /// with its head. Unless this is called, 64 KiB are buffered, and bodies are written as they are.
    #[must_use]
    pub const fn small_bodies(mut self) -> Self {
        self.window = SMALL;
        self.buffer = SMALL as usize;
        self.vectored = false;
        self
    }

    /// Gives an HTTP/2 client only the time for a head to send its first request, as an HTTP/1 client has.
    /// Unless this is called it may be idle at first, except on a place that is kept for health checks.
    #[must_use]
    pub const fn prompt(mut self) -> Self {
        self.prompt = true;
        self
    }

    /// Sets the bytes that all connections may hold together for the heads of HTTP/2 streams, for bodies
    /// of which a part has come, and for answers that are not taken; 64 MiB each unless this is called.
    /// Bodies and answers are counted for services that [ask](super::Share::hold).
    #[must_use]
    pub const fn memory(mut self, heads: usize, bodies: usize, answers: usize) -> Self {
        self.heads_memory = heads;
        self.bodies_memory = bodies;
        self.answers_memory = answers;
        self
    }

    pub(super) fn head_bytes(&self) -> usize {
        usize::try_from(self.head).unwrap_or(usize::MAX)
    }

    pub(super) fn of_one(&self) -> usize {
        self.of_one.min(self.connections)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            threads: None,
            connections: 10_000,
            of_one: 256,
            trusted: Trust::default(),
            reserve: 0,
            health: Vec::new(),
            header_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(60),
            body_timeout: Some(Duration::from_secs(30)),
            write_timeout: Duration::from_secs(60),
            drain: Duration::from_secs(10),
            head: 16 << 10,
            headers: 100,
            streams: 128,
            resets: 32,
            window: 64 << 10,
            buffer: 64 << 10,
            vectored: true,
            prompt: false,
            heads_memory: 64 << 20,
            bodies_memory: 64 << 20,
            answers_memory: 64 << 20,
        }
    }
}
