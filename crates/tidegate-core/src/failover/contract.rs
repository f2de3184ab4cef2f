//! The numbers of the locked contract. They are compiled in: no file, flag, variable or operator
//! reaches them.
//!
//! To change one is to change what was promised. It takes another [`VERSION`], a line in the
//! changelog that says so, and somebody who has thought about what it gives an attacker; a test fails
//! until the first two are there.

use crate::block::Level;
use crate::subject::{Dimension, Scope};
use crate::time::Span;

/// The version of the contract. Version 2 holds the readings A34 to A42; it is released once all of
/// them are in, and is not changed by the one that comes later (A41).
pub const VERSION: u32 = 2;
/// The version of the specification they come from.
pub const SPEC_DOC: &str = "1.0.0";
/// The version of the constraints added to it, all of which hold.
pub const HARDENING: &str = "1.2.0";

/// So many failures …
pub const TRIP_FAILURES: usize = 3;
/// … within this long, both ends included, and the store is not asked any more.
pub const TRIP_WITHIN: Span = Span::from_secs(10);
/// How long local caps decide at least, once they do.
pub const MIN_DEGRADED: Span = Span::from_secs(300);
/// For how long every probe has to be good before the store is asked again …
pub const MIN_HEALTHY: Span = Span::from_secs(120);
/// … at least this many of them …
pub const HEALTHY_PROBES: u64 = 12;
/// … with no more than this between one and the next.
pub const HEALTHY_GAP: Span = Span::from_secs(10);
/// How often the degraded mode may be entered again …
pub const MAX_REENTRIES: usize = 2;
/// … within this long, both ends included.
pub const REENTRY_WITHIN: Span = Span::from_secs(1_800);
/// How long nothing passes if it is entered more often.
pub const BACKOFF: Span = Span::from_secs(600);
/// The highest level of a block that is told while local caps decide.
pub const MAX_LEVEL: Level = Level::L2;

/// From one probe to the next after a first failure, or while nothing is known of the store.
pub const SUSPECT_PROBE_EVERY: Span = Span::from_secs(2);
/// From one probe to the next while the store is not asked otherwise: start to start, no jitter.
pub const DEGRADED_PROBE_EVERY: Span = Span::from_secs(5);
/// How often it is told that the degraded mode goes on.
pub const PROLONGED_EVERY: Span = Span::from_secs(1_800);
/// After how long an outage is a prolonged one for those who are refused.
pub const PROLONGED_AFTER: Span = Span::from_secs(300);
/// How long a policy that guards `auth` or `admin` answers "unavailable", counted from the trip that
/// began the outage; then the caps of one-time passwords decide.
pub const CLOSED_AT_MOST: Span = Span::from_secs(1_800);
/// A trip at most this long after a recovery continues the outage before it.
pub const SAME_OUTAGE_WITHIN: Span = REENTRY_WITHIN;
/// How many different counters have to be unreadable, within [`TRIP_WITHIN`], for that to be the
/// store's fault.
pub const CORRUPT_COUNTERS: usize = 3;
/// How often it is told that the store refuses us.
pub const REFUSED_EVERY: Span = Span::from_secs(60);

/// So many admitted requests for each value of a scope, in any span of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// What is counted by.
    pub by: Scope,
    /// The most that are admitted.
    pub count: u64,
    /// In any span of this length: from just after its beginning to its end.
    pub per: Span,
}

impl Cap {
    /// The cap, and where it is by address alone those of the wider prefixes.
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

/// Logins: by account, if it is known, and by address prefix.
pub const LOGIN: [Cap; 2] = [
    Cap { by: ACCOUNT, count: 3, per: Span::from_secs(600) },
    Cap { by: PREFIX, count: 20, per: Span::from_secs(600) },
];
/// One-time passwords: stricter than logins in both.
pub const OTP: [Cap; 2] = [
    Cap { by: ACCOUNT, count: 2, per: Span::from_secs(900) },
    Cap { by: PREFIX, count: 10, per: Span::from_secs(900) },
];
/// Everything else that stays open: by address prefix, and by prefix and agent.
pub const API: [Cap; 2] = [
    Cap { by: PREFIX, count: 120, per: Span::from_secs(60) },
    Cap { by: PREFIX_AND_AGENT, count: 60, per: Span::from_secs(60) },
];
/// Reads of health and metadata.
pub const HEALTH: [Cap; 1] = [Cap { by: PREFIX, count: 60, per: Span::from_secs(60) }];

/// The wider IPv6 prefixes that every cap by address holds for as well, each with so many times the
/// count: whoever holds a /48 can send from any subnet of it.
pub const WIDER: [(Dimension, u64); 2] = [(Dimension::Ip56, 4), (Dimension::Ip48, 16)];

/// The share of a limit's rate that is left to one node where local ceilings decide: one in this many.
pub const CEILING_SHARE: u64 = 10;
/// The share of a limit's count, rate and burst that is left to one node where a policy guards
/// `spend`: one in this many, rounded down, and one per period at least.
pub const SPEND_SHARE: u64 = 10;

// One-time passwords are guarded more strictly than logins, whatever is counted by.
const _: () = {
    let mut place = 0;
    while place < LOGIN.len() {
        let (login, otp) = (LOGIN[place], OTP[place]);
        assert!(otp.count * login.per.as_micros() < login.count * otp.per.as_micros());
        assert!(otp.count < login.count);
        place += 1;
    }
};
// Probes that follow each other in time and never fail for so long are enough of them.
const _: () = assert!(MIN_HEALTHY.as_micros() / HEALTHY_GAP.as_micros() >= HEALTHY_PROBES);
// After a first failure, two more probes fail in time to trip.
const _: () =
    assert!(SUSPECT_PROBE_EVERY.as_micros() * TRIP_FAILURES as u64 <= TRIP_WITHIN.as_micros());
