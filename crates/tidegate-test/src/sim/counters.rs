//! The counters behind the simulated store: the core's rules around a map.
//!
//! A store of a real process keeps its counters where it likes, by keys that nobody can guess, and so no
//! two runs of it are the same when it is full. Here nothing is ever full, and every run is the same.

use std::collections::{HashMap, HashSet};

use tidegate_core::{
    Amended, Amendment, Batch, Charge, Counter, Kept, Listed, Outcome, Readings, Receipt, Settled,
    Settlement, StoreError, TicketId, Timestamp, plan,
};

/// What the store keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    states: HashMap<u64, Entry>,
    settled: HashSet<TicketId>,
    /// How many there have been.
    made: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    kept: Option<Kept>,
    /// The limit that it counts for.
    limit: u64,
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
            self.keep(charge, kept);
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
        let mut after: Vec<(&Charge<'_>, Kept)> = Vec::new();
        for (place, step) in settlement.moves().iter().enumerate() {
            let digest = step.charge.digest();
            let applied = step.apply(self.kept(digest), settlement.decided_at(), now);
            let (kept, settled) = applied.map_err(|stale| stale.of_charge(place))?;
            moved += settled;
            after.extend(kept.map(|kept| (&step.charge, kept)));
        }
        if !self.settled.insert(settlement.id()) {
            return Ok(Receipt::Before);
        }
        after.into_iter().for_each(|(charge, kept)| self.keep(charge, kept));
        Ok(Receipt::Settled(moved))
    }

    /// Does what an operator asks for. What cannot be read is forgotten all the same.
    pub(super) fn amend(
        &mut self,
        counter: &Counter<'_>,
        amendment: Amendment,
        now: Timestamp,
    ) -> Result<Amended, StoreError> {
        let (digest, shape) = match counter {
            Counter::Of(charge, _) => (charge.digest(), Some(charge.shape())),
            Counter::Listed(name) => (name.parse().map_err(|_| StoreError::Refused)?, None),
        };
        let marked = self.states.get(&digest).is_some_and(|entry| entry.mark != Mark::Fine);
        let outcome = amendment.apply(self.kept(digest), shape, now);
        let changed = marked || outcome != Outcome::Same;
        match (outcome, counter) {
            (Outcome::Same, _) => {}
            (Outcome::Gone, _) => {
                self.states.remove(&digest);
            }
            (Outcome::Kept(state), Counter::Of(charge, _)) => {
                self.keep(charge, Kept::Attempts(state));
            }
            (Outcome::Kept(state), Counter::Listed(_)) => {
                if let Some(entry) = self.states.get_mut(&digest) {
                    entry.kept = Some(Kept::Attempts(state));
                }
            }
        }
        let block = match self.kept(digest) {
            Some(Kept::Attempts(state)) => state.block().filter(|block| block.holds(now)),
            _ => None,
        };
        Ok(Amended { changed, block, at: now })
    }

    /// All blocks that hold, in the order in which their counters were made.
    pub(super) fn blocks(&self, now: Timestamp) -> Vec<Listed> {
        let mut found: Vec<(u64, Listed)> = Vec::new();
        for (digest, entry) in &self.states {
            let Some(Kept::Attempts(state)) = &entry.kept else { continue };
            if let Some(block) = state.block().filter(|block| block.holds(now)) {
                let listed = Listed { key: digest.to_string(), limit: entry.limit, block };
                found.push((entry.number, listed));
            }
        }
        found.sort_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, listed)| listed).collect()
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

    fn keep(&mut self, charge: &Charge<'_>, kept: Kept) {
        let made = &mut self.made;
        let entry = self.states.entry(charge.digest()).or_insert_with(|| {
            *made += 1;
            let (limit, number) = (charge.limit().id(), *made);
            Entry { kept: None, limit, number, mark: Mark::Fine }
        });
        entry.kept = Some(kept);
    }
}
