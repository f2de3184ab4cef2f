//! Where state lives: the port, and what can go wrong behind it.

use core::future::Future;

use crate::amendment::{Amended, Amendment, Blocks, CounterRef, Page};
use crate::charge::{Batch, Readings};
use crate::settlement::{Receipt, Settlement};
use crate::shape::{ShapeKind, Stale};
use crate::time::{Span, Timestamp};

/// Where counters are kept.
///
/// A store executes the step it is sent, atomically and on its own clock. It holds no policy,
/// knows no subject, chooses no failure mode and swallows no error. What that means for the author of
/// a store is in [chapter 9](crate::book::ch9_where_state_lives).
///
/// Three constants say what kind of store it is. Each is `true` unless the store says otherwise: a
/// store that says nothing is taken for one that a fleet shares, over a network that fails.
///
/// A store that never waits (`WAITS = false`) writes [`charge_now`](Self::charge_now),
/// [`peek_now`](Self::peek_now) and [`settle_now`](Self::settle_now) instead of their namesakes, and
/// is only ever asked by these: a plain call cannot be begun, left and begun again, so nothing is
/// counted twice.
pub trait Store: Send + Sync {
    /// Whether other processes change the counters, too. Then an engine watches for
    /// [changes](Self::changes) of the servers that keep them.
    const SHARED: bool = true;

    /// Whether a call can fail for any other reason than stale calendar periods. Then every policy
    /// has a [standby](crate::Standby) that judges the store and takes its place.
    const FALLIBLE: bool = true;

    /// Whether a charge, a look or a settlement can wait for something.
    const WAITS: bool = true;

    /// The name of this kind of store, for operators: `memory`, `redis`, …
    fn name(&self) -> &'static str;

    /// Charges a batch, either all of it or only the limits that count attempts, and fills in what the
    /// charges met: one reading for each charge, in order, all at one instant. [`plan`](crate::plan)
    /// says what is written. The caller keeps the room for the readings, so that none is moved about.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. After all but [`Timeout`](StoreError::Timeout) nothing has been changed;
    /// after each of them the readings mean nothing.
    fn charge(
        &self,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        core::future::ready(self.charge_now(batch, readings))
    }

    /// [`charge`](Self::charge), for a store that never waits.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge).
    #[inline]
    fn charge_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        let _ = (batch, readings);
        Err(StoreError::Refused)
    }

    /// Fills in what [`charge`](Self::charge) would meet, and changes nothing.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge), and never with anything changed.
    fn peek(
        &self,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        core::future::ready(self.peek_now(batch, readings))
    }

    /// [`peek`](Self::peek), for a store that never waits.
    ///
    /// # Errors
    ///
    /// As [`peek`](Self::peek).
    #[inline]
    fn peek_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        let _ = (batch, readings);
        Err(StoreError::Refused)
    }

    /// Settles a ticket: moves the units that are asked for and remembers that it did, in one step, so
    /// that it happens at most once.
    ///
    /// Only what was taken is given back: to a window only units that are still within it, to a quota
    /// only in the period they were taken in, to a bucket never above its burst, and nothing where a
    /// counter stands for several keys. So nobody else's count gets smaller.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge). [`Contended`](StoreError::Contended) also if no more tickets can
    /// be remembered.
    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<Receipt, StoreError>> + Send {
        core::future::ready(self.settle_now(settlement))
    }

    /// [`settle`](Self::settle), for a store that never waits.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    fn settle_now(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        let _ = settlement;
        Err(StoreError::Refused)
    }

    /// Does to one counter what an operator asks for: blocks it, lifts its block, or forgets it. The
    /// store answers before the time `within` has passed.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge). [`Refused`](StoreError::Refused) also for a name that no counter can
    /// have.
    fn amend(
        &self,
        counter: CounterRef<'_>,
        amendment: Amendment,
        within: Span,
    ) -> impl Future<Output = Result<Amended, StoreError>> + Send;

    /// The blocks that hold now, some at a time and in no order. The store answers before the time
    /// `within` has passed. A page may be empty and not be the last one: a store looks at a bounded
    /// number of counters for each page.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge). [`Refused`](StoreError::Refused) also for a cursor that is not valid.
    fn blocks(
        &self,
        page: Page<'_>,
        within: Span,
    ) -> impl Future<Output = Result<Blocks, StoreError>> + Send;

    /// Tests whether the store works: charges the batch of a [`Trial`](crate::Trial) by the same means as
    /// the batches of requests, on every server that keeps counters. The store answers within the
    /// deadline of the batch, and nothing that it writes outlasts ten seconds. A store that cannot fail
    /// need not be asked.
    ///
    /// # Errors
    ///
    /// What a charge would fail with, on any of the servers.
    fn probe(&self, trial: &Batch<'_>) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = trial;
        core::future::ready(Ok(()))
    }

    /// The longest that a call may take, whatever the deadline of its policy; `None` if the deadline
    /// alone decides. A node sends no more calls at once than are answered in a part of that time.
    fn patience(&self) -> Option<Span> {
        None
    }

    /// How often the servers that keep the counters have changed, as far as the store has noticed. When
    /// the numbers grow, counts may have been lost: at most what was counted since they were last
    /// written elsewhere.
    fn changes(&self) -> Changes {
        Changes::default()
    }

    /// What the store holds, if it can tell. Asked once for each scrape of metrics, away from the
    /// threads that answer requests, so it may take a while.
    fn usage(&self) -> Option<Usage> {
        None
    }
}

/// What a store in this process holds at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Counters that differ from fresh ones, by kind in the order of [`ShapeKind::ALL`].
    pub entries: [usize; ShapeKind::ALL.len()],
    /// The most memory the store can take, in bytes.
    pub max_bytes: usize,
}

// === impl Usage ===

impl Usage {
    /// Counters of one kind that differ from fresh ones.
    #[must_use]
    pub const fn of(&self, kind: ShapeKind) -> usize {
        self.entries[kind as usize]
    }
}

/// How often the servers behind a store have changed, as far as it has noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// How often a server has begun anew, perhaps with nothing in its memory.
    pub restarts: u32,
    /// How often another server has taken over, perhaps without the latest counts.
    pub failovers: u32,
}

/// Why a store has failed: one variant for each thing that a caller can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store could not be reached; nothing was changed.
    #[error("the store is unavailable")]
    Unavailable,
    /// No answer came in time; whether anything was changed is unknown. If the batch is sent again, it
    /// might be counted twice.
    #[error("the store did not answer in time")]
    Timeout,
    /// There are too many calls at once: by this node, whose [bound](crate::Headroom) is reached, or for
    /// one counter, which others changed each time it was tried. Nothing was changed, and it is no
    /// failure of the store: the request is shed. A server that refuses for reasons of its own is
    /// [`Unavailable`](Self::Unavailable).
    #[error("too many calls at once; nothing was changed")]
    Contended,
    /// The state of one counter cannot be read. The other counters are not affected.
    #[error("the state of one counter is corrupt")]
    Corrupt {
        /// The place of its charge in the batch.
        charge: usize,
    },
    /// The state of one counter has a format that this version does not know. It must not be
    /// overwritten: the process that wrote it may still be running.
    #[error("the state of one counter was written by another version")]
    Version {
        /// The place of its charge in the batch.
        charge: usize,
    },
    /// The store refuses the operation, for lack of a permission or because of its configuration. Only an
    /// operator can help.
    #[error("the store refuses the operation")]
    Refused,
    /// The calendar periods sent with one charge do not cover its time; nothing was changed.
    /// [Refresh](crate::Charge::refresh) the charge to `now` and send the batch again.
    #[error("the calendar periods sent do not cover the time of the store")]
    Stale {
        /// The place of the charge in the batch.
        charge: usize,
        /// The time the periods have to cover: the store's, or that of the counter if it is later.
        now: Timestamp,
    },
}

// === impl StoreError ===

impl StoreError {
    /// The names of all variants, in order.
    pub const NAMES: [&'static str; 7] =
        ["unavailable", "timeout", "contended", "corrupt", "version", "refused", "stale"];

    /// The place of the error's name among [`NAMES`](Self::NAMES).
    #[must_use]
    pub const fn place(&self) -> usize {
        match self {
            Self::Unavailable => 0,
            Self::Timeout => 1,
            Self::Contended => 2,
            Self::Corrupt { .. } => 3,
            Self::Version { .. } => 4,
            Self::Refused => 5,
            Self::Stale { .. } => 6,
        }
    }

    /// The name used in answers, logs and metrics. It says what kind of failure it is, and nothing else.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        Self::NAMES[self.place()]
    }
}

// === impl Stale ===

impl Stale {
    /// The error of a batch whose charge at this place is stale.
    #[must_use]
    pub const fn of_charge(self, charge: usize) -> StoreError {
        StoreError::Stale { charge, now: self.now }
    }
}
