//! What an operator does to a counter, and the list of blocks.

use tidegate_core::{
    Amended, Amendment, Blocks, Charge, Clock, CounterRef, Kept, Listed, Outcome, Page, Shape,
    StoreError, Timestamp,
};

use super::commit::{SpotSearch, Spots};
use super::locks::{HeldLock, Locks};
use super::logs::{LOG_WAYS, Need};
use super::shares::NetworkDigest;
use super::shelf::{Place, Spot};
use super::step::{Here, On, Shelves, on_shelf};
use super::table::Slot;

/// The most counters that one page looks at.
const MOST: usize = 1_000;

// === impl Shelves ===

impl Shelves {
    pub(crate) fn amend(
        &self,
        counter: CounterRef<'_>,
        amendment: Amendment,
        clock: &impl Clock,
    ) -> Result<Amended, StoreError> {
        let now = self.epoch.clamp(clock.now());
        match counter {
            CounterRef::Of(charge, _) => self.amend_charge(&charge, amendment, now),
            CounterRef::Listed(key) => self.amend_listed(key, amendment, now),
        }
    }

    fn amend_charge(
        &self,
        charge: &Charge<'_>,
        amendment: Amendment,
        now: Timestamp,
    ) -> Result<Amended, StoreError> {
        let (mut locks, mut spots) = (Locks::new(self), Spots::new());
        let asked = SpotSearch {
            charges: core::slice::from_ref(charge),
            glimpses: &[self.glimpse(charge)],
            need: if amendment == Amendment::Reset { Need::NoMore } else { Need::Block },
            network: &|| NetworkDigest::OPERATORS,
            now,
        };
        self.lock_spots(asked, &mut locks, &mut spots);
        let Some(spot) = spots.first().copied() else { return Err(StoreError::Contended) };
        // A key that is counted together with others cannot be blocked or forgotten by itself.
        if let Place::Cell(_) | Place::Newcomer(_, Some(_), _) = spot.place {
            return Err(StoreError::Contended);
        }
        let Shape::Attempts(numbers) = charge.shape() else {
            // Any other counter can be reset, and nothing else.
            let changed = amendment == Amendment::Reset && matches!(spot.place, Place::Entry(_));
            if changed {
                self.empty(charge, spot);
            }
            return Ok(Amended { changed, block: None, at: now });
        };
        let step = On { shelf: &self.logs, numbers };
        let here = Here { charge, periods: None, place: spot.place, epoch: self.epoch, now };
        let before = step.state(here);
        let kept = before.clone().map(|state| Kept::Attempts(Box::new(state)));
        let (changed, after) = match amendment.apply(kept.as_ref(), Some(charge.shape()), now) {
            Outcome::Same => (false, before),
            Outcome::Gone => {
                self.empty(charge, spot);
                (true, None)
            }
            Outcome::Kept(state) => {
                step.write(here, &state);
                (true, Some(*state))
            }
        };
        let block = after.and_then(|state| state.block()).filter(|block| block.holds(now));
        Ok(Amended { changed, block, at: now })
    }

    /// Empties an entry, as if it had never been used.
    fn empty(&self, charge: &Charge<'_>, spot: Spot) {
        let (Place::Entry(slot) | Place::Moving(slot, ..)) = spot.place else { return };
        on_shelf!(self, charge.shape().kind(), |shelf| shelf.empty(slot));
    }

    fn amend_listed(
        &self,
        key: &str,
        amendment: Amendment,
        now: Timestamp,
    ) -> Result<Amended, StoreError> {
        let digest = u64::from_str_radix(key, 16).map_err(|_| StoreError::Refused)?;
        let nothing = Amended { changed: false, block: None, at: now };
        let Some(slot) = self.logs.glance_blockable(digest.max(1)) else { return Ok(nothing) };
        let _held = HeldLock::new(self.logs.lock(slot.group));
        let Ok(words) = self.logs.words(slot) else { return Ok(nothing) };
        if !self.logs.is_at(slot, digest) {
            return Ok(nothing);
        }
        let head = self.epoch.unpack([words[0], words[1]]);
        let kept = Kept::Attempts(Box::new(self.epoch.unpack_log(&words)));
        let (changed, block) = match amendment.apply(Some(&kept), None, now) {
            Outcome::Same => (false, self.epoch.unpack_block(&words).1),
            Outcome::Gone => {
                self.logs.empty(slot);
                (true, None)
            }
            Outcome::Kept(state) => {
                let (limit, _) = self.epoch.unpack_block(&words);
                // The limit's numbers are not known here, so the entry is kept at least as long as
                // it was to be.
                let forgotten = state.block().map_or(now, |block| block.forgotten_at());
                let fresh_at = self.epoch.fresh_at([words[0], words[1]]).max(forgotten);
                let words = self.epoch.pack_log(&state, head.stamp, limit, fresh_at, now);
                self.logs.put(slot, digest, &words, None);
                (true, state.block())
            }
        };
        Ok(Amended { changed, block: block.filter(|block| block.holds(now)), at: now })
    }

    /// The blocks in some groups of the abuse logs; the cursor is the number of the next group.
    pub(crate) fn blocks(&self, page: Page<'_>, clock: &impl Clock) -> Result<Blocks, StoreError> {
        let now = self.epoch.clamp(clock.now());
        let first = match page.after {
            None => 0,
            Some(cursor) => cursor.parse::<u32>().map_err(|_| StoreError::Refused)?,
        };
        let groups = self.logs.blockable();
        let most = page.at_most.clamp(1, MOST).div_ceil(LOG_WAYS);
        let last = first.saturating_add(u32::try_from(most).unwrap_or(u32::MAX)).min(groups);
        let mut list = Vec::new();
        for group in first..last {
            let _held = HeldLock::new(self.logs.lock(group));
            for (slot, digest) in self.logs.tags(group) {
                list.extend(self.listed(slot, digest, now));
            }
        }
        Ok(Blocks { list, next: (last < groups).then(|| last.to_string()), at: now })
    }

    fn listed(&self, slot: Slot, digest: u64, now: Timestamp) -> Option<Listed> {
        let (limit, block) = self.epoch.unpack_block(&self.logs.words(slot).ok()?);
        let block = block.filter(|block| digest != 0 && block.holds(now))?;
        Some(Listed { key: format!("{digest:016x}"), limit, block })
    }
}
