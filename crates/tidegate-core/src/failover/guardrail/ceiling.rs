//! A small share of a limit's own rate, for one node.
//!
//! Where a policy falls back on ceilings, each of its limits leaves a tenth of its rate to every node,
//! on the same keys, and one request a second at the least. A ceiling is a bucket of one second, so a
//! key is as good as new a second or two after its last request, and memory holds only what the last
//! seconds brought.

use super::keyed::{Keyed, Used, Whose};
use super::shares::CallerNetwork;
use crate::charge::Charge;
use crate::cost::Cost;
use crate::failover::contract::CEILING_SHARE;
use crate::shape::{Bucket, BucketState, Rate, Room, Shape};
use crate::time::{Span, Timestamp};

/// The most keys that are counted by themselves, for each policy.
const MOST_KEYS: usize = 65_536;
/// The time in which every ceiling fills: it holds what one second brings, rounded up, and every second
/// brings one request at least.
const FILLS_WITHIN: Span = Span::from_secs(2);

/// The ceilings of one policy.
#[derive(Clone, Debug)]
pub(super) struct Ceilings(Keyed<Level>);

/// The bucket of one ceiling, and how full it is.
#[derive(Clone, Copy, Debug)]
struct Level {
    bucket: Bucket,
    state: BucketState,
}

// === impl Ceilings ===

impl Default for Ceilings {
    fn default() -> Self {
        Self(Keyed::with_room_for(MOST_KEYS))
    }
}

impl Ceilings {
    /// How long until a charge has room.
    pub(super) fn wait(
        &mut self,
        charge: &Charge<'_>,
        network: CallerNetwork,
        now: Timestamp,
    ) -> Span {
        // All keys last equally long, so behind one that counts there are hardly any to drop.
        self.0.sweep(1, now);
        let Some(bucket) = ceiling(charge.shape()) else { return Span::ZERO };
        let waits = |level: Option<&Level>| {
            let state = level.map(|level| level.under(&bucket));
            match bucket.room(state, cost(charge, &bucket), now) {
                Room::Now => Span::ZERO,
                Room::After(wait) => wait,
                // The cost is never more than the bucket holds.
                Room::Never => Span::SECOND,
            }
        };
        let whose = whose(charge, network);
        waits(self.level(whose, now)).max(waits(self.0.beside(whose)))
    }

    /// Counts a charge that there is room for.
    pub(super) fn take(&mut self, charge: &Charge<'_>, network: CallerNetwork, now: Timestamp) {
        let Some(bucket) = ceiling(charge.shape()) else { return };
        let take = |before: Option<&Level>| {
            let before = before.map(|level| level.under(&bucket));
            let (state, _) = bucket.take(before, cost(charge, &bucket), now);
            Used { count: Level { bucket, state }, fresh_at: state.last.after(FILLS_WITHIN) }
        };
        let whose = whose(charge, network);
        let used = take(self.level(whose, now));
        self.0.put(whose, used, |beside| Some(take(beside)), now);
    }

    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.0.is_fresh(now)
    }

    /// The keys that are counted by themselves.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.0.keys.len()
    }

    fn level(&self, whose: Whose, now: Timestamp) -> Option<&Level> {
        self.0.own(whose).or_else(|| self.0.in_cell(whose, now))
    }
}

// === impl Level ===

impl Level {
    /// The state for a bucket with the numbers of `bucket`. A state kept under other numbers is taken to
    /// have been empty since its last request, so that a change of numbers grants nothing.
    fn under(&self, bucket: &Bucket) -> BucketState {
        match self.bucket == *bucket {
            true => self.state,
            false => bucket.exhausted(self.state.last),
        }
    }
}

/// The key of a charge, which shares cells with keys of all limits.
fn whose(charge: &Charge<'_>, network: CallerNetwork) -> Whose {
    Whose { limit: 0, ..Whose::of(charge, network) }
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
