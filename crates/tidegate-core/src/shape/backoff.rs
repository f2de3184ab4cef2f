//! Which requests are counted, and the delay that counting refused attempts can ask for.
//!
//! The delay is decided by a [`Strategy`] that the store knows nothing of. A strategy is stateless, a
//! function of how far the limit was overrun, so it is evaluated once, for 1 to 32 over, when the
//! policy is loaded. The charge carries the table; a store only picks a row.

use std::sync::Arc;

use crate::time::Span;

/// Which requests a [`Window`](super::Window) or a [`Quota`](super::Quota) counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Counts {
    /// Admitted requests only. A refused request takes nothing.
    #[default]
    Admitted,
    /// Refused requests too: `remaining` goes below zero, and a backoff can grow with the overrun.
    Attempts(Option<Backoff>),
}

/// How long to stay away, as a function of how far a limit was overrun.
///
/// ```
/// use tidegate_core::{Backoff, Span, Strategy};
///
/// /// A second for each attempt too many.
/// struct Linear;
///
/// impl Strategy for Linear {
///     fn delay(&self, over: u32) -> Span {
///         Span::from_secs(u64::from(over))
///     }
/// }
///
/// assert_eq!(Backoff::by(&Linear).at(7), Span::from_secs(7));
/// ```
pub trait Strategy {
    /// The delay at `over` attempts beyond the limit, from 1 on.
    fn delay(&self, over: u32) -> Span;
}

/// `base`, then `factor` times as long for each further attempt, at most `cap`: the usual strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exponential {
    /// The first delay.
    pub base: Span,
    /// How many times longer each further delay is.
    pub factor: u32,
    /// The longest delay.
    pub cap: Span,
}

/// A table with a delay for each number of attempts over the limit; the last one repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff(Arc<[Span; Backoff::ROWS]>);

// === impl Counts ===

impl Counts {
    /// Whether refused attempts count.
    #[must_use]
    pub const fn attempts(&self) -> bool {
        matches!(self, Self::Attempts(_))
    }

    /// The delay asked for at `over` attempts beyond the limit, at most `time_to_reset`.
    pub(super) fn delay(&self, over: u64, time_to_reset: Span) -> Span {
        match self {
            Self::Attempts(Some(backoff)) if over > 0 => backoff.at(over).min(time_to_reset),
            _ => Span::ZERO,
        }
    }
}

// === impl Exponential ===

impl Strategy for Exponential {
    fn delay(&self, over: u32) -> Span {
        let factor = u64::from(self.factor).saturating_pow(over.saturating_sub(1));
        Span::from_micros(self.base.as_micros().saturating_mul(factor)).min(self.cap)
    }
}

// === impl Backoff ===

impl Backoff {
    /// How many rows the table of delays has.
    pub const ROWS: usize = 32;

    /// The table of delays that `strategy` gives.
    #[must_use]
    pub fn by(strategy: &impl Strategy) -> Self {
        Self::from_fn(|over| strategy.delay(over))
    }

    /// The table of delays that a function gives: `delay(over)` for `over` = 1 to 32.
    #[must_use]
    pub fn from_fn(mut delay: impl FnMut(u32) -> Span) -> Self {
        let mut over = 0;
        Self(Arc::new([(); Self::ROWS].map(|()| {
            over += 1;
            delay(over)
        })))
    }

    /// `base`, then `factor` times as long for each further attempt, at most `cap`.
    ///
    /// ```
    /// use tidegate_core::{Backoff, Span};
    ///
    /// let backoff = Backoff::exponential(Span::from_secs(2), 2, Span::from_secs(60));
    /// assert_eq!(backoff.at(1), Span::from_secs(2));
    /// assert_eq!(backoff.at(3), Span::from_secs(8));
    /// assert_eq!(backoff.at(1_000_000), Span::from_secs(60));
    /// ```
    #[must_use]
    pub fn exponential(base: Span, factor: u32, cap: Span) -> Self {
        Self::by(&Exponential { base, factor, cap })
    }

    /// The delay at `over` attempts beyond the limit; zero if it was not overrun.
    #[must_use]
    pub fn at(&self, over: u64) -> Span {
        let row = usize::try_from(over).unwrap_or(usize::MAX).min(Self::ROWS);
        row.checked_sub(1).map_or(Span::ZERO, |row| self.0[row])
    }

    /// All rows of the table, for stores that send it along.
    #[must_use]
    pub fn rows(&self) -> &[Span; Self::ROWS] {
        &self.0
    }
}
