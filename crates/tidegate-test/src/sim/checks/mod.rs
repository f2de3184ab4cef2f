//! The properties of the contract of failure, checked over a trace as it grows.
//!
//! Each is a function that carries its number. They keep their own records, by the definitions and
//! with numbers of their own, and rely on nothing from the code under test: anything that a node
//! says about itself is only compared with them. So they also work for traces of real processes,
//! with some `slack` for times that a recorder cannot see exactly.
//!
//! | file | holds |
//! |---|---|
//! | `lane.rs` | the state of one policy on one node |
//! | `request.rs` | whether and how often a request asks the store, and its mode |
//! | `breaker.rs` | when the store is no longer asked |
//! | `guard.rs` | what happens if local caps take over too often |
//! | `recovery.rs` | when the store is asked again |
//! | `caps.rs` | what local caps admit while the store is not asked |
//! | `blocks.rs` | the blocks that a node knew of before an outage |
//! | `outage.rs` | how long closed policies stay closed |
//! | `quota.rs` | what a store that loses counts admits |
//! | `told.rs` | what observers and hosts are told |

mod blocks;
mod breaker;
mod caps;
mod guard;
mod lane;
mod outage;
mod quota;
mod recovery;
mod request;
mod told;

use core::fmt;

use tidegate_core::Mode;

use self::lane::PolicyLane;
use self::quota::QuotaCheck;
use super::trace::{Observation, OpKind, What};

/// The facts about a policy that the checks know in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    /// The name of the policy.
    pub name: &'static str,
    /// What decides while the policy's store is not trusted.
    pub kind: FallbackKind,
    /// How long the policy's store may take, in microseconds.
    pub deadline: u64,
}

/// What decides while the store of a policy is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackKind {
    /// The locked caps of logins, after a while in which nothing passes.
    Login,
    /// The locked caps of one-time passwords, after a while in which nothing passes.
    Otp,
    /// The guardrails of interfaces.
    Guarded,
    /// The guardrails of interfaces, and ceilings by address prefix.
    Ceilings {
        /// Requests that the ceiling allows in a second.
        per_second: u64,
    },
    /// Nothing passes for the first half hour of an outage; then the caps of one-time passwords.
    Closed,
    /// A tenth of a window by address prefix, after a while in which nothing passes.
    Spend {
        /// Requests that one prefix may make in any minute.
        per_minute: u64,
    },
    /// A part of a window by address prefix.
    Outbound {
        /// Requests that one prefix may make in any minute.
        per_minute: u64,
    },
}

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The property's number, such as `P24`.
    pub property: &'static str,
    /// What is wrong.
    pub why: String,
    /// The record at which it was noticed.
    pub at: Option<Box<Observation>>,
}

/// All checks over one trace.
#[derive(Clone, Debug)]
pub struct Checks {
    laws: Vec<Law>,
    slack: u64,
    nodes: Vec<Vec<PolicyLane>>,
    quotas: Option<QuotaCheck>,
    now: u64,
}

/// `Ok` if a property holds, or how it is broken.
type Holds = Result<(), Broken>;

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;

/// Returns an error with a property and a reason unless the condition is true.
macro_rules! holds {
    ($so:expr, $property:literal, $($why:tt)+) => {
        if !$so {
            return Err($crate::sim::checks::Broken {
                property: $property,
                why: format!($($why)+),
                at: None,
            });
        }
    };
}
use holds;

// === impl Checks ===

impl Checks {
    /// Checks for some policies on `nodes` nodes. Times may be off by `slack` microseconds.
    #[must_use]
    pub fn new(laws: Vec<Law>, nodes: usize, slack: u64) -> Self {
        let lanes = || laws.iter().map(|law| PolicyLane::new(*law, slack)).collect();
        let nodes = (0..nodes).map(|_| lanes()).collect();
        Self { laws, slack, nodes, quotas: None, now: 0 }
    }

    /// Also counts what a policy with a quota for each account and hour admits.
    #[must_use]
    pub fn counting(mut self, (policy, hourly): (u8, u64)) -> Self {
        self.quotas = Some(QuotaCheck::new(policy, hourly));
        self
    }

    /// Checks the next record.
    ///
    /// # Errors
    ///
    /// The property that the record breaks.
    pub fn push(&mut self, record: &Observation) -> Result<(), Broken> {
        self.look(record).map_err(|mut broken| {
            broken.at.get_or_insert_with(|| Box::new(*record));
            broken
        })
    }

    /// Checks the end of the trace: nothing that had to happen may be missing.
    ///
    /// # Errors
    ///
    /// The property that is broken.
    pub fn finish(&mut self, at: u64) -> Result<(), Broken> {
        self.advance(at)?;
        for lane in self.nodes.iter().flatten() {
            lane.p79_everything_is_told()?;
            request::p09_nobody_waits_for_ever(lane, at)?;
        }
        Ok(())
    }

    fn look(&mut self, record: &Observation) -> Holds {
        if record.at > self.now {
            self.advance(record.at)?;
        }
        let Observation { at, node, policy, what } = *record;
        let Some(lanes) = self.nodes.get_mut(usize::from(node)) else { return Ok(()) };
        if let Some(quotas) = &mut self.quotas {
            let lane = lanes.get(usize::from(policy));
            quotas.push(record, |request| lane.and_then(|lane| lane.requests.get(&request)))?;
        }
        match what {
            What::Started => {
                for (lane, law) in lanes.iter_mut().zip(&self.laws) {
                    *lane = PolicyLane::started(*law, self.slack, at);
                }
                return Ok(());
            }
            What::InForce(bits) => {
                for (place, lane) in lanes.iter_mut().enumerate() {
                    lane.in_force(bits >> place & 1 == 1, at);
                }
                return Ok(());
            }
            What::Lost => {
                return lanes.iter_mut().try_for_each(|lane| lane.lost(at));
            }
            // A list concerns every policy whose counters may be blocked.
            What::Sent { kind: OpKind::List, .. } => {
                let logs = |lane: &&PolicyLane| {
                    matches!(lane.law.kind, FallbackKind::Login | FallbackKind::Otp)
                };
                return lanes.iter().filter(logs).filter(|lane| lane.in_force).try_for_each(
                    |lane| recovery::p19_p52_p63_only_probes_are_sent(lane, OpKind::List),
                );
            }
            _ => {}
        }
        let Some(lane) = lanes.get_mut(usize::from(policy)) else { return Ok(()) };
        lane.push(at, &what)?;
        if let What::Decided { answer, .. } = what
            && answer.admitted
            && answer.mode != Mode::Normal
        {
            let (node, policy) = (usize::from(node), usize::from(policy));
            caps::p31_the_fleet_admits_so_many_times_as_much(&self.nodes, node, policy)?;
        }
        Ok(())
    }

    /// Moves time on, and checks everything that was due before.
    fn advance(&mut self, now: u64) -> Holds {
        self.now = now;
        for (node, lanes) in self.nodes.iter_mut().enumerate() {
            for (policy, lane) in lanes.iter_mut().enumerate() {
                lane.pass(now).map_err(|mut broken| {
                    broken.why = format!("node {node}, policy {policy}: {}", broken.why);
                    broken
                })?;
            }
        }
        Ok(())
    }
}

// === impl Broken ===

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.why)?;
        match &self.at {
            Some(record) => write!(f, "; at {record}"),
            None => Ok(()),
        }
    }
}

// === impl FallbackKind ===

impl FallbackKind {
    /// Whether nothing passes from the first failure on.
    pub(super) const fn is_closed_at_first(self) -> bool {
        self.is_entrance() || matches!(self, Self::Spend { .. })
    }

    /// Whether the policy guards an entrance, where somebody could get in.
    pub(super) const fn is_entrance(self) -> bool {
        matches!(self, Self::Login | Self::Otp | Self::Closed)
    }
}
