//! The shortest schedule that still breaks the same property.

use super::checks::Broken;
use super::run::{RunFigures, run, run_and_compare, trace};
use super::schedule::Schedule;
use super::trace::Observation;

/// A schedule that breaks a property, and how it breaks it.
#[derive(Clone, Debug)]
pub struct FailingSchedule {
    /// The schedule, as short as it could be made.
    pub schedule: Schedule,
    /// The property that the schedule breaks.
    pub broken: Broken,
    /// The trace of the schedule.
    pub trace: Vec<Observation>,
}

/// The most runs that are made to shorten a schedule.
const TRIES: usize = 1_500;

/// Leaves out steps, many at a time and then one by one, for as long as the schedule still breaks the
/// same property.
#[must_use]
pub fn shrink(schedule: Schedule, broken: Broken) -> FailingSchedule {
    // Three properties compare several runs; for the others one run is enough.
    match broken.property {
        "P03" | "P06" | "P07" => shrink_by(run_and_compare, schedule, broken),
        _ => shrink_by(run, schedule, broken),
    }
}

/// Shortens a schedule as [`shrink`] does, with another function to run it.
#[must_use]
pub fn shrink_by(
    run: impl Fn(&Schedule) -> Result<RunFigures, Broken>,
    mut schedule: Schedule,
    mut broken: Broken,
) -> FailingSchedule {
    let mut tries = 0;
    let mut chunk = schedule.steps.len().div_ceil(2).max(1);
    loop {
        let mut from = 0;
        let before = schedule.steps.len();
        while from < schedule.steps.len() && tries < TRIES {
            let mut shorter = schedule.clone();
            shorter.steps.drain(from..(from + chunk).min(shorter.steps.len()));
            tries += 1;
            match run(&shorter) {
                Err(still) if still.property == broken.property => {
                    (schedule, broken) = (shorter, still);
                }
                _ => from += chunk,
            }
        }
        let shorter = schedule.steps.len() < before;
        if tries >= TRIES || chunk == 1 && !shorter {
            break;
        }
        chunk = if chunk > 1 { chunk / 2 } else { 1 };
    }
    let trace = trace(&schedule);
    FailingSchedule { schedule, broken, trace }
}
