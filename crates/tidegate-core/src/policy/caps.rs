//! The caps that hold for logins and one-time passwords while their store is not trusted.
//!
//! They are locked: constants of the contract, the same on every node, out of reach of any
//! configuration. A limit that admits less than a cap when all is well would make an outage the better
//! time to guess, so its policy is refused when it is loaded.

use std::sync::Arc;

use super::{PolicyError, Protects};
use crate::cost::Cost;
use crate::failover::contract::{self, Cap};
use crate::limit::Limit;
use crate::name::Name;
use crate::subject::Scope;

// === impl Protects ===

impl Protects {
    /// The locked caps for what is protected; empty except for logins, one-time passwords and step-ups.
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
            | Self::Spend
            | Self::Outbound => &[],
        }
    }
}

/// Refuses limits that admit less than the locked caps of logins and one-time passwords do.
///
/// Every set of numbers is compared, including that of each override, because it holds for somebody.
/// Limits that refuse nothing are not compared.
pub(super) fn check(
    policy: &Name,
    protects: Option<Protects>,
    limits: &[Arc<Limit>],
) -> Result<(), PolicyError> {
    let Some(protects) = protects else { return Ok(()) };
    for limit in limits.iter().filter(|limit| limit.is_firm()) {
        let Some(cap) = bounding(protects.locked_caps(), limit.scope()) else { continue };
        // A limit that counts exactly as the cap does has to be above it. Any other limit may equal the
        // cap, which then refuses no later than the limit.
        let is_alike = limit.scope() == cap.by && limit.counted().is_none();
        let least = cap.count.saturating_add(u64::from(is_alike));
        let cost = limit.units(Cost::ONE);
        let admits = limit.in_force().map(|shape| shape.admits_within(cap.per, cost)).min();
        if let Some(admits) = admits.filter(|admits| *admits < least) {
            let (policy, limit) = (policy.clone(), limit.name().clone());
            return Err(PolicyError::NotAboveCap { policy, limit, protects, admits, least, cap });
        }
    }
    Ok(())
}

/// The cap that bounds each key of a limit with this scope in an outage. If several do, as for a limit by
/// account and address, all of them hold, so it is the one that admits least. `None` if no cap does, as
/// for a limit by user.
fn bounding(caps: &[Cap], scope: Scope) -> Option<Cap> {
    let counts_by = |by| scope.contains(by);
    let bounding = caps.iter().flat_map(Cap::widened);
    let bounding = bounding.filter(|cap| cap.by.dimensions().all(counts_by));
    bounding.min_by_key(|cap| cap.count)
}
