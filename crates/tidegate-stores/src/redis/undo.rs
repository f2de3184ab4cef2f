//! Gives back what some groups took for a decision that another group refused.

use std::sync::Arc;

use arrayvec::ArrayVec;
use tidegate_core::{
    Batch, Charge, MAX_LIMITS, MoveDirection, Names, Room, Stage, StoreError, Ticket, Timestamp,
};

use super::args::ScriptArgs;
use super::group::{GroupPlaces, tag_of};
use super::reply::Done;
use super::signature::{RefusedBy, Signature};
use super::store::Connected;

/// The charges that the groups asked so far have written.
pub(super) struct Taken<'t, 'a> {
    store: &'t Arc<Connected>,
    batch: &'t Batch<'a>,
    names: &'t [Names],
    groups: ArrayVec<(Timestamp, GroupPlaces), MAX_LIMITS>,
}

// === impl Taken ===

impl<'t, 'a> Taken<'t, 'a> {
    pub(super) fn new(store: &'t Arc<Connected>, batch: &'t Batch<'a>, names: &'t [Names]) -> Self {
        Self { store, batch, names, groups: ArrayVec::new() }
    }

    /// Notes which charges a group has written, except those that are counted for good (`for_good`, by
    /// place) and cannot be given back.
    pub(super) fn note(&mut self, places: &[usize], done: &Done, for_good: impl Fn(usize) -> bool) {
        let is_written = |group_place: usize| done.writes >> group_place & 1 == 1;
        let taken = places.iter().copied().enumerate();
        let taken = taken.filter(|(place, _)| is_written(*place)).map(|(_, place)| place);
        self.groups.push((done.now, taken.filter(|place| !for_good(*place)).collect()));
    }

    /// Gives back, in the background, what was taken for a decision that was refused. Attempts stay
    /// counted; those of the action's limits do not if a global limit refused.
    pub(super) fn refused(mut self, refused: RefusedBy) {
        let charges = self.batch.charges();
        for (_, places) in &mut self.groups {
            places.retain(|place| !stays_counted(&charges[*place], refused));
        }
        self.give_back();
    }

    /// Gives back what was taken before a group failed. It does not if that group timed out: an unknown
    /// outcome is never made up for. If the batch will be sent again, it waits until everything is
    /// given back.
    pub(super) async fn failed(self, error: &StoreError) {
        match error {
            StoreError::Timeout => {}
            StoreError::Stale { .. } => {
                for undo in self.undos() {
                    undo.await;
                }
            }
            _ => self.give_back(),
        }
    }

    fn give_back(&self) {
        for undo in self.undos() {
            self.store.spawn(undo);
        }
    }

    /// The calls that give units back, one for each group that was written to.
    fn undos(&self) -> impl Iterator<Item = impl Future<Output = ()> + Send + use<>> {
        let taken = self.groups.iter().filter(|(_, places)| !places.is_empty());
        taken.map(|(taken_at, places)| self.undo(*taken_at, places))
    }

    fn undo(
        &self,
        taken_at: Timestamp,
        places: &[usize],
    ) -> impl Future<Output = ()> + Send + use<> {
        let store = Arc::clone(self.store);
        let charges = || places.iter().map(|place| &self.batch.charges()[*place]);
        let signature = Signature::of_moves(charges().map(|charge| (charge, MoveDirection::Back)));
        let nonce = store.nonce();
        let mut args = ScriptArgs::settling(nonce, taken_at, taken_at.after(Ticket::LIFE));
        charges().for_each(|charge| args.charge(charge));
        let mut keys: Vec<String> =
            places.iter().map(|place| self.names[*place].present.clone()).collect();
        let tag = keys.first().map_or("", |key| tag_of(key));
        // It is sent only once, but the script always marks what it has settled.
        let mark =
            format!("tg:{{{tag}}}:undo:{}-{}", taken_at.as_micros(), u32::from_le_bytes(nonce));
        keys.push(mark);
        let script = store.scripts.get(&signature);
        async move {
            // Nothing follows from a failure: too much stays counted, and never too little.
            let _ = store.call(&script, &keys, args.bytes(), |_| Ok(())).await;
        }
    }
}

/// Whether a charge that was written stays, whatever else has refused: because the limit itself
/// refused, which begins a block, or because the attempt took the place of an earlier one of the same
/// member, and giving it back would take out both.
pub(super) fn is_for_good(charge: &Charge<'_>, room: Room) -> bool {
    let shape = charge.shape();
    let own_refusal = shape.counts_own_refusals() && !shape.counts_attempts() && !room.is_now();
    own_refusal || charge.member() != 0
}

/// Whether a charge that was written stays so although the decision was refused.
pub(super) fn stays_counted(charge: &Charge<'_>, refused: RefusedBy) -> bool {
    let global = charge.limit().stage() == Stage::Global;
    charge.limit().is_firm()
        && charge.shape().counts_attempts()
        && (global || refused == RefusedBy::Here)
}
