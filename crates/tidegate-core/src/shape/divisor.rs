//! Division by a number that is known in advance, as a multiplication.
//!
//! A reading divides twice, and a division takes longer than all the rest of a bucket's step. For
//! dividends below 2⁵⁴ one multiplication by a rounded-up reciprocal gives the very same quotient.

/// A divisor for dividends below 2⁵⁴.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divisor {
    divisor: u64,
    /// `2^(54 + shift) / divisor`, rounded up. With `2^shift >= divisor` it is too large by less than
    /// one part in 2⁵⁴ of the quotient, which is too little to reach the next one.
    factor: u64,
    shift: u32,
}

// === impl Divisor ===

impl Divisor {
    /// A divisor that divides by `divisor`, which is not zero.
    pub(super) const fn new(divisor: u64) -> Self {
        let shift = u64::BITS - (divisor - 1).leading_zeros();
        #[expect(clippy::cast_possible_truncation, reason = "at most 2⁵⁵")]
        let factor = (1_u128 << (54 + shift)).div_ceil(divisor as u128) as u64;
        Self { divisor, factor, shift }
    }

    /// The quotient, rounded down.
    #[inline]
    pub(super) const fn floor(self, dividend: u64) -> u64 {
        let high = (((dividend << 10) as u128 * self.factor as u128) >> 64) as u64;
        high >> self.shift
    }

    /// The quotient, rounded up.
    #[inline]
    pub(super) const fn ceil(self, dividend: u64) -> u64 {
        let quotient = self.floor(dividend);
        quotient + (quotient * self.divisor != dividend) as u64
    }
}

#[cfg(test)]
mod tests {
    //! The very same quotients as division, where it matters most: around multiples.

    use proptest::prelude::*;

    use super::Divisor;
    use crate::time::MAX_EXACT;

    fn numbers() -> impl Strategy<Value = u64> {
        let near_powers = (0..53_u32, 0..3_u64).prop_map(|(bit, by)| ((1_u64 << bit) + by).max(1));
        prop_oneof![1..=MAX_EXACT, 1..5_000_u64, near_powers]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn it_divides_exactly(divisor in numbers(), quotient in numbers(), off in 0..5_u64) {
            let by = Divisor::new(divisor);
            let near = divisor.saturating_mul(quotient).min(MAX_EXACT).saturating_add(off);
            for dividend in [0, 1, quotient, near, near.saturating_sub(4), MAX_EXACT] {
                let dividend = dividend.min(MAX_EXACT);
                prop_assert_eq!(by.floor(dividend), dividend / divisor);
                prop_assert_eq!(by.ceil(dividend), dividend.div_ceil(divisor));
            }
        }
    }
}
