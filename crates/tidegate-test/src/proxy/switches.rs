//! The switches of a proxy, and its counters.

use core::sync::atomic::AtomicU64;
use core::time::Duration;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

/// The most commands that are recorded; further ones are only counted.
const KEPT: usize = 100_000;

/// Everything a test can change about a proxy.
#[derive(Clone, Debug)]
pub(super) struct Switches {
    pub(super) upstream: SocketAddr,
    pub(super) up: DirectionSwitches,
    pub(super) down: DirectionSwitches,
    pub(super) blackhole: bool,
    pub(super) drop_replies: bool,
    pub(super) chunk: Option<usize>,
    pub(super) throttle: Option<u64>,
    pub(super) refuse: bool,
    /// How often all connections were killed; a connection ends once this is higher than when it
    /// opened.
    pub(super) kills: u64,
    pub(super) garble: Option<Bytes>,
    /// How many byte limits were set so far; numbers each one, to tell apart limits of the same
    /// size.
    limits: u64,
}

/// The switches for one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DirectionSwitches {
    pub(super) delay: Duration,
    pub(super) limit: Option<ByteLimit>,
}

/// The bytes after which a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteLimit {
    pub(super) bytes: u64,
    /// The number of this limit; bytes are counted anew for each.
    pub(super) number: u64,
}

/// The counters that all connections share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) up: AtomicU64,
    pub(super) down: AtomicU64,
    pub(super) accepted: AtomicU64,
    pub(super) open: AtomicU64,
    pub(super) record: CommandRecord,
}

/// The commands that were forwarded: their number, and the first [`KEPT`] of them.
#[derive(Debug, Default)]
pub(super) struct CommandRecord(Mutex<(u64, Vec<Vec<Bytes>>)>);

// === impl Switches ===

impl Switches {
    /// Switches that forward everything to `upstream`.
    pub(super) fn to(upstream: SocketAddr) -> Self {
        Self {
            upstream,
            up: DirectionSwitches::default(),
            down: DirectionSwitches::default(),
            blackhole: false,
            drop_replies: false,
            chunk: None,
            throttle: None,
            refuse: false,
            kills: 0,
            garble: None,
            limits: 0,
        }
    }

    /// A byte limit with a number of its own.
    pub(super) fn limit(&mut self, bytes: Option<u64>) -> Option<ByteLimit> {
        self.limits += 1;
        bytes.map(|bytes| ByteLimit { bytes, number: self.limits })
    }
}

// === impl CommandRecord ===

impl CommandRecord {
    pub(super) fn add(&self, command: Vec<Bytes>) {
        let mut record = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        record.0 += 1;
        if record.1.len() < KEPT {
            record.1.push(command);
        }
    }

    pub(super) fn all(&self) -> Vec<Vec<Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    pub(super) fn seen(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (0, Vec::new());
    }
}
