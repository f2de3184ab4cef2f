//! From readings to the answer.
//!
//! Every limit is asked, even when the first already refuses: the caller is told the longest wait
//! of all, so that one retry is enough, and every limit's reading comes along, so that nobody has
//! to guess which one it was.

use arrayvec::ArrayVec;

use crate::charge::{Batch, MAX_LIMITS, Readings};
use crate::limit::{Limit, Stage};
use crate::policy::{Overflow, Policy};
use crate::shape::{Reading, Room};
use crate::time::{Span, Timestamp};

/// The whole answer to one request. It borrows the readings from whoever asked, so that passing it
/// on costs little.
#[must_use = "a decision that nobody looks at has limited nothing"]
#[derive(Clone, Debug)]
pub struct Decision<'d> {
    policy: &'d Policy,
    verdict: Verdict,
    readings: &'d Readings,
    /// The place in the policy of each reading's limit.
    places: ArrayVec<u8, MAX_LIMITS>,
    binding: u8,
}

/// What to do with the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it pass; it has been counted.
    Admit,
    /// Let it wait; after this long there is room, if nobody else takes it.
    Queue(Span),
    /// Let it pass with a lower quality of service; it has not been counted.
    Degrade,
    /// Refuse it.
    Deny(Denial),
}

/// Why, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// When to come back.
    pub retry: Retry,
    /// Whether a global limit or one of the action refused.
    pub source: Stage,
}

/// When a denied caller may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retry {
    /// After this long every limit has room again; one tick earlier not all do.
    After(Span),
    /// Never: the request costs more than a limit ever holds.
    Never,
}

/// One limit and what it said.
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'d> {
    /// The limit.
    pub limit: &'d Limit,
    /// Its reading.
    pub reading: &'d Reading,
}

/// Folds the readings of a batch into the answer.
#[inline]
pub fn fold<'d>(policy: &'d Policy, batch: &Batch<'_>, readings: &'d Readings) -> Decision<'d> {
    let charges = batch.charges();
    let met = || charges.iter().zip(readings.list());
    let enforced = || met().filter(|(charge, _)| !charge.limit().is_shadow());
    let refusing = || enforced().filter(|(_, reading)| !reading.room.is_now());

    let source = refusing().map(|(charge, _)| charge.limit().stage()).min();
    let (binding, verdict) = match source {
        None => (most_used(batch, readings), Verdict::Admit),
        Some(source) => {
            // The longest wait of all limits is told; the limit that is named is the one with the
            // longest wait of those that refused, in the first stage that did.
            let wait = enforced().map(|(_, reading)| left_with(reading)).max();
            let binding = longest(batch, readings, source);
            (binding, refusal(policy.overflow(), wait, source))
        }
    };
    let mut places = ArrayVec::new();
    for charge in charges {
        places.push(charge.place());
    }
    Decision { policy, verdict, readings, places, binding }
}

fn refusal(overflow: Overflow, wait: Option<Room>, source: Stage) -> Verdict {
    let retry = match wait {
        Some(Room::After(wait)) => Retry::After(wait),
        // Somebody refused, so this is not `Now`; were it, "never" would admit nothing.
        Some(Room::Never | Room::Now) | None => Retry::Never,
    };
    match (overflow, retry) {
        (Overflow::Queue, Retry::After(wait)) => Verdict::Queue(wait),
        (Overflow::Degrade, _) => Verdict::Degrade,
        (Overflow::Queue | Overflow::Reject, _) => Verdict::Deny(Denial { retry, source }),
    }
}

/// What a refused request is left with by one limit: the attempt itself may have been counted.
fn left_with(reading: &Reading) -> Room {
    match reading.room {
        Room::Never => Room::Never,
        Room::Now | Room::After(_) if reading.wait.is_zero() => Room::Now,
        Room::Now | Room::After(_) => Room::After(reading.wait),
    }
}

/// The first of the limits in `source` whose wait is the longest.
fn longest(batch: &Batch<'_>, readings: &Readings, source: Stage) -> u8 {
    let mut best = (0, Room::Now);
    for (place, (charge, reading)) in (0..).zip(batch.charges().iter().zip(readings.list())) {
        let limit = charge.limit();
        let refused = !limit.is_shadow() && !reading.room.is_now() && limit.stage() == source;
        if refused && left_with(reading) > best.1 {
            best = (place, left_with(reading));
        }
    }
    best.0
}

/// The first of the limits of which the smallest share is left.
#[inline]
fn most_used(batch: &Batch<'_>, readings: &Readings) -> u8 {
    if let [_] = batch.charges() {
        return 0;
    }
    let mut best: Option<(u8, u128, u128)> = None;
    for (place, (charge, reading)) in (0..).zip(batch.charges().iter().zip(readings.list())) {
        if charge.limit().is_shadow() {
            continue;
        }
        let left = u128::from(reading.remaining.max(0).unsigned_abs());
        let capacity = u128::from(charge.shape().capacity());
        if best.is_none_or(|(_, least, of)| left * of < least * capacity) {
            best = Some((place, left, capacity));
        }
    }
    best.map_or(0, |(place, _, _)| place)
}

// === impl Decision ===

impl<'d> Decision<'d> {
    /// What to do.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Whether the request may pass and has been counted.
    #[must_use]
    pub const fn is_admitted(&self) -> bool {
        matches!(self.verdict, Verdict::Admit)
    }

    /// The policy that was asked.
    #[must_use]
    pub const fn policy(&self) -> &'d Policy {
        self.policy
    }

    /// The limit that decided: on refusal the one to wait longest for, otherwise the one with the
    /// smallest share left.
    #[must_use]
    pub fn binding(&self) -> Explanation<'d> {
        self.explanation(usize::from(self.binding))
    }

    /// Every limit that was asked, with what it said: shadows too.
    #[must_use]
    pub fn explain(&self) -> impl ExactSizeIterator<Item = Explanation<'d>> {
        (0..self.places.len()).map(|index| self.explanation(index))
    }

    /// The store's time at which this was decided.
    #[must_use]
    pub const fn decided_at(&self) -> Timestamp {
        self.readings.decided_at()
    }

    fn explanation(&self, index: usize) -> Explanation<'d> {
        Explanation {
            limit: &self.policy.limits()[usize::from(self.places[index])],
            reading: &self.readings.list()[index],
        }
    }
}
