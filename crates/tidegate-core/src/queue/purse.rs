//! What one lane may spend: deficit round robin, with rounds as numbers.
//!
//! The textbook walks from lane to lane, hands each a quantum, and walks on where that does not suffice.
//! A request that costs a million quanta makes it walk a million rounds. Here a lane says in which round
//! it will be able to pay for its first request, and the walk goes there at once.

use crate::cost::Cost;

/// The turn of a lane: the round, and the lane's stamp, by which the lanes of one round are ordered.
pub(super) type TurnKey = (u128, u64);

/// The credit of one lane. It grows by one quantum in each round and pays for requests that go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Purse {
    /// Units that the lane may spend, as of `round`. Below the cost of the lane's first request,
    /// unless it is the lane's turn.
    credit: u128,
    /// The last round whose quantum is in the credit.
    round: u128,
    /// When the lane last had a turn, or else came: later ones have larger stamps.
    stamp: u64,
}

// === impl Purse ===

impl Purse {
    /// The empty purse of a lane that comes in this round. Its first quantum is that of the next.
    pub(super) const fn new(round: u128, stamp: u64) -> Self {
        Self { credit: 0, round, stamp }
    }

    /// The turn in which the lane can pay for its first request.
    pub(super) fn turn(&self, front: Cost, quantum: Cost) -> TurnKey {
        let missing = units(front).saturating_sub(self.credit);
        (self.round + missing.div_ceil(units(quantum)), self.stamp)
    }

    /// Puts in the quanta of all rounds up to this one.
    pub(super) fn fill(&mut self, round: u128, quantum: Cost) {
        self.credit += (round - self.round) * units(quantum);
        self.round = round;
    }

    /// Whether the credit suffices for a request.
    pub(super) fn covers(&self, cost: Cost) -> bool {
        units(cost) <= self.credit
    }

    /// Pays for a request that goes.
    pub(super) fn pay(&mut self, cost: Cost) {
        self.credit = self.credit.saturating_sub(units(cost));
    }

    /// Ends the turn of the lane: it goes behind all lanes that are there.
    pub(super) const fn end_turn(&mut self, stamp: u64) {
        self.stamp = stamp;
    }

    /// Takes away what a lane in its turn has saved for a request that left, so that it has no more
    /// than if its turn had come for `front`.
    pub(super) fn forgo_in_turn(&mut self, front: Cost, quantum: Cost) {
        self.credit = self.credit.min(units(front) + units(quantum) - 1);
    }

    /// Takes away what a lane has saved for a request that left while it was the turn of another lane,
    /// in the round and with the stamp of `current`. The lane keeps less than `front` costs, so its turn
    /// is still to come: in this round if it has not been passed yet, and otherwise in the next.
    pub(super) fn forgo(&mut self, front: Cost, quantum: Cost, current: TurnKey) {
        let (round, stamp) = current;
        let is_passed = self.round == round || self.stamp < stamp;
        self.fill(if is_passed { round } else { round - 1 }, quantum);
        self.credit = self.credit.min(units(front) - 1);
    }

    /// The turn that the lane has now, if it is in its turn.
    pub(super) const fn present(&self) -> TurnKey {
        (self.round, self.stamp)
    }
}

/// A cost as a number that sums of costs fit in.
pub(super) fn units(cost: Cost) -> u128 {
    u128::from(cost.get())
}
