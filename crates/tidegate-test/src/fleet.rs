//! What every fleet is held to: the core's rule of agreement, on traces that nobody would think of.
//!
//! Some nodes with poor memories and worse connections send steps about a few breakers: steps get lost on
//! their way, answers get lost on theirs, steps are sent again, nodes crash and come back as new ones. After
//! every step the fleet's answer is compared with [`agree`], at the time that the fleet says it was. So the
//! same function judges a fleet whose clock a test can set and one with a clock of its own.

use std::collections::BTreeMap;

use tidegate_core::{
    Accord, AccordState, Agreed, CLOSED_KEPT, CallOutcome, Cursor, Fleet, FleetError, FleetStep,
    Forced, Holder, Lease, Motion, Span, Timestamp, agree,
};

use crate::sim::Rng;

/// The lengths that a trace is played with. A fleet with a clock of its own wants short ones.
#[derive(Clone, Copy, Debug)]
pub struct FleetSpans {
    /// How long a breaker stays open.
    pub window: Span,
    /// How long a lease is valid.
    pub lease: Span,
    /// The longest pause between two steps.
    pub pause: Span,
}

/// What happened in one or more traces, so that a test can tell whether they were worth playing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetTally {
    /// Steps that were applied.
    pub steps: u64,
    /// Steps whose answer was lost.
    pub lost: u64,
    /// Steps that were sent again.
    pub resent: u64,
    /// Leases that were granted.
    pub leases: u64,
    /// Leases that ended by themselves, because nobody reported in time.
    pub expired: u64,
    /// Results that came too late.
    pub late: u64,
    /// Steps that the fleet failed by itself.
    pub failed: u64,
}

/// A node of a trace.
#[derive(Clone, Copy, Debug)]
struct Sender {
    node: u64,
    seen: u64,
    /// The lease that the node believes to have, and its generation.
    lease: Option<(Holder, u64)>,
    last: Option<FleetStep>,
}

/// What the judge knows about one breaker.
#[derive(Clone, Debug, Default)]
struct Judged {
    /// The record, unless a step has failed and nobody knows whether it was applied.
    record: Option<Option<Accord>>,
    changed_at: Option<Timestamp>,
    /// The lease that was granted last, with its generation.
    granted: Option<(u64, Lease)>,
    /// The generations of all leases, by their holders.
    generations: BTreeMap<(u64, u64), u64>,
}

/// One trace in the making.
struct Trial<'a, F> {
    fleet: &'a F,
    spans: FleetSpans,
    rng: Rng,
    names: Vec<String>,
    judged: Vec<Judged>,
    senders: Vec<[Sender; SENDERS]>,
    tally: FleetTally,
    /// A node that follows all changes.
    follower: (Cursor, BTreeMap<String, Accord>),
    numbers: u64,
}

/// Breakers of a trace.
const NAMES: usize = 3;
/// Nodes that send steps about each of them.
const SENDERS: usize = 4;
/// Steps of a trace.
const STEPS: usize = 150;
/// How often a fleet that does not answer is asked for all changes at the end of a trace.
const TRIES: u32 = 1_000;

/// Plays the trace of one seed, and compares every answer with the core's rule. `pass` lets time pass.
///
/// # Errors
///
/// What the fleet did wrong.
pub async fn conform<F: Fleet>(
    fleet: &F,
    seed: u64,
    spans: FleetSpans,
    mut pass: impl AsyncFnMut(Span),
) -> Result<FleetTally, String> {
    let mut trial = Trial::new(fleet, seed, spans);
    for _ in 0..STEPS {
        let pause = trial.pause();
        pass(pause).await;
        trial.step().await.map_err(|why| format!("seed {seed}: {why}"))?;
    }
    // And another one that begins at the end finds the same.
    for who in ["the follower", "a new follower"] {
        let mut tries = 0;
        while !trial.follow().await.map_err(|why| format!("seed {seed}: {why}"))? {
            tries += 1;
            if tries == TRIES {
                return Err(format!("seed {seed}: {who} is never answered"));
            }
            pass(spans.pause).await;
        }
        trial.compare().map_err(|why| format!("seed {seed}: {who}: {why}"))?;
        trial.follower = (Cursor::START, BTreeMap::new());
    }
    Ok(trial.tally)
}

// === impl Trial ===

impl<'a, F: Fleet> Trial<'a, F> {
    fn new(fleet: &'a F, seed: u64, spans: FleetSpans) -> Self {
        let mut rng = Rng::new(seed);
        // Names that no other seed has, because a server outlives a test.
        let names = (0..NAMES).map(|it| format!("trial:{seed}:{:x}:{it}", rng.next())).collect();
        let mut sender = || Sender { node: rng.next(), seen: 0, lease: None, last: None };
        let senders = (0..NAMES).map(|_| core::array::from_fn(|_| sender())).collect();
        let fresh = Judged { record: Some(None), ..Judged::default() };
        let judged = vec![fresh; NAMES];
        let follower = (Cursor::START, BTreeMap::new());
        let tally = FleetTally::default();
        Self { fleet, spans, rng, names, judged, senders, tally, follower, numbers: 0 }
    }

    fn pause(&mut self) -> Span {
        let FleetSpans { window, lease, pause } = self.spans;
        match self.rng.below(12) {
            0..=5 => Span::ZERO,
            6 => window,
            7 => lease,
            _ => Span::from_micros(self.rng.below(pause.as_micros())),
        }
    }

    async fn step(&mut self) -> Result<(), String> {
        let name = usize::from(self.rng.small(NAMES));
        let sender = usize::from(self.rng.small(SENDERS));
        match self.rng.below(40) {
            0 => {
                // It crashes, and comes back as a new one that knows nothing.
                let node = self.rng.next();
                self.senders[name][sender] = Sender { node, seen: 0, lease: None, last: None };
                return Ok(());
            }
            1..=3 => return self.follow().await.map(|_| ()),
            _ => {}
        }
        let step = self.choose(name, sender);
        self.senders[name][sender].last = Some(step);
        if self.rng.one_in(10) {
            return Ok(());
        }
        let answer = self.fleet.agree(&self.names[name], step).await;
        let agreed = match answer {
            Ok(agreed) => agreed,
            Err(FleetError::Unavailable | FleetError::Timeout) => {
                self.tally.failed += 1;
                self.judged[name].doubt();
                return Ok(());
            }
            Err(error) => return Err(format!("{step:?}: {error}")),
        };
        self.tally.steps += 1;
        self.judged[name].hear(step, agreed, &mut self.tally)?;
        if self.rng.one_in(4) {
            self.tally.lost += 1;
        } else {
            self.senders[name][sender].hear(agreed);
        }
        Ok(())
    }

    fn choose(&mut self, name: usize, sender: usize) -> FleetStep {
        let FleetSpans { window, lease, .. } = self.spans;
        let Sender { node, seen, lease: held, last } = self.senders[name][sender];
        self.numbers += 1;
        let own = Holder { node, number: self.numbers };
        let (holder, generation) = held.unwrap_or((own, seen));
        let outcome =
            self.rng.pick(&[CallOutcome::Success, CallOutcome::Failure, CallOutcome::Neutral]);
        let report = Motion::Report { holder, outcome, window, successes: 2 };
        match (self.rng.below(40), last) {
            (0..=5, _) => FleetStep { seen, motion: Motion::Trip { window } },
            (6..=18, _) => FleetStep { seen, motion: Motion::Lease { holder: own, lease, window } },
            (19..=27, _) => FleetStep { seen: generation, motion: report },
            (28, _) => FleetStep { seen, motion: Motion::Force(Forced::Open) },
            (29, _) => FleetStep { seen, motion: Motion::Force(Forced::Closed) },
            (30 | 31, _) => FleetStep { seen, motion: Motion::Lift },
            (_, Some(last)) => {
                self.tally.resent += 1;
                last
            }
            _ => FleetStep { seen, motion: Motion::Trip { window } },
        }
    }

    /// Asks for all changes, and remembers them. False if the fleet has not answered.
    async fn follow(&mut self) -> Result<bool, String> {
        // Changes of others may be among them, so the number of pages is not known; but it has a bound.
        for _ in 0..1_000 {
            let answer = self.fleet.changed_since(self.follower.0).await;
            let changed = match answer {
                Ok(changed) => changed,
                Err(FleetError::Unavailable | FleetError::Timeout) => {
                    self.tally.failed += 1;
                    return Ok(false);
                }
                Err(error) => return Err(format!("changes: {error}")),
            };
            self.follower.0 = changed.cursor;
            self.follower.1.extend(changed.accords);
            if !changed.more {
                return Ok(true);
            }
        }
        Err("the changes have no end".to_owned())
    }

    fn compare(&self) -> Result<(), String> {
        for (name, judged) in self.names.iter().zip(&self.judged) {
            let heard = self.follower.1.get(name).copied();
            let Some(record) = judged.record else { continue };
            let record = record.filter(|record| *record != Accord::FRESH);
            let forgotten = record.is_some_and(|it| it.state == AccordState::Closed);
            if heard != record && !(forgotten && heard.is_none()) {
                return Err(format!("{name}: heard {heard:?}, it is {record:?}"));
            }
        }
        Ok(())
    }
}

// === impl Sender ===

impl Sender {
    fn hear(&mut self, agreed: Agreed) {
        let Agreed { accord, at, .. } = agreed;
        self.seen = self.seen.max(accord.generation);
        if let Some(lease) = accord.lease(at).filter(|lease| lease.holder.node == self.node) {
            self.lease = Some((lease.holder, accord.generation));
        }
    }
}

// === impl Judged ===

impl Judged {
    /// A step has failed, and nobody knows whether it was applied.
    fn doubt(&mut self) {
        self.record = None;
        self.granted = None;
    }

    fn hear(
        &mut self,
        step: FleetStep,
        agreed: Agreed,
        tally: &mut FleetTally,
    ) -> Result<(), String> {
        let at = agreed.at;
        if let Some(record) = self.record {
            let is_old = self.changed_at.is_some_and(|then| at.since(then) >= CLOSED_KEPT);
            let forgets = is_old && record.is_some_and(|it| it.state == AccordState::Closed);
            let wanted = agree(record.as_ref(), &step, at);
            if agreed != wanted && !(forgets && agreed == agree(None, &step, at)) {
                return Err(format!("{record:?} and {step:?} give {wanted:?}, not {agreed:?}"));
            }
            if agreed.accord != record.unwrap_or(Accord::FRESH) {
                self.changed_at = Some(at);
            }
            let is_report = matches!(step.motion, Motion::Report { .. });
            tally.late += u64::from(is_report && Some(agreed.accord) == record);
        }
        self.record = Some(Some(agreed.accord));
        self.judge_lease(agreed, tally)
    }

    /// One lease at a time, and one for each attempt.
    fn judge_lease(&mut self, agreed: Agreed, tally: &mut FleetTally) -> Result<(), String> {
        let Agreed { accord, at, .. } = agreed;
        let Some(lease) = accord.lease(at) else {
            // Only its end frees a lease; whether it came by itself is seen when the next one is granted.
            let is_half_open = matches!(accord.state, AccordState::HalfOpen { lease: Some(_), .. });
            if !is_half_open {
                self.granted = None;
            }
            return Ok(());
        };
        if self.granted.is_some_and(|(generation, _)| generation == accord.generation) {
            self.granted = Some((accord.generation, lease));
            return Ok(());
        }
        if let Some((generation, old)) = self.granted {
            if at < old.until {
                return Err(format!(
                    "{lease:?} begins at {at:?}, in spite of {generation}: {old:?}"
                ));
            }
            tally.expired += 1;
        }
        tally.leases += 1;
        self.granted = Some((accord.generation, lease));
        let Holder { node, number } = lease.holder;
        match self.generations.insert((node, number), accord.generation) {
            None => Ok(()),
            Some(first) if first == accord.generation => Ok(()),
            Some(first) => Err(format!("{lease:?} is a second one for the attempt of {first}")),
        }
    }
}

// === impl FleetTally ===

impl core::ops::AddAssign for FleetTally {
    fn add_assign(&mut self, other: Self) {
        self.steps += other.steps;
        self.lost += other.lost;
        self.resent += other.resent;
        self.leases += other.leases;
        self.expired += other.expired;
        self.late += other.late;
        self.failed += other.failed;
    }
}
