//! The only source of chance in a simulation: the same seed gives the same run.

/// A splitmix64 generator: small, quick, and good with every seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

// === impl Rng ===

impl Rng {
    /// A generator with this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `bound`, or zero if `bound` is.
    pub const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    /// A number from `low` to `high`, both included.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True once in `many` calls, by chance.
    pub const fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// One of the elements of `of`, by chance.
    ///
    /// # Panics
    ///
    /// If `of` is empty.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let place = self.below(of.len() as u64);
        of[usize::try_from(place).unwrap_or(0)]
    }

    /// A small number below `bound`.
    pub fn small(&mut self, bound: usize) -> u8 {
        u8::try_from(self.below(bound as u64)).unwrap_or(0)
    }
}

/// Scatters the bits of a number: the result depends on it alone, and looks random.
#[must_use]
pub(super) const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
