//! One connection of the load: a request, its answer, the next request.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Clock, Timestamp};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::answer::{self, MAX_ANSWER, WholeAnswer};
use super::{GRACE, LoadProgress, Turn};

/// The number of requests in a row without an answer after which a connection gives up.
const MOST_FAILURES: u32 = 10;

/// A connection, and the bytes that were read from it.
struct Line {
    stream: TcpStream,
    read: Vec<u8>,
    /// How many bytes of `read` are filled.
    filled: usize,
}

/// Sends requests over one connection until there are no more turns.
pub(super) async fn drive(course: Arc<LoadProgress>) {
    let left = course.end.since(course.clock.now());
    // One timer for the whole run, not one for each request. Only the last answer can be late.
    if timeout(Duration::from(left) + GRACE, take_turns(&course)).await.is_err() {
        course.tally().broke(format!("no answer within {} s after the end", GRACE.as_secs()));
    }
}

async fn take_turns(course: &LoadProgress) {
    let mut line: Option<Line> = None;
    let mut failures = 0;
    let mut now = course.clock.now();
    while failures < MOST_FAILURES
        && let Some(turn) = course.turn(now)
    {
        let began = begin(course, turn, now).await;
        match exchange(course, &mut line, turn.request).await {
            Ok(answer) => {
                now = course.clock.now();
                course.tally().answered(answer.outcome, began, now);
                failures = 0;
                if answer.closes {
                    line = None;
                }
            }
            Err(error) => {
                line = None;
                failures += 1;
                course.tally().broke(error.to_string());
                now = course.clock.now();
            }
        }
    }
}

/// Waits until the request is due, and returns the time from which its latency counts.
async fn begin(course: &LoadProgress, turn: Turn<'_>, now: Timestamp) -> Timestamp {
    match turn.due {
        None => now,
        // The connection was still busy: the wait for it is part of the latency.
        Some(due) if due <= now => due,
        Some(due) => {
            #[expect(clippy::disallowed_methods, reason = "a rate is of real time")]
            sleep(due.since(now).into()).await;
            // If the timer oversleeps, that is not the server's fault.
            course.clock.now()
        }
    }
}

async fn exchange(
    course: &LoadProgress,
    line: &mut Option<Line>,
    request: &[u8],
) -> io::Result<WholeAnswer> {
    let open = match line.take() {
        Some(open) => open,
        None => Line::connect(course).await?,
    };
    line.insert(open).exchange(request).await
}

// === impl Line ===

impl Line {
    async fn connect(course: &LoadProgress) -> io::Result<Self> {
        let stream = TcpStream::connect(course.load.server).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: vec![0; 4 * 1024], filled: 0 })
    }

    async fn exchange(&mut self, request: &[u8]) -> io::Result<WholeAnswer> {
        self.stream.write_all(request).await?;
        loop {
            if self.filled == self.read.len() {
                let larger = self.read.len().saturating_mul(2).min(2 * MAX_ANSWER);
                self.read.resize(larger, 0);
            }
            let space = self.read.get_mut(self.filled..).unwrap_or_default();
            let count = self.stream.read(space).await?;
            if count == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection before it answered",
                ));
            }
            self.filled += count;
            let bytes = self.read.get(..self.filled).unwrap_or_default();
            let answer = answer::read(bytes)
                .map_err(|_| io::Error::other("the answer is not one this client can read"))?;
            if let Some(answer) = answer {
                self.read.copy_within(answer.length..self.filled, 0);
                self.filled -= answer.length;
                return Ok(answer);
            }
        }
    }
}
