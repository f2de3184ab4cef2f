//! The units that are moved when a ticket is settled.

use arrayvec::ArrayVec;

use crate::address::Prefix;
use crate::charge::{Charge, MAX_LIMITS};
use crate::cost::Cost;
use crate::limit::{Limit, Names};
use crate::policy::{PolicySet, PolicySpec};
use crate::ticket::{Claim, Hold, TicketId};
use crate::time::{Span, Timestamp};

/// One ticket to be settled: what a [`Store`](crate::Store) has to move, as data.
#[derive(Clone, Debug)]
pub struct Settlement<'a> {
    id: TicketId,
    decided_at: Timestamp,
    expires_at: Timestamp,
    deadline: Span,
    network: Option<Prefix>,
    moves: ArrayVec<Move<'a>, MAX_LIMITS>,
    holds: &'a [Hold],
}

/// Units of one counter that are given back or taken: the [cost](Charge::cost) of the charge says how
/// many.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// The counter, and the number of units.
    pub charge: Charge<'a>,
    /// Whether the units are given back or taken.
    pub way: MoveDirection,
    /// The name of the counter when it was charged, for stores that go by names.
    pub key: Option<&'a str>,
}

/// The direction of a [`Move`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveDirection {
    /// Units are given back, as far as they still count; never more than the limit holds.
    Back,
    /// All attempts that were counted are forgotten, but no block: the success of the request proves
    /// that the failures were the owner's own mistakes.
    Forgive,
    /// Units are taken, whether or not there is room: the request has passed already.
    There,
}

/// The answer of a store to a [`Settlement`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// The ticket is settled.
    Settled(Settled),
    /// The ticket was settled before; nothing was changed.
    Before,
    /// The ticket has expired; nothing was changed.
    Late,
}

/// The units that were moved, over all limits on the ticket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Units given back: less than was taken if some of them did not count any more.
    pub returned: u64,
    /// Units taken in addition.
    pub added: u64,
}

// === impl Settled ===

impl core::ops::AddAssign for Settled {
    fn add_assign(&mut self, more: Self) {
        self.returned += more.returned;
        self.added += more.added;
    }
}

// === impl Settlement ===

impl<'a> Settlement<'a> {
    /// The moves after which the request has cost what it really weighed. A weight of `None` is nothing
    /// at all, which gives everything back. A limit that has left the policies since is settled as it
    /// was.
    #[must_use]
    pub fn new(claim: &'a Claim, policies: &'a PolicySet, weight: Option<Cost>) -> Self {
        Self::of(claim, |hold| policies.limit(hold.limit).map(|limit| &**limit), weight)
    }

    /// The moves after which the request has cost what it really weighed, where `limit` finds the limit of
    /// each hold; what it does not find is not moved.
    #[must_use]
    pub fn of(
        claim: &'a Claim,
        limit: impl Fn(&Hold) -> Option<&'a Limit>,
        weight: Option<Cost>,
    ) -> Self {
        let of = |hold: &'a Hold| Move::of(hold, limit(hold)?, weight);
        Self {
            id: claim.id,
            decided_at: claim.decided_at,
            expires_at: claim.expires_at(),
            deadline: *PolicySpec::DEADLINES.end(),
            network: claim.network,
            moves: claim.holds.iter().filter_map(of).collect(),
            holds: &claim.holds,
        }
    }

    /// The id of the ticket, which is to be settled at most once.
    #[must_use]
    pub const fn id(&self) -> TicketId {
        self.id
    }

    /// When the units on the ticket were taken.
    #[must_use]
    pub const fn decided_at(&self) -> Timestamp {
        self.decided_at
    }

    /// The instant from which on it is too late to settle.
    #[must_use]
    pub const fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// How long a store may take: the longest deadline that a policy can have, unless it has to
    /// [hurry](Self::hurry). A store that can be late gives up by then.
    #[must_use]
    pub const fn deadline(&self) -> Span {
        self.deadline
    }

    /// Shortens the deadline of the store to `left`: that of the policy, less what has passed of it.
    pub const fn hurry(&mut self, left: Span) {
        self.deadline = left;
    }

    /// The [network](crate::Batch::network) of the request that is settled, where the ticket says so.
    #[must_use]
    pub const fn network(&self) -> Option<Prefix> {
        self.network
    }

    /// The names of all counters on the ticket, moved or not: wherever they are kept, the ticket is
    /// marked as settled.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.holds.iter().filter_map(|hold| hold.key.as_deref())
    }

    /// The names of the counters, one for each move and in the same order.
    #[must_use]
    pub fn names(&self) -> Vec<Names> {
        self.moves.iter().map(Move::names).collect()
    }

    /// The moves to make. Empty if the request weighed what was taken for it.
    #[must_use]
    pub fn moves(&self) -> &[Move<'a>] {
        &self.moves
    }
}

// === impl Move ===

impl<'a> Move<'a> {
    /// The names of the counter, which a reload may have changed since the ticket was made. If there is
    /// no name on the ticket, the digest is the name.
    #[must_use]
    pub fn names(&self) -> Names {
        match self.key {
            Some(key) => self.charge.limit().names_of(key),
            None => Names::only(self.charge.digest().to_string()),
        }
    }

    fn of(hold: &'a Hold, limit: &'a Limit, weight: Option<Cost>) -> Option<Self> {
        let cost = weight.map_or(0, |weight| limit.units(weight).get());
        let (units, way) = match cost.checked_sub(hold.taken.get()) {
            Some(more) => (more, MoveDirection::There),
            None if limit.forgives() => (hold.taken.get() - cost, MoveDirection::Forgive),
            None => (hold.taken.get() - cost, MoveDirection::Back),
        };
        let units = Cost::try_new(units).ok()?;
        let charge = Charge::new(limit, hold.digest, units, limit.applies_to(hold.role));
        if limit.counted().is_some() {
            let charge = charge.of_member(hold.period);
            return Some(Self { charge, way, key: hold.key.as_deref() });
        }
        // If a reload has changed the period, what was taken counted in a period that is no more.
        let gone = way == MoveDirection::Back && hold.period != charge.shape().period_print();
        (!gone).then_some(Self { charge, way, key: hold.key.as_deref() })
    }
}
