//! What goes into a queue and what comes out of it, as data.

use core::fmt;

use crate::cost::Cost;
use crate::shape::Rate;
use crate::time::{Span, Timestamp};

/// The handle of one waiting request in its [`FairQueue`](crate::FairQueue).
///
/// A queue never gives the same seat twice. So a handle is worthless once its request has left, for
/// whatever reason, and a late verb with it changes nothing for those who still wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(pub(super) u64);

/// A request that wants to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<T> {
    /// The tenant that sends the request. Tenants take turns.
    pub tenant: T,
    /// What the request will take once it goes. Tenants share by cost, not by number of requests.
    pub cost: Cost,
    /// The store's answer to this request, if it has asked: only a request that finds the queue empty asks
    /// before it waits.
    pub told: Option<Forecast>,
}

/// When a refused request can be admitted, as the store told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// The wait that the store told. If nobody else asks meanwhile, the request is admitted after it.
    pub wait: Span,
    /// How fast the limit that told the wait refills, in the units of [`Arrival::cost`]. `None` if it is
    /// no bucket, or counts in other units: then nothing is known about the requests behind the head.
    pub pace: Option<Rate>,
}

/// The head of a queue, and when the queue has to be asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Armed {
    /// The request whose turn it is: the only one of its queue that asks the store.
    pub seat: Seat,
    /// When [`FairQueue::ask`](crate::FairQueue::ask) has to be called, unless another call changes this
    /// value first: then the head may ask the store, or a request has waited for too long. `None` while the
    /// head is asking and nobody waits behind it.
    pub due: Option<Timestamp>,
}

/// What a call has changed: the requests that had to leave, and the head of the queue now.
#[must_use]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// The requests that left without being admitted and without cancelling. They have to be answered.
    pub departed: Vec<Departure>,
    /// The head of the queue; `None` if nobody waits. If it differs from the one that was told before,
    /// the timer has to be set anew.
    pub armed: Option<Armed>,
}

/// A request that had to leave its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The seat the request had. It is worthless now.
    pub seat: Seat,
    /// Why the request had to leave.
    pub why: Parting,
}

/// Why a waiting request had to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// The request waited as long as the queue allows.
    Expired,
    /// The request was the head, and the store told it a wait that is longer than the queue allows.
    TooLong,
    /// The request was the newest of a tenant that held more than half of a full queue, and another tenant
    /// needed its place.
    Yielded,
    /// The queue was closed.
    Closed(Closing),
}

/// Why a queue is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The upstream's circuit breaker has opened. The queue takes arrivals again at once: the breaker
    /// stands before it, and a queue that had to be opened again could be forgotten.
    CircuitOpen,
    /// The node shuts down. The queue stays closed.
    Shutdown,
    /// What the queue belongs to was deleted. The queue stays closed.
    Removed,
}

/// Why an arrival was refused. It was never counted, and has no seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnedAway {
    /// All places are taken, and no other tenant has more than half of them.
    #[error("the queue is full")]
    Full,
    /// This tenant already holds half of the places, and other tenants are waiting.
    #[error("this tenant already holds half of the queue and other tenants are waiting")]
    Share,
    /// The request would have to wait for longer than the queue allows, by what the store told and by the
    /// requests ahead of it.
    #[error("would wait {wait}, longer than the queue's maximum age")]
    TooLong {
        /// The shortest time after which the request could be admitted.
        wait: Span,
    },
    /// The queue is closed for good.
    #[error("the queue is closed: {0}")]
    Closed(Closing),
}

// === impl Arrival ===

impl<T> Arrival<T> {
    /// A request of `tenant` that takes `cost` and has not asked the store.
    #[must_use]
    pub const fn new(tenant: T, cost: Cost) -> Self {
        Self { tenant, cost, told: None }
    }

    /// The same request, which has asked the store and was told this.
    #[must_use]
    pub fn told(self, forecast: Forecast) -> Self {
        Self { told: Some(forecast), ..self }
    }
}

// === impl Closing ===

impl Closing {
    /// Whether the queue stays closed.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::CircuitOpen => false,
            Self::Shutdown | Self::Removed => true,
        }
    }
}

impl fmt::Display for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CircuitOpen => "the circuit breaker of the upstream has opened",
            Self::Shutdown => "the node shuts down",
            Self::Removed => "its limit was deleted",
        })
    }
}
