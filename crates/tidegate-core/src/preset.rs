//! Ready-made limits for the two places where passwords and codes are guessed.
//!
//! Every attempt is counted when it begins and given back when it succeeds, so guesses in parallel
//! cannot slip through before the first failure is known. Blocks climb a [`Ladder`] and what is refused
//! leaves no trace, so nobody is locked out by somebody else's hammering for longer than the last
//! block. A device that the host vouches for has an allowance of its own and meets only the limits for
//! devices: guessing at an account cannot be used to keep its owner out.
//!
//! | login | by | failures | blocks |
//! |---|---|---|---|
//! | `login-account` | account | 5 in 10 min | L1 to L4 |
//! | `login-account-day` | account | 15 in 24 h | L5 |
//! | `login-device` | account + vouched device | 10 in 1 h | L1 to L5 |
//! | `login-devices` | account, distinct vouched devices | 5 in 1 h | L3 to L5 |
//! | `login-prefix` | address prefix | 60 in 1 h | L1 to L5 |
//! | `login-prefix-56`, `login-prefix-48` | IPv6 /56, /48 | 240, 960 and as many per hour | none |
//! | `login-agent` | address prefix + user agent | 30 in 1 h | L1 to L4 |
//! | `login-spray` | address prefix, distinct accounts | 20 in 10 min | L3 to L5 |
//! | `login-distributed` | account, distinct address prefixes | 10 in 10 min | L3 |
//!
//! | one-time password | by | failures | blocks |
//! |---|---|---|---|
//! | `otp-account` | account | 3 in 1 h | L3 to L6 |
//! | `otp-device` | account + vouched device | 3 in 1 h | L3 to L6 |
//! | `otp-devices` | account, distinct vouched devices | 3 in 1 h | L3 to L6 |
//! | `otp-prefix` | address prefix | 20 in 1 h | L2 to L5 |
//! | `otp-prefix-56`, `otp-prefix-48` | IPv6 /56, /48 | 80, 320 and as many per hour | none |
//! | `otp-agent` | address prefix + user agent | 12 in 1 h | L2 to L4 |
//!
//! One failure more than the number in the table begins the block. The numbers are above the
//! [locked caps](crate::Cap) that hold while a store is down, as they have to be. What they add up to
//! over a day of attacks is in the guide to logins, and measured by a test.

use crate::block::{Ladder, Level};
use crate::limit::Limit;
use crate::name::Name;
use crate::named::names;
use crate::policy::{FailureMode, PolicySpec, Protects};
use crate::shape::{Attempts, Bucket, Rate, Shape};
use crate::subject::{Dimension, Scope};
use crate::time::Span;

/// A collection of ready-made limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// The limits for logins.
    Login,
    /// The limits for one-time passwords.
    Otp,
}

/// One ready-made limit, as it is written in the tables below.
struct Row {
    name: &'static str,
    by: &'static [Dimension],
    distinct: Option<Dimension>,
    /// Whether a device that the host vouches for is exempt.
    unvouched: bool,
    /// Whether a success clears the failures before it, and not only gives itself back.
    forgives: bool,
    failures: u16,
    per: Span,
    /// The first and last level of the blocks that one failure more begins. `None` if there are no
    /// blocks: then attempts are refused until the rate allows one.
    blocks: Option<(Level, Level)>,
}

use Dimension::{Account, Agent, Device, Ip, Ip48, Ip56};
use Level::{L1, L2, L3, L4, L5, L6};

const TEN: Span = Span::from_secs(10 * 60);

// The limits by address come first, the narrowest before the others. On a cluster they are asked apart
// from those by account, and what an earlier limit has counted is given back a moment after a later one
// has refused. Until then it counts: were the account first, a handful of requests in flight from a
// blocked address would be enough to block any account.
const LOGIN: [Row; 10] = [
    Row::new("login-prefix", &[Ip], 60, Span::HOUR, (L1, L5)),
    Row::wide("login-prefix-56", &[Ip56], 240),
    Row::wide("login-prefix-48", &[Ip48], 960),
    Row::new("login-agent", &[Ip, Agent], 30, Span::HOUR, (L1, L4)),
    Row::new("login-spray", &[Ip], 20, TEN, (L3, L5)).of_distinct(Account),
    Row::new("login-account", &[Account], 5, TEN, (L1, L4)).forgiving(),
    // Against the patient, who stay below the limit above, or wait for the owner to clear it.
    Row::new("login-account-day", &[Account], 15, Span::DAY, (L5, L5)),
    Row::new("login-device", &[Account, Device], 10, Span::HOUR, (L1, L5)).vouched().forgiving(),
    // Against an attacker with many vouched devices, each of which would be ten more guesses.
    Row::new("login-devices", &[Account], 5, Span::HOUR, (L3, L5)).vouched().of_distinct(Device),
    Row::new("login-distributed", &[Account], 10, TEN, (L3, L3)).of_distinct(Ip),
];

const OTP: [Row; 7] = [
    Row::new("otp-prefix", &[Ip], 20, Span::HOUR, (L2, L5)),
    Row::wide("otp-prefix-56", &[Ip56], 80),
    Row::wide("otp-prefix-48", &[Ip48], 320),
    Row::new("otp-agent", &[Ip, Agent], 12, Span::HOUR, (L2, L4)),
    Row::new("otp-account", &[Account], 3, Span::HOUR, (L3, L6)).forgiving(),
    Row::new("otp-device", &[Account, Device], 3, Span::HOUR, (L3, L6)).vouched().forgiving(),
    // Against an attacker who knows the password, and so can have any number of devices vouched for:
    // without this limit, each of them would be three more guesses.
    Row::new("otp-devices", &[Account], 3, Span::HOUR, (L3, L6)).vouched().of_distinct(Device),
];

// === impl Preset ===

names!(Preset { Login: "login", Otp: "otp" });

impl Preset {
    /// What the preset protects.
    #[must_use]
    pub const fn protects(self) -> Protects {
        match self {
            Self::Login => Protects::Login,
            Self::Otp => Protects::Otp,
        }
    }

    /// The limits of the preset, in the order they are asked.
    #[must_use]
    pub fn limits(self) -> Vec<Limit> {
        self.limits_but([])
    }

    /// The limits of the preset, changed by those of `own`: a limit with the name of a ready-made one
    /// takes its place, and the others come last.
    #[must_use]
    pub fn limits_but(self, own: impl IntoIterator<Item = Limit>) -> Vec<Limit> {
        // Every row makes a limit, as a test checks.
        let mut limits: Vec<Limit> = self.rows().iter().filter_map(Row::limit).collect();
        for limit in own {
            match limits.iter_mut().find(|ready| ready.name() == limit.name()) {
                Some(place) => *place = limit,
                None => limits.push(limit),
            }
        }
        limits
    }

    /// A policy with the limits of the preset.
    ///
    /// ```
    /// use tidegate_core::{FailureMode, Name, PolicySet, Preset};
    ///
    /// let login = Preset::Login.policy(Name::try_new("login")?, FailureMode::FailClosed);
    /// let policies = PolicySet::builder().policy(login).build(None)?;
    /// assert_eq!(policies.get("login").ok_or("no policy")?.limits().len(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn policy(self, name: Name, failure: FailureMode) -> PolicySpec {
        let spec = PolicySpec::new(name, failure).protecting(self.protects());
        self.limits().into_iter().fold(spec, PolicySpec::limit)
    }

    const fn rows(self) -> &'static [Row] {
        match self {
            Self::Login => &LOGIN,
            Self::Otp => &OTP,
        }
    }
}

// === impl Row ===

impl Row {
    /// A limit of this many failures in the time `per`, with blocks between these two levels. A device
    /// that the host vouches for is exempt.
    const fn new(
        name: &'static str,
        by: &'static [Dimension],
        failures: u16,
        per: Span,
        blocks: (Level, Level),
    ) -> Self {
        let (distinct, blocks) = (None, Some(blocks));
        Self { name, by, distinct, unvouched: true, forgives: false, failures, per, blocks }
    }

    /// A limit for a wider IPv6 prefix, with four or sixteen times the failures of the /64: an attacker
    /// who holds a /48 has 65,536 subnets to guess from. It begins no block, because a whole
    /// neighbourhood may share the prefix, and it counts in a bucket, which takes little memory for each
    /// of many keys.
    const fn wide(name: &'static str, by: &'static [Dimension], failures: u16) -> Self {
        Self { blocks: None, ..Self::new(name, by, failures, Span::HOUR, (L1, L1)) }
    }

    /// Makes each value of `dimension` count once.
    const fn of_distinct(self, dimension: Dimension) -> Self {
        Self { distinct: Some(dimension), ..self }
    }

    /// Makes the limit hold for devices that the host vouches for, too.
    const fn vouched(self) -> Self {
        Self { unvouched: false, ..self }
    }

    /// Makes a success clear the failures before it.
    const fn forgiving(self) -> Self {
        Self { forgives: true, ..self }
    }

    fn limit(&self) -> Option<Limit> {
        let scope = Scope::of(self.by.iter().copied());
        let limit = Limit::new(Name::try_new(self.name).ok()?, scope, self.shape()?);
        let wider = self.by.iter().any(|by| matches!(by, Ip56 | Ip48));
        // Unlike abuse logs, buckets have their name in their keys only if that is asked for.
        let limit = if wider { limit.only_ipv6().with_named_key() } else { limit };
        let limit = if self.forgives { limit.forgiving() } else { limit.settling() };
        let limit = if self.unvouched { limit.unless(Device) } else { limit };
        Some(match self.distinct {
            Some(dimension) => limit.distinct(dimension),
            None => limit,
        })
    }

    fn shape(&self) -> Option<Shape> {
        let Some((from, to)) = self.blocks else {
            let failures = self.failures.into();
            let rate = Rate::try_new(failures, self.per).ok()?;
            return Some(Shape::Bucket(Bucket::try_new(rate, failures).ok()?));
        };
        let ladder = Ladder::try_new(from, to).ok()?;
        Some(Shape::Attempts(Attempts::climbing(self.failures + 1, self.per, ladder).ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicySet;

    #[test]
    fn p36_every_row_is_a_limit_above_the_locked_caps() {
        for preset in Preset::ALL {
            assert_eq!(preset.limits().len(), preset.rows().len());
            let policy = preset.policy(Name::try_new("p").unwrap(), FailureMode::FailClosed);
            PolicySet::builder().policy(policy).build(None).unwrap();
        }
    }

    #[test]
    fn a_limit_of_ones_own_takes_the_place_of_a_ready_made_one() {
        let own = Limit::new(
            Name::try_new("login-account").unwrap(),
            Scope::of([Account]),
            Shape::Attempts(Attempts::climbing(20, TEN, Ladder::default()).unwrap()),
        );
        let limits = Preset::Login.limits_but([own]);
        assert_eq!(limits.len(), 10);
        let account = limits.iter().find(|limit| limit.name().as_str() == "login-account");
        assert_eq!(account.unwrap().shape().capacity(), 19);
    }

    #[test]
    fn p36_a_policy_that_an_outage_would_loosen_is_refused() {
        let tight = Limit::new(
            Name::try_new("login-account").unwrap(),
            Scope::of([Account]),
            Shape::Attempts(Attempts::climbing(4, TEN, Ladder::default()).unwrap()),
        );
        let spec = PolicySpec::new(Name::try_new("login").unwrap(), FailureMode::FailClosed)
            .protecting(Protects::Login)
            .limit(tight);
        let refused = PolicySet::builder().policy(spec).build(None).unwrap_err().to_string();
        assert!(refused.contains("lets 3 attempts in "), "{refused}");
    }
}
