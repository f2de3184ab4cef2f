//! Events of a simulation as data: a schedule can be written down, shortened and run again.

use super::counters::Damage;
use super::fault::Fault;

/// One event of a simulation. Each has its meaning without the steps before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimStep {
    /// A client makes a request.
    Ask {
        /// The node that is asked.
        node: u8,
        /// The policy that decides.
        policy: u8,
        /// The client that asks.
        client: Client,
        /// Whether the request only peeks and is not counted.
        peek: bool,
    },
    /// Many clients make a request at once.
    Flood {
        /// The node that is asked.
        node: u8,
        /// The policy that decides.
        policy: u8,
        /// Number of requests.
        count: u32,
        /// What differs between the clients.
        over: Over,
        /// The first client.
        client: Client,
    },
    /// From now on the store treats these nodes and policies in this way.
    Break {
        /// The nodes, one bit each.
        nodes: u8,
        /// The policies, one bit each.
        policies: u8,
        /// What is wrong with the store.
        fault: Fault,
    },
    /// This many microseconds pass.
    Wait(u64),
    /// Time passes until something is due on some node, or for a second if nothing is.
    WaitDue,
    /// Time passes until a given time after an event, or until a microsecond before or after that.
    WaitEdge {
        /// The event that the time is counted from.
        of: Landmark,
        /// Seconds after the event.
        after: u64,
        /// Microseconds to add, plus one: 0 is a microsecond early, 1 exact, 2 a microsecond late.
        off: u8,
    },
    /// The clock of the store is set forward or back by this many microseconds.
    Jump(i64),
    /// The host reports that an admitted attempt was a good one: that of the n-th last ticket,
    /// counted from 0.
    Settle(u16),
    /// A client gives up a request that waits: the n-th last of them, counted from 0.
    Leave(u16),
    /// A node reloads its policies, perhaps without one of them.
    Reload {
        /// The node that reloads.
        node: u8,
        /// The policy that is left out.
        without: Option<u8>,
    },
    /// A node stops and starts again.
    Restart(u8),
    /// The store loses everything.
    Forget,
    /// Some counters are damaged, or repaired.
    Spoil {
        /// The damage, or [`Damage::Fine`] to repair.
        mark: Damage,
        /// One in this many counters is marked.
        one_in: u64,
        /// Counters are marked whose number equals this one modulo `one_in`.
        first: u64,
    },
    /// A node polls its engine for due probes, even if nothing is due.
    Poll(u8),
    /// An operator asks for something.
    Operate {
        /// The node that the operator asks.
        node: u8,
        /// The policy whose counters are meant.
        policy: u8,
        /// The client whose counters are meant.
        client: Client,
        /// What the operator asks for.
        verb: OperatorVerb,
    },
    /// A replica of the store takes over for the nodes whose bits are set, and the old primary goes
    /// on for the others.
    Split(u8),
    /// The store has one primary again: the first (0) or the second (1). The counts of the other
    /// are lost.
    Join(u8),
}

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorVerb {
    /// Block a client for this many microseconds, with a high level or with none.
    Block(u64, bool),
    /// Lift a client's block, and forget the attempts that lead to one.
    Unblock,
    /// Forget everything counted for a client.
    Reset,
    /// List the blocks that hold.
    List,
    /// List the blocks, and lift the first of them.
    Lift,
}

/// A client that makes requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// The account that the client tries.
    pub account: Option<u32>,
    /// The address prefix that the client comes from.
    pub prefix: Option<u32>,
    /// The user agent of the client.
    pub agent: Option<u8>,
    /// Whether the host vouches for the device.
    pub vouched: bool,
}

/// What differs between the clients of a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Nothing differs.
    Nothing,
    /// The account differs.
    Accounts,
    /// The prefix differs.
    Prefixes,
    /// The agent differs.
    Agents,
    /// The account and the prefix differ.
    Both,
}

/// An event from which [`SimStep::WaitEdge`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landmark {
    /// The last failure of the store.
    Failure,
    /// The last time a mode changed.
    Change,
    /// The last time local caps took over.
    Entry,
    /// The last request that local caps admitted.
    Admitted,
    /// The first request of the last burst that local caps admitted.
    FirstAdmitted,
    /// The last time the store was repaired.
    Heal,
}

// === impl Client ===

impl Client {
    /// The client with this number in a flood; `self` has the number 0.
    #[must_use]
    pub fn other(mut self, over: Over, number: u32) -> Self {
        let next = |of: Option<u32>| Some(of.unwrap_or(0) + number);
        match over {
            Over::Nothing => {}
            Over::Accounts => self.account = next(self.account),
            Over::Prefixes => self.prefix = next(self.prefix),
            Over::Agents => self.agent = u8::try_from(number % 250).ok(),
            Over::Both => (self.account, self.prefix) = (next(self.account), next(self.prefix)),
        }
        self
    }
}
