//! What can be switched, and what is counted.

use core::sync::atomic::AtomicU64;
use core::time::Duration;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

/// More commands than this are counted but not kept.
const KEPT: usize = 100_000;

/// Everything a test can change about a proxy.
#[derive(Clone, Debug)]
pub(super) struct Switches {
    pub(super) upstream: SocketAddr,
    pub(super) up: Way,
    pub(super) down: Way,
    pub(super) blackhole: bool,
    pub(super) drop_replies: bool,
    pub(super) chunk: Option<usize>,
    pub(super) throttle: Option<u64>,
    pub(super) refuse: bool,
    /// How often all were killed: a connection ends when it is more than at its birth.
    pub(super) kills: u64,
    pub(super) garble: Option<Bytes>,
    /// How many limits were set so far, which tells one from the next of the same size.
    limits: u64,
}

/// What can be set for one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    pub(super) delay: Duration,
    pub(super) limit: Option<Limit>,
}

/// So many bytes and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) bytes: u64,
    /// Bytes are counted anew for each.
    pub(super) number: u64,
}

/// What connections share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) up: AtomicU64,
    pub(super) down: AtomicU64,
    pub(super) accepted: AtomicU64,
    pub(super) open: AtomicU64,
    pub(super) record: Record,
}

/// The commands that went by.
#[derive(Debug, Default)]
pub(super) struct Record(Mutex<(u64, Vec<Vec<Bytes>>)>);

// === impl Switches ===

impl Switches {
    /// A proxy that forwards everything.
    pub(super) fn to(upstream: SocketAddr) -> Self {
        Self {
            upstream,
            up: Way::default(),
            down: Way::default(),
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

    /// A limit unlike all before.
    pub(super) fn limit(&mut self, bytes: Option<u64>) -> Option<Limit> {
        self.limits += 1;
        bytes.map(|bytes| Limit { bytes, number: self.limits })
    }
}

// === impl Record ===

impl Record {
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
