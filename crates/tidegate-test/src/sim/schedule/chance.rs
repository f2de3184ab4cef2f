//! Random choices for a schedule: clients, faults, places and pauses, with a bias towards what
//! matters.

use super::Writer;
use crate::sim::fault::{Fault, Reach, Way};
use crate::sim::hub::{NODES, POLICIES};
use crate::sim::step::{Client, OperatorVerb};

// === impl Writer ===

impl Writer {
    pub(super) fn client(&mut self) -> Client {
        let account = self.rng.below(6);
        Client {
            account: (!self.rng.one_in(12)).then(|| u32::try_from(account).unwrap_or(0)),
            prefix: (!self.rng.one_in(20)).then(|| u32::from(self.rng.small(5))),
            agent: (!self.rng.one_in(6)).then(|| self.rng.small(3)),
            vouched: self.rng.one_in(10),
        }
    }

    pub(super) fn fault(&mut self) -> Fault {
        let way = match self.rng.below(10) {
            0 => Way::Slow,
            1 => Way::Mixed,
            _ => self.rng.pick(&Way::BAD),
        };
        let reach = match self.rng.below(8) {
            0 => Reach::Requests,
            1 => Reach::Probes,
            2 => Reach::Amends,
            _ => Reach::All,
        };
        let turns = match self.rng.below(8) {
            0 => (self.pause().max(1), self.pause().max(1)),
            1 => (self.rng.pick(&[1, 5_000_000, 9_000_000]), 130_000_000),
            _ => (0, 0),
        };
        Fault { way, reach, turns }
    }

    pub(super) fn verb(&mut self) -> OperatorVerb {
        match self.rng.below(6) {
            0 | 1 => {
                let lasts = self.rng.pick(&[1_000, 60_000_000, 900_000_000, 7_200_000_000]);
                OperatorVerb::Block(lasts, self.rng.one_in(2))
            }
            2 => OperatorVerb::Unblock,
            3 => OperatorVerb::Reset,
            4 => OperatorVerb::List,
            _ => OperatorVerb::Lift,
        }
    }

    pub(super) fn pause(&mut self) -> u64 {
        self.rng.pick(&[
            1, 100, 1_000, 50_000, 100_000, 250_000, 1_000_000, 1_999_999, 3_000_000, 5_000_000,
            8_000_000, 20_000_000, 60_000_000,
        ])
    }

    pub(super) fn some_node(&mut self) -> u8 {
        if self.rng.one_in(2) { self.node } else { self.rng.small(NODES) }
    }

    pub(super) fn some_policy(&mut self) -> u8 {
        if self.rng.one_in(2) { self.policy } else { self.rng.small(POLICIES) }
    }

    pub(super) fn some_nodes(&mut self) -> u8 {
        if self.rng.one_in(3) { 1 << self.node } else { u8::MAX }
    }

    pub(super) fn some_policies(&mut self) -> u8 {
        if self.rng.one_in(3) { 1 << self.policy } else { u8::MAX }
    }
}
