//! What was observed of some nodes, as data.
//!
//! A trace knows nothing of how it came about: the simulation records one, and so can whoever wraps the
//! store of a real process and listens to its events. Times are microseconds on one clock that all of
//! it shares. What happens at one instant is in the order in which it happened.

use core::fmt;

use tidegate_core::{Alarm, Level, Mode, Signal, Standing};

/// One thing that was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, in microseconds.
    pub at: u64,
    /// On which node.
    pub node: u8,
    /// Under which policy, by its place in the list of them; zero where it concerns all.
    pub policy: u8,
    /// What.
    pub what: What,
}

/// What can be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The node has started, and knows nothing.
    Started,
    /// The policies in force, one bit for each, beginning with the lowest.
    InForce(u32),
    /// A request came in.
    Asked {
        /// Its number.
        request: u32,
        /// Whose it is.
        who: Who,
        /// Whether it counts, or is only a look.
        counted: bool,
    },
    /// The store was asked something.
    Sent {
        /// The number of the operation.
        op: u32,
        /// For whom.
        by: By,
        /// What.
        kind: OpKind,
    },
    /// The store has answered, or not.
    Done {
        /// The number of the operation.
        op: u32,
        /// What came of it.
        outcome: Outcome,
    },
    /// A request was decided.
    Decided {
        /// Its number.
        request: u32,
        /// How.
        answer: Answer,
    },
    /// Whoever asked has gone, and will not hear the answer.
    Gone {
        /// The number of the request.
        request: u32,
    },
    /// A request was shed, without a decision: more were under way than the node may have.
    Shed {
        /// The number of the request.
        request: u32,
    },
    /// Observers were told of a decision.
    Observed {
        /// In which mode.
        mode: Mode,
        /// Whether it passes.
        admitted: bool,
    },
    /// Observers were told something about the policy; its times are those of the trace.
    Told(Signal),
    /// The node has noticed that the store may have lost counts.
    Lost,
    /// The store has told an operator how a counter stands that was changed.
    Amended {
        /// The counter, by its number.
        counter: u64,
        /// For how many microseconds it is blocked.
        blocked: u64,
    },
    /// What is known from outside: the clock of the store is so far ahead of the trace.
    Clock(u64),
    /// What is known from outside: the store forgets something.
    Forgets,
    /// What is known from outside: so many primaries keep counts, each its own. Of two, one is
    /// forgotten when there is one again.
    Primaries(u8),
    /// Somebody has asked how the policy stands.
    Stood(Standing),
    /// What is known from outside: from now on this is how the store treats the policy.
    Truth(Truth),
}

/// Whose request it is, as numbers that tell one from the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// The account, if known.
    pub account: Option<u64>,
    /// The address prefix, if known.
    pub prefix: Option<u64>,
    /// The agent, if known.
    pub agent: Option<u64>,
}

/// For whom the store was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// To decide a request.
    Request(u32),
    /// To see whether it works.
    Probe,
    /// Because the host said what a request really was.
    Host,
    /// Because an operator asks for something.
    Operator,
}

/// What the store was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// To charge.
    Charge,
    /// To look.
    Peek,
    /// To settle.
    Settle,
    /// To amend a counter.
    Amend,
    /// For the blocks that hold, or to lift one by its name: whichever policy they are of.
    List,
    /// Whether it works.
    Probe,
}

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Good,
    /// The store failed: not there, not in time, too busy.
    Failed,
    /// The store does not let us.
    Refused,
    /// One counter, by its number, is unreadable.
    Corrupt(u64),
    /// One counter was written by another version.
    Version,
    /// The store needs other calendar periods; nothing was done.
    Stale,
    /// It was shed, because there were too many at once; nothing was done, and nobody has failed.
    Shed,
}

/// How the store treats a policy on a node, as whoever breaks it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// Everything works, in time.
    Good,
    /// Everything fails, in a way that counts.
    Bad,
    /// Something in between.
    Odd,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// In which mode it was decided.
    pub mode: Mode,
    /// Whether it passes.
    pub admitted: bool,
    /// When to come back, in microseconds, if that was told.
    pub wait: Option<u64>,
    /// What is left of the local cap that decided, if one did.
    pub left: Option<u64>,
    /// Whether a block keeps it out, and of which level.
    pub block: Option<Option<Level>>,
    /// The critical condition it carries.
    pub alarm: Option<Alarm>,
    /// The counters with blocks that it concerns, and how long each of them is blocked. While the store
    /// is not asked nothing is known of that.
    pub counters: Counters,
}

/// Some counters, and for how many microseconds each is blocked.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    list: [(u64, u64); Self::MOST],
    len: usize,
}

// === impl Counters ===

impl Counters {
    /// No more are kept.
    const MOST: usize = 8;

    /// Adds one, if there is room.
    pub fn push(&mut self, counter: u64, blocked: u64) {
        if let Some(place) = self.list.get_mut(self.len) {
            *place = (counter, blocked);
            self.len += 1;
        }
    }

    /// All of them.
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

// === impl Record ===

impl fmt::Display for Record {
    /// One line, with the time in seconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, micros) = (self.at / 1_000_000, self.at % 1_000_000);
        write!(f, "{seconds:>6}.{micros:06} n{} p{} {:?}", self.node, self.policy, self.what)
    }
}

// === impl Outcome ===

impl Outcome {
    /// Whether it is the store's fault by itself.
    #[must_use]
    pub const fn blames_store(self) -> bool {
        matches!(self, Self::Failed | Self::Refused)
    }
}
