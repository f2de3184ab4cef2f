//! Schedules made from seeds: what an attacker, a bad day and a bad network do to a fleet.
//!
//! Steps chosen one by one hardly ever bring a store down four times in half an hour, to the microsecond.
//! So most of a schedule is made of small plots: an outage from its first failure to its end, a run on
//! one account, a flood. Between them anything may happen.

mod chance;

use super::counters::Damage;
use super::fault::{Fault, Reach, Way};
use super::hub::{NODES, POLICIES};
use super::policies::QUOTA;
use super::rng::Rng;
use super::step::{Landmark, Over, SimStep};

/// The largest number of steps in a schedule.
pub const MOST: usize = 2_000;

/// Spans at whose end some rule changes its answer, in seconds.
const EDGES: [u64; 12] = [2, 4, 5, 10, 60, 120, 300, 305, 600, 900, 1_500, 1_800];

/// The policy with a calendar quota.
const HOURLY: u8 = QUOTA.0;

/// The events of one simulation.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The seed from which the schedule was made.
    pub seed: u64,
    /// Number of nodes.
    pub nodes: usize,
    /// The events, in order.
    pub steps: Vec<SimStep>,
}

/// Writes the steps of a schedule.
struct Writer {
    rng: Rng,
    steps: Vec<SimStep>,
    /// The policy that this schedule is mostly about.
    policy: u8,
    node: u8,
}

// === impl Schedule ===

impl Schedule {
    /// The schedule of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x7469_6465);
        let nodes = usize::try_from(rng.between(1, NODES as u64)).unwrap_or(1);
        // Most schedules are short, so that many are tried; some are as long as allowed.
        let most = match rng.below(8) {
            0 => MOST as u64,
            1 | 2 => rng.between(400, 1_200),
            _ => rng.between(40, 400),
        };
        let (policy, node) = (rng.small(POLICIES), rng.small(nodes));
        let mut writer = Writer { rng, steps: Vec::new(), policy, node };
        let most = usize::try_from(most).unwrap_or(MOST);
        writer.begin();
        while writer.steps.len() < most {
            writer.plot();
        }
        writer.steps.truncate(most);
        Self { seed, nodes, steps: writer.steps }
    }
}

// === impl Writer ===

impl Writer {
    /// Lets some fleets start with a store that fails.
    fn begin(&mut self) {
        if self.rng.one_in(4) {
            let fault = self.fault();
            self.steps.push(SimStep::Break { nodes: u8::MAX, policies: u8::MAX, fault });
        }
    }

    fn plot(&mut self) {
        match self.rng.below(20) {
            0..=4 => self.outage(),
            5 | 6 => self.run_on_an_account(),
            7 => self.flood(),
            8 => self.flapping(),
            9 => self.block_then_outage(),
            10 => self.damage(),
            11 => self.operators(),
            12 => self.two_primaries(),
            13 => self.hours_end(),
            _ => {
                for _ in 0..self.rng.between(1, 12) {
                    self.anything();
                }
            }
        }
    }

    /// Plot: the store fails, is missed, recovers, and is trusted again, more or less.
    fn outage(&mut self) {
        let (nodes, policies) = (self.some_nodes(), self.some_policies());
        let fault = self.fault();
        self.steps.push(SimStep::Break { nodes, policies, fault });
        for _ in 0..self.rng.between(1, 6) {
            self.ask();
            if self.rng.one_in(2) {
                let pause = self.pause();
                self.steps.push(SimStep::Wait(pause));
            }
        }
        let pause = self.rng.pick(&[100_000, 4_000_000, 10_000_000, 11_000_000, 100_000_000]);
        self.steps.push(SimStep::Wait(pause));
        for _ in 0..self.rng.between(0, 8) {
            self.ask();
        }
        if self.rng.one_in(8) {
            return;
        }
        self.steps.push(SimStep::Break { nodes: u8::MAX, policies: u8::MAX, fault: Fault::NONE });
        match self.rng.below(4) {
            0 => self.edge(),
            1 => self.steps.push(SimStep::Wait(310_000_000)),
            2 => {
                let after = self.rng.pick(&[120, 125, 130, 300, 305]);
                let of = self.rng.pick(&[Landmark::Entry, Landmark::Heal]);
                self.steps.push(SimStep::WaitEdge { of, after, off: self.rng.small(3) });
            }
            _ => {}
        }
    }

    /// Plot: the store fails and recovers again and again, as soon as it is trusted.
    fn flapping(&mut self) {
        for _ in 0..self.rng.between(2, 6) {
            let policies = 1 << self.policy | self.some_policies();
            let fault = Fault::of(self.rng.pick(&[Way::Unavailable, Way::Stalls]));
            self.steps.push(SimStep::Break { nodes: u8::MAX, policies, fault });
            for _ in 0..self.rng.between(3, 5) {
                let (node, client) = (self.node, self.client());
                self.steps.push(SimStep::Ask { node, policy: self.policy, client, peek: false });
            }
            self.steps.push(SimStep::Wait(self.rng.pick(&[300_000, 6_000_000, 10_000_000])));
            self.steps.push(SimStep::Break { nodes: u8::MAX, policies, fault: Fault::NONE });
            let off = self.rng.small(3);
            self.steps.push(SimStep::WaitEdge { of: Landmark::Entry, after: 305, off });
            if self.rng.one_in(3) {
                self.ask();
            }
        }
        if self.rng.one_in(2) {
            let off = self.rng.small(3);
            self.steps.push(SimStep::WaitEdge { of: Landmark::Change, after: 600, off });
        }
    }

    /// Plot: a client tries one account as often as possible, at the times when that might help.
    fn run_on_an_account(&mut self) {
        let client = self.client();
        let policy = if self.rng.one_in(3) { 1 } else { 0 };
        for _ in 0..self.rng.between(3, 10) {
            let tries = self.rng.between(1, 5);
            for _ in 0..tries {
                self.steps.push(SimStep::Ask { node: self.node, policy, client, peek: false });
            }
            if self.rng.one_in(3) {
                self.steps.push(SimStep::Settle(0));
            }
            let after = if policy == 0 { 600 } else { 900 };
            let of = self.rng.pick(&[Landmark::Admitted, Landmark::FirstAdmitted]);
            self.steps.push(SimStep::WaitEdge { of, after, off: self.rng.small(3) });
        }
    }

    /// Plot: attempts until there are blocks, and then no store to ask about them.
    fn block_then_outage(&mut self) {
        let (client, policy) = (self.client(), self.rng.small(2));
        for _ in 0..self.rng.between(4, 12) {
            self.steps.push(SimStep::Ask { node: self.node, policy, client, peek: false });
        }
        let fault = Fault::of(self.rng.pick(&Way::BAD));
        self.steps.push(SimStep::Break { nodes: u8::MAX, policies: u8::MAX, fault });
        for _ in 0..6 {
            self.steps.push(SimStep::Ask { node: self.node, policy, client, peek: false });
            self.steps
                .push(SimStep::Wait(self.rng.pick(&[1_000, 2_000_000, 14_999_999, 15_000_001])));
        }
    }

    fn flood(&mut self) {
        let (node, policy, client) = (self.some_node(), self.some_policy(), self.client());
        let over = self.rng.pick(&[
            Over::Nothing,
            Over::Accounts,
            Over::Prefixes,
            Over::Agents,
            Over::Both,
        ]);
        // Now and then there are more keys than a node counts by themselves.
        let count = if self.rng.one_in(400) { 17_000 } else { self.rng.pick(&[5, 25, 70, 130]) };
        self.steps.push(SimStep::Flood { node, policy, count, over, client });
        self.steps.push(SimStep::Wait(self.rng.pick(&[0, 1_000, 250_000, 30_000_000, 59_999_999])));
        let client = client.other(Over::Both, self.rng.pick(&[0, 1, 3]));
        self.steps.push(SimStep::Flood { node, policy, count: 10, over: Over::Nothing, client });
    }

    /// Plot: counters are damaged, and some requests find out.
    fn damage(&mut self) {
        let mark = self.rng.pick(&[Damage::Corrupt, Damage::Corrupt, Damage::Version]);
        let one_in = self.rng.pick(&[1, 2, 10, 50]);
        self.steps.push(SimStep::Spoil { mark, one_in, first: self.rng.below(50) });
        if self.rng.one_in(3) {
            let (nodes, policies) = (self.some_nodes(), self.some_policies());
            let fault = Fault::of(Way::Slow);
            self.steps.push(SimStep::Break { nodes, policies, fault });
        }
        if self.rng.one_in(3) {
            // Everything works except creating a counter anew.
            let way = self.rng.pick(&[Way::Slow, Way::Stalls, Way::Lies, Way::Unavailable]);
            let fault = Fault { reach: Reach::Amends, ..Fault::of(way) };
            self.steps.push(SimStep::Break { nodes: u8::MAX, policies: u8::MAX, fault });
        }
        for _ in 0..self.rng.between(2, 8) {
            self.ask();
        }
        if mark == Damage::Version || self.rng.one_in(2) {
            self.steps.push(SimStep::Wait(20_000_000));
            self.steps.push(SimStep::Spoil { mark: Damage::Fine, one_in: 1, first: 0 });
        }
    }

    /// Plot: operators act on a client that goes on trying, and the store may fail meanwhile.
    fn operators(&mut self) {
        let (client, policy) = (self.client(), self.rng.small(3));
        let breaks = self.rng.below(8);
        for number in 0..self.rng.between(3, 8) {
            if number == breaks {
                let fault = self.fault();
                self.steps.push(SimStep::Break { nodes: u8::MAX, policies: u8::MAX, fault });
            }
            let verb = self.verb();
            self.steps.push(SimStep::Operate { node: self.node, policy, client, verb });
            for _ in 0..self.rng.between(0, 4) {
                self.steps.push(SimStep::Ask { node: self.node, policy, client, peek: false });
            }
            let pause = self.pause();
            self.steps.push(SimStep::Wait(pause));
        }
    }

    /// Plot: a primary is taken for dead but goes on as long as nodes ask it; then one of the two
    /// histories is lost.
    fn two_primaries(&mut self) {
        self.steps.push(SimStep::Split(self.rng.small(8)));
        let client = self.client();
        for _ in 0..self.rng.between(1, 4) {
            let (node, policy) = (self.rng.small(NODES), self.some_policy());
            let count = self.rng.pick(&[3, 25, 60]);
            let over = self.rng.pick(&[Over::Nothing, Over::Nothing, Over::Prefixes]);
            self.steps.push(SimStep::Flood { node, policy, count, over, client });
            let pause = self.pause();
            self.steps.push(SimStep::Wait(pause));
        }
        if !self.rng.one_in(6) {
            self.steps.push(SimStep::Join(self.rng.small(2)));
        }
        self.ask();
    }

    /// Plot: calendar periods end while requests are on their way to a slow store.
    fn hours_end(&mut self) {
        let way = self.rng.pick(&[Way::Slow, Way::Slow, Way::Works, Way::Mixed, Way::Stalls]);
        self.steps.push(SimStep::Break {
            nodes: u8::MAX,
            policies: 1 << HOURLY,
            fault: Fault::of(way),
        });
        for _ in 0..self.rng.between(2, 6) {
            let (node, client) = (self.some_node(), self.client());
            let peek = self.rng.one_in(10);
            self.steps.push(SimStep::Ask { node, policy: HOURLY, client, peek });
            let jump = self.rng.pick(&[3_600_000_000, 7_200_000_000, -3_600_000_000]);
            self.steps.push(SimStep::Jump(jump));
            self.steps.push(SimStep::Ask { node, policy: HOURLY, client, peek });
            let pause = self.pause();
            self.steps.push(SimStep::Wait(pause));
        }
        self.steps.push(SimStep::Break { nodes: u8::MAX, policies: u8::MAX, fault: Fault::NONE });
    }

    fn anything(&mut self) {
        let step = match self.rng.below(26) {
            0..=8 => return self.ask(),
            9..=12 => SimStep::Wait(self.pause()),
            13 => SimStep::WaitDue,
            14 => return self.edge(),
            15 => SimStep::Settle(u16::from(self.rng.small(8))),
            16 => SimStep::Leave(u16::from(self.rng.small(4))),
            17 => SimStep::Poll(self.some_node()),
            18 => {
                let jump = self.rng.pick(&[1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000]);
                SimStep::Jump(if self.rng.one_in(2) { jump } else { -jump })
            }
            19 => {
                let without = self.rng.one_in(2).then(|| self.some_policy());
                SimStep::Reload { node: self.some_node(), without }
            }
            20 if self.rng.one_in(4) => SimStep::Restart(self.some_node()),
            21 if self.rng.one_in(4) => SimStep::Forget,
            22 => {
                let (nodes, policies, fault) =
                    (self.some_nodes(), self.some_policies(), self.fault());
                SimStep::Break { nodes, policies, fault }
            }
            23 => SimStep::Break { nodes: u8::MAX, policies: u8::MAX, fault: Fault::NONE },
            24 => {
                let (node, policy, client) = (self.some_node(), self.some_policy(), self.client());
                SimStep::Operate { node, policy, client, verb: self.verb() }
            }
            25 if self.rng.one_in(2) => SimStep::Split(self.rng.small(8)),
            25 => SimStep::Join(self.rng.small(2)),
            _ => return self.ask(),
        };
        self.steps.push(step);
    }

    fn ask(&mut self) {
        let (node, policy, client) = (self.some_node(), self.some_policy(), self.client());
        let peek = self.rng.one_in(20);
        self.steps.push(SimStep::Ask { node, policy, client, peek });
    }

    fn edge(&mut self) {
        let of = self.rng.pick(&[
            Landmark::Failure,
            Landmark::Change,
            Landmark::Entry,
            Landmark::Admitted,
            Landmark::FirstAdmitted,
            Landmark::Heal,
        ]);
        let (after, off) = (self.rng.pick(&EDGES), self.rng.small(3));
        self.steps.push(SimStep::WaitEdge { of, after, off });
    }
}
