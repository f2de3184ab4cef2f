//! The machine once more, from the definitions alone: it keeps everything that ever happened and
//! looks through all of it, every time.

use super::*;

/// Everything that has happened.
pub(super) struct Model {
    primary: FailureMode,
    phase: Phase,
    /// When this phase began.
    since: Timestamp,
    /// How often whom to ask has changed; the lists below are of the time since, unless they say so.
    pub(super) generation: u64,
    pub(super) epoch: u64,
    failures: Vec<Timestamp>,
    unreadable: Vec<(u64, Timestamp)>,
    probes: Vec<Probed>,
    /// Since the last completed backoff.
    entries: Vec<Timestamp>,
    /// Since the start.
    refusals: Vec<Timestamp>,
    /// Of this phase.
    prolonged: Vec<Timestamp>,
    /// Since the start: when the store was not trusted any more (false), and when it was again (true).
    trusted: Vec<(Timestamp, bool)>,
    pub(super) due: Option<Timestamp>,
    numbered: u64,
    now: Timestamp,
    told: Vec<Signal>,
    /// Whether the last thing heard of the store, while it is asked, was a failure.
    suspected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Unproven,
    Normal,
    Degraded,
    Backoff,
}

/// A probe by its number, and how it ended.
struct Probed {
    number: u64,
    ended: Option<(Timestamp, bool)>,
}

/// What happens, with numbers for what the machine has handles for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happens {
    Tick,
    Poll,
    Answered(u64),
    Failed(u64, Failure),
    Probed(u64, Result<(), Failure>),
    Forgot,
}

const fn secs(secs: u64) -> Span {
    Span::from_secs(secs)
}

impl Model {
    pub(super) fn new(primary: FailureMode) -> Self {
        Self {
            primary,
            phase: Phase::Unproven,
            since: START,
            generation: 0,
            epoch: 0,
            failures: Vec::new(),
            unreadable: Vec::new(),
            probes: Vec::new(),
            entries: Vec::new(),
            refusals: Vec::new(),
            prolonged: Vec::new(),
            trusted: Vec::new(),
            due: Some(START),
            numbered: 0,
            now: START,
            told: Vec::new(),
            suspected: false,
        }
    }

    /// Something happens; what is told, and the number of the probe that begins.
    pub(super) fn step(&mut self, what: Happens, now: Timestamp) -> (Vec<Signal>, Option<u64>) {
        self.now = self.now.max(now);
        self.time();
        let begun = match what {
            Happens::Tick => None,
            Happens::Poll => self.poll(),
            Happens::Answered(of) => {
                if self.phase == Phase::Unproven && of == self.generation {
                    self.enter(Phase::Normal, Cause::Proven);
                } else if of == self.generation {
                    self.cleared();
                }
                None
            }
            Happens::Failed(of, why) => {
                if self.is_asked() && of == self.generation {
                    self.fail(why);
                }
                None
            }
            Happens::Probed(number, result) => {
                self.probed(number, result);
                None
            }
            Happens::Forgot => {
                if self.phase == Phase::Normal {
                    self.failed();
                }
                None
            }
        };
        (std::mem::take(&mut self.told), begun)
    }

    fn time(&mut self) {
        if self.phase == Phase::Backoff && self.now.since(self.since) >= secs(600) {
            self.entries.clear();
            match self.is_healthy() {
                true => self.enter(Phase::Normal, Cause::BackoffOver),
                false => self.enter(Phase::Degraded, Cause::BackoffOverUnhealthy),
            }
        } else if self.phase == Phase::Degraded {
            let last = *self.prolonged.last().unwrap_or(&self.since);
            if self.now.since(last) >= secs(1_800) {
                self.prolonged.push(self.now);
                let (since, epoch, at) = (self.since, self.epoch, self.now);
                self.told.push(Signal::Prolonged { since, epoch, at });
            }
        }
    }

    fn poll(&mut self) -> Option<u64> {
        let is_due = |model: &Self| model.due.is_some_and(|due| due <= model.now);
        let unanswered = self.probes.last().is_some_and(|probe| probe.ended.is_none());
        if is_due(self) && unanswered {
            self.probes.last_mut().unwrap().ended = Some((self.now, false));
            if self.is_asked() {
                self.fail(Failure::Backend);
            }
        }
        if !is_due(self) {
            return None;
        }
        if self.phase == Phase::Normal && self.failing() == 0 {
            self.due = None;
            return None;
        }
        self.due = Some(self.now.after(if self.is_asked() { secs(2) } else { secs(5) }));
        self.numbered += 1;
        self.probes.push(Probed { number: self.numbered, ended: None });
        Some(self.numbered)
    }

    fn probed(&mut self, number: u64, result: Result<(), Failure>) {
        let Some(probe) = self.probes.last_mut() else { return };
        if probe.number != number || probe.ended.is_some() {
            return;
        }
        probe.ended = Some((self.now, result.is_ok()));
        match (self.phase, result) {
            (Phase::Unproven, Ok(())) => self.enter(Phase::Normal, Cause::Proven),
            (Phase::Normal, Ok(())) => self.cleared(),
            (Phase::Unproven | Phase::Normal, Err(why)) => self.fail(why),
            (Phase::Degraded | Phase::Backoff, Err(why)) => self.refused(why),
            (Phase::Degraded, Ok(()))
                if self.now.since(self.since) >= secs(300) && self.is_healthy() =>
            {
                self.enter(Phase::Normal, Cause::Recovered);
            }
            _ => {}
        }
    }

    fn fail(&mut self, why: Failure) {
        self.refused(why);
        if let Failure::Corrupt(counter) = why {
            let lately = self.unreadable.iter().filter(|(_, at)| self.is_lately(*at));
            let seen: std::collections::BTreeSet<u64> = lately.map(|(seen, _)| *seen).collect();
            self.unreadable.push((counter, self.now));
            if seen.contains(&counter) || seen.len() + 1 < 3 {
                return;
            }
        }
        let heard = !matches!(why, Failure::Corrupt(_));
        if self.phase == Phase::Normal && heard && !self.suspected {
            self.suspected = true;
            self.told.push(Signal::Suspected { mode: self.primary.into(), at: self.now });
        }
        self.failed();
    }

    fn cleared(&mut self) {
        if self.phase == Phase::Normal && self.suspected {
            self.suspected = false;
            self.told.push(Signal::Cleared { at: self.now });
        }
    }

    fn failed(&mut self) {
        self.due.get_or_insert(self.now.after(secs(2)));
        self.failures.push(self.now);
        if self.failing() >= 3 {
            let lately = |at: &&Timestamp| self.now.since(**at) <= secs(1_800);
            if self.entries.iter().filter(lately).count() >= 3 {
                self.enter(Phase::Backoff, Cause::Flapped);
            } else {
                self.entries.push(self.now);
                self.epoch += 1;
                self.enter(Phase::Degraded, Cause::Tripped);
            }
        }
    }

    fn refused(&mut self, why: Failure) {
        let lately = self.refusals.iter().any(|at| self.now.since(*at) < secs(60));
        if why == Failure::Refused && !lately {
            self.refusals.push(self.now);
            self.told.push(Signal::Refused { at: self.now });
        }
    }

    fn enter(&mut self, phase: Phase, cause: Cause) {
        let (from, asked) = (self.mode(), self.is_asked());
        (self.phase, self.since) = (phase, self.now);
        self.suspected = false;
        self.prolonged.clear();
        let (to, epoch, at) = (self.mode(), self.epoch, self.now);
        self.told.push(Signal::Changed(Transition { from, to, cause, epoch, at }));
        if asked != self.is_asked() {
            self.trusted.push((self.now, !asked));
            self.generation += 1;
            self.failures.clear();
            self.unreadable.clear();
            self.probes.clear();
            self.due = asked.then(|| self.now.after(secs(5)));
        }
    }

    /// From a good probe two minutes ago or more, all were good up to now, none more than ten seconds
    /// after the one before, and there were twelve in the two minutes.
    fn is_healthy(&self) -> bool {
        let ends: Vec<(Timestamp, bool)> =
            self.probes.iter().filter_map(|probe| probe.ended).collect();
        (0..ends.len()).any(|first| {
            let run = &ends[first..];
            let ages = run.iter().map(|(at, _)| self.now.since(*at));
            let times = run.iter().map(|(at, _)| *at).chain([self.now]);
            let steps = times.clone().zip(times.skip(1));
            self.now.since(run[0].0) >= secs(120)
                // The last two minutes end with a probe.
                && run[run.len() - 1].0.since(run[0].0) >= secs(120)
                && run.iter().all(|(_, good)| *good)
                && steps.into_iter().all(|(one, next)| next.since(one) <= secs(10))
                && ages.filter(|age| *age <= secs(120)).count() >= 12
        })
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn is_asked(&self) -> bool {
        matches!(self.phase, Phase::Unproven | Phase::Normal)
    }

    pub(super) fn failing(&self) -> usize {
        self.failures.iter().filter(|at| self.is_lately(**at)).count()
    }

    fn is_lately(&self, at: Timestamp) -> bool {
        self.now.since(at) <= secs(10)
    }

    pub(super) fn mode(&self) -> Mode {
        match self.phase {
            Phase::Unproven => self.primary.into(),
            Phase::Normal => Mode::Normal,
            Phase::Degraded => Mode::Degraded,
            Phase::Backoff => Mode::FailClosed,
        }
    }

    /// The trip that began the outage: the latest one before which the store was trusted for more than
    /// half an hour, or always.
    pub(super) fn outage_since(&self) -> Option<Timestamp> {
        let mut trips = self.trusted.iter().enumerate().filter(|(_, (_, trusted))| !trusted);
        let begins = |place: usize, trip: Timestamp| {
            let before = self.trusted[..place].last();
            before.is_none_or(|(healed, _)| trip.since(*healed) > secs(1_800))
        };
        let first = trips.rfind(|(place, (trip, _))| begins(*place, *trip));
        first.map(|(_, (trip, _))| *trip)
    }

    /// How long nothing passes.
    pub(super) fn denies_for(&self) -> Option<Span> {
        (self.phase == Phase::Backoff).then(|| self.since.after(secs(600)).since(self.now))
    }
}
