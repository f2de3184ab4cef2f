//! How much may wait in one queue, and for how long.

use crate::time::Span;

/// The bounds of one [`FairQueue`](crate::FairQueue): how many requests may wait in it, the memory they
/// may count for, and the longest that one of them waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBounds {
    length: usize,
    bytes: u64,
    age: Span,
}

/// Why these numbers are refused as the bounds of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueBoundsError {
    /// The length is zero.
    #[error("a queue of length 0 refuses everybody; reject instead of queueing")]
    NoLength,
    /// The length is above [`QueueBounds::MOST_LENGTH`].
    #[error("a queue holds at most {} requests", QueueBounds::MOST_LENGTH)]
    TooLong,
    /// The memory does not suffice for one waiting request.
    #[error(
        "a waiting request counts for {} bytes, so a queue needs at least that many",
        QueueBounds::EACH
    )]
    TooFewBytes,
    /// The age is zero.
    #[error("a queue with an age of 0 refuses everybody; reject instead of queueing")]
    NoAge,
}

// === impl QueueBounds ===

impl QueueBounds {
    /// The bytes that each waiting request counts for, whatever it is: its head, its buffers and its
    /// connection. What a client sends meanwhile stays in the network.
    pub const EACH: u64 = 64 * 1_024;

    /// The largest length of a queue.
    pub const MOST_LENGTH: usize = 65_536;

    /// The usual length, in requests.
    pub const LENGTH: usize = 100;

    /// The usual age.
    pub const AGE: Span = Span::from_secs(5);

    /// The usual memory: just enough for the usual length. Whoever wants a longer queue has to grant
    /// the memory too.
    pub const BYTES: u64 = 100 * Self::EACH;

    /// Bounds of `length` requests that count for `bytes` together and wait for less than `age`.
    ///
    /// # Errors
    ///
    /// If nobody could wait within these bounds, or the length is above
    /// [`QueueBounds::MOST_LENGTH`].
    pub const fn try_new(length: usize, bytes: u64, age: Span) -> Result<Self, QueueBoundsError> {
        if length == 0 {
            return Err(QueueBoundsError::NoLength);
        }
        if length > Self::MOST_LENGTH {
            return Err(QueueBoundsError::TooLong);
        }
        if bytes < Self::EACH {
            return Err(QueueBoundsError::TooFewBytes);
        }
        if age.is_zero() {
            return Err(QueueBoundsError::NoAge);
        }
        Ok(Self { length, bytes, age })
    }

    /// The requests that may wait at once: the length, or fewer if the memory is for fewer.
    #[must_use]
    pub fn places(&self) -> usize {
        usize::try_from(self.bytes / Self::EACH).map_or(self.length, |most| most.min(self.length))
    }

    /// The places that one tenant may take while others wait: half of them, and at least one.
    #[must_use]
    pub fn share(&self) -> usize {
        (self.places() / 2).max(1)
    }

    /// The time after which a waiting request leaves.
    #[must_use]
    pub const fn age(&self) -> Span {
        self.age
    }
}

impl Default for QueueBounds {
    /// The usual bounds: [`LENGTH`](Self::LENGTH), [`BYTES`](Self::BYTES) and [`AGE`](Self::AGE).
    fn default() -> Self {
        Self { length: Self::LENGTH, bytes: Self::BYTES, age: Self::AGE }
    }
}
