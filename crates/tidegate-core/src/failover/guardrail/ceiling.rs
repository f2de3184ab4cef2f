//! A small share of a limit's own rate, for one node.
//!
//! Where a policy falls back on ceilings, each of its limits leaves a tenth of its rate to every node,
//! on the same keys, and one request a second at the least. A ceiling is a bucket of one second, so a
//! key is as good as new a second or two after its last request, and memory holds only what the last
//! seconds brought.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::overflowed::Overflowed;
use super::shares::{Network, Shares};
use crate::charge::Charge;
use crate::cost::Cost;
use crate::failover::contract::CEILING_SHARE;
use crate::shape::{Bucket, BucketState, Rate, Room, Shape};
use crate::time::{Span, Timestamp};

/// The most keys that are counted by themselves, for each policy.
const MOST_KEYS: usize = 65_536;
/// The number of cells that the other keys share.
const CELLS: u64 = 1_024;
/// The most keys that one request checks, to make room.
const SWEEP: usize = 8;
/// The time in which every ceiling fills: it holds what one second brings, rounded up, and every second
/// brings one request at least.
const FILLS_WITHIN: Span = Span::from_secs(2);

/// The ceilings of one policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Ceilings {
    keys: HashMap<u64, Level, FixedState>,
    /// The keys in the order in which they are checked to make room.
    queue: VecDeque<u64>,
    cells: HashMap<u64, Level, FixedState>,
    /// The cells of networks, for keys that find no place.
    network_cells: HashMap<u64, Level, FixedState>,
    overflowed: Overflowed,
    shares: Shares,
}

/// The bucket of one ceiling, and how full it is.
#[derive(Clone, Copy, Debug)]
struct Level {
    bucket: Bucket,
    state: BucketState,
    /// The network whose share this key's place is from.
    network: Network,
}

// === impl Ceilings ===

impl Ceilings {
    /// How long until a charge has room.
    pub(super) fn wait(&mut self, charge: &Charge<'_>, network: Network, now: Timestamp) -> Span {
        self.sweep(now);
        let Some(bucket) = ceiling(charge.shape()) else { return Span::ZERO };
        let waits = |state| match bucket.room(state, cost(charge, &bucket), now) {
            Room::Now => Span::ZERO,
            Room::After(wait) => wait,
            // The cost is never more than the bucket holds.
            Room::Never => Span::SECOND,
        };
        let own = waits(self.state(charge, network, &bucket, now));
        match self.has_place(charge.digest(), network) {
            true => own,
            false => own.max(waits(self.network_state(network, &bucket))),
        }
    }

    /// Counts a charge that there is room for.
    pub(super) fn take(&mut self, charge: &Charge<'_>, network: Network, now: Timestamp) {
        let Some(bucket) = ceiling(charge.shape()) else { return };
        let taken = |before| {
            let (state, _) = bucket.take(before, cost(charge, &bucket), now);
            Level { bucket, state, network }
        };
        let (key, level) = (charge.digest(), taken(self.state(charge, network, &bucket, now)));
        if let Some(known) = self.keys.get_mut(&key) {
            *known = Level { network: known.network, ..level };
        } else if self.has_place(key, network) {
            self.keys.insert(key, level);
            self.queue.push_back(key);
            self.shares.give(network);
        } else {
            self.cells.insert(key % CELLS, level);
            self.overflowed.add(key, now.after(FILLS_WITHIN), now);
            let beside = taken(self.network_state(network, &bucket));
            self.network_cells.extend(network.0.map(|network| (network % CELLS, beside)));
        }
    }

    fn has_place(&self, key: u64, network: Network) -> bool {
        self.keys.contains_key(&key) || self.shares.grants(network, MOST_KEYS)
    }

    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        let cells = self.cells.values().chain(self.network_cells.values());
        self.keys.values().chain(cells).all(|level| level.is_over(now))
    }

    /// The keys that are counted by themselves.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.keys.len()
    }

    /// The state kept for a key: its own, or else that of its cell, unless the key gets a place and was
    /// not counted in the cell. A state kept under other numbers is taken to have been empty since its
    /// last request, so that a change of numbers grants nothing.
    fn state(
        &self,
        charge: &Charge<'_>,
        network: Network,
        bucket: &Bucket,
        now: Timestamp,
    ) -> Option<BucketState> {
        let key = charge.digest();
        let in_cell = self.overflowed.has(key, now) || !self.has_place(key, network);
        let cell = || self.cells.get(&(key % CELLS)).filter(|_| in_cell);
        Some(self.keys.get(&key).or_else(cell)?.under(bucket))
    }

    /// The state kept for the keys of a network that found no place.
    fn network_state(&self, network: Network, bucket: &Bucket) -> Option<BucketState> {
        self.network_cells.get(&(network.0? % CELLS)).map(|level| level.under(bucket))
    }

    /// Makes room: drops keys that are as good as new, and puts the others back in line.
    fn sweep(&mut self, now: Timestamp) {
        for _ in 0..SWEEP.min(self.queue.len()) {
            let Some(key) = self.queue.pop_front() else { break };
            if self.keys.get(&key).is_some_and(|level| !level.is_over(now)) {
                self.queue.push_back(key);
                break;
            }
            if let Some(level) = self.keys.remove(&key) {
                self.shares.take_back(level.network);
            }
        }
    }
}

// === impl Level ===

impl Level {
    /// The state for a bucket with the numbers of `bucket`.
    fn under(&self, bucket: &Bucket) -> BucketState {
        match self.bucket == *bucket {
            true => self.state,
            false => bucket.exhausted(self.state.last),
        }
    }

    /// Whether the bucket is full by now, whatever its numbers.
    fn is_over(&self, now: Timestamp) -> bool {
        now >= self.state.last.after(FILLS_WITHIN)
    }
}

/// The ceiling of a limit of this shape: a tenth of its rate, and at least one a second.
fn ceiling(shape: &Shape) -> Option<Bucket> {
    let (tokens, per) = shape.rate();
    let micros = per.as_micros().saturating_mul(CEILING_SHARE);
    let share = Rate::try_new(tokens, Span::from_micros(micros));
    let least = Rate::per_second(1);
    let rate = match (share, least) {
        (Ok(share), Ok(least)) if least.is_slower_than(share) => share,
        (_, least) => least.ok()?,
    };
    let a_second = u128::from(rate.tokens()) * u128::from(Span::SECOND.as_micros());
    let per = u128::from(rate.per().as_micros());
    let whole = |tokens: u128| u64::try_from(tokens).unwrap_or(u64::MAX).max(1);
    // A rate too fine to be counted exactly is rounded down to whole requests a second.
    let (floor, ceil) = (whole(a_second / per), whole(a_second.div_ceil(per)));
    Bucket::try_new(rate, ceil).or_else(|_| Bucket::try_new(Rate::per_second(floor)?, floor)).ok()
}

/// The cost of a charge, cut to what one second brings: a heavier request takes all of it.
fn cost(charge: &Charge<'_>, bucket: &Bucket) -> Cost {
    Cost::try_new(charge.cost().get().min(bucket.burst())).unwrap_or(Cost::ONE)
}
