//! Sends the cases over a real socket.
//!
//! The sending side stays open: otherwise a listener that waits for the end of its input would pass
//! for one that refuses. That a connection stays silent can only be seen by waiting, which takes
//! 300 ms.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Expect, HttpAnswer, Requests, SmugglingCase, cases};

/// How long a connection must be silent to count as silent.
const SILENCE: Duration = Duration::from_millis(300);

/// How long an answer or the end of a connection may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest case that is sent byte by byte, in bytes.
const BYTEWISE: usize = 600;

/// The most bytes that are read from one connection.
const MOST: usize = 1 << 20;

/// Number of connections at a time; there are several because most of the time is spent waiting.
const AT_ONCE: usize = 8;

/// The pieces in which the bytes of a case are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// All bytes at once.
    Whole,
    /// The first half, then the second.
    Halves,
    /// Each byte alone.
    Bytewise,
}

/// Everything that came back on a connection.
#[derive(Debug)]
pub(super) struct Heard {
    /// The answers, without interim ones.
    pub(super) answers: Vec<HttpAnswer>,
    /// The way in which the reading ended.
    pub(super) end: ReadEnd,
}

/// The way in which the reading of a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadEnd {
    /// The listener closed the connection.
    Closed,
    /// Nothing came for a while.
    Silent,
    /// The connection broke, or the bytes were no answers.
    Broken(String),
}

/// Sends all cases to a listener in all deliveries, and returns a line for each failure.
#[must_use]
pub fn check_all(address: SocketAddr, requests: Requests<'_>) -> Vec<String> {
    let cases = cases(requests);
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = check_deliveries(address, case);
                    wrong.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                }
            });
        }
    });
    wrong.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Sends one case in all deliveries that its length allows.
fn check_deliveries(address: SocketAddr, case: &SmugglingCase) -> Vec<String> {
    let all = [Delivery::Whole, Delivery::Halves, Delivery::Bytewise];
    let short = case.bytes.len() <= BYTEWISE;
    all.into_iter()
        .filter(|&delivery| short || delivery != Delivery::Bytewise)
        .filter_map(|delivery| check(address, case, delivery).err())
        .collect()
}

/// Sends one case and compares the answers with its expectation.
///
/// # Errors
///
/// If the answers are not the expected ones; with the bytes and the answers.
pub fn check(address: SocketAddr, case: &SmugglingCase, delivery: Delivery) -> Result<(), String> {
    let heard = converse(address, case, delivery);
    judge(case.expect, &heard).map_err(|wrong| {
        let SmugglingCase { name, bytes, expect } = case;
        let sent = bytes.escape_ascii();
        format!("{name} ({delivery:?}): {wrong}; wanted {expect:?}\n  sent {sent}\n  got {heard:?}")
    })
}

/// Sends the bytes of a case and reads until the connection ends or stays silent.
fn converse(address: SocketAddr, case: &SmugglingCase, delivery: Delivery) -> Heard {
    let mut heard = Heard { answers: Vec::new(), end: ReadEnd::Silent };
    let mut read = || -> Result<ReadEnd, String> {
        let told = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect(address).map_err(told)?;
        stream.set_nodelay(true).map_err(told)?;
        let piece = match delivery {
            Delivery::Whole => case.bytes.len(),
            Delivery::Halves => case.bytes.len().div_ceil(2),
            Delivery::Bytewise => 1,
        };
        for piece in case.bytes.chunks(piece.max(1)) {
            // A listener that has already refused does not accept the rest.
            if stream.write_all(piece).is_err() {
                break;
            }
        }
        let mut bytes = Vec::new();
        loop {
            while let Some((answer, length)) = HttpAnswer::read(&bytes)? {
                bytes.drain(..length);
                heard.answers.extend(Some(answer).filter(|answer| !answer.is_interim()));
            }
            let done =
                matches!(case.expect, Expect::Answered(count) if heard.answers.len() >= count);
            let patience = if done { SILENCE } else { PATIENCE };
            stream.set_read_timeout(Some(patience)).map_err(told)?;
            let mut space = [0; 4096];
            match stream.read(&mut space) {
                Ok(0) if bytes.is_empty() => return Ok(ReadEnd::Closed),
                Ok(0) => return Err(format!("closed inside an answer: {}", bytes.escape_ascii())),
                Ok(count) => bytes.extend(&space[..count]),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Ok(ReadEnd::Silent);
                }
                Err(error) => return Err(error.to_string()),
            }
            if bytes.len() > MOST || heard.answers.len() > MOST {
                return Err("too many bytes".to_owned());
            }
        }
    };
    heard.end = read().unwrap_or_else(ReadEnd::Broken);
    heard
}

/// Checks that the answers are the expected ones.
pub(super) fn judge(expect: Expect, heard: &Heard) -> Result<(), String> {
    let (before, last) = match expect {
        Expect::Answered(count) | Expect::Closed(count) => (count, None),
        Expect::Refused { after } | Expect::RefusedBody { after } => (after, Some(expect)),
    };
    let count = before + usize::from(last.is_some());
    let end = if matches!(expect, Expect::Answered(_)) { ReadEnd::Silent } else { ReadEnd::Closed };
    if let ReadEnd::Broken(error) = &heard.end {
        return Err(error.clone());
    }
    if heard.answers.len() != count {
        return Err(format!("{} answers instead of {count}", heard.answers.len()));
    }
    if let Some(at) = heard.answers[..before].iter().position(HttpAnswer::is_bad_request) {
        return Err(format!("answer {} refuses a well-formed request", at + 1));
    }
    let answer = heard.answers.last();
    match last {
        Some(Expect::Refused { .. }) if !answer.is_some_and(HttpAnswer::refuses) => {
            return Err("the last answer is not a 400 with connection: close".to_owned());
        }
        Some(_) if answer.is_some_and(|last| last.is_bad_request() && !last.refuses()) => {
            return Err("the last answer is a 400 without connection: close".to_owned());
        }
        _ => {}
    }
    if heard.end == end { Ok(()) } else { Err(format!("{:?} instead of {end:?}", heard.end)) }
}
