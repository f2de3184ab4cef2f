//! Any schedule that anybody could come up with: the machine does what the model says, step by step.

use proptest::prelude::*;

use super::model::{Happens, Model};
use super::*;

/// One stretch of a schedule.
#[derive(Clone, Debug)]
enum Act {
    /// One thing, so long after the last.
    Once(Span, Once),
    /// The same, but the clock has gone back.
    Back(Span, Once),
    /// Probes as they fall due, for so long, all of one kind and answered so much later.
    Run(Span, Result<(), Failure>, Span),
    /// Three failures in a row.
    Trip,
}

#[derive(Clone, Copy, Debug)]
enum Once {
    Tick,
    Poll,
    /// Of the generation so many before the last.
    Answered(usize),
    Failed(usize, Failure),
    /// Of the probe so many before the last.
    Probed(usize, Result<(), Failure>),
    Forgot,
}

fn failure() -> impl Strategy<Value = Failure> {
    prop_oneof![
        4 => Just(Failure::Backend),
        1 => Just(Failure::Refused),
        3 => (0..5_u64).prop_map(Failure::Corrupt),
    ]
}

fn result() -> impl Strategy<Value = Result<(), Failure>> {
    prop_oneof![2 => Just(Ok(())), 1 => failure().prop_map(Err)]
}

/// The lengths that mean something, and those a tick away from them.
fn lengths() -> impl Strategy<Value = Span> {
    const EDGES: [u64; 12] = [0, 1, 2, 4, 5, 6, 10, 60, 120, 300, 600, 1_800];
    let near = (proptest::sample::select(&EDGES[..]), 0..3_u64)
        .prop_map(|(secs, off)| Span::from_micros((secs * 1_000_000 + off).saturating_sub(1)));
    prop_oneof![3 => near, 2 => (0..12_000_000_u64).prop_map(Span::from_micros)]
}

fn once() -> impl Strategy<Value = Once> {
    prop_oneof![
        1 => Just(Once::Tick),
        4 => Just(Once::Poll),
        2 => (0..3_usize).prop_map(Once::Answered),
        6 => (prop_oneof![4 => Just(0), 1 => 0..3_usize], failure())
            .prop_map(|(ago, why)| Once::Failed(ago, why)),
        5 => (prop_oneof![4 => Just(0), 1 => 0..3_usize], result())
            .prop_map(|(ago, result)| Once::Probed(ago, result)),
        1 => Just(Once::Forgot),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let run = proptest::sample::select(
        &[5_u64, 10, 115, 119, 120, 121, 125, 180, 299, 300, 301, 310, 600, 700, 1_800][..],
    );
    let latency = prop_oneof![Just(0), 1..250_000_u64, 1_999_999..2_000_002_u64];
    prop_oneof![
        8 => (lengths(), once()).prop_map(|(after, what)| Act::Once(after, what)),
        1 => (lengths(), once()).prop_map(|(before, what)| Act::Back(before, what)),
        4 => (run, prop_oneof![4 => Just(Ok(())), 1 => result()], latency).prop_map(
            |(length, result, late)| {
                Act::Run(Span::from_secs(length), result, Span::from_micros(late))
            }
        ),
        3 => Just(Act::Trip),
    ]
}

/// Both of them, side by side.
struct Pair {
    node: Driven,
    model: Model,
    now: Timestamp,
    generations: Vec<Generation>,
    probes: Vec<(Probe, u64)>,
    replayed: Mode,
    /// The latest instant before which it was told, during this stay, that none would end it.
    leaves: Timestamp,
}

impl Pair {
    fn new(primary: FailureMode) -> Self {
        let node = Driven::new(primary);
        let generations = vec![node.now()];
        let (model, replayed) = (Model::new(primary), primary.into());
        let (probes, leaves) = (Vec::new(), START);
        Self { node, model, now: START, generations, probes, replayed, leaves }
    }

    /// One input for both, and every question that can be asked of them afterwards.
    fn step(&mut self, input: Input, happens: Happens, now: Timestamp) {
        let outputs = self.node.step(input, now);
        let (told, begun) = self.model.step(happens, now);
        assert_eq!(outputs.signals[..], told[..], "{happens:?} at {now:?}");
        assert_eq!(outputs.probe.is_some(), begun.is_some(), "{happens:?} at {now:?}");
        self.probes.extend(outputs.probe.zip(begun));
        let (machine, model) = (&self.node.machine, &self.model);
        assert_eq!(machine.mode(), model.mode());
        assert_eq!(machine.outage_since(), model.outage_since());
        assert_eq!((machine.epoch(), machine.failures()), (model.epoch, model.failing()));
        match machine.course() {
            Course::Ask(generation) => {
                assert_eq!((model.is_asked(), model.generation), (true, generation.number()));
                if self.generations.last() != Some(&generation) {
                    self.generations.push(generation);
                }
                assert_eq!(machine.due(), model.due);
            }
            Course::Guard => assert!(!model.is_asked() && model.denies_for().is_none()),
            Course::Deny(wait) => assert_eq!(model.denies_for(), Some(wait)),
        }
        if !model.is_asked() {
            let is_due = machine.due().is_some_and(|due| Some(due) <= model.due);
            assert!(is_due, "a probe would be late, or never made");
        }
        self.replay(&told);
        self.leave(&told);
    }

    /// No stay ends before the instant that was told, and one tick is told at least.
    fn leave(&mut self, told: &[Signal]) {
        let left = told.iter().find_map(|signal| match signal {
            Signal::Changed(change) if change.cause == Cause::Recovered => Some(change.at),
            _ => None,
        });
        if let Some(left) = left {
            assert!(left.after(TICK) >= self.leaves, "left before the earliest instant told");
        }
        let now = self.model.now();
        let leaves = self.node.machine.leaves_after(now);
        assert_eq!(leaves.is_some(), self.node.machine.degraded_since().is_some());
        self.leaves = match leaves {
            Some(wait) => self.leaves.max(now.after(wait)),
            None => START,
        };
        assert_ne!(leaves, Some(Span::ZERO));
    }

    /// What is told is enough to know the mode at any time.
    fn replay(&mut self, told: &[Signal]) {
        for signal in told {
            if let Signal::Changed(change) = signal {
                assert_eq!(change.from, self.replayed);
                self.replayed = change.to;
            }
        }
        assert_eq!(self.replayed, self.node.mode());
    }

    fn once(&mut self, what: Once, now: Timestamp) {
        let back = |all: usize, ago: usize| all.checked_sub(1 + ago);
        let (input, happens) = match what {
            Once::Tick => (Input::Tick, Happens::Tick),
            Once::Poll => (Input::Poll, Happens::Poll),
            Once::Forgot => (Input::Forgot, Happens::Forgot),
            Once::Answered(ago) => {
                let Some(place) = back(self.generations.len(), ago) else { return };
                let of = self.generations[place];
                (Input::Answered(of), Happens::Answered(of.number()))
            }
            Once::Failed(ago, why) => {
                let Some(place) = back(self.generations.len(), ago) else { return };
                let of = self.generations[place];
                (Input::Failed(of, why), Happens::Failed(of.number(), why))
            }
            Once::Probed(ago, result) => {
                let Some(place) = back(self.probes.len(), ago) else { return };
                let (probe, number) = self.probes[place];
                (Input::Probed(probe, result), Happens::Probed(number, result))
            }
        };
        self.step(input, happens, now);
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Once(after, what) => {
                self.now = self.now.after(*after);
                self.once(*what, self.now);
            }
            Act::Back(before, what) => {
                let earlier = self.now.as_micros() - before.as_micros();
                self.once(*what, Timestamp::from_micros(earlier));
            }
            Act::Trip => {
                (0..3).for_each(|_| self.once(Once::Failed(0, Failure::Backend), self.now));
            }
            Act::Run(length, result, late) => {
                let end = self.now.after(*length);
                while let Some(due) = self.node.machine.due().filter(|due| *due <= end) {
                    self.now = self.now.max(due);
                    let begun = self.probes.len();
                    self.once(Once::Poll, self.now);
                    if self.probes.len() > begun {
                        self.once(Once::Probed(0, *result), self.now.after(*late));
                        self.now = self.now.after(*late);
                    }
                }
                self.now = self.now.max(end);
                self.once(Once::Tick, self.now);
            }
        }
    }
}

/// What holds for every history, whatever happened in it.
fn holds(changes: &[Transition]) {
    let mut entries: Vec<Timestamp> = Vec::new();
    let mut backoffs: Vec<Timestamp> = Vec::new();
    for pair in changes.windows(2) {
        let (one, next) = (pair[0], pair[1]);
        match one.cause {
            Cause::Tripped | Cause::BackoffOverUnhealthy => {
                assert_eq!(next.cause, Cause::Recovered);
                assert!(next.at.since(one.at) >= Span::from_secs(300), "P53: {one:?} {next:?}");
            }
            Cause::Flapped => {
                assert!(next.at.since(one.at) >= Span::from_secs(600), "P61: {one:?} {next:?}");
                assert_ne!(next.to, Mode::FailClosed, "P64");
            }
            Cause::Proven | Cause::Recovered | Cause::BackoffOver => {
                assert!(matches!(next.cause, Cause::Tripped | Cause::Flapped), "P60: {next:?}");
            }
        }
    }
    for change in changes {
        match change.cause {
            Cause::Tripped => {
                entries.push(change.at);
                let lately = |at: &&Timestamp| change.at.since(**at) <= Span::from_secs(1_800);
                assert!(entries.iter().filter(lately).count() <= 3, "P56: {entries:?}");
            }
            Cause::Flapped => {
                let begun = |last: &Timestamp| change.at.since(*last) >= Span::from_secs(1_500);
                assert!(backoffs.last().is_none_or(begun), "P64: ten minutes of twenty-five");
                backoffs.push(change.at);
            }
            Cause::BackoffOver | Cause::BackoffOverUnhealthy => entries.clear(),
            Cause::Proven | Cause::Recovered => {}
        }
    }
}

fn primary() -> impl Strategy<Value = FailureMode> {
    proptest::sample::select(&FailureMode::ALL[..])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn p79_any_schedule_does_what_the_definitions_say(
        primary in primary(),
        acts in proptest::collection::vec(act(), 1..40),
    ) {
        let mut pair = Pair::new(primary);
        acts.iter().for_each(|act| pair.act(act));
        holds(&pair.node.changes());
    }

    #[test]
    fn p56_flapping_as_fast_as_one_can_is_bounded(
        primary in primary(),
        outages in proptest::collection::vec((lengths(), 120..700_u64), 1..30),
    ) {
        let mut pair = Pair::new(primary);
        pair.act(&Act::Once(Span::ZERO, Once::Answered(0)));
        for (pause, healthy) in outages {
            pair.act(&Act::Trip);
            pair.act(&Act::Run(Span::from_secs(healthy), Ok(()), Span::ZERO));
            pair.act(&Act::Once(pause, Once::Tick));
        }
        holds(&pair.node.changes());
    }
}
