//! What one request takes.
//!
//! A cost that is zero, negative, a fraction or `NaN` is how counters elsewhere were made to run
//! backwards. Here a [`Cost`] is checked where it is made, so no rule has to check it again.

use core::fmt;
use core::num::NonZeroU64;
use core::str::FromStr;

use crate::time::MAX_EXACT;

/// Units one request takes: a whole number from 1 to 2⁵³ − 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(NonZeroU64);

/// How many units of a limit a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CostRule {
    /// A number of units for each request, whatever it weighs: "60 requests per minute".
    PerRequest(Cost),
    /// A number of units for each unit of the request's weight: "100,000 tokens per minute".
    PerUnit(Cost),
}

/// Why a number is not a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CostError {
    /// The number is zero, so a request would be admitted without being counted.
    #[error("a cost of 0 counts nothing; the smallest cost is 1")]
    Zero,
    /// The number is not a plain decimal integer, or it is negative.
    #[error("a cost is a positive whole number in decimal digits, without sign, point or spaces")]
    NotAWholeNumber,
    /// The number is beyond what every store can count exactly.
    #[error("a cost is at most {MAX_EXACT}, the largest integer every store counts exactly")]
    TooLarge,
}

// === impl Cost ===

impl Cost {
    /// The cost of an ordinary request.
    pub const ONE: Self = Self(NonZeroU64::MIN);

    /// A cost of `units`.
    ///
    /// # Errors
    ///
    /// If `units` is 0 or above 2⁵³ − 1.
    pub const fn try_new(units: u64) -> Result<Self, CostError> {
        if units > MAX_EXACT {
            return Err(CostError::TooLarge);
        }
        match NonZeroU64::new(units) {
            Some(units) => Ok(Self(units)),
            None => Err(CostError::Zero),
        }
    }

    /// The number of units.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The product of both costs, or the largest cost there is if that is less. No limit has room for
    /// the largest cost, so a request that heavy is refused rather than miscounted.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        Self(self.0.saturating_mul(other.0).min(Self::MAX.0))
    }

    const MAX: Self = match NonZeroU64::new(MAX_EXACT) {
        Some(max) => Self(max),
        None => Self::ONE,
    };
}

impl TryFrom<i64> for Cost {
    type Error = CostError;

    fn try_from(units: i64) -> Result<Self, CostError> {
        u64::try_from(units).map_err(|_| CostError::NotAWholeNumber).and_then(Self::try_new)
    }
}

impl FromStr for Cost {
    type Err = CostError;

    fn from_str(text: &str) -> Result<Self, CostError> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(CostError::NotAWholeNumber);
        }
        text.parse::<u64>().map_err(|_| CostError::TooLarge).and_then(Self::try_new)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl CostRule ===

impl CostRule {
    /// The units taken by a request that weighs `weight`.
    #[must_use]
    pub fn units(self, weight: Cost) -> Cost {
        match self {
            Self::PerRequest(units) => units,
            Self::PerUnit(units) => units.times(weight),
        }
    }

    /// The units that the rule names, for a request or for a unit of its weight.
    pub(crate) const fn factor(self) -> Cost {
        match self {
            Self::PerRequest(units) | Self::PerUnit(units) => units,
        }
    }
}

impl Default for CostRule {
    /// The rule that a request takes what it weighs.
    fn default() -> Self {
        Self::PerUnit(Cost::ONE)
    }
}

#[cfg(test)]
mod tests;
