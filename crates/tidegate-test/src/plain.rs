//! The smallest store: the core's rules around a map.
//!
//! Nothing is packed, locked or evicted, so what the [model](crate::model) finds here it finds in
//! the rules themselves, before any real store is looked at.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tidegate_core::{
    Batch, BucketState, Charge, Clock, QuotaState, Reading, Readings, Shape, Stale, Store,
    StoreError, Timestamp, Window, WindowState, plan,
};

/// A store of the core's states, by the digests of their keys.
#[derive(Debug)]
pub struct PlainStore<C> {
    clock: C,
    states: Mutex<States>,
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
        Self { clock, states: Mutex::default() }
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
            let state = match kept {
                Some((State::Bucket(state), Shape::Bucket(old))) if bucket != old => {
                    bucket.inherit(old, *state, now)
                }
                Some((State::Bucket(state), _)) => Some(*state),
                _ => None,
            };
            let (state, reading) = bucket.take(state, cost, now);
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
