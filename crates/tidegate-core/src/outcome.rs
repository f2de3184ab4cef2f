//! Which answers count, for a limit that counts requests by what came of them.
//!
//! An attacker who probes what a token may do shows in the answers: one 403 after another. An answer is
//! known only at the end of a request, and counting it then would let any number of parallel requests
//! through before the first is counted. So a limit that counts by outcome takes from every request when
//! it begins, as any other does, and gives back what it took when the answer turns out to be none of
//! its [`Outcomes`].

use core::fmt;

/// The HTTP status codes of the answers that a limit counts; at least one of them.
///
/// ```
/// use tidegate_core::Outcomes;
///
/// let outcomes = Outcomes::try_new([403, 401, 403])?;
/// assert_eq!(outcomes, Outcomes::REFUSED, "a set, in no order");
/// assert!(outcomes.contains(403) && !outcomes.contains(404));
/// assert_eq!(outcomes.to_string(), "401, 403");
/// # Ok::<(), tidegate_core::OutcomesError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outcomes {
    /// The status codes, sorted and each of them once; zeros after the last.
    codes: [u16; Outcomes::MAX],
    count: u8,
}

/// Why status codes do not make [`Outcomes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutcomesError {
    /// There is no status code, so the limit would count nothing.
    #[error("a limit that counts by outcome needs at least one status code, such as 403")]
    Empty,
    /// There are more than [`Outcomes::MAX`] different status codes.
    #[error("a limit counts at most {} different status codes", Outcomes::MAX)]
    TooMany,
    /// This number is not the status code of an answer.
    #[error("{0} is not an HTTP status code; those of answers go from 100 to 599")]
    NotAStatus(u16),
}

// === impl Outcomes ===

impl Outcomes {
    /// The most status codes of one limit.
    pub const MAX: usize = 8;

    /// Not authenticated (401) and not authorised (403): what probing for rights looks like.
    pub const REFUSED: Self = Self { codes: [401, 403, 0, 0, 0, 0, 0, 0], count: 2 };

    /// The outcomes with these status codes, given in any order.
    ///
    /// # Errors
    ///
    /// If there is none, if one is outside 100 to 599, or if there are more than [`Outcomes::MAX`].
    pub fn try_new(codes: impl IntoIterator<Item = u16>) -> Result<Self, OutcomesError> {
        let mut outcomes = Self { codes: [0; Self::MAX], count: 0 };
        for code in codes {
            if !(100..=599).contains(&code) {
                return Err(OutcomesError::NotAStatus(code));
            }
            let count = usize::from(outcomes.count);
            let Err(place) = outcomes.codes().binary_search(&code) else { continue };
            if count == Self::MAX {
                return Err(OutcomesError::TooMany);
            }
            outcomes.codes.copy_within(place..count, place + 1);
            outcomes.codes[place] = code;
            outcomes.count += 1;
        }
        if outcomes.count == 0 { Err(OutcomesError::Empty) } else { Ok(outcomes) }
    }

    /// Whether an answer with this status code counts.
    #[must_use]
    pub fn contains(&self, code: u16) -> bool {
        self.codes().contains(&code)
    }

    /// The status codes, in ascending order.
    #[must_use]
    pub fn codes(&self) -> &[u16] {
        &self.codes[..usize::from(self.count)]
    }
}

impl fmt::Display for Outcomes {
    /// Written as `401, 403`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, code) in self.codes().iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{code}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outcomes({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_the_same_in_any_order_and_however_often_a_code_is_said() {
        let one = Outcomes::try_new([429, 401, 403, 401]).unwrap();
        let other = Outcomes::try_new([403, 429, 401, 429, 429]).unwrap();
        assert_eq!(one, other);
        assert_eq!(one.codes(), [401, 403, 429]);
        assert_eq!(Outcomes::try_new([403, 401]), Ok(Outcomes::REFUSED));
    }

    #[test]
    fn eight_codes_fit_and_nine_do_not() {
        let eight = Outcomes::try_new(407..415).unwrap();
        assert_eq!(eight.codes().len(), Outcomes::MAX);
        assert!(eight.contains(407) && eight.contains(414) && !eight.contains(415));
        assert_eq!(Outcomes::try_new((407..415).chain([407])), Ok(eight), "one of them again");
        assert_eq!(Outcomes::try_new(407..416), Err(OutcomesError::TooMany));
    }

    #[test]
    fn what_is_no_status_code_is_refused() {
        assert_eq!(Outcomes::try_new([]), Err(OutcomesError::Empty));
        for code in [0, 99, 600, u16::MAX] {
            assert_eq!(Outcomes::try_new([403, code]), Err(OutcomesError::NotAStatus(code)));
        }
        assert!(Outcomes::try_new([100, 599]).is_ok());
        assert!(!Outcomes::REFUSED.contains(0), "what fills the rest is none of them");
    }
}
