//! G1–G4, G9, T26: the breaker of one node, and of a few that agree.

mod properties;

use core::num::NonZeroU32;

use super::*;
use crate::fleet::{Accord, AccordState, Agreed, FleetError, FleetStep, Forced, Motion, agree};
use crate::time::{Span, Timestamp};

const WINDOW: Span = Span::from_secs(10);
const LEASE: Span = Span::from_secs(8);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_micros(1_000_000_000 + millis * 1_000)
}

fn settings(failures: u32, successes: u32) -> BreakerSettings {
    let number = |number| NonZeroU32::new(number).unwrap();
    let settings = BreakerSettings::try_new(number(failures), WINDOW, LEASE).unwrap();
    settings.closing_after(number(successes))
}

/// Nodes that share one record. The fleet answers at once, if it can be reached.
struct Nodes {
    nodes: Vec<Breaker>,
    record: Option<Accord>,
    reachable: bool,
    told: Vec<(usize, BreakerSignal)>,
}

impl Nodes {
    fn new(nodes: u64, settings: BreakerSettings) -> Self {
        let nodes = (0..nodes).map(|node| Breaker::new(settings, node + 1, at(0))).collect();
        Self { nodes, record: None, reachable: true, told: Vec::new() }
    }

    /// One input to one node, without what follows from it.
    fn raw(&mut self, node: usize, input: BreakerInput, millis: u64) -> BreakerOutputs {
        let (breaker, out) = self.nodes[node].clone().step(input, at(millis));
        self.nodes[node] = breaker;
        self.told.extend(out.signals.iter().map(|signal| (node, *signal)));
        out
    }

    fn agree(&mut self, step: &FleetStep, millis: u64) -> Agreed {
        let agreed = agree(self.record.as_ref(), step, at(millis));
        self.record = Some(agreed.accord);
        agreed
    }

    /// One input, with all calls to the fleet that follow from it; the pass to probe, if there is one.
    fn step(&mut self, node: usize, input: BreakerInput, millis: u64) -> Option<ProbePass> {
        let mut out = self.raw(node, input, millis);
        while let Some(FleetCall { number, step }) = out.call {
            let answer = match self.reachable {
                true => Ok(self.agree(&step, millis)),
                false => Err(FleetError::Unavailable),
            };
            let probe = out.probe;
            out = self.raw(node, BreakerInput::Answered { number, answer }, millis);
            out.probe = out.probe.or(probe);
        }
        out.probe
    }

    fn ask(&mut self, node: usize, millis: u64) -> Option<ProbePass> {
        self.step(node, BreakerInput::Ask, millis)
    }

    fn probed(&mut self, node: usize, pass: ProbePass, outcome: CallOutcome, millis: u64) {
        self.step(node, BreakerInput::Probed(pass, outcome), millis);
    }

    /// A call that passes, and ends so; what the node says if it does not pass.
    fn call(&mut self, node: usize, outcome: CallOutcome, millis: u64) -> Result<(), Clearance> {
        match self.nodes[node].clearance(at(millis)) {
            Clearance::Pass(pass) => {
                self.step(node, BreakerInput::Called(pass, outcome), millis);
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Every node hears of the record.
    fn poll(&mut self, millis: u64) {
        for node in 0..self.nodes.len() {
            let heard = BreakerInput::Heard { accord: self.record, at: at(millis) };
            self.step(node, heard, millis);
        }
    }

    fn states(&self) -> Vec<BreakerState> {
        self.nodes.iter().map(Breaker::state).collect()
    }

    fn changes(&self, of: usize) -> Vec<(BreakerState, BreakerState, BreakerCause)> {
        let changes = self.told.iter().filter_map(|(node, signal)| match signal {
            BreakerSignal::Changed(it) if *node == of => Some((it.from, it.to, it.cause)),
            _ => None,
        });
        changes.collect()
    }
}

/// Two nodes that are half-open since ten seconds, after the first has tripped at 0.
fn half_open(successes: u32) -> Nodes {
    let mut nodes = Nodes::new(2, settings(1, successes));
    nodes.call(0, CallOutcome::Failure, 0).unwrap();
    nodes.poll(200);
    nodes
}

#[test]
fn g1_the_breaker_opens_at_its_count_and_lets_nothing_through() {
    let mut nodes = Nodes::new(1, settings(3, 1));
    for outcome in [CallOutcome::Failure, CallOutcome::Failure, CallOutcome::Success] {
        nodes.call(0, outcome, 0).unwrap();
    }
    assert_eq!(nodes.nodes[0].failures(), 0, "only failures in a row count");
    for millis in 1..=3 {
        nodes.call(0, CallOutcome::Failure, millis).unwrap();
    }
    assert_eq!(nodes.states(), [BreakerState::Open]);
    let wait = |millis| Clearance::Wait(at(10_003).since(at(millis)));
    for millis in [3, 4, 10_002] {
        assert_eq!(nodes.call(0, CallOutcome::Success, millis), Err(wait(millis)));
        assert_eq!(nodes.ask(0, millis), None, "nor does asking help");
    }
    assert_eq!(nodes.nodes[0].clearance(at(10_003)), Clearance::Try);
}

#[test]
fn g9_neutral_calls_neither_count_nor_reset_the_count() {
    let mut nodes = Nodes::new(1, settings(2, 1));
    nodes.call(0, CallOutcome::Neutral, 0).unwrap();
    nodes.call(0, CallOutcome::Failure, 0).unwrap();
    nodes.call(0, CallOutcome::Neutral, 0).unwrap();
    assert_eq!((nodes.nodes[0].failures(), nodes.states()[0]), (1, BreakerState::Closed));
    nodes.call(0, CallOutcome::Failure, 0).unwrap();
    assert_eq!(nodes.states(), [BreakerState::Open]);
}

#[test]
fn g2_one_node_probes_and_the_others_are_told_how_long_that_may_take() {
    let mut nodes = half_open(1);
    assert_eq!(nodes.states(), [BreakerState::Open; 2], "the second has heard of it");
    let pass = nodes.ask(1, 10_200).expect("the window is over");
    assert!(pass.is_agreed());
    assert_eq!(nodes.ask(0, 10_300), None);
    let left = Clearance::Wait(Span::from_millis(7_900));
    assert_eq!(nodes.nodes[0].clearance(at(10_300)), left);
    assert_eq!(nodes.nodes[1].clearance(at(10_300)), left);
    let least = Clearance::Wait(Span::SECOND);
    assert_eq!(nodes.nodes[0].clearance(at(18_000)), least, "at least a second");
    nodes.probed(1, pass, CallOutcome::Success, 10_400);
    assert_eq!(nodes.states(), [BreakerState::HalfOpen, BreakerState::Closed]);
    nodes.poll(10_500);
    assert_eq!(nodes.states(), [BreakerState::Closed; 2]);
    let (opens, waits, closes) =
        ((BreakerState::Closed, BreakerState::Open), BreakerState::HalfOpen, BreakerState::Closed);
    let told = |opened, closed| {
        let over = (opens.1, waits, BreakerCause::WindowOver);
        [(opens.0, opens.1, opened), over, (waits, closes, closed)]
    };
    assert_eq!(nodes.changes(0), told(BreakerCause::Tripped, BreakerCause::Adopted));
    assert_eq!(nodes.changes(1), told(BreakerCause::Adopted, BreakerCause::Recovered));
}

#[test]
fn g3_however_a_probe_ends_the_next_one_is_a_new_generation() {
    for (outcome, after) in [
        (Some(CallOutcome::Neutral), 10_300),
        (Some(CallOutcome::Success), 10_300),
        (Some(CallOutcome::Failure), 20_300),
        (None, 18_200),
    ] {
        let mut nodes = half_open(2);
        let pass = nodes.ask(0, 10_200).unwrap();
        let generation = nodes.record.unwrap().generation;
        if let Some(outcome) = outcome {
            nodes.probed(0, pass, outcome, 10_300);
        }
        nodes.poll(10_300);
        if after > 10_300 {
            assert_eq!(nodes.ask(1, after - 1), None, "{outcome:?}: a millisecond too early");
        }
        let next = nodes.ask(1, after).unwrap_or_else(|| panic!("{outcome:?} wedges"));
        assert!(nodes.record.unwrap().generation > generation);
        // The first holder may come back now: nobody listens.
        let record = nodes.record;
        nodes.probed(0, pass, CallOutcome::Success, after);
        assert_eq!(nodes.record, record);
        nodes.probed(1, next, CallOutcome::Success, after);
    }
}

#[test]
fn g4_late_results_change_nothing() {
    let mut nodes = Nodes::new(1, settings(2, 1));
    let Clearance::Pass(slow) = nodes.nodes[0].clearance(at(0)) else { panic!("it is closed") };
    nodes.call(0, CallOutcome::Failure, 0).unwrap();
    nodes.call(0, CallOutcome::Failure, 0).unwrap();
    let pass = nodes.ask(0, 10_000).unwrap();
    nodes.probed(0, pass, CallOutcome::Success, 10_100);
    assert_eq!(nodes.states(), [BreakerState::Closed]);
    let before = nodes.nodes.clone();
    nodes.step(0, BreakerInput::Called(slow, CallOutcome::Failure), 10_100);
    nodes.probed(0, pass, CallOutcome::Failure, 10_100);
    assert_eq!(nodes.nodes, before, "the calls began before it was open, and before it was closed");
}

#[test]
fn g4_a_probe_that_outlasts_its_lease_says_nothing() {
    let mut nodes = half_open(1);
    let pass = nodes.ask(0, 10_200).unwrap();
    assert_eq!(pass.until(), at(18_200));
    let record = nodes.record;
    nodes.probed(0, pass, CallOutcome::Failure, 18_200);
    assert_eq!((nodes.record, nodes.states()[0]), (record, BreakerState::HalfOpen));
}

#[test]
fn g2_without_the_fleet_each_node_probes_by_itself_and_says_so_once() {
    let mut nodes = Nodes::new(2, settings(1, 2));
    nodes.reachable = false;
    for node in 0..2 {
        nodes.call(node, CallOutcome::Failure, 0).unwrap();
        let first = nodes.ask(node, 10_000).expect("the window is over");
        assert!(!first.is_agreed());
        assert_eq!(nodes.ask(node, 10_100), None, "one at a time");
        let left = Clearance::Wait(Span::from_millis(7_900));
        assert_eq!(nodes.nodes[node].clearance(at(10_100)), left);
        nodes.probed(node, first, CallOutcome::Success, 10_200);
        let second = nodes.ask(node, 10_300).expect("two successes are wanted");
        nodes.probed(node, second, CallOutcome::Failure, 10_400);
        assert_eq!(nodes.states()[node], BreakerState::Open);
        for millis in [20_400, 20_500] {
            let pass = nodes.ask(node, millis).unwrap();
            nodes.probed(node, pass, CallOutcome::Success, millis);
        }
        assert_eq!(nodes.states()[node], BreakerState::Closed);
        let alone = |(of, it): &&(usize, BreakerSignal)| {
            *of == node && matches!(it, BreakerSignal::Alone { .. })
        };
        assert_eq!(nodes.told.iter().filter(alone).count(), 1, "{:?}", nodes.told);
    }
    assert_eq!(nodes.record, None);
}

#[test]
fn g2_a_node_that_hears_of_the_fleet_in_between_does_not_probe_twice_by_itself() {
    let mut nodes = half_open(1);
    nodes.reachable = false;
    let local = nodes.ask(0, 10_200).unwrap();
    let state = AccordState::HalfOpen { successes: 0, lease: None };
    let generation = nodes.nodes[0].known().generation + 1;
    let accord = Some(Accord { generation, state });
    nodes.step(0, BreakerInput::Heard { accord, at: at(10_300) }, 10_300);
    assert_eq!(nodes.ask(0, 10_400), None, "the first is still under way");
    nodes.probed(0, local, CallOutcome::Success, 10_500);
    assert_eq!(nodes.states()[0], BreakerState::HalfOpen, "it was begun before the news");
    assert!(nodes.ask(0, 18_200).is_some(), "and its lease is over");
}

#[test]
fn a_trip_that_was_not_agreed_on_is_told_again_for_what_is_left_of_the_window() {
    let mut nodes = Nodes::new(2, settings(1, 1));
    nodes.reachable = false;
    nodes.call(0, CallOutcome::Failure, 0).unwrap();
    assert_eq!(nodes.nodes[0].due(), Some(at(250)));
    nodes.step(0, BreakerInput::Poll, 249);
    nodes.reachable = true;
    nodes.step(0, BreakerInput::Poll, 4_000);
    assert_eq!(nodes.record.unwrap().state, AccordState::Open { until: at(10_000) });
    // A trip whose window is over is not told: the next request asks for a lease instead.
    let mut nodes = Nodes::new(1, settings(1, 1));
    nodes.reachable = false;
    nodes.call(0, CallOutcome::Failure, 0).unwrap();
    nodes.reachable = true;
    nodes.step(0, BreakerInput::Poll, 10_000);
    assert_eq!(nodes.record, None);
    assert!(nodes.ask(0, 10_000).unwrap().is_agreed());
}

#[test]
fn a_node_that_closed_alone_follows_the_fleet_when_it_is_back() {
    let mut nodes = half_open(1);
    nodes.reachable = false;
    let pass = nodes.ask(0, 10_200).unwrap();
    nodes.probed(0, pass, CallOutcome::Success, 10_300);
    assert_eq!(nodes.states()[0], BreakerState::Closed);
    assert!(nodes.nodes[0].wants_contact());
    nodes.reachable = true;
    nodes.step(0, BreakerInput::Heard { accord: None, at: at(10_400) }, 10_400);
    assert_eq!(nodes.states()[0], BreakerState::HalfOpen, "nobody else knows that it recovered");
    let pass = nodes.ask(0, 10_500).unwrap();
    nodes.probed(0, pass, CallOutcome::Success, 10_500);
    nodes.poll(10_600);
    assert_eq!(nodes.states(), [BreakerState::Closed; 2]);
}

#[test]
fn a_success_that_cannot_be_told_closes_this_node_and_is_told_again() {
    let mut nodes = half_open(1);
    let pass = nodes.ask(0, 10_200).unwrap();
    nodes.reachable = false;
    nodes.probed(0, pass, CallOutcome::Success, 10_300);
    assert_eq!(nodes.states()[0], BreakerState::Closed);
    nodes.reachable = true;
    nodes.step(0, BreakerInput::Poll, 10_550);
    assert_eq!(nodes.record.unwrap().state, AccordState::Closed);
}

#[test]
fn g2_an_attempt_whose_answer_was_lost_gets_the_same_lease_again() {
    let mut nodes = half_open(1);
    let lose = |nodes: &mut Nodes, millis| {
        let FleetCall { number, step } = nodes.raw(0, BreakerInput::Ask, millis).call.unwrap();
        let applied = nodes.agree(&step, millis).accord;
        let answer = Err(FleetError::Timeout);
        let out = nodes.raw(0, BreakerInput::Answered { number, answer }, millis);
        (applied, out.probe.expect("a local probe"))
    };
    let (applied, local) = lose(&mut nodes, 10_200);
    nodes.probed(0, local, CallOutcome::Neutral, 10_250);
    let pass = nodes.ask(0, 10_300).expect("its own lease");
    assert_eq!(nodes.record, Some(applied), "no second lease was handed out");
    nodes.probed(0, pass, CallOutcome::Neutral, 10_400);

    // Too little is left of it for a probe: it is given back, and the next attempt gets a whole one.
    let (applied, local) = lose(&mut nodes, 11_000);
    nodes.probed(0, local, CallOutcome::Neutral, 12_000);
    assert_eq!(nodes.ask(0, 16_001), None);
    assert!(nodes.record.unwrap().generation > applied.generation);
    assert_eq!(nodes.record.unwrap().lease(at(16_001)), None);
    assert!(nodes.ask(0, 16_100).is_some());
}

#[test]
fn g3_a_lease_of_this_node_that_nobody_waits_for_is_given_back() {
    let mut nodes = half_open(1);
    let FleetCall { number, step } = nodes.raw(0, BreakerInput::Ask, 10_200).call.unwrap();
    nodes.agree(&step, 10_200);
    let answer = Err(FleetError::Timeout);
    let local = nodes.raw(0, BreakerInput::Answered { number, answer }, 10_300).probe.unwrap();
    nodes.probed(0, local, CallOutcome::Neutral, 10_350);
    nodes.poll(10_400);
    assert_eq!(nodes.record.unwrap().lease(at(10_400)), None);
    nodes.poll(10_600);
    assert!(nodes.ask(1, 10_600).is_some());
}

#[test]
fn an_operator_forces_every_node_and_lifts_it_again() {
    let mut nodes = half_open(1);
    let force = |nodes: &mut Nodes, motion, millis| {
        let seen = nodes.nodes[0].known().generation;
        nodes.agree(&FleetStep { seen, motion }, millis);
        nodes.poll(millis);
    };
    force(&mut nodes, Motion::Force(Forced::Open), 1_000);
    let refused = Err(Clearance::Wait(WINDOW));
    assert_eq!(nodes.call(1, CallOutcome::Success, 60_000), refused);
    assert_eq!(nodes.ask(1, 60_000), None);
    force(&mut nodes, Motion::Force(Forced::Closed), 60_000);
    for _ in 0..9 {
        nodes.call(1, CallOutcome::Failure, 60_001).expect("failures do not count");
    }
    force(&mut nodes, Motion::Force(Forced::Open), 60_002);
    force(&mut nodes, Motion::Lift, 60_003);
    assert!(nodes.ask(0, 60_004).is_some(), "it tries before it trusts");
    let causes: Vec<_> = nodes.changes(1).into_iter().map(|(_, _, cause)| cause).collect();
    let forced = BreakerCause::Forced;
    assert_eq!(causes, [BreakerCause::Adopted, forced, forced, forced, BreakerCause::Lifted]);
}

#[test]
fn a_fleet_that_forgot_an_open_breaker_is_told_of() {
    let mut nodes = half_open(1);
    nodes.record = None;
    let generation = nodes.nodes[1].known().generation;
    assert!(nodes.ask(1, 10_200).is_some(), "and it goes on all the same");
    let lost = BreakerSignal::Lost { generation, at: at(10_200) };
    assert!(nodes.told.contains(&(1, lost)), "{:?}", nodes.told);
    // Restored from a copy in which it is open for longer: wait a second, then ask again.
    let mut nodes = half_open(1);
    let state = AccordState::Open { until: at(30_000) };
    nodes.record = Some(Accord { generation: 3, state });
    assert_eq!(nodes.ask(1, 10_200), None);
    assert_eq!(nodes.nodes[1].clearance(at(10_200)), Clearance::Wait(Span::SECOND));
    assert_eq!(nodes.nodes[1].clearance(at(11_200)), Clearance::Try);
    assert!(nodes.ask(1, 20_200).is_some());
}

#[test]
fn five_neutral_probes_in_a_row_are_told_of_once() {
    let mut nodes = half_open(1);
    for millis in (10_200..10_900).step_by(100) {
        let pass = nodes.ask(0, millis).unwrap();
        nodes.probed(0, pass, CallOutcome::Neutral, millis);
    }
    let told = nodes.told.iter().filter_map(|(_, signal)| match signal {
        BreakerSignal::Undecided { at } => Some(*at),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [at(10_600)]);
}

#[test]
fn a_record_that_cannot_be_read_is_told_of_once_although_changes_can() {
    let mut nodes = Nodes::new(1, settings(1, 1));
    let mut out = {
        let Clearance::Pass(pass) = nodes.nodes[0].clearance(at(0)) else { panic!("closed") };
        nodes.raw(0, BreakerInput::Called(pass, CallOutcome::Failure), 0)
    };
    for millis in (0..3_000).step_by(250) {
        if let Some(FleetCall { number, .. }) = out.call {
            let answer = Err(FleetError::Corrupt);
            nodes.raw(0, BreakerInput::Answered { number, answer }, millis);
        }
        out = nodes.raw(0, BreakerInput::Heard { accord: None, at: at(millis) }, millis);
    }
    let alone = |(_, it): &&(usize, BreakerSignal)| matches!(it, BreakerSignal::Alone { .. });
    assert_eq!(nodes.told.iter().filter(alone).count(), 1);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let one = NonZeroU32::MIN;
    let of = |window, lease| BreakerSettings::try_new(one, window, lease);
    assert!(of(Span::SECOND, Span::from_secs(6)).is_ok());
    for window in [Span::from_millis(999), Span::from_micros(Span::DAY.as_micros() + 1)] {
        assert_eq!(of(window, LEASE), Err(BreakerSettingsError::Window(window)));
    }
    for lease in [LEASE_SLACK, Span::from_micros(Span::HOUR.as_micros() + 1)] {
        assert_eq!(of(WINDOW, lease), Err(BreakerSettingsError::Lease(lease)));
    }
}
