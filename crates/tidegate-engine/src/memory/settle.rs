//! Settling tickets: units given back or taken in addition, at most once for each ticket.
//!
//! Which tickets were settled is kept as one bit per ticket. Tickets are numbered, so the bits of the
//! latest eight million lie in a ring of words; each word says which round of the ring it belongs to.
//! A ticket whose word has gone on to a later round is too old to be settled. So the memory is
//! bounded, nothing is swept, and a ticket is never settled twice.

use arrayvec::ArrayVec;
use tidegate_core::{
    Charge, Clock, MAX_LIMITS, MoveDirection, Periods, Receipt, Settled, Settlement, Stale,
    StoreError, TicketId, Timestamp,
};

use super::commit::{Glimpse, SpotSearch, Spots};
use super::locks::Locks;
use super::logs::Need;
use super::shares::NetworkDigest;
use super::shelf::Place;
use super::step::{Here, ShapeStep as _, Shelves, on_step};
use crate::sync::{AtomicU64, Ordering, zeroed};

/// Which tickets of one engine have been settled.
#[derive(Debug)]
pub(crate) struct Stubs {
    words: Box<[AtomicU64]>,
}

/// Whether a ticket can still be settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// The ticket could be settled, and now counts as settled.
    Made,
    /// The ticket was settled before.
    There,
    /// The ticket is too old: its bit has been given to a later one.
    Gone,
}

/// Tickets in one word; the other half of the word is the round.
const TICKETS: u64 = 32;

// === impl Stubs ===

impl Stubs {
    /// Words of the ring: two megabytes, resident as they are used.
    pub(crate) const WORDS: usize = 1 << 18;

    pub(crate) fn new(words: usize) -> Self {
        Self { words: zeroed(words) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.words.len() * size_of::<AtomicU64>()
    }

    /// Marks a ticket as settled, if it was not.
    fn mark(&self, id: TicketId) -> Mark {
        let (place, bit) = (id.number / TICKETS, 1 << (id.number % TICKETS));
        let size = self.words.len() as u64;
        // Counted from one, so that a word of the first round differs from one never used. Rounds
        // do not run out: that would take 2⁵⁵ tickets.
        let round = place / size + 1;
        let word = &self.words[usize::try_from(place % size).unwrap_or_default()];
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            let marked = match (seen >> TICKETS).cmp(&round) {
                core::cmp::Ordering::Greater => return Mark::Gone,
                core::cmp::Ordering::Equal if seen & bit != 0 => return Mark::There,
                core::cmp::Ordering::Equal => seen | bit,
                core::cmp::Ordering::Less => round << TICKETS | bit,
            };
            match word.compare_exchange_weak(seen, marked, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Mark::Made,
                Err(now) => seen = now,
            }
        }
    }
}

// === impl Shelves ===

impl Shelves {
    pub(crate) fn settle(
        &self,
        settlement: &Settlement<'_>,
        clock: &impl Clock,
    ) -> Result<Receipt, StoreError> {
        let charges: ArrayVec<Charge<'_>, MAX_LIMITS> =
            settlement.moves().iter().map(|step| step.charge).collect();
        let glimpses: ArrayVec<Glimpse, MAX_LIMITS> =
            charges.iter().map(|charge| self.glimpse(charge)).collect();
        let now = self.epoch.clamp(clock.now());
        if now >= settlement.expires_at() {
            return Ok(Receipt::Late);
        }
        let mut locks = Locks::new(self);
        let mut spots = Spots::new();
        let adds = settlement.moves().iter().any(|step| step.way == MoveDirection::There);
        let need = if adds { Need::OneMore } else { Need::NoMore };
        let network: &dyn Fn() -> NetworkDigest = &|| self.networks.of(settlement.network());
        let asked = SpotSearch { charges: &charges, glimpses: &glimpses, need, network, now };
        self.lock_spots(asked, &mut locks, &mut spots);
        // Read once, so that the periods that were checked are those that are used.
        let periods: ArrayVec<Option<Periods>, MAX_LIMITS> =
            charges.iter().map(Charge::periods).collect();
        let here = |index: usize| Here {
            charge: &charges[index],
            periods: periods[index].as_ref(),
            place: spots[index].place,
            epoch: self.epoch,
            now,
        };
        for (index, step) in settlement.moves().iter().enumerate() {
            if step.way == MoveDirection::There {
                self.room(here(index)).map_err(|stale| stale.of_charge(index))?;
            }
        }
        match self.stubs.mark(settlement.id()) {
            Mark::There => return Ok(Receipt::Before),
            Mark::Gone => return Ok(Receipt::Late),
            Mark::Made => {}
        }
        let mut settled = Settled::default();
        for (index, step) in settlement.moves().iter().enumerate() {
            let (here, taken_at) = (here(index), settlement.decided_at());
            match step.way {
                MoveDirection::Back => settled.returned += self.give_back(here, taken_at),
                MoveDirection::Forgive => settled.returned += self.forgive(here, taken_at),
                MoveDirection::There => settled.added += self.take_more(here, index)?,
            }
            // A key that is counted in the cell of its network is counted in its own cell as well,
            // which tells how much was moved.
            if let Some(cell) = spots[index].beside {
                let here = Here { place: Place::Cell(cell), ..here };
                match step.way {
                    MoveDirection::Back | MoveDirection::Forgive => self.give_back(here, taken_at),
                    MoveDirection::There => self.take_more(here, index)?,
                };
            }
        }
        Ok(Receipt::Settled(settled))
    }

    /// Gives units back to a key: to its own entry all that the charge says, to a cell, which is
    /// shared, only what is known to be the key's own. A key that is in neither has nothing that
    /// counts.
    fn give_back(&self, here: Here<'_>, taken_at: Timestamp) -> u64 {
        on_step!(self, here.charge.shape(), |step| match here.place {
            Place::Entry(_) | Place::Moving(..) => step.give_back(here, taken_at),
            Place::Cell(_) => step.give_back_shared(here, taken_at),
            Place::Newcomer(..) => 0,
        })
    }

    /// Forgets all attempts in a key's own log; in a cell, only the attempt that is settled.
    fn forgive(&self, here: Here<'_>, taken_at: Timestamp) -> u64 {
        match here.place {
            Place::Entry(_) | Place::Moving(..) => {
                on_step!(self, here.charge.shape(), |step| step.forgive(here))
            }
            Place::Cell(_) => self.give_back(here, taken_at),
            Place::Newcomer(..) => 0,
        }
    }

    /// Takes what the request cost in addition, and returns how much that was: of a bucket at most
    /// what is in it.
    fn take_more(&self, here: Here<'_>, index: usize) -> Result<u64, StoreError> {
        let stale = |stale: Stale| stale.of_charge(index);
        let there = match here.charge.shape().stops_at_empty() {
            true => self.look(here).map_err(stale)?.remaining.max(0).unsigned_abs(),
            false => u64::MAX,
        };
        let _ = self.take(here).map_err(stale)?;
        Ok(here.charge.cost().get().min(there))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! One bit per ticket, and what happens when the ring comes round.

    use super::*;

    fn id(number: u64) -> TicketId {
        TicketId { maker: 1, number }
    }

    #[test]
    fn p91_a_ticket_is_marked_once() {
        let stubs = Stubs::new(2);
        for number in 0..64 {
            assert_eq!(stubs.mark(id(number)), Mark::Made);
        }
        for number in 0..64 {
            assert_eq!(stubs.mark(id(number)), Mark::There);
        }
    }

    #[test]
    fn p91_a_ticket_the_ring_has_passed_is_gone_and_not_new() {
        let stubs = Stubs::new(2);
        assert_eq!(stubs.mark(id(5)), Mark::Made);
        assert_eq!(stubs.mark(id(64 + 9)), Mark::Made, "the same word, a round later");
        assert_eq!(stubs.mark(id(5)), Mark::Gone);
        assert_eq!(stubs.mark(id(6)), Mark::Gone, "whether it was settled is not known any more");
        assert_eq!(stubs.mark(id(64 + 5)), Mark::Made, "bits of the last round are not inherited");
        assert_eq!(stubs.mark(id(32)), Mark::Made, "another word has not gone on");
    }

    #[test]
    fn p91_of_many_at_once_one_marks() {
        let stubs = Stubs::new(4);
        for number in 0..100 {
            let made = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..4).map(|_| scope.spawn(|| stubs.mark(id(number)) == Mark::Made)).collect();
                threads.into_iter().map(|one| one.join().unwrap()).filter(|made| *made).count()
            });
            assert_eq!(made, 1);
        }
    }
}
