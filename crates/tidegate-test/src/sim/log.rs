//! The log of a run: figures, landmarks, and a digest of everything that was decided and signalled.

use tidegate_core::{Cause, Mode, Signal};

use super::hub::POLICIES;
use super::rng::mix;
use super::step::Landmark;
use super::trace::{Observation, RequestAnswer, What};

/// The log of a run.
#[derive(Debug)]
pub(super) struct RunLog {
    pub(super) steps: u64,
    pub(super) decisions: u64,
    /// The last answer.
    pub(super) last: Option<RequestAnswer>,
    /// Virtual time, in microseconds.
    pub(super) micros: u64,
    /// Number of mode changes, by their causes.
    pub(super) changes: [u64; Cause::ALL.len()],
    /// Requests that were shed, under each policy.
    pub(super) shed: [u64; POLICIES],
    /// Number of closures that ended during an outage.
    pub(super) reopened: u64,
    /// One digest for each policy, because policies must not influence each other.
    digests: [u64; POLICIES],
    marks: Marks,
    /// Every record, if the trace is kept.
    pub(super) trace: Option<Vec<Observation>>,
}

/// When each landmark last happened.
#[derive(Debug, Default)]
struct Marks {
    failure: Option<u64>,
    change: Option<u64>,
    entry: Option<u64>,
    admitted: Option<u64>,
    first_admitted: Option<u64>,
    heal: Option<u64>,
}

/// Length of a pause that ends a burst, in microseconds.
const PAUSE: u64 = 60_000_000;

// === impl RunLog ===

impl RunLog {
    pub(super) fn new(keeps_trace: bool) -> Self {
        Self {
            steps: 0,
            decisions: 0,
            last: None,
            micros: 0,
            changes: [0; Cause::ALL.len()],
            shed: [0; POLICIES],
            reopened: 0,
            digests: [0; POLICIES],
            marks: Marks::default(),
            trace: keeps_trace.then(Vec::new),
        }
    }

    pub(super) const fn pass(&mut self, micros: u64) {
        self.micros += micros;
    }

    pub(super) const fn healed(&mut self, at: u64) {
        self.marks.heal = Some(at);
    }

    pub(super) const fn landmark(&self, of: Landmark) -> Option<u64> {
        match of {
            Landmark::Failure => self.marks.failure,
            Landmark::Change => self.marks.change,
            Landmark::Entry => self.marks.entry,
            Landmark::Admitted => self.marks.admitted,
            Landmark::FirstAdmitted => self.marks.first_admitted,
            Landmark::Heal => self.marks.heal,
        }
    }

    /// For each policy, a digest of everything that was decided and signalled.
    pub(super) const fn digests(&self) -> [u64; POLICIES] {
        self.digests
    }

    pub(super) fn push(&mut self, record: &Observation) {
        let at = record.at;
        match record.what {
            What::Decided { answer, .. } => {
                self.decisions += 1;
                self.last = Some(answer);
                let flags = u64::from(answer.admitted) | (answer.mode as u64) << 1;
                let told = answer.wait.unwrap_or(0) ^ answer.left.unwrap_or(0) << 40;
                let level = answer.block.flatten().map_or(0, |level| u64::from(level.get()));
                self.digest(record, flags << 8 | level, told);
                if answer.admitted && answer.mode != Mode::Normal {
                    if self.marks.admitted.is_none_or(|last| at - last > PAUSE) {
                        self.marks.first_admitted = Some(at);
                    }
                    self.marks.admitted = Some(at);
                }
            }
            What::Told(signal) => {
                if let Signal::Changed(transition) = signal {
                    self.changed(at, transition.cause);
                }
                self.reopened += u64::from(matches!(signal, Signal::Reopened { .. }));
                let place = signal.name().bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte)));
                self.digest(record, place, signal.at().as_micros());
            }
            What::Shed { .. } => {
                if let Some(shed) = self.shed.get_mut(usize::from(record.policy)) {
                    *shed += 1;
                }
            }
            What::Done { outcome, .. } if outcome.blames_store() => {
                self.marks.failure = Some(at);
            }
            _ => {}
        }
        if let Some(trace) = &mut self.trace {
            trace.push(*record);
        }
    }

    fn changed(&mut self, at: u64, cause: Cause) {
        self.marks.change = Some(at);
        if cause == Cause::Tripped {
            self.marks.entry = Some(at);
        }
        let place = Cause::ALL.iter().position(|known| *known == cause).unwrap_or(0);
        self.changes[place] += 1;
    }

    fn digest(&mut self, record: &Observation, one: u64, other: u64) {
        let digest = &mut self.digests[usize::from(record.policy) % POLICIES];
        let place = record.at << 2 | u64::from(record.node);
        *digest = mix(*digest ^ mix(place ^ mix(one ^ mix(other))));
    }
}
