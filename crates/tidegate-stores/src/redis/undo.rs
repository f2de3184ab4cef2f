//! Giving back what some groups took for a decision that another group refused.

use std::sync::Arc;

use arrayvec::ArrayVec;
use tidegate_core::{Batch, MAX_LIMITS, Ticket, Timestamp, Way};

use super::args::Args;
use super::group::{Places, tag_of};
use super::reply::Done;
use super::script::Script;
use super::signature::Signature;
use super::store::Inner;

/// What the groups asked so far have taken. It is given back unless it is [kept](Self::keep), also
/// where nobody waits for the decision any more.
pub(super) struct Taken<'t, 'a> {
    store: &'t Arc<Inner>,
    batch: &'t Batch<'a>,
    names: &'t [String],
    groups: ArrayVec<(Timestamp, Places), MAX_LIMITS>,
}

/// One call that gives back, with everything it needs.
struct Undo {
    store: Arc<Inner>,
    script: Arc<Script>,
    keys: Vec<String>,
    args: Args,
}

// === impl Taken ===

impl<'t, 'a> Taken<'t, 'a> {
    pub(super) fn new(store: &'t Arc<Inner>, batch: &'t Batch<'a>, names: &'t [String]) -> Self {
        Self { store, batch, names, groups: ArrayVec::new() }
    }

    /// Takes note of what a group has taken. What counts attempts stays counted.
    pub(super) fn note(&mut self, places: &[usize], done: &Done) {
        let is_written = |group_place: usize| done.writes >> group_place & 1 == 1;
        let counts_attempts = |place: usize| self.batch.charges()[place].shape().counts_attempts();
        let taken = places.iter().copied().enumerate();
        let taken: Places = taken
            .filter(|(group_place, place)| is_written(*group_place) && !counts_attempts(*place))
            .map(|(_, place)| place)
            .collect();
        if done.admitted && !taken.is_empty() {
            self.groups.push((done.now, taken));
        }
    }

    /// The decision stands.
    pub(super) fn keep(&mut self) {
        self.groups.clear();
    }

    fn undo(&self, taken_at: Timestamp, places: &[usize]) -> Undo {
        let store = self.store;
        let charges = || places.iter().map(|place| &self.batch.charges()[*place]);
        let signature = Signature::of_moves(charges().map(|charge| (charge.shape(), Way::Back)));
        let nonce = store.nonce();
        let mut args = Args::settling(nonce, taken_at, taken_at.after(Ticket::LIFE));
        charges().for_each(|charge| args.charge(charge));
        let mut keys: Vec<String> = places.iter().map(|place| self.names[*place].clone()).collect();
        let tag = keys.first().map_or("", |key| tag_of(key));
        // Sent once and marked all the same: that is what the script does.
        let mark =
            format!("tg:{{{tag}}}:undo:{}-{}", taken_at.as_micros(), u32::from_le_bytes(nonce));
        keys.push(mark);
        Undo { store: Arc::clone(store), script: store.scripts.get(&signature), keys, args }
    }
}

impl Drop for Taken<'_, '_> {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        for (taken_at, places) in &self.groups {
            let undo = self.undo(*taken_at, places);
            runtime.spawn(undo.run());
        }
    }
}

// === impl Undo ===

impl Undo {
    async fn run(self) {
        // Whether it succeeds or not, nothing follows: it is counted too much, and never too little.
        let _ = self.store.call(&self.script, &self.keys, self.args.bytes(), |_| Ok(())).await;
    }
}
