//! The limits of a decision as header fields list them, written down once.
//!
//! Which limits there are and how much they hold is the same for almost all requests of a policy; only
//! what is left differs. So the fields that list the limits are kept beside their policies.

use std::sync::{Arc, OnceLock};

use arrayvec::ArrayVec;
use http::HeaderValue;
use tidegate_core::{Decision, Explanation, MAX_LIMITS};

use super::figures::Limited;
use super::headers;
use super::is_about_identity;

/// The limits that applied to a decision, in the order of the policy, and their header values.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) limits: ArrayVec<Limited, MAX_LIMITS>,
    /// The value of `RateLimit-Policy`, once it is made.
    policy: OnceLock<HeaderValue>,
    /// The value of `RateLimit-Limit` for each limit, once it is made.
    limit: [OnceLock<HeaderValue>; MAX_LIMITS],
}

/// The listings of one policy that were made so far.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    /// Each listing with the limits that applied, as bits: a user has others than a service.
    made: [OnceLock<(u16, Arc<Listing>)>; MOST],
}

/// The most listings of a policy that are kept; further ones are made for each request.
const MOST: usize = 8;

// === impl Listing ===

impl Listing {
    pub(super) fn new(limits: ArrayVec<Limited, MAX_LIMITS>) -> Self {
        Self { limits, policy: OnceLock::new(), limit: Default::default() }
    }

    /// A listing of one limit.
    pub(super) fn of_one(limit: Limited) -> Self {
        Self::new([limit].into_iter().collect())
    }

    fn of(decision: &Decision<'_>, binding: &Explanation<'_>) -> Self {
        if is_about_identity(decision.policy().protects()) {
            return Self::of_one(Limited::of(binding, None));
        }
        let told = decision.explain().filter(|said| !said.limit.is_shadow());
        // They fit: one decision asks at most `MAX_LIMITS` limits.
        let limited = |said: Explanation<'_>| Limited::of(&said, Some(said.limit.name().clone()));
        Self::new(told.map(limited).take(MAX_LIMITS).collect())
    }

    /// The value of `RateLimit-Policy`: every limit that applied.
    pub(super) fn policy(&self) -> &HeaderValue {
        self.policy.get_or_init(|| headers::policy(&self.limits))
    }

    /// The value of `RateLimit-Limit`: the limit at this place, with its window.
    pub(super) fn limit(&self, place: usize) -> Option<&HeaderValue> {
        let limit = self.limits.get(place)?;
        Some(self.limit.get(place)?.get_or_init(|| headers::limit(limit)))
    }
}

// === impl Listings ===

impl Listings {
    /// The listing of a decision, and the place in it of the limit that decided.
    pub(super) fn find(
        listings: Option<&Self>,
        decision: &Decision<'_>,
        binding: &Explanation<'_>,
    ) -> (Arc<Listing>, usize) {
        let hides = is_about_identity(decision.policy().protects());
        let (mut applied, mut place, mut at, mut told, mut usual) = (0_u16, 0, 0, 0, true);
        for said in decision.explain() {
            // Explanations come in the order of the limits, so each search begins at the last hit.
            let limits = &decision.case().bundle().limits()[at..];
            at += limits.iter().position(|limit| core::ptr::eq(&**limit, said.limit)).unwrap_or(0);
            let binds = core::ptr::eq(said.limit, binding.limit);
            if !said.limit.is_shadow() && (binds || !hides) {
                place = if binds { told } else { place };
                told += 1;
                applied |= 1 << at;
                usual &= core::ptr::eq(said.shape, said.limit.shape());
            }
        }
        let make = || Arc::new(Listing::of(decision, binding));
        match listings.filter(|_| usual) {
            Some(listings) => (listings.made(applied, make), place),
            None => (make(), place),
        }
    }

    fn made(&self, applied: u16, make: impl Fn() -> Arc<Listing>) -> Arc<Listing> {
        for slot in &self.made {
            let (of, listing) = slot.get_or_init(|| (applied, make()));
            if *of == applied {
                return Arc::clone(listing);
            }
        }
        make()
    }
}
