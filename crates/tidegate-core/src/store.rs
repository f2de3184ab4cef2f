//! Where state lives: the port, and what can go wrong behind it.

use core::future::Future;

use crate::amendment::{Amended, Amendment, Blocks, Counter, Page};
use crate::charge::{Batch, Readings};
use crate::settlement::{Receipt, Settlement};
use crate::shape::Stale;
use crate::time::{Span, Timestamp};

/// Where counters are kept.
///
/// A store executes the step it is sent, atomically and on its own clock. It holds no policy,
/// knows no subject, chooses no failure mode and swallows no error. What that means for whoever
/// writes one is in [chapter 9](crate::book::ch9_where_state_lives).
pub trait Store: Send + Sync {
    /// Whether others than this process keep and change the counters.
    const SHARED: bool = false;

    /// Charges a batch, all of it or none of it but what counts attempts, and fills in what was
    /// met: one reading for each charge, in order, all at one instant. [`plan`](crate::plan) says
    /// what is written. The caller keeps the room for the readings, so that none is moved about.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. After all but [`Timeout`](StoreError::Timeout) nothing has been changed;
    /// after each of them the readings mean nothing.
    fn charge(
        &self,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Fills in what [`charge`](Self::charge) would meet, and changes nothing.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge), and never with anything changed.
    fn peek(
        &self,
        batch: &Batch<'_>,
        readings: &mut Readings,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Settles a ticket: moves what is asked for and remembers that it did, in one step, so that it
    /// happens at most once.
    ///
    /// What is given back is what was taken: of a window only units still within it, of a quota
    /// only in the period they were taken in, of a bucket never above its burst, and nothing where
    /// a counter stands for several keys. So nobody else's count gets smaller.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge). [`Contended`](StoreError::Contended) also if no more tickets can
    /// be remembered.
    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<Receipt, StoreError>> + Send;

    /// Does to one counter what an operator asks for: blocks it, lifts its block, or forgets it.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge). [`Refused`](StoreError::Refused) also for a name that is none.
    fn amend(
        &self,
        counter: Counter<'_>,
        amendment: Amendment,
    ) -> impl Future<Output = Result<Amended, StoreError>> + Send;

    /// The blocks that hold now, some at a time and in no order. A page may be empty and not be the
    /// last one: a store looks at a bounded number of counters for each.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge). [`Refused`](StoreError::Refused) also for a cursor that is none.
    fn blocks(&self, page: Page<'_>) -> impl Future<Output = Result<Blocks, StoreError>> + Send;

    /// Does what a charge needs, a write included, to a counter that nobody uses: whether the store
    /// works. A store that can be read but not written does not. It answers `within` this long, and
    /// leaves nothing that outlasts ten seconds.
    ///
    /// # Errors
    ///
    /// What a charge would fail with.
    fn probe(&self, within: Span) -> impl Future<Output = Result<(), StoreError>> + Send {
        let _ = within;
        core::future::ready(Ok(()))
    }

    /// What has been noticed about who keeps the counters. Where the numbers grow, counts may have
    /// been lost: at most what was counted since they were last written elsewhere.
    fn changes(&self) -> Changes {
        Changes::default()
    }
}

/// How often the servers behind a store have changed, as far as it has noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// A server has begun anew, perhaps with nothing in its memory.
    pub restarts: u32,
    /// Another server has taken over, perhaps without the latest counts.
    pub failovers: u32,
}

/// What went wrong, one variant for each thing a caller can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store could not be reached; nothing was changed.
    #[error("the store is unavailable")]
    Unavailable,
    /// No answer in time; whether anything was changed is unknown. Sent again, the batch might be
    /// counted twice.
    #[error("the store did not answer in time")]
    Timeout,
    /// Too many at once; nothing was changed.
    #[error("the store is contended")]
    Contended,
    /// The state of one counter cannot be read. The others are not concerned.
    #[error("the state of one counter is corrupt")]
    Corrupt {
        /// The place of its charge in the batch.
        charge: usize,
    },
    /// The state of one counter has a format this version does not know. It is not to be
    /// overwritten: whoever wrote it may still be running.
    #[error("the state of one counter was written by another version")]
    Version {
        /// The place of its charge in the batch.
        charge: usize,
    },
    /// The store does not let us: permissions or configuration. Only an operator can help.
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

    /// Its place among [`NAMES`](Self::NAMES).
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

    /// The name used in answers, logs and metrics: what kind of failure it is, and nothing else.
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
