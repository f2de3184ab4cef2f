//! The world of a run: what happens when, from a seed.

use core::cmp::Reverse;
use core::num::NonZeroU32;
use std::collections::BinaryHeap;
use std::sync::Arc;

use tidegate_core::{
    Agreed, BreakerInput, BreakerOutputs, BreakerSettings, BreakerSignal, CallOutcome, Changed,
    Clearance, Fleet, FleetCall, FleetError, FleetStep, Forced, ManualClock, Motion, Pass,
    ProbePass, Span, Timestamp,
};
use tidegate_engine::MemoryFleet;

use super::checks::BreakerChecks;
use super::node::BreakerNode;
use super::tally::BreakerTally;
use crate::ready;
use crate::sim::Rng;

/// Something that happens at a certain time.
#[derive(Clone, Debug)]
enum Happening {
    /// A request arrives at a node.
    Request,
    /// A node looks at its timers, and asks for changes if it is time.
    Tick,
    /// A call of a node reaches the fleet.
    Reaches(FleetCall),
    /// The answer of the fleet reaches the node.
    Returns(u64, Agreed),
    /// The time of a call is over.
    Expires(u64),
    /// A request for changes reaches the fleet.
    Asks(u64),
    /// The changes reach the node.
    Hears(u64, Changed),
    /// A call ends.
    Ends(Pass),
    /// A probe ends.
    Probed(ProbePass),
    /// A fault.
    Misfortune(Misfortune),
}

#[derive(Clone, Copy, Debug)]
enum Misfortune {
    Cut,
    Mend,
    Crash,
    Stand,
    SetClock,
    Forget,
    Operator,
    UpstreamFails,
    UpstreamHeals,
}

/// Something that happens to a node in one of its lives.
#[derive(Debug)]
struct Scheduled {
    at: u64,
    number: u64,
    node: usize,
    life: u64,
    what: Happening,
}

struct FleetWorld {
    rng: Rng,
    settings: BreakerSettings,
    now: u64,
    nodes: Vec<BreakerNode>,
    queue: BinaryHeap<Reverse<Scheduled>>,
    numbers: u64,
    clock: Arc<ManualClock>,
    /// How far the clock of the fleet is ahead.
    ahead: u64,
    fleet: MemoryFleet<Arc<ManualClock>>,
    is_upstream_well: bool,
    /// Whether misfortune is over.
    is_calm: bool,
    checks: BreakerChecks,
    tally: BreakerTally,
}

const NAME: &str = "upstream";
const SECOND: u64 = 1_000_000;
/// When a run begins.
const START: u64 = 1_800_000_000 * SECOND;
/// How long misfortune lasts.
const ROUGH: u64 = 90 * SECOND;
/// The longest that a call takes.
const LONGEST_CALL: u64 = 3 * SECOND;

/// Runs one seed.
///
/// # Errors
///
/// The check that failed.
pub fn run(seed: u64) -> Result<BreakerTally, String> {
    let mut world = FleetWorld::new(seed);
    world.plan();
    let calm = START + ROUGH;
    world.until(calm).and_then(|()| world.calm()).map_err(|why| format!("seed {seed}: {why}"))?;
    Ok(world.tally)
}

// === impl FleetWorld ===

impl FleetWorld {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let number = |number: u64| NonZeroU32::new(u32::try_from(number).unwrap_or(1));
        let number = |it: u64| number(it).unwrap_or(NonZeroU32::MIN);
        // A lease is the longest call, and five seconds.
        let lease = Span::from_micros(LONGEST_CALL + 5 * SECOND);
        let window = Span::from_secs(rng.between(1, 10));
        let settings = BreakerSettings::try_new(number(rng.between(1, 4)), window, lease);
        let settings = settings.expect("the numbers are allowed");
        let settings = settings.closing_after(number(rng.between(1, 3)));
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(START)));
        let nodes = (0..rng.between(2, 5)).map(|_| {
            let (id, ahead) = (rng.next(), Span::from_micros(rng.below(100 * SECOND)));
            BreakerNode::new(settings, id, ahead, START)
        });
        Self {
            nodes: nodes.collect(),
            rng,
            settings,
            now: START,
            queue: BinaryHeap::new(),
            numbers: 0,
            fleet: MemoryFleet::new(9, Arc::clone(&clock)),
            clock,
            ahead: 0,
            is_upstream_well: true,
            is_calm: false,
            checks: BreakerChecks::default(),
            tally: BreakerTally::default(),
        }
    }

    /// Schedules the misfortune of a run, and its first requests.
    fn plan(&mut self) {
        use Misfortune::{
            Crash, Cut, Forget, Mend, Operator, SetClock, Stand, UpstreamFails, UpstreamHeals,
        };
        for node in 0..self.nodes.len() {
            self.checks.start(node);
            self.after(node, 0, Happening::Request);
            self.after(node, 0, Happening::Tick);
        }
        let mut kinds = vec![Cut, Mend, Crash, Crash, UpstreamFails, UpstreamFails, UpstreamHeals];
        // Each of these in some runs only, because it excuses something.
        for kind in [Stand, SetClock, Forget, Operator] {
            kinds.extend(self.rng.one_in(3).then_some(kind));
        }
        for _ in 0..self.rng.between(10, 40) {
            let (node, kind) = (self.any_node(), self.rng.pick(&kinds));
            let after = self.rng.below(ROUGH);
            self.after(node, after, Happening::Misfortune(kind));
        }
    }

    fn any_node(&mut self) -> usize {
        usize::from(self.rng.small(self.nodes.len()))
    }

    fn after(&mut self, node: usize, micros: u64, what: Happening) {
        self.numbers += 1;
        let (at, life) = (self.now + micros, self.nodes[node].life);
        self.queue.push(Reverse(Scheduled { at, number: self.numbers, node, life, what }));
    }

    /// Lets everything happen that is due before `end`.
    fn until(&mut self, end: u64) -> Result<(), String> {
        while let Some(Reverse(next)) = self.queue.pop() {
            if next.at >= end {
                self.queue.push(Reverse(next));
                break;
            }
            self.now = next.at;
            let fleets = Timestamp::from_micros(self.now + self.ahead);
            self.clock.set(fleets);
            self.tally.events += 1;
            let node = &self.nodes[next.node];
            let is_outside = matches!(next.what, Happening::Misfortune(_) | Happening::Reaches(_));
            if node.life != next.life && !is_outside {
                continue;
            }
            if !is_outside && self.now < node.stands_until {
                let wait = node.stands_until - self.now;
                self.after(next.node, wait, next.what);
                continue;
            }
            let is_awaited = node.life == next.life;
            self.happen(next.node, is_awaited, next.what)?;
        }
        self.now = end;
        Ok(())
    }

    /// Misfortune is over: within the time that is promised, everybody has closed.
    fn calm(&mut self) -> Result<(), String> {
        self.is_calm = true;
        self.is_upstream_well = true;
        self.nodes.iter_mut().for_each(|node| node.is_cut = false);
        // Those who stood still hear first what they have missed; then the operator sees what is forced.
        self.until(self.now + SECOND)?;
        (0..self.nodes.len()).try_for_each(|node| self.operate(node, Motion::Lift))?;
        // Calls that began before may fail until now.
        let last_failure = LONGEST_CALL + SECOND;
        let window = self.settings.recovery_window().as_micros();
        let lease = self.settings.lease().as_micros();
        let successes = u64::from(self.settings.success_threshold());
        // One lease for a prober that crashed before, one for each success.
        let promised = window + (1 + successes) * lease + SECOND;
        // A clock that went back may have each of them begin once more; so may a step that was late.
        let bound = if self.checks.is_forgiving { promised + window + lease } else { promised };
        self.until(self.now + last_failure)?;
        // Once everybody has closed, nothing opens again: the upstream is well.
        let end = self.now + bound;
        while self.now < end && self.closed().is_err() {
            self.until(end.min(self.now + SECOND))?;
        }
        self.closed()
    }

    fn closed(&self) -> Result<(), String> {
        let nodes = self.nodes.iter();
        let nodes = nodes.map(|node| (node.breaker.state(), node.breaker.known().generation));
        self.checks.closed(&nodes.collect::<Vec<_>>())
    }

    fn happen(&mut self, node: usize, is_awaited: bool, what: Happening) -> Result<(), String> {
        match what {
            Happening::Request => {
                let gap = self.rng.between(1_000, 200_000);
                self.after(node, gap, Happening::Request);
                self.request(node)
            }
            Happening::Tick => {
                self.after(node, 125_000, Happening::Tick);
                self.poll(node);
                self.step(node, BreakerInput::Poll)?;
                let BreakerNode { breaker, reached_since, .. } = &self.nodes[node];
                let known = breaker.known().generation;
                self.checks.adopted(node, known, *reached_since, self.now)
            }
            Happening::Reaches(call) => self.reaches(node, call, is_awaited),
            Happening::Returns(number, agreed) => {
                self.step(node, BreakerInput::Answered { number, answer: Ok(agreed) })
            }
            Happening::Expires(number) => {
                let answer = Err(FleetError::Timeout);
                self.step(node, BreakerInput::Answered { number, answer })
            }
            Happening::Asks(poll) => {
                let changed = ready(self.fleet.changed_since(self.nodes[node].cursor));
                let changed = changed.map_err(|error| error.to_string())?;
                if let Some(delay) = self.delay(node) {
                    self.after(node, delay, Happening::Hears(poll, changed));
                }
                Ok(())
            }
            Happening::Hears(poll, changed) => self.hears(node, poll, &changed),
            Happening::Ends(pass) => {
                let outcome = self.outcome();
                self.step(node, BreakerInput::Called(pass, outcome))
            }
            Happening::Probed(pass) => {
                let outcome = self.outcome();
                self.step(node, BreakerInput::Probed(pass, outcome))
            }
            Happening::Misfortune(what) if !self.is_calm => self.befall(node, what),
            Happening::Misfortune(_) => Ok(()),
        }
    }

    fn request(&mut self, node: usize) -> Result<(), String> {
        let now = self.nodes[node].clock(self.now);
        match self.nodes[node].breaker.clearance(now) {
            Clearance::Wait(wait) if wait.is_zero() => Err("a wait of nothing".to_owned()),
            Clearance::Wait(_) => Ok(()),
            Clearance::Try => self.step(node, BreakerInput::Ask),
            Clearance::Pass(pass) => {
                self.tally.calls += 1;
                self.checks.calls(node)?;
                let lasts = self.lasts();
                self.after(node, lasts, Happening::Ends(pass));
                Ok(())
            }
        }
    }

    fn step(&mut self, node: usize, input: BreakerInput) -> Result<(), String> {
        let out = self.nodes[node].step(input, self.now);
        self.follow(node, &out)
    }

    fn follow(&mut self, node: usize, out: &BreakerOutputs) -> Result<(), String> {
        let state = self.nodes[node].breaker.state();
        self.checks.told(node, &out.signals, state)?;
        for signal in &out.signals {
            self.tally.changes += u64::from(matches!(signal, BreakerSignal::Changed(_)));
            self.tally.lost += u64::from(matches!(signal, BreakerSignal::Lost { .. }));
        }
        if let Some(call) = out.call {
            if let Some(delay) = self.delay(node) {
                self.after(node, delay, Happening::Reaches(call));
            }
            self.after(node, 100_000, Happening::Expires(call.number));
        }
        if let Some(pass) = out.probe {
            let lasts = if self.rng.one_in(8) { 0 } else { self.lasts() };
            let holder = pass.is_agreed().then(|| pass.holder());
            self.tally.agreed += u64::from(pass.is_agreed());
            self.tally.alone += u64::from(!pass.is_agreed());
            self.checks.probes(node, holder, (self.now, self.now + lasts))?;
            self.after(node, lasts, Happening::Probed(pass));
        }
        Ok(())
    }

    fn reaches(&mut self, node: usize, call: FleetCall, is_awaited: bool) -> Result<(), String> {
        let agreed = self.agree(call.step)?;
        if let Some(delay) = self.delay(node).filter(|_| is_awaited) {
            self.after(node, delay, Happening::Returns(call.number, agreed));
        }
        Ok(())
    }

    fn agree(&mut self, step: FleetStep) -> Result<Agreed, String> {
        let agreed = ready(self.fleet.agree(NAME, step)).map_err(|error| error.to_string())?;
        self.checks.agreed(&step, &agreed, self.now)?;
        Ok(agreed)
    }

    /// An operator changes the record from this node, with the latest generation in his hand.
    fn operate(&mut self, node: usize, motion: Motion) -> Result<(), String> {
        let record = self.agree(FleetStep { seen: 0, motion: Motion::Lift })?.accord;
        let seen = self.nodes[node].breaker.known().generation.max(record.generation);
        self.agree(FleetStep { seen, motion }).map(|_| ())
    }

    /// Asks for changes, if it is time.
    fn poll(&mut self, node: usize) {
        let now = self.now;
        let polled = &mut self.nodes[node];
        if polled.polled_at.is_some_and(|at| now < at + 250_000) {
            return;
        }
        polled.polled_at = Some(now);
        polled.poll += 1;
        let poll = polled.poll;
        if let Some(delay) = self.delay(node) {
            self.after(node, delay, Happening::Asks(poll));
        }
    }

    fn hears(&mut self, node: usize, poll: u64, changed: &Changed) -> Result<(), String> {
        let hearing = &mut self.nodes[node];
        if hearing.poll != poll {
            return Ok(());
        }
        hearing.cursor = changed.cursor;
        let accord = changed.accords.first().map(|(_, accord)| *accord);
        if accord.is_none() && !hearing.breaker.wants_contact() {
            return Ok(());
        }
        self.step(node, BreakerInput::Heard { accord, at: changed.at })
    }

    fn befall(&mut self, node: usize, what: Misfortune) -> Result<(), String> {
        let it = &mut self.nodes[node];
        match what {
            Misfortune::Cut => it.is_cut = true,
            Misfortune::Mend => it.is_cut = false,
            Misfortune::Crash => {
                self.tally.crashed += u64::from(it.breaker.wants_contact());
                let (id, ahead) = (self.rng.next(), Span::from_micros(self.rng.below(SECOND)));
                it.crash(self.settings, id, ahead, self.now);
                self.checks.start(node);
                self.after(node, 10_000, Happening::Request);
                self.after(node, 10_000, Happening::Tick);
            }
            Misfortune::Stand => {
                let until = self.now + self.rng.below(20 * SECOND);
                let it = &mut self.nodes[node];
                it.stands_until = until.min(START + ROUGH).max(it.stands_until);
                it.reached_since = it.stands_until.max(it.reached_since);
            }
            Misfortune::SetClock => {
                self.ahead = self.rng.below(60 * SECOND);
                self.checks.is_forgiving = true;
            }
            Misfortune::Forget => {
                self.fleet = MemoryFleet::new(9, Arc::clone(&self.clock));
                self.checks.lose();
            }
            Misfortune::Operator => {
                self.checks.is_forgiving = true;
                let motions = [Motion::Force(Forced::Open), Motion::Force(Forced::Closed)];
                let motion = self.rng.pick(&[motions[0], motions[1], Motion::Lift]);
                return self.operate(node, motion);
            }
            Misfortune::UpstreamFails => self.is_upstream_well = false,
            Misfortune::UpstreamHeals => self.is_upstream_well = true,
        }
        Ok(())
    }

    /// How long a message takes; `None` if it gets lost.
    fn delay(&mut self, node: usize) -> Option<u64> {
        if self.is_calm {
            return Some(self.rng.between(100, 20_000));
        }
        let delay = match self.rng.below(30) {
            _ if self.nodes[node].is_cut => None,
            0 => None,
            1 => Some(self.rng.below(12 * SECOND)),
            _ => Some(self.rng.between(100, 60_000)),
        };
        if delay.is_none_or(|delay| delay > 60_000) {
            let reached = &mut self.nodes[node].reached_since;
            *reached = self.now.max(*reached);
        }
        delay
    }

    fn lasts(&mut self) -> u64 {
        match self.rng.below(10) {
            0 => LONGEST_CALL,
            1 | 2 => self.rng.between(1_000, LONGEST_CALL),
            _ => self.rng.between(1_000, 100_000),
        }
    }

    fn outcome(&mut self) -> CallOutcome {
        match self.is_upstream_well {
            _ if !self.is_calm && self.rng.one_in(10) => CallOutcome::Neutral,
            true => CallOutcome::Success,
            false => CallOutcome::Failure,
        }
    }
}

// === impl Scheduled ===

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
