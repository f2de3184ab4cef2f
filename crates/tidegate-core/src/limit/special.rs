//! The rules that few limits have: whom they exempt, and which values they count once.

use super::{Limit, LimitError};
use crate::key::Digests;
use crate::shape::{Kind, MAX_DISTINCT, Shape};
use crate::subject::{Dimension, Facts};

/// The rules of a limit that few limits have. They are kept apart from what every request is resolved
/// by, so that the other limits do not pay for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Special {
    /// The fact that exempts a subject from the limit, such as a vouched device.
    pub(super) unless: Option<Dimension>,
    /// Whether the limit exempts IPv4, where the prefixes of all lengths are the same.
    pub(super) only_ipv6: bool,
    /// The dimension whose distinct values are counted, each once.
    pub(super) distinct: Option<Dimension>,
}

// === impl Special ===

impl Special {
    /// The [member](crate::Charge::member) of a subject's attempt, zero if distinct values are not
    /// counted; `None` if the limit does not apply to the subject.
    pub(crate) fn member(&self, digests: &Digests, facts: Facts<'_>) -> Option<u64> {
        if self.unless.is_some_and(|exempt| facts.get(exempt).is_some()) {
            return None;
        }
        if self.only_ipv6 && !facts.address(Dimension::Ip)?.is_ipv6() {
            return None;
        }
        match self.distinct {
            None => Some(0),
            Some(dimension) => digests.member(facts.get(dimension)?, dimension),
        }
    }
}

// === impl Limit ===

impl Limit {
    /// Refuses a limit that counts by plan, that is for IPv6 only and counts by no address, that forgives
    /// and counts by outcome, that does what only an abuse log can do, or that counts too many distinct
    /// values.
    pub(super) fn check_special(&self) -> Result<(), LimitError> {
        let limit = || self.name.clone();
        let is_attempts = self.shape().kind() == Kind::Attempts;
        if self.scope.contains(Dimension::Plan) || self.counted() == Some(Dimension::Plan) {
            return Err(LimitError::CountsByPlan { limit: limit() });
        }
        if self.is_only_ipv6() && self.scope.dimensions().all(|by| by.prefix_length().is_none()) {
            return Err(LimitError::Ipv6OfNoAddress { limit: limit() });
        }
        if self.forgives && self.outcomes.is_some() {
            return Err(LimitError::ForgivesOutcomes { limit: limit() });
        }
        match self.counted() {
            None if self.forgives && !is_attempts => {
                Err(LimitError::NotAttempts { limit: limit() })
            }
            None => Ok(()),
            Some(_) if !is_attempts => Err(LimitError::NotAttempts { limit: limit() }),
            Some(dimension) if self.scope.contains(dimension) => {
                Err(LimitError::DistinctOfItself { limit: limit(), dimension: dimension.name() })
            }
            Some(_) => self.in_force().try_for_each(|shape| match shape {
                Shape::Attempts(attempts) if attempts.keeps() > MAX_DISTINCT => {
                    Err(LimitError::TooManyDistinct { limit: limit() })
                }
                _ => Ok(()),
            }),
        }
    }
}
