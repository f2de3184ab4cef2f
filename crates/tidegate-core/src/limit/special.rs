//! The rules that few limits have: whom they exempt, and which values they count once.

use super::{Limit, LimitError};
use crate::key::Digests;
use crate::shape::{MAX_DISTINCT, Shape, ShapeKind};
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
        if self.scope.contains(Dimension::Plan) || self.counted() == Some(Dimension::Plan) {
            return Err(LimitError::CountsByPlan(limit()));
        }
        if self.is_only_ipv6() && self.scope.dimensions().all(|by| by.prefix_length().is_none()) {
            return Err(LimitError::Ipv6OfNoAddress(limit()));
        }
        if self.forgives && self.outcomes.is_some() {
            return Err(LimitError::ForgivesOutcomes(limit()));
        }
        let only_attempts = self.forgives || self.counted().is_some();
        if only_attempts && self.shape().kind() != ShapeKind::Attempts {
            return Err(LimitError::NotAttempts(limit()));
        }
        let Some(dimension) = self.counted() else { return Ok(()) };
        if self.scope.contains(dimension) {
            let dimension = dimension.name();
            return Err(LimitError::DistinctOfItself { limit: limit(), dimension });
        }
        let is_too_long =
            |shape: &Shape| matches!(shape, Shape::Attempts(log) if log.keeps() > MAX_DISTINCT);
        match self.in_force().any(is_too_long) {
            true => Err(LimitError::TooManyDistinct(limit())),
            false => Ok(()),
        }
    }
}
