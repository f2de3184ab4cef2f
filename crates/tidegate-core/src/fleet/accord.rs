//! The record that a fleet keeps of one breaker, and its bytes.
//!
//! A record has the fields generation, state, until, holder and `holder_until`. As a value it can only hold
//! what belongs together: an end of the window where it is open, a lease where it is half-open. As bytes it
//! is, like every record of Tidegate, two letters for form and version, and little-endian integers:
//!
//! | bytes | meaning |
//! |---|---|
//! | 2 | `f1` |
//! | 1 | the state: `c` closed, `o` open, `h` half-open, `l` half-open with a lease, `O` and `C` forced |
//! | 8 | the generation |
//! | 8 | until when it is open, in µs; zero unless it is |
//! | 8 | successes so far; zero unless it is half-open |
//! | 8 + 8 | the holder of the lease: its node, and the number of the lease there; zero without a lease |
//! | 8 | until when the lease is valid, in µs; zero without a lease |

use crate::breaker::BreakerState;
use crate::fleet::FleetError;
use crate::record::Flaw;
use crate::record::bytes::{chunk, form, number, time, word};
use crate::time::{MAX_EXACT, Timestamp};

/// What a fleet has agreed about one breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accord {
    /// Grows with every change, so that the highest generation is the latest record. It is never less than
    /// the microsecond of the change: a record that was forgotten, or lost together with its store, is
    /// followed by one with a higher generation all the same.
    pub generation: u64,
    /// The state of the breaker.
    pub state: AccordState,
}

/// The agreed state of a breaker. All times are by the clock of the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccordState {
    /// Calls pass.
    Closed,
    /// No call passes until then. Afterwards a node may take a lease.
    Open {
        /// The end of the recovery window.
        until: Timestamp,
    },
    /// One call at a time may try.
    HalfOpen {
        /// Probes that have succeeded since the breaker was open.
        successes: u32,
        /// The lease of the node that may try, if one was taken. It ends by itself.
        lease: Option<Lease>,
    },
    /// No call passes, because an operator wants it so.
    ForcedOpen,
    /// Calls pass and their failures do not count, because an operator wants it so.
    ForcedClosed,
}

/// The right to make one probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The holder of the lease.
    pub holder: Holder,
    /// The first instant at which the lease is not valid any more.
    pub until: Timestamp,
}

/// One attempt of one node to get a lease. Attempts that are sent again keep their number, so the same
/// attempt never gets two leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The node: a random number, chosen when its process started.
    pub node: u64,
    /// The number of the attempt on this node.
    pub number: u64,
}

/// The form and the version of the bytes.
const LETTERS: &[u8; 2] = b"f1";

// === impl Accord ===

impl Accord {
    /// The record of a breaker that nothing has ever been agreed about.
    pub const FRESH: Self = Self { generation: 0, state: AccordState::Closed };

    /// The lease that is valid at `now`, if there is one.
    #[must_use]
    pub fn lease(&self, now: Timestamp) -> Option<Lease> {
        match self.state {
            AccordState::HalfOpen { lease, .. } => lease.filter(|lease| now < lease.until),
            _ => None,
        }
    }

    /// The bytes of the record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let zero = (0, Lease { holder: Holder { node: 0, number: 0 }, until: Timestamp::ZERO });
        let none = Timestamp::ZERO;
        let (letter, until, (successes, lease)) = match self.state {
            AccordState::Closed => (b'c', none, zero),
            AccordState::Open { until } => (b'o', until, zero),
            AccordState::HalfOpen { successes, lease: None } => (b'h', none, (successes, zero.1)),
            AccordState::HalfOpen { successes, lease: Some(lease) } => {
                (b'l', none, (successes, lease))
            }
            AccordState::ForcedOpen => (b'O', none, zero),
            AccordState::ForcedClosed => (b'C', none, zero),
        };
        let Holder { node, number } = lease.holder;
        let words = [
            self.generation,
            until.as_micros(),
            u64::from(successes),
            node,
            number,
            lease.until.as_micros(),
        ];
        form(LETTERS, [letter], words)
    }

    /// Reads the bytes of a record, and checks every number in them.
    ///
    /// # Errors
    ///
    /// [`FleetError::Version`] if a later version wrote them, [`FleetError::Corrupt`] if they are no
    /// record.
    pub fn decode(bytes: &[u8]) -> Result<Self, FleetError> {
        match bytes.first_chunk() {
            Some(letters) if letters == LETTERS => Ok(Self::read(bytes)?),
            Some([b'f', b'2'..=b'9']) => Err(FleetError::Version),
            _ => Err(FleetError::Corrupt),
        }
    }

    fn read(whole: &[u8]) -> Result<Self, Flaw> {
        let mut bytes = whole;
        let [_, _, letter] = chunk(&mut bytes)?;
        let (generation, until) = (number(&mut bytes)?, time(&mut bytes)?);
        let successes = u32::try_from(word(&mut bytes)?).map_err(|_| Flaw::Garbled)?;
        let holder = Holder { node: word(&mut bytes)?, number: word(&mut bytes)? };
        let lease = Lease { holder, until: time(&mut bytes)? };
        let state = match letter {
            b'c' => AccordState::Closed,
            b'o' => AccordState::Open { until },
            b'h' => AccordState::HalfOpen { successes, lease: None },
            b'l' => AccordState::HalfOpen { successes, lease: Some(lease) },
            b'O' => AccordState::ForcedOpen,
            b'C' => AccordState::ForcedClosed,
            _ => return Err(Flaw::Garbled),
        };
        let accord = Self { generation, state };
        // Nothing follows, and a field that does not belong to the state is zero.
        if accord.encode() == whole { Ok(accord) } else { Err(Flaw::Garbled) }
    }

    /// The generation of a change of this record at `now` by a node that has seen the generation `seen`.
    pub(super) fn next(&self, seen: u64, now: Timestamp) -> u64 {
        (self.generation.max(seen) + 1).max(now.as_micros()).min(MAX_EXACT)
    }
}

// === impl AccordState ===

impl AccordState {
    /// The state without its times.
    #[must_use]
    pub const fn kind(&self) -> BreakerState {
        match self {
            Self::Closed => BreakerState::Closed,
            Self::Open { .. } => BreakerState::Open,
            Self::HalfOpen { .. } => BreakerState::HalfOpen,
            Self::ForcedOpen => BreakerState::ForcedOpen,
            Self::ForcedClosed => BreakerState::ForcedClosed,
        }
    }
}
