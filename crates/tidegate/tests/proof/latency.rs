//! How long answers take, by the clock on the wall.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
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
        let stream = TcpStream::connect(server).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        let head =
            "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        let request = format!("{head}content-length: {length}\r\n\r\n{body}").into_bytes();
        Self { stream, request, answer: Vec::new() }
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

    /// The 99th percentile of the latencies of so many requests.
    fn p99(&mut self, count: usize) -> Duration {
        let mut latencies: Vec<Duration> = (0..count)
            .map(|_| {
                let start = Instant::now();
                assert_eq!(self.ask().0, 200);
                start.elapsed()
            })
            .collect();
        latencies.sort_unstable();
        latencies[latencies.len() * 99 / 100]
    }
}

/// Asserts that the 99th percentile of a server under an attack is within twice that of a calm one.
///
/// They are asked in turns, so that what else happens on the machine happens to both, over a new connection
/// each time: with client and server on one core an answer takes a third of the time that it takes from one
/// core to the other, and which it is stays as it is for as long as a connection. The best round of each
/// counts. What an attack costs, it costs in every round.
pub(crate) fn assert_within_twice(
    attack: &str,
    calm: SocketAddr,
    attacked: SocketAddr,
    body: &str,
) {
    const ROUNDS: usize = 15;
    const REQUESTS: usize = 1_000;
    let best = |server, best: Duration| best.min(Client::new(server, body).p99(REQUESTS));
    let (mut without, mut with) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        without = best(calm, without);
        with = best(attacked, with);
    }
    println!("{attack}: p99 without {without:?}, with {with:?}");
    assert!(with <= 2 * without, "{attack}: p99 {with:?} instead of {without:?}");
}

/// The status and the body, once all of it is there.
fn whole(answer: &[u8]) -> Option<(u16, String)> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    (body.len() >= length.parse().ok()?).then(|| (status, body.to_owned()))
}
