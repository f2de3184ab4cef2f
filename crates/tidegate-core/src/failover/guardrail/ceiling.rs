//! A small share of a limit's own rate, for one node.
//!
//! Where a policy goes on by degrees, each of its limits leaves a tenth of its rate to every node, on
//! the same keys, and one request a second at the least. It is a bucket of one second: so a key is as
//! good as new a second or two after its last request, and memory is what the last seconds brought.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use crate::charge::Charge;
use crate::cost::Cost;
use crate::failover::contract::CEILING_SHARE;
use crate::shape::{Bucket, BucketState, Period, Rate, Room, Shape};
use crate::time::{Span, Timestamp};

/// The keys that are counted by themselves, for each policy.
const MOST_KEYS: usize = 65_536;
/// The cells that the others share.
const CELLS: u64 = 1_024;
/// How many keys are looked at, to make room, by one request.
const SWEEP: usize = 8;

/// The ceilings of one policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Ceilings {
    keys: HashMap<u64, Level, FixedState>,
    /// The keys in the order they came in.
    queue: VecDeque<u64>,
    cells: HashMap<u64, Level, FixedState>,
}

/// A bucket and how full it is.
#[derive(Clone, Copy, Debug)]
struct Level {
    bucket: Bucket,
    state: BucketState,
}

// === impl Ceilings ===

impl Ceilings {
    /// How long until a charge has room.
    pub(super) fn wait(&mut self, charge: &Charge<'_>, now: Timestamp) -> Span {
        self.sweep(now);
        let Some(bucket) = ceiling(charge.shape()) else { return Span::ZERO };
        match bucket.room(self.state(charge, &bucket, now), cost(charge, &bucket), now) {
            Room::Now => Span::ZERO,
            Room::After(wait) => wait,
            // Its cost is at most what it holds.
            Room::Never => Span::SECOND,
        }
    }

    /// Takes a charge that there is room for.
    pub(super) fn take(&mut self, charge: &Charge<'_>, now: Timestamp) {
        let Some(bucket) = ceiling(charge.shape()) else { return };
        let before = self.state(charge, &bucket, now);
        let (state, _) = bucket.take(before, cost(charge, &bucket), now);
        let (key, level) = (charge.digest(), Level { bucket, state });
        if let Some(known) = self.keys.get_mut(&key) {
            *known = level;
        } else if self.keys.len() < MOST_KEYS {
            self.keys.insert(key, level);
            self.queue.push_back(key);
        } else {
            self.cells.insert(key % CELLS, level);
        }
    }

    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.keys.values().chain(self.cells.values()).all(|level| level.is_full(now))
    }

    /// What is kept of a key: its own, or else its cell's. Kept under other numbers it is taken to be
    /// empty, so that a change of them grants nothing.
    fn state(&self, charge: &Charge<'_>, bucket: &Bucket, now: Timestamp) -> Option<BucketState> {
        let key = charge.digest();
        let level = self.keys.get(&key).or_else(|| self.cells.get(&(key % CELLS)))?;
        if level.bucket == *bucket || level.is_full(now) {
            return (level.bucket == *bucket).then_some(level.state);
        }
        Some(BucketState { level: 0, last: now.max(level.state.last) })
    }

    /// Makes room: keys that are as good as new go, the others wait for their turn again.
    fn sweep(&mut self, now: Timestamp) {
        for _ in 0..SWEEP.min(self.queue.len()) {
            let Some(key) = self.queue.pop_front() else { break };
            if self.keys.get(&key).is_some_and(|level| !level.is_full(now)) {
                self.queue.push_back(key);
                break;
            }
            self.keys.remove(&key);
        }
    }
}

// === impl Level ===

impl Level {
    fn is_full(&self, now: Timestamp) -> bool {
        let full = Cost::try_new(self.bucket.burst()).unwrap_or(Cost::ONE);
        self.bucket.room(Some(self.state), full, now).is_now()
    }
}

/// The ceiling of a limit of this shape: a tenth of its rate, and at least one a second.
fn ceiling(shape: &Shape) -> Option<Bucket> {
    let (tokens, per) = match shape {
        Shape::Bucket(bucket) => (bucket.rate().tokens(), bucket.rate().per()),
        Shape::Window(window) => (window.count(), window.per()),
        Shape::Quota(quota) => match quota.period() {
            Period::Fixed(length) | Period::FirstUse(length) => (quota.count(), *length),
            // The shortest of its kind would do; a month's budget is far below one a second.
            Period::Calendar(_) => (quota.count(), Span::DAY),
        },
        Shape::Attempts(attempts) => (shape.capacity(), attempts.longest()),
    };
    let micros = per.as_micros().saturating_mul(CEILING_SHARE);
    let share = Rate::try_new(tokens, Span::from_micros(micros));
    let least = Rate::per_second(1);
    let rate = match (share, least) {
        (Ok(share), Ok(least)) if least.is_slower_than(share) => share,
        (_, least) => least.ok()?,
    };
    let a_second = u128::from(rate.tokens()) * u128::from(Span::SECOND.as_micros());
    let burst = a_second.div_ceil(u128::from(rate.per().as_micros()));
    let burst = u64::try_from(burst).unwrap_or(u64::MAX).max(1);
    Bucket::try_new(rate, burst).or_else(|_| Bucket::try_new(Rate::per_second(1)?, 1)).ok()
}

/// A request that weighs more than a second brings takes all of it.
fn cost(charge: &Charge<'_>, bucket: &Bucket) -> Cost {
    Cost::try_new(charge.cost().get().min(bucket.burst())).unwrap_or(Cost::ONE)
}
