//! What every store does with the counters it found, as one pure step.
//!
//! A store reads the records of some counters and its own time, hands both to a step, and is told what
//! to answer and what to write. A step hands out nothing before all of it is computed. So a store that
//! writes all of it or nothing, under a lock, in a transaction, or by swapping what was found for what
//! comes next, keeps the promise of the port: a decision applies as a whole or not at all.
//!
//! | asked of the store | step | over what was found for |
//! |---|---|---|
//! | charge | [`Batch::charge`] | each charge, in order |
//! | peek | [`Batch::peek`] | the same |
//! | settle | [`Settlement::settle`] | each move, in order |
//! | amend | [`Amendment::amend`] | the one counter |
//! | use another name for a counter | [`carry_over`] | its previous name, and its current one |
//!
//! Where not all counters of a decision can be seen together, a [`Step`] is a part of the decision.
//!
//! [Chapter 9](crate::book::ch9_where_state_lives) writes a store with these steps.

#[cfg(test)]
mod tests;

use arrayvec::ArrayVec;

use crate::amendment::{Amended, Amendment, CounterRef, Outcome};
use crate::charge::{Batch, Charge, MAX_LIMITS, Readings, WritePlan, plan, plan_after};
use crate::kept::Kept;
use crate::record::Record;
use crate::settlement::{Receipt, Settled, Settlement};
use crate::shape::{Reading, Shape};
use crate::store::StoreError;
use crate::ticket::TicketId;
use crate::time::Timestamp;

/// What the charges of a decision meet in the counters that were found, and what they leave there.
#[derive(Clone, Debug)]
pub struct Step {
    now: Timestamp,
    plan: WritePlan,
    met: ArrayVec<Met, MAX_LIMITS>,
    writes: Vec<Write>,
}

/// What one charge meets in its counter.
#[derive(Clone, Copy, Debug)]
pub struct Met {
    /// The reading of the counter as it was found.
    pub looked: Reading,
    /// The reading of the counter as it is left, if the charge is counted.
    pub taken: Option<Reading>,
}

/// The result of a step: the answer, and the writes that make it true.
pub type Stepped<T> = Result<(T, Vec<Write>), StoreError>;

/// A change to one of the counters a step was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The place of the counter among those that were found.
    pub place: usize,
    /// What is kept from now on; `None` if the counter is to be forgotten.
    pub record: Option<Record>,
}

/// Moves the record of a counter to the name it has now; `previous` and `current` are what was found
/// under its previous and its current name, which have the places 0 and 1.
///
/// So the counter goes on where it was. If both names are in use, the current record stands: adding them
/// up would count requests twice.
#[must_use]
pub fn carry_over(previous: Option<Record>, current: Option<&Record>) -> Vec<Write> {
    let Some(previous) = previous else { return Vec::new() };
    let mut writes = vec![Write { place: 0, record: None }];
    if current.is_none() {
        writes.push(Write { place: 1, record: Some(previous) });
    }
    writes
}

// === impl Step ===

impl Step {
    /// Decides charges at `now`, from the records that were found for them, in the same order.
    ///
    /// # Errors
    ///
    /// [`StoreError::Stale`] if the calendar periods of a charge do not cover `now`.
    pub fn of<'c, 'a: 'c>(
        charges: impl IntoIterator<Item = &'c Charge<'a>, IntoIter: Clone>,
        found: &[Option<Record>],
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        Self::planned(None, &charges.into_iter(), found, now)
    }

    /// Decides charges after others of the same decision were refused, for stores that cannot see all
    /// counters together. `globally` says whether a global limit refused. Only limits that count attempts
    /// are charged.
    ///
    /// # Errors
    ///
    /// [`StoreError::Stale`] if the calendar periods of a charge do not cover `now`.
    pub fn after_refusal<'c, 'a: 'c>(
        globally: bool,
        charges: impl IntoIterator<Item = &'c Charge<'a>, IntoIter: Clone>,
        found: &[Option<Record>],
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        Self::planned(Some(globally), &charges.into_iter(), found, now)
    }

    fn planned<'c, 'a: 'c>(
        refused: Option<bool>,
        charges: &(impl Iterator<Item = &'c Charge<'a>> + Clone),
        found: &[Option<Record>],
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        // Charges that are beyond the end of the list have no record.
        let found = found.iter().map(Option::as_ref).chain(core::iter::repeat(None));
        let each = || charges.clone().zip(found.clone()).enumerate();
        let mut met = ArrayVec::new();
        for (place, (charge, before)) in each() {
            let looked = charge.look(before.map(|before| &before.kept), now);
            let looked = looked.map_err(|stale| stale.of_charge(place))?;
            // A batch has no more charges than there is room for.
            let _ = met.try_push(Met { looked, taken: None });
        }
        let rooms = charges.clone().zip(met.iter().map(|met| met.looked.room));
        let plan = match refused {
            None => plan(rooms),
            Some(globally) => plan_after(globally, rooms),
        };
        let mut writes = Vec::with_capacity(met.len());
        for ((place, (charge, before)), met) in each().zip(&mut met) {
            if plan.writes(place) {
                let taken = charge.take(before.map(|before| &before.kept), now);
                let (kept, reading) = taken.map_err(|stale| stale.of_charge(place))?;
                met.taken = Some(reading);
                let record = changed(charge, before, Some(kept), now);
                writes.extend(record.map(|record| Write { place, record: Some(record) }));
            }
        }
        Ok(Self { now, plan, met, writes })
    }

    /// This step as a mere look: none of its charges is counted, and nothing is written.
    #[must_use]
    pub fn unwritten(mut self) -> Self {
        self.plan = self.plan.unwritten();
        self.met.iter_mut().for_each(|met| met.taken = None);
        self.writes.clear();
        self
    }

    /// Whether the charges are admitted, and which of them are counted.
    #[must_use]
    pub const fn plan(&self) -> WritePlan {
        self.plan
    }

    /// What each charge meets, in order.
    #[must_use]
    pub fn met(&self) -> &[Met] {
        &self.met
    }

    /// Fills in the readings, and returns the writes that make them true. There is none for a counter
    /// that stays as it was.
    pub fn tell(self, readings: &mut Readings) -> Vec<Write> {
        readings.begin(self.now);
        self.met.iter().for_each(|met| readings.push(met.reading()));
        self.writes
    }
}

// === impl Met ===

impl Met {
    /// The reading that the charge is told: that of the counter as the charge leaves it.
    pub fn reading(&self) -> Reading {
        self.taken.unwrap_or(self.looked)
    }
}

// === impl Batch ===

impl Batch<'_> {
    /// Decides the batch at `now`, from the record found for each charge, and fills in the readings.
    ///
    /// # Errors
    ///
    /// [`StoreError::Stale`] if the calendar periods of a charge do not cover `now`.
    pub fn charge(
        &self,
        found: &[Option<Record>],
        now: Timestamp,
        readings: &mut Readings,
    ) -> Stepped<()> {
        Ok(((), Step::of(self.charges(), found, now)?.tell(readings)))
    }

    /// Fills in the readings that [`charge`](Self::charge) would meet; there is nothing to write.
    ///
    /// # Errors
    ///
    /// As [`charge`](Self::charge).
    pub fn peek(
        &self,
        found: &[Option<Record>],
        now: Timestamp,
        readings: &mut Readings,
    ) -> Stepped<()> {
        Ok(((), Step::of(self.charges(), found, now)?.unwritten().tell(readings)))
    }
}

// === impl Settlement ===

impl Settlement<'_> {
    /// Settles the ticket at `now`, from the record found for each move. `marks` is called if it is not
    /// too late: it marks the ticket as settled, together with the writes, and returns `false` if it was
    /// marked before. Then nothing is moved again.
    ///
    /// # Errors
    ///
    /// [`StoreError::Stale`] if the calendar periods of a move do not cover `now`.
    pub fn settle(
        &self,
        found: &[Option<Record>],
        now: Timestamp,
        marks: impl FnOnce(TicketId) -> bool,
    ) -> Stepped<Receipt> {
        if now >= self.expires_at() {
            return Ok((Receipt::Late, Vec::new()));
        }
        let found = found.iter().map(Option::as_ref).chain(core::iter::repeat(None));
        let (mut settled, mut writes) = (Settled::default(), Vec::new());
        for (place, (step, before)) in self.moves().iter().zip(found).enumerate() {
            let kept = before.map(|before| &before.kept);
            let applied = step.apply(kept, self.decided_at(), now);
            let (kept, moved) = applied.map_err(|stale| stale.of_charge(place))?;
            settled += moved;
            let record = changed(&step.charge, before, kept, now);
            writes.extend(record.map(|record| Write { place, record: Some(record) }));
        }
        match marks(self.id()) {
            true => Ok((Receipt::Settled(settled), writes)),
            false => Ok((Receipt::Before, Vec::new())),
        }
    }
}

// === impl Amendment ===

impl Amendment {
    /// Amends a counter at `now`, from the record found for it. There is nothing to write if nothing
    /// changes.
    ///
    /// # Errors
    ///
    /// None. It is a result only because the other steps are.
    pub fn amend(
        self,
        counter: &CounterRef<'_>,
        found: &[Option<Record>],
        now: Timestamp,
    ) -> Stepped<Amended> {
        let found = found.first().and_then(Option::as_ref);
        let charge = match counter {
            CounterRef::Of(charge, _) => Some(charge),
            CounterRef::Listed(_) => None,
        };
        let kept = found.map(|found| &found.kept);
        let after = match self.apply(kept, charge.map(Charge::shape), now) {
            Outcome::Same => {
                let block = found.and_then(|found| found.block(now));
                return Ok((Amended { changed: false, block, at: now }, Vec::new()));
            }
            Outcome::Gone => None,
            Outcome::Kept(state) => {
                let limit = charge.map(|charge| charge.limit().id());
                let limit = limit.or(found.map(|found| found.limit)).unwrap_or_default();
                Some(Record::amended(limit, found, state, now))
            }
        };
        let block = after.as_ref().and_then(|after| after.block(now));
        let write = Write { place: 0, record: after };
        Ok((Amended { changed: true, block, at: now }, vec![write]))
    }
}

/// The record that a charge leaves; `None` if it is the one that was found, so that nothing is written.
/// An attempt that leaves no trace does not even make an abuse log last longer.
fn changed(
    charge: &Charge<'_>,
    before: Option<&Record>,
    after: Option<Kept>,
    now: Timestamp,
) -> Option<Record> {
    let after = after?;
    if let (Shape::Attempts(attempts), Kept::Attempts(state)) = (charge.shape(), &after)
        && before.is_some_and(|before| before.kept == after)
        && !attempts.records(state, now)
    {
        return None;
    }
    Some(Record::left_by(charge, before, after, now)).filter(|after| Some(after) != before)
}
