//! What can be made to happen, as data: a schedule can be written down, cut short and run again.

use super::counters::Mark;
use super::fault::Fault;

/// One thing that happens. Each stands by itself: without the ones before it still means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Somebody asks.
    Ask {
        /// Which node.
        node: u8,
        /// Under which policy.
        policy: u8,
        /// Who.
        client: Client,
        /// Only to look.
        peek: bool,
    },
    /// Many ask at once.
    Flood {
        /// Which node.
        node: u8,
        /// Under which policy.
        policy: u8,
        /// How many.
        count: u32,
        /// What differs between them.
        over: Over,
        /// Who is the first.
        client: Client,
    },
    /// From now on the store treats these so: bits for nodes and policies.
    Break {
        /// Which nodes.
        nodes: u8,
        /// Which policies.
        policies: u8,
        /// How.
        fault: Fault,
    },
    /// So many microseconds pass.
    Wait(u64),
    /// Time passes until something is due somewhere, if anything is.
    WaitDue,
    /// Time passes until so long after something has happened, or a microsecond less or more.
    WaitEdge {
        /// What has happened.
        of: Landmark,
        /// So many seconds after it.
        after: u64,
        /// And so many microseconds, less one.
        off: u8,
    },
    /// The clock of the store is set forward or back.
    Jump(i64),
    /// Somebody says that an admitted attempt was a good one: so many tickets ago.
    Settle(u16),
    /// A request that waits is given up: so many tasks ago.
    Leave(u16),
    /// A node gets its policies anew, perhaps without one of them.
    Reload {
        /// Which node.
        node: u8,
        /// Which policy is left out.
        without: Option<u8>,
    },
    /// A node ends and starts again.
    Restart(u8),
    /// The store loses everything.
    Forget,
    /// One in so many counters is damaged, or repaired.
    Spoil {
        /// How.
        mark: Mark,
        /// One in so many.
        one_in: u64,
        /// Beginning with this one.
        first: u64,
    },
    /// The prober of a node comes round although nothing is due.
    Poll(u8),
    /// An operator asks for something.
    Operate {
        /// At which node.
        node: u8,
        /// Under which policy.
        policy: u8,
        /// About whom.
        client: Client,
        /// What.
        verb: Verb,
    },
    /// A replica of the store takes over for some nodes, bits, and the old primary goes on for the
    /// others.
    Split(u8),
    /// There is one primary again: the first or the second. What the other has counted is lost.
    Join(u8),
}

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// A block of so many microseconds, of a high level or of none.
    Block(u64, bool),
    /// No block, and no attempts that lead to one.
    Unblock,
    /// Nothing counted.
    Reset,
    /// The blocks that hold.
    List,
    /// The list, and the first block on it lifted.
    Lift,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// At which account.
    pub account: Option<u32>,
    /// From where.
    pub prefix: Option<u32>,
    /// With what.
    pub agent: Option<u8>,
    /// Whether the host vouches for the device.
    pub vouched: bool,
}

/// What differs between those who ask at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Nothing.
    Nothing,
    /// The account.
    Accounts,
    /// The prefix.
    Prefixes,
    /// The agent.
    Agents,
    /// The account and the prefix.
    Both,
}

/// Something that has happened and that edges are counted from.
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
    /// The first one of the last burst that they admitted.
    FirstAdmitted,
    /// When the store was last mended.
    Heal,
}

// === impl Client ===

impl Client {
    /// The one that comes after so many others in a flood.
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
