//! The slow model: it keeps all that ever happened and concludes the present from it.

use super::super::{Accord, AccordState, FleetStep, Forced, Holder, Lease, Motion};
use crate::breaker::CallOutcome;
use crate::time::Timestamp;

/// All that ever happened, oldest first, with the generations.
#[derive(Default)]
pub(super) struct History(Vec<(u64, Happened)>);

#[derive(Clone, Copy, PartialEq)]
enum Happened {
    Opened(Timestamp),
    Leased(Holder, Timestamp),
    Freed,
    Succeeded,
    Recovered,
    Forced(Forced),
    Lifted,
}

impl History {
    fn last(&self) -> Option<Happened> {
        self.0.last().map(|(_, happened)| *happened)
    }

    fn generation(&self) -> u64 {
        self.0.iter().map(|(generation, _)| *generation).max().unwrap_or(0)
    }

    fn forced(&self) -> Option<Forced> {
        match self.last() {
            Some(Happened::Forced(forced)) => Some(forced),
            _ => None,
        }
    }

    fn lease(&self) -> Option<Lease> {
        match self.last() {
            Some(Happened::Leased(holder, until)) => Some(Lease { holder, until }),
            _ => None,
        }
    }

    /// Whether somebody waits for the end of a window or of a lease.
    fn is_waiting(&self, now: Timestamp) -> bool {
        match self.last() {
            Some(Happened::Opened(until) | Happened::Leased(_, until)) => now < until,
            _ => false,
        }
    }

    /// What happened since the breaker was last open, closed or forced.
    fn spell(&self) -> impl Iterator<Item = Happened> {
        let all = self.0.iter().rev().map(|(_, happened)| *happened);
        all.take_while(|it| {
            matches!(it, Happened::Leased(..) | Happened::Freed | Happened::Succeeded)
        })
    }

    fn successes(&self) -> u32 {
        u32::try_from(self.spell().filter(|it| *it == Happened::Succeeded).count()).unwrap()
    }

    pub(super) fn add(&mut self, step: FleetStep, now: Timestamp) {
        if let Some(happened) = self.follows(step, now)
            && step.seen >= self.generation()
        {
            let generation = [self.generation() + 1, step.seen + 1, now.as_micros()];
            self.0.push((generation.into_iter().max().unwrap(), happened));
        }
    }

    fn follows(&self, step: FleetStep, now: Timestamp) -> Option<Happened> {
        let is_free = self.forced().is_none() && !self.is_waiting(now);
        match step.motion {
            Motion::Trip { window } => is_free.then(|| Happened::Opened(now.after(window))),
            Motion::Lease { holder, lease, .. } => {
                is_free.then(|| Happened::Leased(holder, now.after(lease)))
            }
            Motion::Report { holder, outcome, window, successes } => {
                let held = self.lease().filter(|held| held.holder == holder);
                if held.is_none() || !self.is_waiting(now) || step.seen != self.generation() {
                    return None;
                }
                Some(match outcome {
                    CallOutcome::Failure => Happened::Opened(now.after(window)),
                    CallOutcome::Neutral => Happened::Freed,
                    CallOutcome::Success if self.successes() + 1 >= successes => {
                        Happened::Recovered
                    }
                    CallOutcome::Success => Happened::Succeeded,
                })
            }
            Motion::Force(forced) => {
                (self.forced() != Some(forced)).then_some(Happened::Forced(forced))
            }
            Motion::Lift => match self.forced()? {
                Forced::Open => Some(Happened::Lifted),
                Forced::Closed => Some(Happened::Recovered),
            },
        }
    }

    pub(super) fn accord(&self) -> Accord {
        let state = match self.last() {
            None | Some(Happened::Recovered) => AccordState::Closed,
            Some(Happened::Opened(until)) => AccordState::Open { until },
            Some(Happened::Forced(Forced::Open)) => AccordState::ForcedOpen,
            Some(Happened::Forced(Forced::Closed)) => AccordState::ForcedClosed,
            Some(_) => AccordState::HalfOpen { successes: self.successes(), lease: self.lease() },
        };
        Accord { generation: self.generation(), state }
    }
}
