//! Settles a ticket: at most once on every group of counters it is about.

use arrayvec::ArrayVec;
use tidegate_core::{MAX_LIMITS, Names, Receipt, Settled, Settlement, StoreError};

use super::args::ScriptArgs;
use super::group::{Group, GroupPlaces, tag_of};
use super::reply::{Done, Reply};
use super::store::Connected;

pub(super) async fn settle(
    store: &Connected,
    settlement: &Settlement<'_>,
) -> Result<Receipt, StoreError> {
    let keys: ArrayVec<&str, MAX_LIMITS> = settlement.keys().collect();
    // Some of several groups may have been settled by an earlier try that failed in between.
    let mut receipt = None;
    for places in store.groups(keys.iter().copied()) {
        // A ticket without names is none of a shared store.
        let first = places.first().and_then(|place| keys.get(*place)).ok_or(StoreError::Refused)?;
        let said = settle_group(store, settlement, tag_of(first), |key| {
            places.iter().any(|place| keys[*place] == key)
        });
        receipt = Some(match (receipt, said.await?) {
            (Some(Receipt::Settled(mut all)), Receipt::Settled(more)) => {
                all += more;
                Receipt::Settled(all)
            }
            (Some(all @ Receipt::Settled(_)), _) | (_, all @ Receipt::Settled(_)) => all,
            (_, other) => other,
        });
    }
    receipt.ok_or(StoreError::Refused)
}

async fn settle_group(
    store: &Connected,
    settlement: &Settlement<'_>,
    tag: &str,
    is_here: impl Fn(&str) -> bool,
) -> Result<Receipt, StoreError> {
    let moves = settlement.moves().iter().enumerate();
    let places: GroupPlaces =
        moves.filter(|(_, step)| step.key.is_some_and(&is_here)).map(|(place, _)| place).collect();
    let id = settlement.id();
    let ticket = format!("tg:{{{tag}}}:ticket:{:016x}-{}", id.maker, id.number);
    let nonce = store.nonce();
    let mut args = ScriptArgs::settling(nonce, settlement.decided_at(), settlement.expires_at());
    for place in &places {
        args.charge(&settlement.moves()[*place].charge);
    }
    let names: ArrayVec<Names, MAX_LIMITS> =
        places.iter().map(|place| settlement.moves()[*place].names()).collect();
    let group = Group::of_settlement(nonce, settlement, places, &names, &ticket);
    match store.run(&group, &args).await? {
        Reply::Done(done) => moved(&group, settlement, &done).map(Receipt::Settled),
        Reply::Before => Ok(Receipt::Before),
        Reply::Late => Ok(Receipt::Late),
        Reply::Failed(error) => Err(group.placed(error)),
    }
}

/// The units that were moved, by the rules of the core.
fn moved(
    group: &Group<'_, '_>,
    settlement: &Settlement<'_>,
    done: &Done,
) -> Result<Settled, StoreError> {
    let mut settled = Settled::default();
    for (place, found) in group.places.iter().zip(&done.found) {
        let kept = found.as_ref().map(|found| &found.kept);
        let step = &settlement.moves()[*place];
        let apply = || step.apply(kept, settlement.decided_at(), done.now);
        let (_, moved) = apply().or_else(|stale| {
            step.charge.refresh(stale.now);
            apply().map_err(|_| StoreError::Timeout)
        })?;
        settled += moved;
    }
    Ok(settled)
}
