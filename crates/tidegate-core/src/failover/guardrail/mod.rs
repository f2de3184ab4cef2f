//! Exact local caps, for as long as the store is not trusted.
//!
//! An admitted request is counted under every key that applies, a refused one under none, so hammering
//! keeps nobody out. Counts end by age alone. No success, reload, sweep or new stay in the degraded
//! mode resets them, which makes it worthless to provoke one outage after the other.

mod ceiling;
mod fraction;
mod keyed;
mod overflowed;
mod rail;
mod shares;
#[cfg(test)]
mod tests;

use arrayvec::ArrayVec;

use self::ceiling::Ceilings;
use self::fraction::Fractions;
use self::keyed::Whose;
use self::rail::{MOST_KEYS, Rail};
use self::shares::CallerNetwork;
use super::contract::{API, Cap, HEALTH, LOGIN, MIN_DEGRADED, OTP, SPEND_SHARE};
use super::failsafe::Guarded;
use crate::charge::{Batch, Charge};
use crate::key::Digests;
use crate::policy::Fallback;
use crate::subject::{Dimension, Scope};
use crate::time::{Span, Timestamp};

/// The most rails of one policy: two caps, and the wider prefixes of the one by address.
const MOST_RAILS: usize = 4;

/// The local caps of one policy on one node, and what they have counted.
#[derive(Clone, Debug)]
pub struct Guardrails {
    rails: ArrayVec<Rail, MOST_RAILS>,
    ceilings: Option<Ceilings>,
    /// A part of each limit, in the place of everything else, for a policy that guards `spend` or
    /// `outbound` calls.
    fractions: Option<Fractions>,
}

/// A request, as local caps see it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub(super) batch: &'a Batch<'a>,
    pub(super) digests: &'a Digests,
}

// === impl Asked ===

impl<'a> Asked<'a> {
    /// The request of this batch, whose keys `digests` makes.
    #[must_use]
    pub const fn new(batch: &'a Batch<'a>, digests: &'a Digests) -> Self {
        Self { batch, digests }
    }

    /// The charges that have a ceiling: none of a shadow limit, and none by account, because APIs are
    /// not guarded by it.
    fn enforced(&self) -> impl Iterator<Item = &'a Charge<'a>> {
        self.bounded().filter(|charge| !charge.limit().scope().contains(Dimension::Account))
    }

    /// The charges that a part of their limit bounds: all but those of shadow limits.
    fn bounded(&self) -> impl Iterator<Item = &'a Charge<'a>> {
        self.batch.charges().iter().filter(|charge| !charge.limit().is_shadow())
    }

    /// The network that the request comes from.
    fn network(&self) -> CallerNetwork {
        CallerNetwork(self.digests.scope(Scope::of_all(&[Dimension::Ip48]), self.batch.facts))
    }

    /// The key of the request in a scope; `None` if it is not counted there. An unknown account is not
    /// counted, and neither is a wider prefix of an address that has none, because the cap by address
    /// covers it. All requests without an address share one key, and so do all without an agent: to
    /// leave them out must not be a way around the caps.
    fn key(&self, scope: Scope) -> Option<u64> {
        let lacks = |by| scope.contains(by) && !self.batch.widens_to(by);
        if lacks(Dimension::Ip56) || lacks(Dimension::Ip48) {
            return None;
        }
        match self.digests.scope(scope, self.batch.facts) {
            Some(key) => Some(key),
            None if scope.contains(Dimension::Account) => None,
            None => Some(self.digests.partly(scope, self.batch.facts)),
        }
    }
}

// === impl Guardrails ===

impl Guardrails {
    /// The caps of a fallback, with nothing counted yet.
    #[must_use]
    pub fn new(fallback: Fallback) -> Self {
        Self::with_room_for(fallback, MOST_KEYS)
    }

    fn with_room_for(fallback: Fallback, keys: usize) -> Self {
        let (caps, has_ceilings): (&[Cap], bool) = match fallback {
            Fallback::Login => (&LOGIN, false),
            Fallback::Otp | Fallback::Closed => (&OTP, false),
            Fallback::Spend | Fallback::Outbound(_) => (&[], false),
            Fallback::Guarded => (&API, false),
            Fallback::Ceilings => (&API, true),
            Fallback::Health => (&HEALTH, false),
        };
        Self {
            rails: caps.iter().flat_map(Cap::widened).map(|cap| Rail::new(cap, keys)).collect(),
            ceilings: has_ceilings.then(Ceilings::default),
            fractions: part(fallback).map(|of| Fractions::with_room_for(keys, of)),
        }
    }

    /// Adds or removes the ceilings, or changes the part of each limit, for a policy whose fallback has
    /// been changed. The caps stay the same.
    pub(super) fn follow(&mut self, fallback: Fallback) {
        let ceilings = self.ceilings.take();
        self.ceilings = (fallback == Fallback::Ceilings).then(|| ceilings.unwrap_or_default());
        if let (Some(fractions), Some(of)) = (&mut self.fractions, part(fallback)) {
            fractions.follow(of);
        }
    }

    /// Whether a request may pass at `now`. If it may, and is to be counted, it is counted under every
    /// key.
    pub fn take(&mut self, asked: &Asked<'_>, counted: bool, now: Timestamp) -> Guarded {
        self.take_until(MIN_DEGRADED, asked, counted, now)
    }

    /// Does the same as [`take`](Self::take), where the store is not trusted for at least as long as
    /// `leaves`.
    pub(super) fn take_until(
        &mut self,
        leaves: Span,
        asked: &Asked<'_>,
        counted: bool,
        now: Timestamp,
    ) -> Guarded {
        if let Some(fractions) = &mut self.fractions {
            return take_fractions(fractions, leaves, asked, counted, now);
        }
        let network = asked.network();
        let mut keys: ArrayVec<(usize, Whose), MOST_RAILS> = ArrayVec::new();
        let mut tightest: Option<Guarded> = None;
        for (place, rail) in self.rails.iter_mut().enumerate() {
            let Some(key) = asked.key(rail.cap.by) else { continue };
            let whose = Whose { key, network, limit: 0 };
            let guarded = rail.left(whose, now);
            tightest = Some(tightest.map_or(guarded, |other| other.tighter(guarded)));
            keys.push((place, whose));
        }
        let mut guarded = tightest.unwrap_or(Guarded::NOTHING);
        guarded.wait = guarded.wait.max(self.ceilings_wait(asked, network, now));
        if guarded.admits() && counted {
            for (place, whose) in keys {
                self.rails[place].take(whose, now);
            }
            if let Some(ceilings) = &mut self.ceilings {
                asked.enforced().for_each(|charge| ceilings.take(charge, network, now));
            }
            guarded.remaining = guarded.remaining.saturating_sub(1);
            guarded.reset = guarded.cap.map_or(Span::ZERO, |cap| cap.per);
        }
        guarded
    }

    fn ceilings_wait(&mut self, asked: &Asked<'_>, network: CallerNetwork, now: Timestamp) -> Span {
        let Some(ceilings) = &mut self.ceilings else { return Span::ZERO };
        let waits = asked.enforced().map(|charge| ceilings.wait(charge, network, now));
        waits.max().unwrap_or(Span::ZERO)
    }

    /// Gives back memory in which nothing counts any more.
    pub fn tidy(&mut self, now: Timestamp) {
        // Bounded, because requests wait meanwhile; the next call goes on from here.
        const SOME: usize = 4_096;
        self.rails.iter_mut().for_each(|rail| rail.tidy(now, SOME));
    }

    /// Whether nothing that was counted counts any more.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.rails.iter().all(|rail| rail.is_fresh(now))
            && self.ceilings.as_ref().is_none_or(|ceilings| ceilings.is_fresh(now))
            && self.fractions.as_ref().is_none_or(|fractions| fractions.is_fresh(now))
    }
}

/// The part of each limit that a node has under this fallback, if parts of limits decide: one in so many.
fn part(fallback: Fallback) -> Option<u64> {
    match fallback {
        Fallback::Spend => Some(SPEND_SHARE),
        Fallback::Outbound(size) => Some(u64::from(size.get())),
        _ => None,
    }
}

/// Decides by a part of each limit alone. A request that no limit bounds does not pass.
fn take_fractions(
    fractions: &mut Fractions,
    leaves: Span,
    asked: &Asked<'_>,
    counted: bool,
    now: Timestamp,
) -> Guarded {
    let network = asked.network();
    // A wait of zero would mean that there is room.
    let leaves = leaves.max(Span::from_micros(1));
    let mut tightest: Option<Guarded> = None;
    for charge in asked.bounded() {
        match fractions.left(charge, network, now) {
            Ok(left) => tightest = Some(tightest.map_or(left, |other| other.tighter(left))),
            Err(never) => return Guarded { wait: leaves, ..never },
        }
    }
    let guarded = tightest.unwrap_or(Guarded { wait: leaves, ..Guarded::NOTHING });
    if !guarded.admits() || !counted {
        return guarded;
    }
    let left = asked.bounded().map(|charge| fractions.take(charge, network, now));
    left.reduce(Guarded::tighter).map_or(guarded, |left| Guarded { wait: Span::ZERO, ..left })
}
