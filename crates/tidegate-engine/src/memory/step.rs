//! The shelves of all shapes, and one charge on one spot: words in, the shape's own step, words out.
//!
//! Which shelf and which step a shape has is said here; only the short way of `in_place.rs` names shelves
//! itself. An abuse log is large enough to have its step in `log.rs`.

use super::Budget;
use super::commit::{Glimpse, SpotSearch};
use super::entry::{EntryHead, Epoch, PAIR, WIDE};
use super::logs::LogShelf;
use super::settle::Stubs;
use super::shares::Networks;
use super::shelf::{Place, Shelf, Spot};
use super::sketch::{Cell, StoredWords};
use super::table::Slot;
use crate::engine::unpredictable;
use tidegate_core::{
    Bucket, BucketState, Charge, Period, Periods, Quota, QuotaState, Reading, Room, Shape, Span,
    Stale, Timestamp, Window, WindowState,
};

/// The counters of all shapes.
#[derive(Debug)]
pub(crate) struct Shelves {
    pub(crate) epoch: Epoch,
    pub(crate) buckets: Pairs,
    pub(crate) quotas: Pairs,
    pub(crate) windows: Wides,
    pub(crate) logs: LogShelf,
    pub(crate) stubs: Stubs,
    pub(crate) networks: Networks,
}

pub(crate) type Pairs = Shelf<PAIR, 5>;
pub(crate) type Wides = Shelf<WIDE, 7>;

/// Evaluates an expression with the shelf of a kind, whatever its entries look like.
macro_rules! on_shelf {
    ($shelves:expr, $kind:expr, |$shelf:ident| $done:expr) => {
        match $kind {
            tidegate_core::ShapeKind::Bucket => {
                let $shelf = &$shelves.buckets;
                $done
            }
            tidegate_core::ShapeKind::Quota => {
                let $shelf = &$shelves.quotas;
                $done
            }
            tidegate_core::ShapeKind::Window => {
                let $shelf = &$shelves.windows;
                $done
            }
            tidegate_core::ShapeKind::Attempts => {
                let $shelf = &$shelves.logs;
                $done
            }
        }
    };
}

/// Evaluates an expression with the step of a shape on its shelf.
macro_rules! on_step {
    ($shelves:expr, $shape:expr, |$step:ident| $done:expr) => {
        match $shape {
            tidegate_core::Shape::Bucket(numbers) => {
                let $step = $crate::memory::step::On { shelf: &$shelves.buckets, numbers };
                $done
            }
            tidegate_core::Shape::Quota(numbers) => {
                let $step = $crate::memory::step::On { shelf: &$shelves.quotas, numbers };
                $done
            }
            tidegate_core::Shape::Window(numbers) => {
                let $step = $crate::memory::step::On { shelf: &$shelves.windows, numbers };
                $done
            }
            tidegate_core::Shape::Attempts(numbers) => {
                let $step = $crate::memory::step::On { shelf: &$shelves.logs, numbers };
                $done
            }
        }
    };
}

pub(crate) use {on_shelf, on_step};

/// A shelf, and the numbers of a shape that is counted there.
pub(crate) struct On<'s, S, N> {
    pub(crate) shelf: &'s S,
    pub(crate) numbers: &'s N,
}

/// The state of a bucket, and the numbers it was written under if those are not the ones in force.
enum Held<'c> {
    Current(Option<BucketState>),
    Inherited(&'c Bucket, BucketState),
}

/// What a step works on: a charge, its place and the time.
#[derive(Clone, Copy)]
pub(crate) struct Here<'c> {
    pub(crate) charge: &'c Charge<'c>,
    pub(crate) periods: Option<&'c Periods>,
    pub(crate) place: Place,
    pub(crate) epoch: Epoch,
    pub(crate) now: Timestamp,
}

/// One charge on one counter; every shape has such a step.
pub(crate) trait ShapeStep {
    /// The room for the charge.
    fn room(&self, here: Here<'_>) -> Result<Room, Stale>;

    /// The reading that the charge meets; nothing is written.
    fn look(&self, here: Here<'_>) -> Result<Reading, Stale>;

    /// Writes the charge, and returns the reading.
    fn take(&self, here: Here<'_>) -> Result<Reading, Stale>;

    /// Gives the units of the charge back to the key's own entry, and returns how many those were.
    fn give_back(&self, here: Here<'_>, taken_at: Timestamp) -> u64;

    /// Gives units of the charge back to a cell, and returns how many those were. A cell is shared,
    /// so only what is known to be the key's own is given back.
    fn give_back_shared(&self, _: Here<'_>, _: Timestamp) -> u64 {
        0
    }

    /// Forgets all attempts that an entry has counted, and returns how many those were.
    fn forgive(&self, _: Here<'_>) -> u64 {
        0
    }

    /// Whether a key that could have an entry of its own is counted in its cell for now, because
    /// the entry would begin with something of the cell that is not the key's own.
    fn stays_in(&self, _: Cell, _: Here<'_>) -> bool {
        false
    }
}

/// Blocks of cells: this many limits, or overrides of limits, can overflow without sharing cells.
const BLOCKS: u32 = 64;

/// Cells in a block for keys, and as many for networks: in proportion to the table, so that all
/// blocks together take about a tenth of the table's memory.
fn cells(keys: usize) -> u32 {
    u32::try_from(keys / 1_024).unwrap_or(u32::MAX).clamp(8, 512)
}

// === impl Shelves ===

impl Shelves {
    /// The spot of a key that is in no table, or in an entry that it may outgrow; not one of those that
    /// are taken.
    pub(crate) fn new_spot(
        &self,
        charge: &Charge<'_>,
        seen: Glimpse,
        asked: SpotSearch<'_>,
        taken: &[Slot],
    ) -> Spot {
        let (epoch, now, network) = (self.epoch, asked.now, asked.network);
        match charge.shape() {
            Shape::Attempts(attempts) => {
                let log = (charge, attempts, asked.need);
                self.logs.spot(log, seen, (taken, network), (epoch, now))
            }
            Shape::Bucket(_) => self.buckets.new_spot(charge, taken, network(), epoch, now),
            Shape::Quota(_) => self.quotas.new_spot(charge, taken, network(), epoch, now),
            Shape::Window(_) => self.windows.new_spot(charge, taken, network(), epoch, now),
        }
    }

    pub(crate) fn new(budget: Budget, epoch: Epoch) -> Self {
        Self {
            epoch,
            buckets: Shelf::new(budget.buckets, BLOCKS, cells(budget.buckets), unpredictable()),
            quotas: Shelf::new(budget.quotas, BLOCKS, cells(budget.quotas), unpredictable()),
            windows: Shelf::new(budget.windows, BLOCKS, cells(budget.windows), unpredictable()),
            logs: LogShelf::new(
                budget.attempts,
                BLOCKS,
                cells(budget.attempts / 14),
                unpredictable(),
            ),
            stubs: Stubs::new(Stubs::WORDS),
            networks: Networks::default(),
        }
    }

    #[cfg(loom)]
    pub(crate) fn tiny(epoch: Epoch) -> Self {
        Self {
            epoch,
            buckets: Shelf::new(1, 1, 1, 0),
            quotas: Shelf::new(1, 1, 1, 0),
            windows: Shelf::new(1, 1, 1, 0),
            logs: LogShelf::new(1, 1, 1, 0),
            stubs: Stubs::new(1),
            networks: Networks::default(),
        }
    }
}

// === impl On ===

impl ShapeStep for On<'_, Pairs, Bucket> {
    #[inline]
    fn room(&self, here: Here<'_>) -> Result<Room, Stale> {
        let (cost, now) = (here.charge.cost(), here.now);
        Ok(match self.state(here) {
            Held::Current(state) => self.numbers.room(state, cost, now),
            Held::Inherited(old, state) => self.numbers.look_inherited(old, state, cost, now).room,
        })
    }

    #[inline]
    fn look(&self, here: Here<'_>) -> Result<Reading, Stale> {
        let (cost, now) = (here.charge.cost(), here.now);
        Ok(match self.state(here) {
            Held::Current(state) => self.numbers.look(state, cost, now),
            Held::Inherited(old, state) => self.numbers.look_inherited(old, state, cost, now),
        })
    }

    #[inline]
    fn take(&self, here: Here<'_>) -> Result<Reading, Stale> {
        let (state, reading) =
            self.numbers.take(self.converted(here), here.charge.cost(), here.now);
        self.write(here, state);
        Ok(reading)
    }

    fn give_back(&self, here: Here<'_>, taken_at: Timestamp) -> u64 {
        let Some(state) = self.converted(here) else { return 0 };
        let (state, units) = self.numbers.give_back(state, here.charge.cost(), taken_at, here.now);
        self.write(here, state);
        units
    }
}

impl On<'_, Pairs, Bucket> {
    #[inline]
    fn write(&self, here: Here<'_>, state: BucketState) {
        let head = here.head(state.last, state.level);
        let words = here.epoch.pack(head, self.numbers.fresh_at(state));
        self.shelf.store(here.place, here.charge, words, here.epoch, here.now);
    }

    /// The state that is kept, under the numbers in force.
    #[inline]
    fn converted(&self, here: Here<'_>) -> Option<BucketState> {
        match self.state(here) {
            Held::Current(state) => state,
            Held::Inherited(old, state) => self.numbers.inherit(old, state, here.now),
        }
    }

    #[inline]
    fn state<'c>(&self, here: Here<'c>) -> Held<'c> {
        let words = match self.shelf.load(here.place, here.charge) {
            StoredWords::Nothing => return Held::Current(None),
            StoredWords::Unreadable(at) => return Held::Current(Some(self.numbers.exhausted(at))),
            StoredWords::Words(words) => words,
        };
        let head = here.epoch.unpack(words);
        match here.written_under(head) {
            None => Held::Current(Some(head.bucket())),
            Some(Some(Shape::Bucket(old))) => Held::Inherited(old, head.bucket()),
            Some(_) => match here.charge.slowest() {
                Some(Shape::Bucket(floor)) => Held::Inherited(floor, floor.exhausted(head.anchor)),
                _ => Held::Current(Some(self.numbers.exhausted(head.anchor))),
            },
        }
    }
}

impl ShapeStep for On<'_, Pairs, Quota> {
    #[inline]
    fn room(&self, here: Here<'_>) -> Result<Room, Stale> {
        self.numbers.room(self.found(here).0, here.charge.cost(), here.now, here.periods)
    }

    fn look(&self, here: Here<'_>) -> Result<Reading, Stale> {
        self.numbers.look(self.found(here).0, here.charge.cost(), here.now, here.periods)
    }

    fn take(&self, here: Here<'_>) -> Result<Reading, Stale> {
        let (cost, periods) = (here.charge.cost(), here.periods);
        let (mut state, stamp) = self.found(here);
        if let (Some(state), Place::Cell(_), Period::FirstUse(length)) =
            (&mut state, here.place, self.numbers.period())
            && here.now < state.start.after(*length)
        {
            // The first use of a cell was another key's. Counted from the last use instead, the
            // period of the cell outlasts that of every key in it.
            state.start = state.start.max(here.now);
        }
        // A state that outlasts the period in force keeps the stamp of its old numbers, which say
        // so.
        let outlasts = match state {
            Some(state) => self.numbers.outlasted_by(state, here.now, periods)?,
            None => false,
        };
        let (state, reading) = self.numbers.take(state, cost, here.now, periods)?;
        let stamp = if outlasts { stamp } else { here.charge.stamp().get() };
        let head = EntryHead { anchor: state.start, stamp, amount: state.used };
        let words = here.epoch.pack(head, state.end);
        self.shelf.store(here.place, here.charge, words, here.epoch, here.now);
        Ok(reading)
    }

    /// Gives units back; the period of the entry ends when it would have.
    fn give_back(&self, here: Here<'_>, taken_at: Timestamp) -> u64 {
        let StoredWords::Words(words) = self.shelf.load(here.place, here.charge) else { return 0 };
        let head = here.epoch.unpack(words);
        let (state, units) = self.numbers.give_back(head.quota(), here.charge.cost(), taken_at);
        let head = EntryHead { amount: state.used, ..head };
        let words = here.epoch.pack(head, here.epoch.fresh_at(words));
        self.shelf.store(here.place, here.charge, words, here.epoch, here.now);
        units
    }

    /// A quota from first use stays in a cell that counts: the cell's period is not its own.
    fn stays_in(&self, cell: Cell, here: Here<'_>) -> bool {
        matches!(self.numbers.period(), Period::FirstUse(_))
            && self.shelf.sketch().counts(cell, here.epoch, here.now)
    }
}

impl On<'_, Pairs, Quota> {
    /// The state that is kept, and the stamp of the numbers it was written under. How much was used
    /// is a fact, whatever those numbers were: they only tell when the period ends.
    fn found(&self, here: Here<'_>) -> (Option<QuotaState>, u16) {
        let words = match self.shelf.load(here.place, here.charge) {
            StoredWords::Nothing => return (None, here.charge.stamp().get()),
            StoredWords::Unreadable(at) => {
                return (Some(self.numbers.exhausted(at)), here.charge.stamp().get());
            }
            StoredWords::Words(words) => words,
        };
        let head = here.epoch.unpack(words);
        let state = match here.written_under(head) {
            None => head.quota(),
            Some(Some(Shape::Quota(old))) => old.ending(head.quota()),
            Some(_) => match here.charge.slowest() {
                // How much was used is known, but not until when it counts.
                Some(Shape::Quota(longest)) => longest.ending(head.quota()),
                _ => self.numbers.exhausted(head.anchor),
            },
        };
        (Some(state), head.stamp)
    }
}

impl ShapeStep for On<'_, Wides, Window> {
    fn room(&self, here: Here<'_>) -> Result<Room, Stale> {
        Ok(self.numbers.room(self.state(here).as_ref(), here.charge.cost(), here.now))
    }

    fn look(&self, here: Here<'_>) -> Result<Reading, Stale> {
        Ok(self.numbers.look(self.state(here).as_ref(), here.charge.cost(), here.now))
    }

    fn take(&self, here: Here<'_>) -> Result<Reading, Stale> {
        let (mut state, mut reading) =
            self.numbers.take(self.state(here).as_ref(), here.charge.cost(), here.now);
        if let (WindowState::Grid(grid), Place::Cell(_)) = (&mut state, here.place) {
            // A cell may deny, but a backoff would hit keys that did nothing.
            grid.until = Timestamp::ZERO;
            reading.backoff = Span::ZERO;
            reading.wait = self.numbers.room(Some(&state), here.charge.cost(), here.now).wait();
        }
        self.write(here, &state);
        Ok(reading)
    }

    fn give_back(&self, here: Here<'_>, taken_at: Timestamp) -> u64 {
        let Some(state) = self.state(here) else { return 0 };
        let (state, units) = self.numbers.give_back(&state, here.charge.cost(), taken_at, here.now);
        self.write(here, &state);
        units
    }
}

impl On<'_, Wides, Window> {
    fn write(&self, here: Here<'_>, state: &WindowState) {
        let stamp = here.charge.stamp().get();
        let words = here.epoch.pack_window(state, stamp, self.numbers.fresh_at(state));
        self.shelf.store(here.place, here.charge, words, here.epoch, here.now);
    }

    fn state(&self, here: Here<'_>) -> Option<WindowState> {
        let words: [u64; WIDE] = match self.shelf.load(here.place, here.charge) {
            StoredWords::Nothing => return None,
            StoredWords::Unreadable(at) => return Some(self.numbers.exhausted(at)),
            StoredWords::Words(words) => words,
        };
        let (head, state) = here.epoch.unpack_window(&words);
        match here.written_under(head) {
            None => Some(state),
            Some(Some(Shape::Window(old))) => Some(self.numbers.inherit(old, &state)),
            Some(_) => Some(self.numbers.exhausted(head.anchor)),
        }
    }
}

// === impl Here ===

impl<'c> Here<'c> {
    #[inline]
    fn head(&self, anchor: Timestamp, amount: u64) -> EntryHead {
        EntryHead { anchor, stamp: self.charge.stamp().get(), amount }
    }

    /// `None` if the state was written under the numbers in force; otherwise the shape it was
    /// written under, if that is known.
    #[inline]
    fn written_under(&self, head: EntryHead) -> Option<Option<&'c Shape>> {
        let charge = self.charge;
        (head.stamp != charge.stamp().get()).then(|| charge.written_under(head.stamp))
    }
}

const _: () = assert!(PAIR == 2);
