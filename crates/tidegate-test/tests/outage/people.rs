//! Whose requests they are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidegate_test::sim::trace::SimClient;

/// Somebody at an account, from an address prefix, with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) account: u32,
    pub(crate) prefix: u32,
    pub(crate) agent: u8,
}

/// Who owns the account that is attacked, and comes from where he always comes from.
pub(crate) const OWNER: Person = Person { account: 1, prefix: 2, agent: 1 };
/// Who guesses at it, and at others.
pub(crate) const ATTACKER: Person = Person { account: 1, prefix: 3, agent: 2 };

// === impl Person ===

impl Person {
    /// Whose requests meet a fault on this node. Nobody else's counters can be changed by what was
    /// under way when it began.
    pub(crate) const fn caught(node: u8) -> Self {
        let number = 1_000 + node as u32;
        Self { account: number, prefix: number, agent: 1 }
    }

    /// One of many others.
    pub(crate) const fn other(number: u32) -> Self {
        Self { account: 10_000 + number, prefix: 10_000 + number, agent: 1 }
    }

    pub(crate) const fn at(self, account: u32) -> Self {
        Self { account, ..self }
    }

    pub(crate) const fn with_agent(self, agent: u8) -> Self {
        Self { agent, ..self }
    }

    pub(crate) fn login(self) -> String {
        format!("user{}", self.account)
    }

    /// An address. Those of an IPv6 prefix are another one each time.
    pub(crate) fn address(self, request: u32) -> IpAddr {
        if self.prefix.is_multiple_of(2) {
            return IpAddr::V4(Ipv4Addr::from(0x0A00_0000 + self.prefix));
        }
        // Each in a site of its own.
        let high = 0x2001_u128 << 112 | u128::from(self.prefix) << 80;
        IpAddr::V6(Ipv6Addr::from(high | u128::from(request) << 7))
    }

    /// As the trace has it.
    pub(crate) fn who(self) -> SimClient {
        let Self { account, prefix, agent } = self;
        SimClient {
            account: Some(account.into()),
            prefix: Some(prefix.into()),
            agent: Some(agent.into()),
        }
    }
}
