//! The smallest store: the core's rules around a map.
//!
//! Nothing is packed, locked or evicted, so what the [model](crate::model) finds here it finds in
//! the rules themselves, before any real store is looked at.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use tidegate_core::{
    Batch, Bucket, BucketState, Charge, Clock, QuotaState, Reading, Readings, Receipt, Settled,
    Settlement, Shape, Stale, Store, StoreError, TicketId, Timestamp, Way, Window, WindowState,
    plan,
};

/// A store of the core's states, by the digests of their keys.
#[derive(Debug)]
pub struct PlainStore<C> {
    clock: C,
    states: Mutex<States>,
    settled: Mutex<HashSet<TicketId>>,
}

/// The state of one key.
#[derive(Clone, Debug)]
enum State {
    Bucket(BucketState),
    Window(Box<WindowState>),
    Quota(QuotaState),
}

type States = HashMap<u64, (u16, State)>;

/// What was kept for a key, and the numbers it was written under.
type Kept<'c> = Option<(State, &'c Shape)>;

// === impl PlainStore ===

impl<C: Clock> PlainStore<C> {
    /// A store that has seen nothing.
    #[must_use]
    pub fn new(clock: C) -> Self {
        Self { clock, states: Mutex::default(), settled: Mutex::default() }
    }

    fn decide(
        &self,
        batch: &Batch<'_>,
        write: bool,
        readings: &mut Readings,
    ) -> Result<(), StoreError> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let mut met = Vec::new();
        for (index, charge) in batch.charges().iter().enumerate() {
            let kept = found(index, charge, &states)?;
            let reading =
                look(charge, kept.as_ref(), now).map_err(|stale| stale.of_charge(index))?;
            met.push((kept, reading));
        }
        let rooms = batch.charges().iter().zip(&met).map(|(charge, (_, r))| (charge, r.room));
        let planned = plan(rooms);
        readings.begin(now);
        for (index, (charge, (kept, reading))) in batch.charges().iter().zip(met).enumerate() {
            if write && planned.writes(index) {
                let taken = take(charge, kept.as_ref(), now);
                let (after, reading) = taken.map_err(|stale| stale.of_charge(index))?;
                states.insert(charge.digest(), (charge.stamp().get(), after));
                readings.push(reading);
            } else {
                readings.push(reading);
            }
        }
        Ok(())
    }
}

impl<C: Clock> Store for PlainStore<C> {
    async fn charge(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, true, readings)
    }

    async fn peek(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, false, readings)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        if now >= settlement.expires_at() {
            return Ok(Receipt::Late);
        }
        let mut moved = Settled::default();
        let mut after = Vec::new();
        for (index, step) in settlement.moves().iter().enumerate() {
            let kept = found(index, &step.charge, &states)?;
            let stale = |stale: Stale| stale.of_charge(index);
            let state = match step.way {
                Way::Back => give_back(&step.charge, kept.as_ref(), now, settlement.decided_at())
                    .map(|(state, units)| {
                        moved.returned += units;
                        state
                    }),
                Way::There => {
                    let reading = look(&step.charge, kept.as_ref(), now).map_err(stale)?;
                    moved.added += step.charge.cost().get().min(match step.charge.shape() {
                        Shape::Bucket(_) => reading.remaining.max(0).unsigned_abs(),
                        Shape::Window(_) | Shape::Quota(_) => u64::MAX,
                    });
                    Some(take(&step.charge, kept.as_ref(), now).map_err(stale)?.0)
                }
            };
            after.extend(state.map(|state| (step.charge, state)));
        }
        if !settled.insert(settlement.id()) {
            return Ok(Receipt::Before);
        }
        for (charge, state) in after {
            states.insert(charge.digest(), (charge.stamp().get(), state));
        }
        Ok(Receipt::Settled(moved))
    }
}

/// The state after a refund and what was given back; nothing, if nothing was kept.
fn give_back(
    charge: &Charge<'_>,
    kept: Option<&(State, &Shape)>,
    now: Timestamp,
    taken_at: Timestamp,
) -> Option<(State, u64)> {
    let cost = charge.cost();
    Some(match charge.shape() {
        Shape::Bucket(bucket) => {
            let (state, units) =
                bucket.give_back(bucket_state(bucket, kept, now)?, cost, taken_at, now);
            (State::Bucket(state), units)
        }
        Shape::Window(window) => {
            let state = window_state(window, kept)?;
            let (state, units) = window.give_back(&state, cost, taken_at, now);
            (State::Window(Box::new(state)), units)
        }
        Shape::Quota(quota) => {
            let (state, units) = quota.give_back(quota_state(kept)?, cost, taken_at);
            (State::Quota(state), units)
        }
    })
}

fn found<'c>(index: usize, charge: &Charge<'c>, states: &States) -> Result<Kept<'c>, StoreError> {
    let Some((stamp, state)) = states.get(&charge.digest()) else { return Ok(None) };
    let corrupt = StoreError::Corrupt { charge: index };
    let shape = charge.written_under(*stamp).ok_or(corrupt)?;
    Ok(Some((state.clone(), shape)))
}

fn look(
    charge: &Charge<'_>,
    kept: Option<&(State, &Shape)>,
    now: Timestamp,
) -> Result<Reading, Stale> {
    let cost = charge.cost();
    Ok(match (charge.shape(), kept) {
        (Shape::Bucket(bucket), Some((State::Bucket(state), Shape::Bucket(old)))) => {
            match bucket == old {
                true => bucket.look(Some(*state), cost, now),
                false => bucket.look_inherited(old, *state, cost, now),
            }
        }
        (Shape::Bucket(bucket), _) => bucket.look(None, cost, now),
        (Shape::Window(window), kept) => {
            window.look(window_state(window, kept).as_ref(), cost, now)
        }
        (Shape::Quota(quota), kept) => {
            quota.look(quota_state(kept), cost, now, charge.periods().as_ref())?
        }
    })
}

fn take(
    charge: &Charge<'_>,
    kept: Option<&(State, &Shape)>,
    now: Timestamp,
) -> Result<(State, Reading), Stale> {
    let cost = charge.cost();
    Ok(match charge.shape() {
        Shape::Bucket(bucket) => {
            let (state, reading) = bucket.take(bucket_state(bucket, kept, now), cost, now);
            (State::Bucket(state), reading)
        }
        Shape::Window(window) => {
            let (state, reading) = window.take(window_state(window, kept).as_ref(), cost, now);
            (State::Window(Box::new(state)), reading)
        }
        Shape::Quota(quota) => {
            let periods = charge.periods();
            let (state, reading) = quota.take(quota_state(kept), cost, now, periods.as_ref())?;
            (State::Quota(state), reading)
        }
    })
}

fn bucket_state(
    bucket: &Bucket,
    kept: Option<&(State, &Shape)>,
    now: Timestamp,
) -> Option<BucketState> {
    match kept {
        Some((State::Bucket(state), Shape::Bucket(old))) if bucket != old => {
            bucket.inherit(old, *state, now)
        }
        Some((State::Bucket(state), _)) => Some(*state),
        _ => None,
    }
}

fn window_state(window: &Window, kept: Option<&(State, &Shape)>) -> Option<WindowState> {
    match kept {
        Some((State::Window(state), Shape::Window(old))) if window != old => {
            Some(window.inherit(old, state))
        }
        Some((State::Window(state), _)) => Some((**state).clone()),
        _ => None,
    }
}

/// What was used is a fact; it needs no conversion.
fn quota_state(kept: Option<&(State, &Shape)>) -> Option<QuotaState> {
    match kept {
        Some((State::Quota(state), _)) => Some(*state),
        _ => None,
    }
}
