//! How long answers take, by the clock on the wall.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::process::PATIENCE;

/// A kept-alive connection that asks for decisions.
pub(crate) struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

/// What others ask: of a server that is attacked, and of one like it that is not.
pub(crate) struct Others<'a> {
    pub(crate) calm: SocketAddr,
    pub(crate) attacked: SocketAddr,
    pub(crate) request: &'a str,
}

/// The 99th percentiles of rounds: of the calm server, and of the attacked one.
type Rounds = [Vec<Duration>; 2];

/// The rounds that are measured first. They are short and many, so that what happens on the machine for a
/// second, a neighbour that compiles for instance, is in a few of them and not in the median.
const ROUNDS: usize = 31;

/// The clients that ask at once. A single one would measure the scheduler: on an idle machine an answer
/// takes 30 µs if client and server happen to share a core and 80 µs if they do not, for as long as they
/// live.
const CLIENTS: usize = 16;

/// The requests of one client in one round.
const REQUESTS: usize = 40;

/// A 99th percentile below this is no harm, whatever it is a multiple of: it is what a thread waits for its
/// turn on a machine where attackers, clients and servers have two cores together.
const HARMLESS: Duration = Duration::from_millis(2);

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
        self.try_ask().unwrap()
    }

    fn try_ask(&mut self) -> Result<(u16, String), String> {
        self.stream.write_all(&self.request).map_err(|error| error.to_string())?;
        self.answer.clear();
        let mut chunk = [0; 16 << 10];
        loop {
            let count = self.stream.read(&mut chunk).map_err(|error| error.to_string())?;
            if count == 0 {
                return Err("the connection was closed".to_owned());
            }
            self.answer.extend_from_slice(&chunk[..count]);
            if let Some(answer) = whole(&self.answer) {
                return Ok(answer);
            }
        }
    }

    /// How long each of the requests of a round takes.
    #[expect(clippy::disallowed_methods, reason = "latency is of real time")]
    fn latencies(&mut self) -> Result<Vec<Duration>, String> {
        let ask = |_| {
            let start = Instant::now();
            match self.try_ask()? {
                (200, _) => Ok(start.elapsed()),
                (status, body) => Err(format!("{status} {body}")),
            }
        };
        (0..REQUESTS).map(ask).collect()
    }
}

/// A request for a decision.
pub(crate) fn decide(body: &str) -> String {
    let head = "POST /v1/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len())
}

/// Asserts that others are answered within twice the time of a server that nobody attacks: the median of
/// the 99th percentiles of rounds in turns, so that what else happens on the machine happens to both.
///
/// If the median of the first [`ROUNDS`] says otherwise, that is printed, twice as many are measured, and
/// the median of all of them decides: no round is left out. A 99th percentile below [`HARMLESS`] passes.
pub(crate) fn assert_within_twice(attack: &str, others: &Others<'_>) {
    let mut all: Rounds = Default::default();
    for more in [ROUNDS, 2 * ROUNDS] {
        for (rounds, new) in all.iter_mut().zip(others.rounds(more)) {
            rounds.extend(new);
        }
        let [without, with] = all.each_ref().map(|rounds| median(rounds));
        println!("{attack}: p99 without {without:?}, with {with:?} ({} rounds)", all[0].len());
        if with <= (2 * without).max(HARMLESS) {
            return;
        }
    }
    panic!("{attack}: p99 is more than twice that without");
}

fn median(rounds: &[Duration]) -> Duration {
    let mut sorted = rounds.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

// === impl Others ===

impl Others<'_> {
    /// Measures so many rounds. The clients and their connections stay the same, and all begin at once;
    /// which server is first changes from round to round.
    fn rounds(&self, count: usize) -> Rounds {
        let turns = Barrier::new(CLIENTS);
        let measured: Vec<_> = thread::scope(|scope| {
            let clients: Vec<_> =
                (0..CLIENTS).map(|_| scope.spawn(|| self.client(count, &turns))).collect();
            clients.into_iter().map(|client| client.join().unwrap().unwrap()).collect()
        });
        let p99 = |side: usize, round: usize| {
            let of_one = |client: &Vec<[Vec<Duration>; 2]>| client[round][side].clone();
            let mut latencies: Vec<Duration> = measured.iter().flat_map(of_one).collect();
            latencies.sort_unstable();
            latencies[latencies.len() * 99 / 100]
        };
        [0, 1].map(|side| (0..count).map(|round| p99(side, round)).collect())
    }

    /// What one client sees. One that fails goes on taking its turns, so that nobody waits for it.
    fn client(&self, count: usize, turns: &Barrier) -> Result<Vec<[Vec<Duration>; 2]>, String> {
        let mut clients =
            [self.calm, self.attacked].map(|server| Client::asking(server, self.request));
        let mut rounds = Vec::with_capacity(count);
        let mut failed = None;
        for round in 0..count {
            let mut latencies: [Vec<Duration>; 2] = Default::default();
            for turn in 0..2 {
                let side = (round + turn) % 2;
                turns.wait();
                if failed.is_none() {
                    match clients[side].latencies() {
                        Ok(measured) => latencies[side] = measured,
                        Err(error) => failed = Some(error),
                    }
                }
            }
            rounds.push(latencies);
        }
        failed.map_or(Ok(rounds), Err)
    }
}

/// The status and the body, once all of it is there.
fn whole(answer: &[u8]) -> Option<(u16, String)> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    (body.len() >= length.parse().ok()?).then(|| (status, body.to_owned()))
}
