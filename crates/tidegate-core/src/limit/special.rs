//! What few limits have: whom they leave alone, and what they count once.

use super::{Limit, LimitError};
use crate::key::Digests;
use crate::shape::{Kind, MAX_DISTINCT, Shape};
use crate::subject::{Dimension, Facts};

/// Apart from what every request is resolved by, so that the others do not pay for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Special {
    /// Whom the limit leaves alone: those of whom this is known.
    pub(super) unless: Option<Dimension>,
    /// Whether it leaves IPv4 alone, of which all prefixes are one.
    pub(super) only_ipv6: bool,
    /// What is counted, each value once.
    pub(super) distinct: Option<Dimension>,
}

// === impl Special ===

impl Special {
    /// Whose attempt this is, zero if that does not matter; `None` if the limit does not apply.
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
    /// Refuses what only an abuse log can do, what goes neither with plans nor with outcomes, and sets
    /// that are too large.
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
