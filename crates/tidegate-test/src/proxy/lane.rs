//! One direction of one connection: read, wait, check the switches, write.
//!
//! Reading and writing are separate, with a short queue in between, so that a delay adds latency
//! but does not lower throughput: bytes that are sent together arrive together, later.

use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io;

use bytes::{Bytes, BytesMut};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::time::Sleep;

use super::resp::Parser;
use super::switches::{ByteLimit, DirectionSwitches, Shared, Switches};
use crate::servers::wait;

/// Capacity of the queue, in pieces. When it is full, reading stops, and the sender notices.
const UNDER_WAY: usize = 64;

/// Bytes read at once. The buffer is allocated only when there is something to read, because most
/// of ten thousand connections are silent.
const PIECE: usize = 16 * 1024;

/// How often a throttled connection writes, per second.
const TICKS_PER_SECOND: u64 = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// How a lane ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneEnd {
    /// The sender has closed, and everything was delivered.
    Finished,
    /// The byte limit was reached.
    Cut,
    /// A socket failed.
    Broken,
}

/// One direction of a connection, and all it needs to run.
pub(super) struct Lane<'a> {
    pub(super) from: &'a TcpStream,
    pub(super) to: &'a TcpStream,
    pub(super) direction: Direction,
    pub(super) shared: &'a Shared,
    /// Set by the lane that cuts the connection, before its last bytes can be answered.
    pub(super) cut: &'a AtomicBool,
    pub(super) switches: watch::Receiver<Switches>,
}

/// Bytes that were read, and the delay before they are written.
struct Piece {
    bytes: Bytes,
    delay: Option<Pin<Box<Sleep>>>,
}

/// The bytes counted against one limit.
#[derive(Default)]
struct Counted {
    number: u64,
    bytes: u64,
}

// === impl Lane ===

impl Lane<'_> {
    pub(super) async fn run(self) -> LaneEnd {
        let (queue, pieces) = mpsc::channel(UNDER_WAY);
        let reader = read(self.from, queue, self.direction, self.switches.clone());
        let (read, written) = tokio::join!(reader, self.write_all(pieces));
        match (read, written) {
            (Ok(()), Ok(end)) => end,
            // The writer that cut the connection has closed the queue under the reader.
            (_, Ok(LaneEnd::Cut)) => LaneEnd::Cut,
            _ => LaneEnd::Broken,
        }
    }

    async fn write_all(mut self, mut pieces: mpsc::Receiver<Piece>) -> io::Result<LaneEnd> {
        let mut counted = Counted::default();
        let mut parser = Parser::default();
        while let Some(piece) = pieces.recv().await {
            self.travel(piece.delay).await?;
            self.wait_until(|switches| !switches.blackhole).await?;
            if self.direction == Direction::Up {
                parser.feed(&piece.bytes, |command| self.shared.record.add(command));
            }
            let (answer, swallow) = {
                let now = self.switches.borrow();
                (now.garble.clone(), now.drop_replies)
            };
            match self.direction {
                Direction::Up if let Some(answer) = answer => {
                    send(self.from, &answer).await?;
                    self.shared.down.fetch_add(answer.len() as u64, Ordering::Relaxed);
                }
                Direction::Down if swallow || self.cut.load(Ordering::Acquire) => {}
                _ => {
                    if self.write(piece.bytes, &mut counted).await? == LaneEnd::Cut {
                        return Ok(LaneEnd::Cut);
                    }
                }
            }
        }
        Ok(LaneEnd::Finished)
    }

    /// Writes one piece, in as many parts as the switches ask for, up to the byte limit.
    async fn write(&mut self, mut bytes: Bytes, counted: &mut Counted) -> io::Result<LaneEnd> {
        while !bytes.is_empty() {
            let (limit, part, pause) = {
                let now = self.switches.borrow();
                (self.way(&now).limit, part(&now), now.throttle.map(pause_of))
            };
            let left = counted.left(limit);
            let part = part.min(bytes.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
            let last = part as u64 == left;
            if last {
                self.cut.store(true, Ordering::Release);
            }
            let part = bytes.split_to(part);
            send(self.to, &part).await?;
            counted.bytes += part.len() as u64;
            self.counter().fetch_add(part.len() as u64, Ordering::Relaxed);
            if last {
                return Ok(LaneEnd::Cut);
            }
            match pause {
                Some(pause) => wait::pause(pause).await,
                // Gives the other side a chance to read this part alone.
                None if !bytes.is_empty() => tokio::task::yield_now().await,
                None => {}
            }
        }
        Ok(LaneEnd::Finished)
    }

    /// Waits for the delay of a piece, unless the delay is lifted meanwhile.
    async fn travel(&mut self, delay: Option<Pin<Box<Sleep>>>) -> io::Result<()> {
        let Some(delay) = delay else { return Ok(()) };
        let direction = self.direction;
        let lifted = self.switches.wait_for(|switches| way(switches, direction).delay.is_zero());
        tokio::select! {
            () = delay => Ok(()),
            lifted = lifted => lifted.map(|_| ()).map_err(|_| gone()),
        }
    }

    async fn wait_until(&mut self, is: impl FnMut(&Switches) -> bool) -> io::Result<()> {
        self.switches.wait_for(is).await.map(|_| ()).map_err(|_| gone())
    }

    fn way(&self, switches: &Switches) -> DirectionSwitches {
        way(switches, self.direction)
    }

    fn counter(&self) -> &AtomicU64 {
        match self.direction {
            Direction::Up => &self.shared.up,
            Direction::Down => &self.shared.down,
        }
    }
}

// === impl Counted ===

impl Counted {
    /// How many bytes may still be written; a new limit starts its own count.
    fn left(&mut self, limit: Option<ByteLimit>) -> u64 {
        let Some(limit) = limit else { return u64::MAX };
        if self.number != limit.number {
            *self = Self { number: limit.number, bytes: 0 };
        }
        limit.bytes.saturating_sub(self.bytes)
    }
}

/// Reads into the queue until the sender ends, or until the queue is closed.
async fn read(
    from: &TcpStream,
    queue: mpsc::Sender<Piece>,
    direction: Direction,
    switches: watch::Receiver<Switches>,
) -> io::Result<()> {
    loop {
        let mut bytes = BytesMut::new();
        let room = tokio::select! {
            room = queue.reserve() => room.map_err(|_| gone())?,
            () = queue.closed() => return Err(gone()),
        };
        tokio::select! {
            ready = from.readable() => ready?,
            () = queue.closed() => return Err(gone()),
        }
        bytes.reserve(PIECE);
        match from.try_read_buf(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(_) => {
                let delay = way(&switches.borrow(), direction).delay;
                #[expect(clippy::disallowed_methods, reason = "a delay on a wire is real")]
                let delay = (!delay.is_zero()).then(|| Box::pin(tokio::time::sleep(delay)));
                room.send(Piece { bytes: bytes.freeze(), delay });
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn send(to: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        to.writable().await?;
        match to.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn way(switches: &Switches, direction: Direction) -> DirectionSwitches {
    match direction {
        Direction::Up => switches.up,
        Direction::Down => switches.down,
    }
}

/// How many bytes are written at once.
fn part(switches: &Switches) -> usize {
    let chunk = switches.chunk.unwrap_or(usize::MAX);
    let tick = switches.throttle.map_or(u64::MAX, |rate| rate / TICKS_PER_SECOND);
    chunk.min(usize::try_from(tick).unwrap_or(usize::MAX)).max(1)
}

/// Pause after each part of a throttled connection; at slow rates a part is a single byte.
fn pause_of(rate: u64) -> Duration {
    let part = (rate / TICKS_PER_SECOND).max(1);
    Duration::from_micros(part * 1_000_000 / rate.max(1))
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}
