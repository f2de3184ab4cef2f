//! What happens past a limit: firm limits refuse, soft ones degrade.

use super::{Limit, LimitError};
use crate::policy::Overflow;
use crate::shape::ShapeKind;

// === impl Limit ===

impl Limit {
    /// Sets what happens to a request that exceeds this limit; unless this is called, what its policy says.
    ///
    /// A limit that degrades is *soft*: it never refuses. It is charged for requests that pass and that it
    /// has room for; one that it has no room for passes with a lower quality of service, and is charged to
    /// all other limits.
    #[must_use]
    pub const fn on_overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = Some(overflow);
        self
    }

    /// What happens to a request that exceeds this limit: what the limit says, or else its policy.
    #[must_use]
    #[inline]
    pub fn overflow(&self) -> Overflow {
        self.overflow.unwrap_or_default()
    }

    /// Whether the limit can refuse a request: it is neither a shadow nor soft.
    #[must_use]
    #[inline]
    pub fn is_firm(&self) -> bool {
        !self.shadow && self.overflow != Some(Overflow::Degrade)
    }

    /// The limit as a policy with this overflow uses it.
    pub(crate) fn under_overflow(mut self, policy: Overflow) -> Self {
        self.overflow.get_or_insert(policy);
        self
    }

    /// What the limit itself says about requests that exceed it; `None` if it leaves that to its policy.
    #[must_use]
    pub const fn own_overflow(&self) -> Option<Overflow> {
        self.overflow
    }

    /// Refuses an abuse log that degrades: it would count no attempt beyond its threshold, and so begin no
    /// block.
    pub(crate) fn check_overflow(&self) -> Result<(), LimitError> {
        match (self.overflow(), self.shape().kind()) {
            (Overflow::Degrade, ShapeKind::Attempts) => {
                Err(LimitError::DegradedAttempts(self.name.clone()))
            }
            _ => Ok(()),
        }
    }
}
