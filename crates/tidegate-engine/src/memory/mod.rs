//! The in-memory store: bounded, exact, and with nothing running in the background.
//!
//! | file | holds |
//! |---|---|
//! | `table.rs` | the flat table of counters, its groups and locks |
//! | `sketch.rs` | the cells in which keys that do not fit are counted |
//! | `marks.rs` | which keys have been counted in cells |
//! | `shares.rs` | how places are shared out between client networks |
//! | `shelf.rs` | table, shares and sketch of one shape |
//! | `entry.rs` | what an entry looks like in memory |
//! | `step.rs` | the shelves of all shapes, and one charge on one counter |
//! | `log.rs` | abuse logs: how they look, one charge on one of them |
//! | `logs.rs` | the tables of short, middle and long abuse logs |
//! | `commit.rs` | all charges of one decision, together |
//! | `in_place.rs` | the short way for buckets and quotas that are in their places |
//! | `amend.rs` | what operators do, and the list of blocks |
//! | `settle.rs` | settling tickets: units given back or taken in addition |
//! | `locks.rs` | the locks of one decision, and their order |

mod amend;
mod commit;
mod entry;
mod in_place;
mod locks;
mod log;
mod logs;
mod marks;
mod settle;
mod shares;
mod shelf;
mod sketch;
mod step;
mod table;

use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Clock, CounterRef, Page, Readings, Receipt, Settlement,
    ShapeKind, Span, Store, StoreError, Usage, WritePlan,
};

use entry::Epoch;
use logs::{Need, longer};
use step::{Shelves, on_shelf};

/// How many keys are counted exactly at the same time, for each shape.
///
/// Once a table holds this many keys, the places that are left are shared out by client network, so
/// that a flood of made-up keys leaves some to clients from elsewhere. A key that finds no place is
/// counted together with others.
///
/// The memory is reserved when the store is made and never grows; it becomes resident as it is
/// used. A key that is as good as never seen (a full bucket, an ended period) takes no place, so
/// these are keys *in use*, not keys ever seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Buckets: about 60 bytes each.
    pub buckets: usize,
    /// Quotas: about 60 bytes each.
    pub quotas: usize,
    /// Windows: about 1,080 bytes each.
    pub windows: usize,
    /// Abuse logs: about 150 bytes each. Twelve in a hundred, and each of the first thousand, may hold more
    /// than four attempts, two distinct values or a block; one in a hundred more than 22 attempts, or 11
    /// distinct values.
    pub attempts: usize,
}

/// A budget that is too large, so that no memory is reserved for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a budget of {wanted} bytes is beyond the {largest} bytes a store may reserve; count fewer keys \
     at the same time"
)]
pub struct BudgetError {
    /// The bytes that the budget takes at most.
    pub wanted: u64,
    /// The most bytes that a store may reserve.
    pub largest: u64,
}

/// Counters in the memory of this process, on the clock it is given.
#[derive(Debug)]
pub struct MemoryStore<C> {
    clock: C,
    shelves: Shelves,
}

// === impl Budget ===

impl Default for Budget {
    /// 390,000 buckets, 130,000 quotas, 12,000 windows and 250,000 abuse logs: at most 90 MB.
    fn default() -> Self {
        Self { buckets: 390_000, quotas: 130_000, windows: 12_000, attempts: 250_000 }
    }
}

impl Budget {
    /// The most bytes that a store reserves: 64 GiB.
    pub const MAX_BYTES: u64 = 1 << 36;

    /// About how many bytes a store of this budget takes at most.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let Self { buckets, quotas, windows, attempts } = *self;
        let [long, middle] = longer(attempts);
        let table = |keys: usize, each: u64| (keys as u64).saturating_mul(each);
        let tables = [
            table(buckets, 61),
            table(quotas, 61),
            table(windows, 1_080),
            table(attempts, 91),
            table(middle, 392),
            table(long, 1_480),
        ];
        tables.into_iter().fold(0, u64::saturating_add)
    }

    /// Refuses a budget that is too large for any machine.
    ///
    /// # Errors
    ///
    /// If it takes more than [`Budget::MAX_BYTES`].
    pub fn check(&self) -> Result<(), BudgetError> {
        match self.bytes() {
            wanted if wanted > Self::MAX_BYTES => {
                Err(BudgetError { wanted, largest: Self::MAX_BYTES })
            }
            _ => Ok(()),
        }
    }
}

// === impl MemoryStore ===

impl<C: Clock> MemoryStore<C> {
    /// A store within `budget`. Times before this moment count as this moment.
    #[must_use]
    pub fn new(budget: Budget, clock: C) -> Self {
        let shelves = Shelves::new(budget, Epoch(clock.now()));
        Self { clock, shelves }
    }

    /// A store within `budget`, if that is not too large; for budgets from a file.
    ///
    /// # Errors
    ///
    /// As [`Budget::check`].
    pub fn try_new(budget: Budget, clock: C) -> Result<Self, BudgetError> {
        budget.check().map(|()| Self::new(budget, clock))
    }

    /// A store with one group and one cell for each shape: as much as loom can explore.
    #[cfg(loom)]
    #[must_use]
    pub fn tiny(clock: C) -> Self {
        let shelves = Shelves::tiny(Epoch(clock.now()));
        Self { clock, shelves }
    }

    /// What the store holds now. Looks at every entry: for metrics, not for requests.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let Shelves { epoch, stubs, .. } = &self.shelves;
        let now = epoch.clamp(self.clock.now());
        let (mut entries, mut max_bytes) = ([0; ShapeKind::ALL.len()], stubs.bytes());
        for (kind, live) in ShapeKind::ALL.into_iter().zip(&mut entries) {
            max_bytes += on_shelf!(self.shelves, kind, |shelf| {
                *live = shelf.live(*epoch, now);
                shelf.bytes()
            });
        }
        Usage { entries, max_bytes }
    }
}

impl<C: Clock> Store for MemoryStore<C> {
    const SHARED: bool = false;
    const FALLIBLE: bool = false;
    const WAITS: bool = false;

    fn name(&self) -> &'static str {
        "memory"
    }

    #[inline]
    fn charge_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.shelves.commit(batch, &self.clock, readings, Need::OneMore, |plan| plan)
    }

    #[inline]
    fn peek_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.shelves.commit(batch, &self.clock, readings, Need::NoMore, WritePlan::unwritten)
    }

    fn settle_now(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        self.shelves.settle(settlement, &self.clock)
    }

    async fn amend(
        &self,
        counter: CounterRef<'_>,
        amendment: Amendment,
        _within: Span,
    ) -> Result<Amended, StoreError> {
        self.shelves.amend(counter, amendment, &self.clock)
    }

    async fn blocks(&self, page: Page<'_>, _: Span) -> Result<Blocks, StoreError> {
        self.shelves.blocks(page, &self.clock)
    }

    fn usage(&self) -> Option<Usage> {
        Some(Self::usage(self))
    }
}
