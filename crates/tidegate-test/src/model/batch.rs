//! All or nothing: which charges of a decision are recorded, and what each limit then reads.

use tidegate_core::{Batch, Charge, Limit, Overflow, Reading, Room, Shape, Stage};

use super::counter::{ModelCounter, ModelRecord};
use super::log::Demand;

/// The reading of each limit, and what is to be kept for it from now on (`None` if unchanged).
pub(super) fn decide<'k>(
    batch: &Batch<'_>,
    found: impl Iterator<Item = Option<&'k ModelRecord>>,
    now: u64,
    born: u64,
    write: bool,
) -> (Vec<Reading>, Vec<Option<ModelRecord>>) {
    let counters: Vec<ModelCounter<'_>> = batch
        .charges()
        .iter()
        .zip(found)
        .map(|(charge, kept)| ModelCounter::new(kept, charge.shape(), now, born))
        .collect();
    let rooms: Vec<Room> = batch
        .charges()
        .iter()
        .zip(&counters)
        .map(|(charge, counter)| counter.room(asked(charge)))
        .collect();
    let verdict = Verdict::of(batch, &rooms);
    let mut readings = Vec::new();
    let mut writes = Vec::new();
    for ((charge, counter), room) in batch.charges().iter().zip(&counters).zip(&rooms) {
        let asked = asked(charge);
        if write && verdict.records(charge, *room) {
            let (kept, reading) = counter.recorded(asked, *room);
            readings.push(reading);
            writes.push(Some(kept));
        } else {
            readings.push(counter.reading(asked));
            writes.push(None);
        }
    }
    (readings, writes)
}

fn asked(charge: &Charge<'_>) -> Demand {
    Demand { cost: charge.cost().get(), member: charge.member() }
}

fn refuses_nothing(limit: &Limit) -> bool {
    limit.is_shadow() || limit.overflow() == Overflow::Degrade
}

/// How the request was decided, as far as counters are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Admitted,
    RefusedByGlobal,
    RefusedByAction,
}

// === impl Verdict ===

impl Verdict {
    fn of(batch: &Batch<'_>, rooms: &[Room]) -> Self {
        let mut verdict = Self::Admitted;
        for (charge, room) in batch.charges().iter().zip(rooms) {
            let limit = charge.limit();
            if refuses_nothing(limit) || *room == Room::Now {
                continue;
            }
            match limit.stage() {
                Stage::Global => return Self::RefusedByGlobal,
                Stage::Action => verdict = Self::RefusedByAction,
            }
        }
        verdict
    }

    fn records(self, charge: &Charge<'_>, room: Room) -> bool {
        let limit = charge.limit();
        let counts = match charge.shape() {
            // On a ladder, only attempts that this limit refuses are recorded: they begin the
            // block.
            Shape::Attempts(attempts) if attempts.ladder().is_some() => room != Room::Now,
            shape => shape.counts_attempts(),
        };
        let attempt = counts && !refuses_nothing(limit) && room != Room::Never;
        match self {
            Self::Admitted => room == Room::Now,
            Self::RefusedByAction => attempt,
            Self::RefusedByGlobal => attempt && limit.stage() == Stage::Global,
        }
    }
}
