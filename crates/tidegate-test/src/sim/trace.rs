//! Traces: what was observed of some nodes, as data.
//!
//! A trace does not depend on how it was recorded: the simulation makes one, and so can a program
//! that wraps the store of a real process and listens to its events. Times are microseconds on one
//! clock for the whole trace. Records of one instant are in the order in which things happened.

use core::fmt;

use tidegate_core::{Alarm, Decision, Level, Mode, Name, Retry, Signal, Span, Standing, Verdict};
use tidegate_engine::Event;

/// One observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The time of the observation, in microseconds.
    pub at: u64,
    /// The node that was observed.
    pub node: u8,
    /// The index of the policy that was observed; zero if the observation concerns all policies.
    pub policy: u8,
    /// What was observed.
    pub what: What,
}

/// The kinds of observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The node has started, with an empty memory.
    Started,
    /// The policies in force, one bit for each, beginning with the lowest.
    InForce(u32),
    /// A request came in.
    Asked {
        /// The number of the request.
        request: u32,
        /// The client that made the request.
        who: SimClient,
        /// Whether the request is counted, or only a peek.
        counted: bool,
    },
    /// An operation was sent to the store.
    Sent {
        /// The number of the operation.
        op: u32,
        /// The reason for the operation.
        by: StoreErrand,
        /// The kind of operation.
        kind: OpKind,
    },
    /// An operation on the store has ended, with an answer or without.
    Done {
        /// The number of the operation.
        op: u32,
        /// The outcome of the operation.
        outcome: StoreOutcome,
    },
    /// A request was decided.
    Decided {
        /// The number of the request.
        request: u32,
        /// The answer to the request.
        answer: RequestAnswer,
    },
    /// The client of a request has gone, and will not get an answer.
    Gone {
        /// The number of the request.
        request: u32,
    },
    /// A request was shed, without a decision: more were under way than the node allows.
    Shed {
        /// The number of the request.
        request: u32,
    },
    /// Observers were told of a decision.
    Observed {
        /// The mode of the decision.
        mode: Mode,
        /// Whether the request was admitted.
        admitted: bool,
    },
    /// Observers were sent a signal about the policy; its times are those of the trace.
    Told(Signal),
    /// The node has noticed that the store may have lost counts.
    Lost,
    /// The store has told an operator the state of a counter that the operator changed.
    Amended {
        /// The number of the counter.
        counter: u64,
        /// For how many microseconds the counter is blocked.
        blocked: u64,
    },
    /// Known from outside: the clock of the store is this many microseconds ahead of the trace.
    Clock(u64),
    /// Known from outside: the store has lost counts.
    Forgets,
    /// Known from outside: this many primaries keep counts, each its own. When two become one, the
    /// counts of one are lost.
    Primaries(u8),
    /// A host has asked how the policy stands.
    Stood(Standing),
    /// Known from outside: from now on the store treats the policy in this way.
    Truth(Truth),
}

/// The client of a request, as numbers that tell clients apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimClient {
    /// The account, if known.
    pub account: Option<u64>,
    /// The address prefix, if known.
    pub prefix: Option<u64>,
    /// The agent, if known.
    pub agent: Option<u64>,
}

/// Why the store was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrand {
    /// The store was asked to decide the request with this number.
    Request(u32),
    /// The store was asked to see whether it works.
    Probe,
    /// The store was asked because the host reported what a request really was.
    Host,
    /// The store was asked because an operator wanted something.
    Operator,
}

/// The kind of a store operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Charges counters.
    Charge,
    /// Peeks at counters.
    Peek,
    /// Settles a ticket.
    Settle,
    /// Amends a counter.
    Amend,
    /// Lists the blocks that hold, or lifts one by its name, whatever its policy.
    List,
    /// Tries whether the store works.
    Probe,
}

/// The outcome of a store operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreOutcome {
    /// The operation was done.
    Good,
    /// The store failed: it was not reachable, not in time or too busy.
    Failed,
    /// The store does not permit the operation.
    Refused,
    /// The counter with this number is unreadable.
    Corrupt(u64),
    /// A counter was written by another version.
    Version,
    /// The store needs other calendar periods; the operation was not done.
    Stale,
    /// The operation was shed, because there were too many at once; it was not done, and it is no
    /// failure.
    Shed,
}

/// How the store treats a policy on a node, as the test that breaks it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// Everything works, in time.
    Good,
    /// Everything fails, in a way that counts.
    Bad,
    /// Something in between: only some operations fail, or only at times.
    Odd,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestAnswer {
    /// The mode in which the request was decided.
    pub mode: Mode,
    /// Whether the request was admitted.
    pub admitted: bool,
    /// The wait in microseconds, if the answer has one.
    pub wait: Option<u64>,
    /// How much is left of the local cap that decided, if one did.
    pub left: Option<u64>,
    /// The block that refuses the request, if one does, by its level if it has one.
    pub block: Option<Option<Level>>,
    /// The critical condition that the answer carries.
    pub alarm: Option<Alarm>,
    /// The counters with blocks that the request concerns, and how long each of them is blocked.
    /// Unknown while the store is not asked.
    pub counters: Counters,
}

/// Some counters, and for how many microseconds each of them is blocked.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    list: [(u64, u64); Self::MOST],
    len: usize,
}

// === impl What ===

impl What {
    /// What the trace keeps of an event that observers were told of, and the policy that it concerns.
    #[must_use]
    pub fn of(event: &Event) -> Option<(Option<&Name>, Self)> {
        match event {
            Event::Decided { policy, verdict, mode, .. } => {
                let admitted = *verdict == Verdict::Admit;
                Some((Some(policy), Self::Observed { mode: *mode, admitted }))
            }
            Event::Failover { policy, signal } => Some((Some(policy), Self::Told(*signal))),
            Event::StoreChanged { .. } => Some((None, Self::Lost)),
            _ => None,
        }
    }
}

// === impl RequestAnswer ===

impl RequestAnswer {
    /// What the trace keeps of a decision.
    #[must_use]
    pub fn of(decision: &Decision<'_>) -> Self {
        let wait = match decision.status().retry {
            Some(Retry::After(wait)) => Some(wait.as_micros()),
            Some(Retry::Never) | None => None,
        };
        let mut counters = Counters::default();
        let (case, at) = (decision.case(), decision.decided_at());
        for (place, charge) in case.batch().charges().iter().enumerate() {
            let tally = case.readings().list().get(place).and_then(|reading| reading.attempts);
            let block = tally.and_then(|tally| tally.block).filter(|block| block.holds(at));
            let blocked = block.map_or(Span::ZERO, |block| block.until.since(at));
            if charge.shape().counts_own_refusals() {
                counters.push(charge.digest(), blocked.as_micros());
            }
        }
        Self {
            mode: decision.mode(),
            admitted: decision.is_admitted(),
            wait,
            left: decision.guarded().map(|guarded| guarded.remaining),
            block: decision.failsafe().and_then(|_| decision.block()).map(|block| block.level),
            alarm: decision.alarm(),
            counters,
        }
    }
}

// === impl Counters ===

impl Counters {
    /// The most counters that are kept.
    const MOST: usize = 8;

    /// Adds a counter, if there is room.
    pub fn push(&mut self, counter: u64, blocked: u64) {
        if let Some(place) = self.list.get_mut(self.len) {
            *place = (counter, blocked);
            self.len += 1;
        }
    }

    /// The counters, each with the microseconds for which it is blocked.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.list.iter().take(self.len).copied()
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocked = self.iter().filter(|(_, blocked)| *blocked > 0);
        f.debug_map().entries(blocked).finish()
    }
}

// === impl Observation ===

impl fmt::Display for Observation {
    /// Writes one line, with the time in seconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.at / 1_000_000, self.at % 1_000_000);
        write!(f, "{seconds:>6}.{micros:06} n{} p{} {:?}", self.node, self.policy, self.what)
    }
}

// === impl StoreOutcome ===

impl StoreOutcome {
    /// Whether this outcome alone is the store's fault.
    #[must_use]
    pub const fn blames_store(self) -> bool {
        matches!(self, Self::Failed | Self::Refused)
    }
}
