//! Local caps, held to the contract property by property.

mod caps;
mod ceiling;
mod floods;
mod fraction;
mod keys;
mod rail;

use super::super::contract::{API, Cap, HEALTH, LOGIN, OTP};
use super::shares::CallerNetwork;
use super::{Asked, Guardrails};
use crate::account::Account;
use crate::case::Case;
use crate::charge::Charge;
use crate::cost::Cost;
use crate::failover::Guarded;
use crate::key::Digests;
use crate::limit::Limit;
use crate::name::Name;
use crate::policy::{FailureMode, Fallback, PolicySet, PolicySpec};
use crate::shape::{Bucket, Rate, Shape};
use crate::subject::{Dimension, Scope, Subject};
use crate::time::{Span, Timestamp};

/// Where every trace starts; times are told from here.
const START: Timestamp = Timestamp::from_micros(1_000_000_000_000);

fn at(secs: u64) -> Timestamp {
    START.after(Span::from_secs(secs))
}

fn before(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.as_micros() - 1)
}

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

/// One limit by organisation; what it counts has no bearing on caps.
fn policies(shape: Shape, earlier: Option<&PolicySet>) -> PolicySet {
    let limit = Limit::new(name("l"), Scope::of([Dimension::Org]), shape);
    let spec = PolicySpec::new(name("p"), FailureMode::FailOpen).limit(limit);
    PolicySet::builder().policy(spec).build(earlier).unwrap()
}

fn bucket(rate: u64, burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_second(rate).unwrap(), burst).unwrap())
}

/// For tests of one table: every key comes from a network of its own.
fn of_its_own(charge: &Charge<'_>) -> CallerNetwork {
    CallerNetwork(Some(charge.digest()))
}

/// The guardrails of one policy, and what is needed to ask them.
#[derive(Clone)]
struct Rig {
    rails: Guardrails,
    policies: PolicySet,
    digests: Digests,
}

/// A request as its facts, any of which may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Who {
    account: Option<String>,
    ip: Option<[u8; 4]>,
    /// A subnet of one IPv6 site, in the place of an IPv4 address.
    subnet: Option<u16>,
    agent: Option<String>,
}

impl Rig {
    fn new(fallback: Fallback) -> Self {
        Self::of(Guardrails::new(fallback), policies(bucket(1, 1), None))
    }

    fn of(rails: Guardrails, policies: PolicySet) -> Self {
        Self { rails, policies, digests: Digests::new([3, 5]) }
    }

    fn take(&mut self, who: &Who, now: Timestamp) -> Guarded {
        self.ask(who, true, now)
    }

    fn admits(&mut self, who: &Who, now: Timestamp) -> bool {
        self.take(who, now).admits()
    }

    fn ask(&mut self, who: &Who, counted: bool, now: Timestamp) -> Guarded {
        let account = who.account.as_deref().map(Account::new);
        let mut subject = Subject::new().org("acme");
        if let Some(account) = &account {
            subject = subject.account(account);
        }
        if let Some(ip) = who.ip {
            subject = subject.ip(ip.into());
        }
        if let Some(subnet) = who.subnet {
            subject = subject.ip([0x2001, 0xdb8, 7, subnet, 0, 0, 0, 1].into());
        }
        if let Some(agent) = &who.agent {
            subject = subject.agent(agent);
        }
        let mut case = Case::new(self.policies.get("p").unwrap(), &subject);
        case.resolve(&self.digests);
        self.rails.take(&Asked::new(case.batch(), &self.digests), counted, now)
    }
}

impl Who {
    fn account(name: &str) -> Self {
        Self { account: Some(name.to_owned()), ..Self::default() }
    }

    fn ip(last: u8) -> Self {
        Self { ip: Some([203, 0, 113, last]), ..Self::default() }
    }

    fn and_ip(self, number: u64) -> Self {
        let [.., a, b, c] = number.to_be_bytes();
        Self { ip: Some([10, a, b, c]), ..self }
    }

    fn and_subnet(self, subnet: u16) -> Self {
        Self { subnet: Some(subnet), ..self }
    }

    fn and_account(self, name: &str) -> Self {
        Self { account: Some(name.to_owned()), ..self }
    }

    fn and_agent(self, agent: &str) -> Self {
        Self { agent: Some(agent.to_owned()), ..self }
    }
}
