//! Groups of counters that live together, and a decision over several groups.

use arrayvec::ArrayVec;
use tidegate_core::{
    Batch, Charge, KeyNames, MAX_FORMER, MAX_LIMITS, Met, Names, Reading, Readings, Room,
    Settlement, Shape, Stage, Step, StoreError, Timestamp,
};

use super::args::{Nonce, ScriptArgs};
use super::carry;
use super::reply::{Done, Reply};
use super::servers;
use super::signature::{RefusedBy, ScriptVerb, Signature};
use super::store::Connected;
use super::undo;

/// The counters that one script is run over.
#[derive(Debug)]
pub(super) struct Group<'a, 'k> {
    pub(super) signature: Signature,
    pub(super) nonce: Nonce,
    /// The present names of the counters; in a settlement also that of the ticket; then former names.
    pub(super) keys: ArrayVec<&'k str, MAX_KEYS>,
    /// The places of the counters in the batch or the settlement.
    pub(super) places: GroupPlaces,
    pub(super) shapes: ArrayVec<&'a Shape, MAX_LIMITS>,
}

/// The most keys that one script has: all names of all counters, and a ticket.
pub(super) const MAX_KEYS: usize = MAX_LIMITS * (1 + MAX_FORMER) + 1;

/// Decides a batch, group by group, and fills in the readings.
pub(super) async fn decide(
    store: &std::sync::Arc<Connected>,
    batch: &Batch<'_>,
    ask: ScriptVerb,
    readings: &mut Readings,
) -> Result<(), StoreError> {
    let names = names(&store.names, batch);
    if let Some(previous) = &store.previous {
        carry::over(store, &self::names(previous, batch), &names).await?;
    }
    let mut met: [Option<Met>; MAX_LIMITS] = [None; MAX_LIMITS];
    // The earliest time of all groups: from then on, what was taken is found in all of them.
    let (mut decided_at, mut refused) = (Timestamp::MAX, None);
    let mut taken = undo::Taken::new(store, batch, &names);
    for places in store.groups(present(names.iter())) {
        let known = if ask == ScriptVerb::Peek { None } else { refused };
        let group = Group::of_batch(store.nonce(), batch, &names, &places, ask, known);
        let mut args = ScriptArgs::new(group.nonce);
        places.iter().for_each(|place| args.charge(&batch.charges()[*place]));
        let done = match store.run(&group, &args).await.and_then(|reply| group.done(reply)) {
            Ok(done) => done,
            Err(error) => {
                taken.failed(&error).await;
                return Err(error);
            }
        };
        decided_at = decided_at.min(done.now);
        for (place, one) in places.iter().zip(group.met(batch, &done)?.met()) {
            met[*place] = Some(*one);
        }
        refused = refused.max(group.refusal(batch, &met));
        // A peek reports what would be written, and writes nothing.
        if ask == ScriptVerb::Charge {
            taken.note(&places, &done, |place| {
                let room = met[place].map_or(Room::Now, |met| met.looked.room);
                undo::is_for_good(&batch.charges()[place], room)
            });
        }
    }
    if let Some(refused) = refused {
        taken.refused(refused);
    }
    readings.begin(decided_at);
    for (charge, met) in batch.charges().iter().zip(met.into_iter().flatten()) {
        readings.push(told(&met, charge, refused));
    }
    Ok(())
}

/// The names of all counters, in the order of a batch.
pub(super) type NamesOfAll = ArrayVec<Names, MAX_LIMITS>;

pub(super) fn names(names: &KeyNames, batch: &Batch<'_>) -> NamesOfAll {
    batch.charges().iter().map(|charge| names.names(&batch.key(charge))).collect()
}

/// The reading that a charge gets. Units counted for a decision that was refused are given back, so
/// they do not show, except attempts.
fn told(met: &Met, charge: &Charge<'_>, refused: Option<RefusedBy>) -> Reading {
    let stays = refused.is_none_or(|refused| undo::stays_counted(charge, refused))
        || undo::is_for_good(charge, met.looked.room);
    if stays { met.reading() } else { met.looked }
}

/// The places of the counters of one group.
pub(super) type GroupPlaces = ArrayVec<usize, MAX_LIMITS>;

/// The places of the counters of all groups.
pub(super) type Groups = ArrayVec<GroupPlaces, MAX_LIMITS>;

/// The hash tag of a key, on which its slot depends: every key of ours has its braces.
pub(super) fn tag_of(key: &str) -> &str {
    str::from_utf8(servers::tag_of(key.as_bytes())).unwrap_or(key)
}

/// The present name of each counter.
pub(super) fn present<'n>(names: impl Iterator<Item = &'n Names>) -> impl Iterator<Item = &'n str> {
    names.map(|names| names.present.as_str())
}

// === impl Group ===

impl<'a, 'k> Group<'a, 'k> {
    pub(super) fn of_batch(
        nonce: Nonce,
        batch: &Batch<'a>,
        names: &'k [Names],
        places: &[usize],
        ask: ScriptVerb,
        refused: Option<RefusedBy>,
    ) -> Self {
        let charges = || places.iter().map(|place| &batch.charges()[*place]);
        let names = || places.iter().map(|place| &names[*place]);
        Self {
            signature: Signature::of_charges(ask, refused, charges()).named(names()),
            nonce,
            keys: present(names()).chain(names().flat_map(Names::former)).collect(),
            places: places.iter().copied().collect(),
            shapes: charges().map(Charge::shape).collect(),
        }
    }

    /// The group of some moves of a settlement, with the names of their counters, and the name under
    /// which the ticket is marked.
    pub(super) fn of_settlement(
        nonce: Nonce,
        settlement: &'k Settlement<'a>,
        places: GroupPlaces,
        names: &'k [Names],
        ticket: &'k str,
    ) -> Self {
        let moves = || places.iter().filter_map(|place| settlement.moves().get(*place));
        let signature = Signature::of_moves(moves().map(|step| (&step.charge, step.way)));
        Self {
            signature: signature.named(names.iter()),
            nonce,
            keys: present(names.iter())
                .chain([ticket])
                .chain(names.iter().flat_map(Names::former))
                .collect(),
            shapes: moves().map(|step| step.charge.shape()).collect(),
            places,
        }
    }

    /// The outcome of the script, or its error with the place that the charge has in the batch.
    pub(super) fn done(&self, reply: Reply) -> Result<Done, StoreError> {
        match reply {
            Reply::Done(done) => Ok(done),
            Reply::Failed(error) => Err(self.placed(error)),
            // Only a settlement is answered like this.
            Reply::Before | Reply::Late => Err(StoreError::Timeout),
        }
    }

    /// Turns the place in an error from a place in this group into a place in the batch.
    pub(super) fn placed(&self, error: StoreError) -> StoreError {
        let place = |charge: usize| self.places.get(charge).copied().unwrap_or(charge);
        match error {
            StoreError::Corrupt { charge } => StoreError::Corrupt { charge: place(charge) },
            StoreError::Version { charge } => StoreError::Version { charge: place(charge) },
            StoreError::Stale { charge, now } => StoreError::Stale { charge: place(charge), now },
            other => other,
        }
    }

    /// What each charge met, by the rules of the core. The script decides by the same rules; if the two
    /// disagree, nobody knows what it wrote.
    fn met(&self, batch: &Batch<'_>, done: &Done) -> Result<Step, StoreError> {
        let step = self.step(batch, done)?;
        let is_written = |place: usize| done.writes >> place & 1 == 1;
        let mut places = 0..self.places.len();
        let agreed = places.all(|place| step.plan().writes(place) == is_written(place));
        match agreed && step.plan().is_admitted() == done.admitted {
            true if self.signature.ask == ScriptVerb::Charge => Ok(step),
            true => Ok(step.unwritten()),
            false => Err(StoreError::Timeout),
        }
    }

    /// Takes the step of the core over what the script found. Calendar periods may have moved on since
    /// they were sent; those around the time of the decision are the same, whenever they are looked up.
    fn step(&self, batch: &Batch<'_>, done: &Done) -> Result<Step, StoreError> {
        let charges = self.places.iter().map(|place| &batch.charges()[*place]);
        for _ in 0..=self.places.len() {
            let (charges, found, now) = (charges.clone(), done.found.as_slice(), done.now);
            let step = match self.signature.refused {
                None => Step::of(charges, found, now),
                Some(refused) => {
                    Step::after_refusal(refused == RefusedBy::Globally, charges, found, now)
                }
            };
            match step {
                Err(StoreError::Stale { charge, now }) => {
                    batch.charges()[self.places[charge]].refresh(now);
                }
                other => return other,
            }
        }
        Err(StoreError::Timeout)
    }

    /// Which kind of limit has refused in this group, if one has.
    fn refusal(&self, batch: &Batch<'_>, met: &[Option<Met>]) -> Option<RefusedBy> {
        let refusing = |place: &usize| {
            let limit = batch.charges()[*place].limit();
            let no_room = met[*place].is_some_and(|met| !met.looked.room.is_now());
            (no_room && limit.is_firm()).then(|| match limit.stage() {
                Stage::Global => RefusedBy::Globally,
                Stage::Action => RefusedBy::Here,
            })
        };
        self.places.iter().filter_map(refusing).max()
    }
}
