//! The counters behind the simulated store: the core's rules around a map.
//!
//! A store of a real process keeps its counters where it likes, by keys that nobody can guess, and so no
//! two runs of it are the same when it is full. Here nothing is ever full, and every run is the same.

use std::collections::{HashMap, HashSet};

use tidegate_core::{
    Amended, Amendment, Batch, Counter, Kept, Outcome, Readings, Receipt, Settled, Settlement,
    StoreError, TicketId, Timestamp, plan,
};

/// What the store keeps.
#[derive(Debug, Default)]
pub(super) struct Counters {
    states: HashMap<u64, Entry>,
    settled: HashSet<TicketId>,
    /// How many there have been.
    made: u64,
}

#[derive(Debug)]
struct Entry {
    kept: Option<Kept>,
    /// Which one it is, in the order they were made: the same in every run, as digests are not.
    number: u64,
    mark: Mark,
}

/// What is wrong with one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    Fine,
    /// It cannot be read.
    Corrupt,
    /// Another version wrote it.
    Version,
}

// === impl Counters ===

impl Counters {
    /// Charges a batch, or only looks.
    pub(super) fn decide(
        &mut self,
        batch: &Batch<'_>,
        write: bool,
        readings: &mut Readings,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for (place, charge) in batch.charges().iter().enumerate() {
            match self.states.get(&charge.digest()).map(|entry| entry.mark) {
                Some(Mark::Corrupt) => return Err(StoreError::Corrupt { charge: place }),
                Some(Mark::Version) => return Err(StoreError::Version { charge: place }),
                Some(Mark::Fine) | None => {}
            }
        }
        readings.begin(now);
        for (place, charge) in batch.charges().iter().enumerate() {
            let met = charge.look(self.kept(charge.digest()), now);
            readings.push(met.map_err(|stale| stale.of_charge(place))?);
        }
        let met: Vec<_> = readings.list().to_vec();
        let planned = plan(batch.charges().iter().zip(met.iter().map(|met| met.room)));
        readings.begin(now);
        for (place, (charge, met)) in batch.charges().iter().zip(met).enumerate() {
            if !write || !planned.writes(place) {
                readings.push(met);
                continue;
            }
            let taken = charge.take(self.kept(charge.digest()), now);
            let (kept, reading) = taken.map_err(|stale| stale.of_charge(place))?;
            self.keep(charge.digest(), kept);
            readings.push(reading);
        }
        Ok(())
    }

    pub(super) fn settle(
        &mut self,
        settlement: &Settlement<'_>,
        now: Timestamp,
    ) -> Result<Receipt, StoreError> {
        if now >= settlement.expires_at() {
            return Ok(Receipt::Late);
        }
        let mut moved = Settled::default();
        let mut after = Vec::new();
        for (place, step) in settlement.moves().iter().enumerate() {
            let digest = step.charge.digest();
            let applied = step.apply(self.kept(digest), settlement.decided_at(), now);
            let (kept, settled) = applied.map_err(|stale| stale.of_charge(place))?;
            moved += settled;
            after.extend(kept.map(|kept| (digest, kept)));
        }
        if !self.settled.insert(settlement.id()) {
            return Ok(Receipt::Before);
        }
        after.into_iter().for_each(|(digest, kept)| self.keep(digest, kept));
        Ok(Receipt::Settled(moved))
    }

    /// Does what an operator asks for. What cannot be read is forgotten all the same.
    pub(super) fn amend(
        &mut self,
        counter: &Counter<'_>,
        amendment: Amendment,
        now: Timestamp,
    ) -> Result<Amended, StoreError> {
        let Counter::Of(charge, _) = counter else { return Err(StoreError::Refused) };
        let digest = charge.digest();
        let marked = self.states.get(&digest).is_some_and(|entry| entry.mark != Mark::Fine);
        let outcome = amendment.apply(self.kept(digest), Some(charge.shape()), now);
        let changed = marked || outcome != Outcome::Same;
        match outcome {
            Outcome::Same => {}
            Outcome::Gone => {
                self.states.remove(&digest);
            }
            Outcome::Kept(state) => self.keep(digest, Kept::Attempts(state)),
        }
        let block = match self.kept(digest) {
            Some(Kept::Attempts(state)) => state.block().filter(|block| block.holds(now)),
            _ => None,
        };
        Ok(Amended { changed, block, at: now })
    }

    /// Marks one in so many counters, beginning with a certain one.
    pub(super) fn mark(&mut self, mark: Mark, one_in: u64, first: u64) {
        for entry in self.states.values_mut() {
            if entry.number % one_in.max(1) == first % one_in.max(1) {
                entry.mark = mark;
            }
        }
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self) {
        self.states.clear();
    }

    fn kept(&self, digest: u64) -> Option<&Kept> {
        self.states.get(&digest)?.kept.as_ref()
    }

    fn keep(&mut self, digest: u64, kept: Kept) {
        let made = &mut self.made;
        let entry = self.states.entry(digest).or_insert_with(|| {
            *made += 1;
            Entry { kept: None, number: *made, mark: Mark::Fine }
        });
        entry.kept = Some(kept);
    }
}
