//! The caps that hold for logins and one-time passwords while their store is not trusted.
//!
//! They are locked: constants of the contract, the same on every node, out of reach of any
//! configuration. A policy that admits no more than this when all is well would be looser in an outage
//! than without one, so it is refused when it is loaded.

use std::sync::Arc;

use super::{PolicyError, Protects};
use crate::failover::contract::{self, Cap};
use crate::limit::Limit;
use crate::name::Name;
use crate::shape::{Period, Shape};
use crate::time::Span;

// === impl Protects ===

impl Protects {
    /// The locked caps of what is protected; none but for logins and one-time passwords.
    #[must_use]
    pub const fn locked_caps(self) -> &'static [Cap] {
        match self {
            Self::Login => &contract::LOGIN,
            Self::Otp | Self::StepUp => &contract::OTP,
            Self::Auth
            | Self::Admin
            | Self::ApiHeavy
            | Self::Read
            | Self::Write
            | Self::Bulk
            | Self::Health
            | Self::Spend => &[],
        }
    }
}

/// Refuses limits that admit no more than the locked caps do.
pub(super) fn check(
    policy: &Name,
    protects: Option<Protects>,
    limits: &[Arc<Limit>],
) -> Result<(), PolicyError> {
    let Some(protects) = protects else { return Ok(()) };
    for cap in protects.locked_caps() {
        let capped = |limit: &&Arc<Limit>| {
            limit.scope() == cap.by && !limit.is_shadow() && limit.counted().is_none()
        };
        for limit in limits.iter().filter(capped) {
            let admits = limit.in_force().map(|shape| shape.admits_within(cap.per)).min();
            if let Some(admits) = admits.filter(|admits| *admits <= cap.count) {
                let (policy, limit) = (policy.clone(), limit.name().clone());
                return Err(PolicyError::NotAboveCap {
                    policy,
                    limit,
                    protects,
                    admits,
                    cap: *cap,
                });
            }
        }
    }
    Ok(())
}

// === impl Shape ===

impl Shape {
    /// How many requests of the lightest kind one key certainly gets through within `span`.
    fn admits_within(&self, span: Span) -> u64 {
        let times = |length: Span| (span.as_micros() / length.as_micros().max(1)).max(1);
        match self {
            Self::Bucket(bucket) => {
                let refilled = u128::from(bucket.units_per_micro()) * u128::from(span.as_micros());
                let refilled = refilled / u128::from(bucket.units_per_token().max(1));
                bucket.burst().saturating_add(u64::try_from(refilled).unwrap_or(u64::MAX))
            }
            Self::Window(window) => window.count().saturating_mul(times(window.per())),
            Self::Quota(quota) => match quota.period() {
                Period::Fixed(length) | Period::FirstUse(length) => {
                    quota.count().saturating_mul(times(*length))
                }
                Period::Calendar(_) => quota.count(),
            },
            Self::Attempts(_) => self.capacity(),
        }
    }
}
