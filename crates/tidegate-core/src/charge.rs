//! What the engine asks of a store, as data.
//!
//! A store that has to call back while it holds a counter cannot be a Redis script. So everything
//! is in the [`Charge`]: the key, the shape with its numbers, the cost, and what to do on refusal.
//! A [`Batch`] is one decision's charges; a store looks at all of them first, asks [`plan`] which
//! to write, and writes those, all together.

use arrayvec::ArrayVec;

use crate::cost::Cost;
use crate::key::Key;
use crate::limit::{Numbers, Stage};
use crate::shape::{Periods, Reading, Room};
use crate::time::Timestamp;

/// The most limits one decision can have.
pub const MAX_LIMITS: usize = 16;

/// What is asked of one counter.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// Which counter.
    pub key: Key<'a>,
    /// The shape in force, and those its state may have been written under.
    pub numbers: Numbers<'a>,
    /// How many units.
    pub cost: Cost,
    /// Where the periods of a calendar quota lie.
    pub periods: Option<Periods>,
    /// The place of the limit in its policy.
    pub limit: u8,
}

/// The charges of one decision, in the order of the policy.
#[derive(Clone, Debug, Default)]
pub struct Batch<'a> {
    charges: ArrayVec<Charge<'a>, MAX_LIMITS>,
}

/// What a store saw: one reading per charge, in the same order.
#[derive(Clone, Debug)]
pub struct Readings {
    /// The store's time at which all of them hold.
    pub decided_at: Timestamp,
    /// One per charge.
    pub list: ArrayVec<Reading, MAX_LIMITS>,
}

/// Which charges of a batch are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    admitted: bool,
    writes: u16,
}

/// Decides a batch from what each of its charges met.
///
/// * Admitted, if every limit that is not a shadow has room. Then all of those are written, and
///   shadows that have room.
/// * Refused otherwise. Then nothing is written but limits that count attempts; of those, the
///   action's are left out if a global limit refused. A cost that never fits is never counted.
#[must_use]
#[inline]
pub fn plan<'c, 'a: 'c>(met: impl Iterator<Item = (&'c Charge<'a>, Room)> + Clone) -> Plan {
    let refuses = |stage: Option<Stage>| {
        met.clone().any(|(charge, room)| {
            let limit = charge.key.limit();
            !limit.is_shadow() && !room.is_now() && stage.is_none_or(|stage| limit.stage() == stage)
        })
    };
    let admitted = !refuses(None);
    let global_refused = !admitted && refuses(Some(Stage::Global));
    let written = |charge: &Charge<'_>, room: Room| {
        let limit = charge.key.limit();
        if admitted {
            return room.is_now();
        }
        charge.numbers.shape().counts_attempts()
            && !limit.is_shadow()
            && room != Room::Never
            && (limit.stage() == Stage::Global || !global_refused)
    };
    let writes = met.enumerate().fold(0, |writes, (index, (charge, room))| {
        writes | (u16::from(written(charge, room)) << index)
    });
    Plan { admitted, writes }
}

// === impl Batch ===

impl<'a> Batch<'a> {
    /// No charges yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a charge, unless the batch is full. Policies never have more than [`MAX_LIMITS`].
    #[inline]
    pub(crate) fn push(&mut self, charge: Charge<'a>) {
        let _ = self.charges.try_push(charge);
    }

    /// The charges.
    #[must_use]
    pub fn charges(&self) -> &[Charge<'a>] {
        &self.charges
    }
}

// === impl Plan ===

impl Plan {
    /// The plan that writes nothing, for a look without a charge.
    #[must_use]
    pub const fn unwritten(self) -> Self {
        Self { writes: 0, ..self }
    }

    /// Whether the request is admitted.
    #[must_use]
    pub const fn is_admitted(self) -> bool {
        self.admitted
    }

    /// Whether the charge at `index` is written.
    #[must_use]
    pub const fn writes(self, index: usize) -> bool {
        self.writes >> index & 1 == 1
    }
}
