//! How long answers take, by the clock on the wall.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::PATIENCE;

/// A kept-alive connection that asks for decisions.
pub(crate) struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

// === impl Client ===

impl Client {
    pub(crate) fn new(server: SocketAddr, body: &str) -> Self {
        Self::asking(server, &decide(body))
    }

    /// A client that sends the same request each time.
    fn asking(server: SocketAddr, request: &str) -> Self {
        let stream = TcpStream::connect(server).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, request: request.as_bytes().to_vec(), answer: Vec::new() }
    }

    /// Asks once; the status and the body.
    pub(crate) fn ask(&mut self) -> (u16, String) {
        self.stream.write_all(&self.request).unwrap();
        self.answer.clear();
        let mut chunk = [0; 4096];
        loop {
            let count = self.stream.read(&mut chunk).unwrap();
            assert!(count > 0, "the connection was closed");
            self.answer.extend_from_slice(&chunk[..count]);
            if let Some(answer) = whole(&self.answer) {
                return answer;
            }
        }
    }

    /// How long each of so many requests takes.
    #[expect(clippy::disallowed_methods, reason = "latency is of real time")]
    fn latencies(&mut self, count: usize) -> Vec<Duration> {
        let ask = |_| {
            let start = Instant::now();
            assert_eq!(self.ask().0, 200);
            start.elapsed()
        };
        (0..count).map(ask).collect()
    }
}

/// A request for a decision.
pub(crate) fn decide(body: &str) -> String {
    let head = "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len())
}

/// Asserts that the 99th percentile of a server under an attack is within twice that of a calm one: the
/// medians of rounds in turns, so that what else happens on the machine happens to both. What happens to one
/// of them alone, such as a neighbour that wakes up, does not happen in three sets of rounds; an attack that
/// slows others down does.
///
/// Several clients ask at once. A single one would measure the scheduler: on an idle machine an answer takes
/// 30 µs if client and server happen to share a core and 80 µs if they do not, for as long as they live.
pub(crate) fn assert_within_twice(
    attack: &str,
    calm: SocketAddr,
    attacked: SocketAddr,
    request: &str,
) {
    const SETS: usize = 3;
    let within_twice = |_| {
        let (without, with) = medians(calm, attacked, request);
        println!("{attack}: p99 without {without:?}, with {with:?}");
        with <= 2 * without
    };
    assert!(
        (0..SETS).any(within_twice),
        "{attack}: p99 is more than twice that without, {SETS} times"
    );
}

/// The medians of the 99th percentiles of both servers, asked in turns.
fn medians(calm: SocketAddr, attacked: SocketAddr, request: &str) -> (Duration, Duration) {
    const ROUNDS: usize = 11;
    let rounds = (0..ROUNDS).map(|_| (p99(calm, request), p99(attacked, request)));
    let (mut without, mut with): (Vec<_>, Vec<_>) = rounds.unzip();
    without.sort_unstable();
    with.sort_unstable();
    (without[ROUNDS / 2], with[ROUNDS / 2])
}

/// The 99th percentile of what some clients see who ask at once.
fn p99(server: SocketAddr, request: &str) -> Duration {
    const CLIENTS: usize = 16;
    const REQUESTS: usize = 150;
    let mut latencies: Vec<Duration> = thread::scope(|scope| {
        let ask = || Client::asking(server, request).latencies(REQUESTS);
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    latencies.sort_unstable();
    latencies[latencies.len() * 99 / 100]
}

/// The status and the body, once all of it is there.
fn whole(answer: &[u8]) -> Option<(u16, String)> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    (body.len() >= length.parse().ok()?).then(|| (status, body.to_owned()))
}
