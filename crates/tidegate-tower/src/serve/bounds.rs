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
    /// The number of threads that serve, each with a runtime of its own. Without a number, which is the
    /// default, connections are tasks of the runtime that calls [`Serve`](super::Serve).
    pub threads: Option<NonZeroUsize>,
    /// The most open connections. Default: 10,000.
    pub connections: usize,
    /// The most open connections of HTTP/2, of which even an idle one takes 40 KB: ten times as much as one
    /// of HTTP/1. Default: 4,096.
    pub http2_connections: usize,
    /// The most open connections of one address, an IPv6 /64 being one. Default: 256.
    pub connections_of_one: usize,
    /// The proxies, your own, that may have all connections. Default: none.
    pub trust: Trust,
    /// The connections that are kept for health checks when all others are taken. Requests on them are
    /// answered only if their path is one of [`health`](Self::health), and otherwise refused with 503.
    /// Default: none.
    pub reserve: usize,
    /// The paths of health checks. Without one nothing is kept for them. Default: none.
    pub health: Vec<&'static str>,
    /// How long a head may take from its first byte, and how long a new client may say nothing. Default:
    /// 5 seconds.
    pub header_timeout: Duration,
    /// How long a connection is kept between requests. Default: 60 seconds.
    pub idle_timeout: Duration,
    /// How long a body may take for each KiB. `None` is for a service whose clients send a little now and
    /// then for a long time, as with streams of gRPC. Default: 30 seconds.
    pub body_timeout: Option<Duration>,
    /// How long a client may take nothing of an answer that waits for it. Default: 60 seconds.
    pub write_timeout: Duration,
    /// How long connections may finish their requests when the listener stops. Default: 10 seconds.
    pub drain: Duration,
    /// The most bytes of a head; less than 8 KiB count as 8 KiB. Default: 16 KiB.
    pub head: u32,
    /// The most header fields of a request. Default: 100.
    pub headers: usize,
    /// The most requests that an HTTP/2 connection has under way. Fewer are advertised when the
    /// [memory for heads](Self::heads_memory) is scarce. Default: 128.
    pub streams: u32,
    /// How many requests an HTTP/2 client may give up before they have been looked at, until its
    /// connection is closed. Default: 32.
    pub resets: usize,
    /// Suits a service whose bodies are small: at most 16 KiB of what a client sends is buffered, on a
    /// connection of HTTP/1 and on a stream of HTTP/2, and the body of an answer is written together
    /// with its head. Otherwise 64 KiB are buffered, and bodies are written as they are. A service with
    /// small bodies counts their memory itself. Default: false.
    pub small_bodies: bool,
    /// Gives an HTTP/2 client only the time for a head to send its first request, as an HTTP/1 client has.
    /// Otherwise it may be idle at first, except on a place that is kept for health checks. Default:
    /// false.
    pub prompt: bool,
    /// Lets connections give way: when there is no place for a new one, the oldest that nobody has
    /// [vouched for](super::Origin::vouch) is closed, of the address with the most of them. For services
    /// whose clients prove who they are. Otherwise the new connection is closed. Default: false.
    pub give_way: bool,
    /// The bytes that all connections may hold together for heads: of the HTTP/2 streams that were
    /// advertised, and of requests whose head did not come in one read. A head that finds no room is
    /// refused with 503. Default: 64 MiB.
    pub heads_memory: usize,
    /// The bytes that all connections may hold together for bodies of which a part has come; every
    /// [`Upload`](super::Upload) counts. Default: 48 MiB, because hyper's buffers come on top.
    pub bodies_memory: usize,
    /// The bytes that all connections may hold together for answers that are not taken. A document of more
    /// than 16 KiB that is made for one request counts, with its length or a sixty-fourth of this, until
    /// its client has taken it; if there is no room, its connection or stream ends. Bytes that several
    /// answers share, and bodies that are made piece by piece, do not count. A service can hold memory
    /// before it makes an answer, [by itself](super::Share::hold). Default: 64 MiB.
    pub answers_memory: usize,
}

/// The smallest head that can be allowed, because hyper's buffer is not smaller.
const SMALLEST_HEAD: u32 = 8 << 10;

// === impl Bounds ===

impl Bounds {
    /// The most bytes of a head.
    pub(super) fn head(&self) -> u32 {
        self.head.max(SMALLEST_HEAD)
    }

    /// The memory that a head in parts counts for: the head itself, and hyper's room for what it reads next.
    pub(super) fn head_in_parts(&self) -> usize {
        (self.head() + SMALLEST_HEAD) as usize
    }

    /// The buffer for what a client sends, and the HTTP/2 window.
    pub(super) const fn buffer(&self) -> u32 {
        if self.small_bodies { 16 << 10 } else { 64 << 10 }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            threads: None,
            connections: 10_000,
            http2_connections: 4_096,
            connections_of_one: 256,
            trust: Trust::default(),
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
            small_bodies: false,
            prompt: false,
            give_way: false,
            heads_memory: 64 << 20,
            bodies_memory: 48 << 20,
            answers_memory: 64 << 20,
        }
    }
}
