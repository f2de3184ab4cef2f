//! Clients that make a server keep things, or render them, for as long as they are let.
//!
//! Each attack goes on in a thread of its own while others are measured, and until it has done all that
//! it was to do. It counts what has got through, so that a server that merely closes attackers, or an
//! attack that has gone blunt, fails the test.
#![expect(
    clippy::disallowed_methods,
    reason = "what is attacked and measured here goes by real time"
)]

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::frames::{GET, POST, Shut, connect_from, frame, head, literal};
use crate::process::PATIENCE;

/// Where an attack is aimed.
pub(crate) struct Aim {
    pub(crate) address: SocketAddr,
    /// A page that may be asked for over and over, and a path that takes bodies.
    pub(crate) page: &'static str,
    pub(crate) upload: &'static str,
    /// The token that gets in, if one is needed.
    pub(crate) token: Option<&'static str>,
    /// How many connections come from one address; the listener has fewer places for one than for all.
    pub(crate) from_one: u32,
}

/// How far an attack has come.
pub(crate) struct Progress {
    began: Instant,
    /// What is done as fast as it can be; the rest takes [`LASTS`].
    ready: usize,
    enough: usize,
    /// Whether it may end.
    over: AtomicBool,
    /// How much it has done, in its own unit.
    pub(crate) done: AtomicUsize,
    /// How often it has got through: answers that began, connections that were kept.
    pub(crate) through: AtomicUsize,
}

/// How long an attack takes at least, from when it is ready to when it has done enough. Without a pace it
/// would be another attack on a machine with two cores, where attackers and servers have the same.
const LASTS: Duration = Duration::from_secs(6);

/// Attacks while others are judged, at least until `enough` is done. The judge begins as soon as `ready` is
/// done; `last` is asked when the attack is over.
pub(crate) fn during(
    attack: impl FnOnce(&Progress) + Send,
    (ready, enough): (usize, usize),
    judge: impl FnOnce(),
    last: impl FnOnce(&Progress),
) {
    let (done, through) = <(AtomicUsize, AtomicUsize)>::default();
    let over = AtomicBool::new(false);
    let progress = Progress { began: Instant::now(), ready, enough, over, done, through };
    thread::scope(|scope| {
        let attacking = scope.spawn(|| attack(&progress));
        while progress.done.load(Relaxed) < ready && !attacking.is_finished() {
            thread::park_timeout(Duration::from_millis(1));
        }
        let judged = catch_unwind(AssertUnwindSafe(judge));
        while judged.is_ok() && progress.done.load(Relaxed) < enough && !attacking.is_finished() {
            thread::park_timeout(Duration::from_millis(1));
        }
        progress.over.store(true, Relaxed);
        attacking.join().unwrap();
        judged.unwrap_or_else(|panic| resume_unwind(panic));
    });
    last(&progress);
}

// === impl Progress ===

impl Progress {
    fn goes_on(&self) -> bool {
        !self.over.load(Relaxed)
    }

    /// Notes that so much more is done, and keeps the pace.
    fn add(&self, done: usize) {
        let paced = (self.done.fetch_add(done, Relaxed) + done).saturating_sub(self.ready) as u64;
        let rest = (self.enough - self.ready).max(1) as u64;
        let micros = u64::try_from(LASTS.as_micros()).unwrap().saturating_mul(paced) / rest;
        while self.goes_on() && self.began.elapsed() < Duration::from_micros(micros) {
            thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// How much is done, and how often it got through.
    pub(crate) fn so_far(&self) -> (usize, usize) {
        (self.done.load(Relaxed), self.through.load(Relaxed))
    }
}

// === impl Aim ===

impl Aim {
    /// Asks for a page 128 times on each of two hundred connections at a time, and takes none of it.
    pub(crate) fn unread_pages(&self, progress: &Progress) {
        let mut asked = head(GET, self.page, &self.address.to_string());
        if let Some(token) = self.token {
            asked.extend(literal("authorization", &format!("Bearer {token}")));
        }
        let request = |number: u32| frame(1, 5, 2 * number + 1, &asked);
        self.keep_asking(progress, 0, request);
    }

    /// Asks for batches of a hundred decisions, and takes none of the answers.
    pub(crate) fn unread_batches(&self, progress: &Progress) {
        let one = r#"{"policy":"api","subject":{"user":"u1"}}"#;
        let batch = format!(r#"{{"requests":[{}]}}"#, vec![one; 100].join(","));
        let mut posted = head(POST, "/v1/decide/batch", &self.address.to_string());
        posted.extend(literal("content-type", "application/json"));
        let request = |number: u32| {
            let stream = 2 * number + 1;
            [frame(1, 4, stream, &posted), frame(0, 1, stream, batch.as_bytes())].concat()
        };
        self.keep_asking(progress, batch.len(), request);
    }

    /// Sends heads of a few bytes that stand for 400 fields each. What is done is counted in bytes.
    pub(crate) fn many_fields(&self, progress: &Progress) {
        let begun = head(POST, self.upload, &self.address.to_string());
        // The first head enters a field into the table; the others name it 400 times, a byte each.
        let entering = [&begun[..], &[0x40, 1], b"a", &[0]].concat();
        let many = [&begun[..], &[0xbe; 400]].concat();
        let mut requests = frame(1, 4, 1, &entering);
        for number in 1..128 {
            requests.extend(frame(1, 4, 2 * number + 1, &many));
        }
        let mut connections = VecDeque::new();
        for number in (0..).take_while(|_| progress.goes_on()) {
            if connections.len() == 200
                && let Some(oldest) = connections.pop_front()
            {
                renounce(oldest, progress);
            }
            let mut connection = self.shut(number);
            match connection.send(&requests) {
                true => progress.add(requests.len()),
                false => breathe(),
            }
            connections.push_back(connection);
        }
        connections.into_iter().for_each(|connection| renounce(connection, progress));
    }

    /// The address that the connection with this number comes from.
    fn from(&self, number: u32) -> u8 {
        u8::try_from(number / self.from_one % 100).unwrap()
    }

    fn shut(&self, number: u32) -> Shut {
        Shut::connect(self.from(number), self.address)
    }

    /// Makes 128 requests with bodies of this length on each of two hundred connections at a time; the
    /// oldest is replaced.
    fn keep_asking(&self, progress: &Progress, body: usize, request: impl Fn(u32) -> Vec<u8>) {
        let mut connections = VecDeque::new();
        for number in (0..).take_while(|_| progress.goes_on()) {
            if connections.len() == 200
                && let Some(oldest) = connections.pop_front()
            {
                renounce(oldest, progress);
            }
            let mut connection = self.shut(number);
            for number in 0..128 {
                if !connection.has_window_for(body) || !connection.send(&request(number)) {
                    breathe();
                    break;
                }
                progress.add(1);
            }
            connection.drain();
            connections.push_back(connection);
        }
        connections.into_iter().for_each(|connection| renounce(connection, progress));
    }

    /// Sends bodies of 61 KB that stop before their end, 6,000 at a time; the oldest is replaced.
    pub(crate) fn half_bodies(&self, progress: &Progress) {
        let line = |token| format!("authorization: Bearer {token}\r\n");
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n{}\
             content-length: 62000\r\n\r\n",
            self.upload,
            self.address,
            self.token.map(line).unwrap_or_default()
        );
        self.keep_half(&[head.as_bytes(), &[b' '; 61_000]].concat(), 6_000, progress);
    }

    /// Sends heads that stop shortly before their end and their 16 KiB, 9,800 at a time: a listener has
    /// 10,000 places, and clients who are measured need some of them.
    pub(crate) fn half_heads(&self, progress: &Progress) {
        let begun = format!("GET {} HTTP/1.1\r\nhost: {}\r\nx: ", self.page, self.address);
        self.keep_half(&[begun.as_bytes(), &[b'y'; 15_900]].concat(), 9_800, progress);
    }

    /// Keeps so many connections that have sent half of something. A connection counts as kept if it is
    /// still open, and not answered, when its time has come.
    fn keep_half(&self, half: &[u8], at_once: usize, progress: &Progress) {
        let mut connections = VecDeque::new();
        let mut number = 0;
        while progress.goes_on() {
            if connections.len() == at_once {
                let kept = connections.pop_front().is_some_and(|stream| is_kept(&stream));
                progress.through.fetch_add(usize::from(kept), Relaxed);
            }
            let mut stream = connect_from(self.from(number), self.address);
            let _ = stream.write_all(half);
            connections.push_back(stream);
            progress.add(1);
            number += 1;
        }
    }

    /// Asks for a page on each of so many connections over and over, and reads it.
    pub(crate) fn readers(&self, count: u32, progress: &Progress) {
        let line = |token| format!("authorization: Bearer {token}\r\n");
        let token = self.token.map(line).unwrap_or_default();
        let asked = format!("GET {} HTTP/1.1\r\nhost: {}\r\n{token}\r\n", self.page, self.address);
        let connect = |_| {
            let stream = connect_from(0, self.address);
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Some(stream)
        };
        let mut streams: Vec<Option<TcpStream>> = (0..count).map(connect).collect();
        let mut space = vec![0; 256 << 10];
        while progress.goes_on() {
            for stream in streams.iter_mut().flatten() {
                let _ = stream.write_all(asked.as_bytes());
            }
            for place in &mut streams {
                // One for whom there was no place does not come back.
                match place.as_mut().and_then(|stream| read_whole(stream, &mut space)) {
                    Some(bytes) => drop(progress.through.fetch_add(bytes, Relaxed)),
                    None => *place = None,
                }
                progress.add(1);
            }
        }
    }
}

/// Reads one answer to its end; how long it was, unless it was none.
fn read_whole(stream: &mut TcpStream, space: &mut [u8]) -> Option<usize> {
    let first = stream.read(space).ok()?;
    let text = space.get(..first)?;
    let end = text.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&text[..end]).ok()?.strip_prefix("HTTP/1.1 200")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    let whole = end + length.parse::<usize>().ok()?;
    let mut read = first;
    while read < whole {
        read += stream.read(space).ok().filter(|count| *count > 0)?;
    }
    Some(whole)
}

/// Counts the answers that have begun on a connection that is given up.
fn renounce(mut connection: Shut, progress: &Progress) {
    connection.drain();
    progress.through.fetch_add(connection.answers, Relaxed);
}

/// Gives a server that has closed a connection the time to do something else.
fn breathe() {
    thread::park_timeout(Duration::from_millis(1));
}

fn is_kept(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    matches!(peeked, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}
