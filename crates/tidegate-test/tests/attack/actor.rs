//! Who tries to get in, and how.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidegate_core::Span;

/// One attempt.
#[derive(Clone, Debug)]
pub(crate) struct Try<'a> {
    pub(crate) account: u32,
    pub(crate) ip: IpAddr,
    pub(crate) agent: &'a str,
    pub(crate) device: Option<&'a str>,
    /// The right password.
    pub(crate) good: bool,
    /// The owner's own mistake, and no guess.
    pub(crate) typo: bool,
}

/// Somebody with a plan.
#[derive(Clone, Debug)]
pub(crate) enum Actor {
    /// Guesses at one account or, one after the other, at many.
    Guesser {
        ip: IpAddr,
        /// The first account, and how many.
        accounts: (u32, u32),
        made: u32,
        /// How long between two guesses, and whether told waits are kept.
        pace: Span,
        obedient: bool,
        /// How many guesses are made at once.
        at_once: u32,
    },
    /// Logs in every hour; every third time only after a mistake.
    Owner { account: u32, ip: IpAddr, device: Option<&'static str>, logins: u32 },
}

pub(crate) fn address(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(0x0A00_0000 + number))
}

impl Actor {
    pub(crate) fn guesser(ip: u32, accounts: (u32, u32), pace: Span) -> Self {
        Self::Guesser { ip: address(ip), accounts, made: 0, pace, obedient: true, at_once: 1 }
    }

    /// From a subnet of one IPv6 /48.
    pub(crate) fn within_a_48(mut self, subnet: u16) -> Self {
        if let Self::Guesser { ip, .. } = &mut self {
            *ip = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, subnet, 0, 0, 0, 1));
        }
        self
    }

    /// Tries on, whatever it is told.
    pub(crate) fn hammering(mut self) -> Self {
        if let Self::Guesser { obedient, .. } = &mut self {
            *obedient = false;
        }
        self
    }

    /// So many guesses in the same microsecond.
    pub(crate) fn in_parallel(mut self, count: u32) -> Self {
        if let Self::Guesser { at_once, .. } = &mut self {
            *at_once = count;
        }
        self
    }

    pub(crate) fn owner(account: u32, device: Option<&'static str>) -> Self {
        Self::Owner { account, ip: address(0x00FF_0000 + account), device, logins: 0 }
    }

    /// When it begins: owners some time after the attack.
    pub(crate) fn first(&self) -> Span {
        match self {
            Self::Guesser { .. } => Span::ZERO,
            Self::Owner { .. } => Span::from_secs(17 * 60),
        }
    }

    /// Acts now, and says how long until it does again.
    pub(crate) fn act(&mut self, attempt: &mut dyn FnMut(&Try<'_>) -> Option<Span>) -> Span {
        match self {
            Self::Guesser { ip, accounts, made, pace, obedient, at_once } => {
                let mut wait = *pace;
                for _ in 0..*at_once {
                    let account = accounts.0 + *made % accounts.1;
                    let guess = Try {
                        account,
                        ip: *ip,
                        agent: "guesser",
                        device: None,
                        good: false,
                        typo: false,
                    };
                    match attempt(&guess) {
                        Some(told) if *obedient => wait = wait.max(told),
                        Some(_) => {}
                        None => *made += 1,
                    }
                }
                wait
            }
            Self::Owner { account, ip, device, logins } => {
                *logins += 1;
                let mut login = Try {
                    account: *account,
                    ip: *ip,
                    agent: "browser",
                    device: *device,
                    good: false,
                    typo: true,
                };
                if logins.is_multiple_of(3) {
                    attempt(&login);
                }
                (login.good, login.typo) = (true, false);
                attempt(&login);
                Span::HOUR
            }
        }
    }
}
