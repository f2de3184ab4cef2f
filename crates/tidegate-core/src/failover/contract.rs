//! The numbers of the locked contract. They are compiled in: no file, flag, variable or operator
//! reaches them.
//!
//! To change one is to change what was promised. It takes another [`VERSION`], a line in the
//! changelog that says so, and somebody who has thought about what it gives an attacker; a test fails
//! until the first two are there.

use crate::block::Level;
use crate::subject::{Dimension, Scope};
use crate::time::Span;

/// The version of the contract. Version 2 contains the readings A34 to A42. It is released once all of
/// them are in; the one that comes later (A41) does not change the number.
pub const VERSION: u32 = 2;
/// The version of the specification that the contract comes from.
pub const SPEC_DOC: &str = "1.0.0";
/// The version of the constraints added to the specification, all of which hold.
pub const HARDENING: &str = "1.2.0";

/// Failures that trip the store breaker, counted over [`TRIP_WITHIN`].
pub const TRIP_FAILURES: usize = 3;
/// Window of [`TRIP_FAILURES`]; both ends belong to it.
pub const TRIP_WITHIN: Span = Span::from_secs(10);
/// The shortest time for which local caps decide, once they do.
pub const MIN_DEGRADED: Span = Span::from_secs(300);
/// How long every probe has to be good before the store is asked again.
pub const MIN_HEALTHY: Span = Span::from_secs(120);
/// The least number of good probes within [`MIN_HEALTHY`].
pub const HEALTHY_PROBES: u64 = 12;
/// The longest time between two good probes of one healthy run.
pub const HEALTHY_GAP: Span = Span::from_secs(10);
/// How often the degraded mode may be entered again within [`REENTRY_WITHIN`].
pub const MAX_REENTRIES: usize = 2;
/// Window of [`MAX_REENTRIES`]; both ends belong to it.
pub const REENTRY_WITHIN: Span = Span::from_secs(1_800);
/// How long nothing passes if the degraded mode is entered again more often than [`MAX_REENTRIES`].
pub const BACKOFF: Span = Span::from_secs(600);
/// The highest level of a block that is told while local caps decide.
pub const MAX_LEVEL: Level = Level::L2;

/// Time from one probe to the next after a first failure, or while nothing is known of the store.
pub const SUSPECT_PROBE_EVERY: Span = Span::from_secs(2);
/// Time from one probe to the next while only probes ask the store: start to start, no jitter.
pub const DEGRADED_PROBE_EVERY: Span = Span::from_secs(5);
/// How often a signal says that the degraded mode goes on.
pub const PROLONGED_EVERY: Span = Span::from_secs(1_800);
/// How long local caps decide before those who are refused are told of a prolonged outage.
pub const PROLONGED_AFTER: Span = Span::from_secs(300);
/// How long a policy that guards `auth` or `admin` answers "unavailable", counted from the trip that
/// began the outage; then the caps of one-time passwords decide.
pub const CLOSED_AT_MOST: Span = Span::from_secs(1_800);
/// A trip at most this long after a recovery continues the outage before it.
pub const SAME_OUTAGE_WITHIN: Span = REENTRY_WITHIN;
/// How many different counters have to be unreadable within [`TRIP_WITHIN`] for the store to be at
/// fault.
pub const CORRUPT_COUNTERS: usize = 3;
/// How often a signal may say that the store refuses us.
pub const REFUSED_EVERY: Span = Span::from_secs(60);

/// A local cap: at most `count` admitted requests for each value of a scope, in any span of length
/// `per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// The scope whose values are counted by.
    pub by: Scope,
    /// The most requests that are admitted.
    pub count: u64,
    /// The length of the span, whose beginning is excluded and whose end is included.
    pub per: Span,
}

impl Cap {
    /// This cap, and if it counts by address alone, those of the wider prefixes too.
    pub(crate) fn widened(&self) -> impl Iterator<Item = Self> {
        let wider = WIDER.iter().filter(|_| self.by == PREFIX);
        let wider = wider.map(|(by, times)| Self {
            by: Scope::of_all(&[*by]),
            count: self.count * times,
            ..*self
        });
        core::iter::once(*self).chain(wider)
    }
}

const ACCOUNT: Scope = Scope::of_all(&[Dimension::Account]);
const PREFIX: Scope = Scope::of_all(&[Dimension::Ip]);
const PREFIX_AND_AGENT: Scope = Scope::of_all(&[Dimension::Ip, Dimension::Agent]);

/// The caps of logins: by account, if it is known, and by address prefix.
pub const LOGIN: [Cap; 2] = [
    Cap { by: ACCOUNT, count: 3, per: Span::from_secs(600) },
    Cap { by: PREFIX, count: 20, per: Span::from_secs(600) },
];
/// The caps of one-time passwords: by account and by address prefix, both stricter than those of
/// logins.
pub const OTP: [Cap; 2] = [
    Cap { by: ACCOUNT, count: 2, per: Span::from_secs(900) },
    Cap { by: PREFIX, count: 10, per: Span::from_secs(900) },
];
/// The caps of everything else that stays open: by address prefix, and by prefix and agent.
pub const API: [Cap; 2] = [
    Cap { by: PREFIX, count: 120, per: Span::from_secs(60) },
    Cap { by: PREFIX_AND_AGENT, count: 60, per: Span::from_secs(60) },
];
/// The cap of reads of health and metadata.
pub const HEALTH: [Cap; 1] = [Cap { by: PREFIX, count: 60, per: Span::from_secs(60) }];

/// The wider IPv6 prefixes that every cap by address holds for as well, each with the factor by which
/// its count is larger: whoever holds a /48 can send from any subnet of it.
pub const WIDER: [(Dimension, u64); 2] = [(Dimension::Ip56, 4), (Dimension::Ip48, 16)];

/// The share of a limit's rate that one node has where local ceilings decide: one part in this many.
pub const CEILING_SHARE: u64 = 10;
/// The share of a limit's count, rate and burst that one node has where a policy guards `spend`: one
/// part in this many, rounded down, and one per period at least.
pub const SPEND_SHARE: u64 = 10;

// One-time passwords are guarded more strictly than logins, both by account and by address.
const _: () = {
    let mut place = 0;
    while place < LOGIN.len() {
        let (login, otp) = (LOGIN[place], OTP[place]);
        assert!(otp.count * login.per.as_micros() < login.count * otp.per.as_micros());
        assert!(otp.count < login.count);
        place += 1;
    }
};
// A healthy run that lasts long enough, with no gap too long, has enough probes.
const _: () = assert!(MIN_HEALTHY.as_micros() / HEALTHY_GAP.as_micros() >= HEALTHY_PROBES);
// After a first failure, there is time for two more probes to fail and trip.
const _: () =
    assert!(SUSPECT_PROBE_EVERY.as_micros() * TRIP_FAILURES as u64 <= TRIP_WITHIN.as_micros());
