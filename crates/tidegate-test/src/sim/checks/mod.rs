//! The properties of the contract of failure, checked over a trace as it grows.
//!
//! Each is a function that carries its number. They keep their own books, by the definitions and with
//! numbers of their own, and ask nothing of the code under test: what a node says about itself is only
//! ever compared. So they serve as well for traces of real processes, with some `slack` for what a
//! recorder of real time cannot see exactly.
//!
//! | file | holds |
//! |---|---|
//! | `lane.rs` | the books of one policy on one node |
//! | `request.rs` | who asks the store, how often, and in which mode that ends |
//! | `breaker.rs` | when the store is not asked any more |
//! | `guard.rs` | what happens if that is too often |
//! | `recovery.rs` | when it is asked again |
//! | `caps.rs` | what local caps admit meanwhile |
//! | `blocks.rs` | the blocks a node knew of before |
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

use self::lane::Lane;
use self::quota::Quotas;
use super::trace::{OpKind, Record, What};

/// What is known in advance of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Law {
    /// Its name.
    pub name: &'static str,
    /// What decides while its store is not trusted.
    pub kind: Kind,
    /// How long its store may take, in microseconds.
    pub deadline: u64,
}

/// What decides while the store of a policy is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The locked caps of logins, after a while in which nothing passes.
    Login,
    /// Likewise those of one-time passwords.
    Otp,
    /// The guardrails of interfaces.
    Guarded,
    /// Those guardrails, and ceilings by address prefix.
    Ceilings {
        /// So many in a second.
        per_second: u64,
    },
    /// Nothing passes for the first half hour of an outage; then the caps of one-time passwords.
    Closed,
    /// A tenth of a window by address prefix, after a while in which nothing passes.
    Spend {
        /// So many in any minute.
        per_minute: u64,
    },
}

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which one.
    pub property: &'static str,
    /// What is wrong.
    pub why: String,
    /// At which record it was noticed.
    pub at: Option<Box<Record>>,
}

/// All checks over one trace.
#[derive(Clone, Debug)]
pub struct Checks {
    laws: Vec<Law>,
    slack: u64,
    nodes: Vec<Vec<Lane>>,
    quotas: Option<Quotas>,
    now: u64,
}

/// Whether a property holds.
type Holds = Result<(), Broken>;

/// So many microseconds.
const SECOND: u64 = 1_000_000;

/// Fails with a property and a reason unless something is so.
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
    /// Checks for some policies on so many nodes. Times may be off by `slack` microseconds.
    #[must_use]
    pub fn new(laws: Vec<Law>, nodes: usize, slack: u64) -> Self {
        let lanes = || laws.iter().map(|law| Lane::new(*law, slack)).collect();
        let nodes = (0..nodes).map(|_| lanes()).collect();
        Self { laws, slack, nodes, quotas: None, now: 0 }
    }

    /// Counts what a policy with a quota for each account and hour admits, too.
    #[must_use]
    pub fn counting(mut self, (policy, hourly): (u8, u64)) -> Self {
        self.quotas = Some(Quotas::new(policy, hourly));
        self
    }

    /// Looks at the next record.
    ///
    /// # Errors
    ///
    /// The property that it breaks.
    pub fn push(&mut self, record: &Record) -> Result<(), Broken> {
        self.look(record).map_err(|mut broken| {
            broken.at.get_or_insert_with(|| Box::new(*record));
            broken
        })
    }

    /// Looks at the end of the trace: nothing that was to happen may be missing.
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

    fn look(&mut self, record: &Record) -> Holds {
        if record.at > self.now {
            self.advance(record.at)?;
        }
        let Record { at, node, policy, what } = *record;
        let Some(lanes) = self.nodes.get_mut(usize::from(node)) else { return Ok(()) };
        if let Some(quotas) = &mut self.quotas {
            let lane = lanes.get(usize::from(policy));
            quotas.push(record, |request| lane.and_then(|lane| lane.requests.get(&request)))?;
        }
        match what {
            What::Started => {
                for (lane, law) in lanes.iter_mut().zip(&self.laws) {
                    *lane = Lane::started(*law, self.slack, at);
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
            // It concerns everybody who may be blocked.
            What::Sent { kind: OpKind::List, .. } => {
                let logs = |lane: &&Lane| matches!(lane.law.kind, Kind::Login | Kind::Otp);
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

    /// Time has passed.
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

// === impl Kind ===

impl Kind {
    /// Whether nothing passes at the first failure.
    pub(super) const fn is_closed_at_first(self) -> bool {
        self.is_entrance() || matches!(self, Self::Spend { .. })
    }

    /// Whether somebody could get in.
    pub(super) const fn is_entrance(self) -> bool {
        matches!(self, Self::Login | Self::Otp | Self::Closed)
    }
}
