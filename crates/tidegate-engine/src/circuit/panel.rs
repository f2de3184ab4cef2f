//! What all circuits of a node share: who is told of their changes, and which of them have something to do.

use core::fmt;
use core::task::{Context, Poll, Waker};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use tidegate_core::BreakerSignal;

use crate::sync::Mutex;

/// What all circuits of a node share.
pub(super) struct Panel {
    observer: Box<CircuitObserver>,
    lamps: Mutex<Lamps>,
}

/// The function that is told what happens to circuits.
type CircuitObserver = dyn Fn(&str, BreakerSignal) + Send + Sync;

/// The circuits that have something to do.
#[derive(Debug, Default)]
struct Lamps {
    /// The names of circuits for which time or an answer of the fleet can change something: those that are
    /// not closed, and those with something to ask or tell.
    busy: BTreeSet<Arc<str>>,
    /// Whether one of them has a call to make at once.
    is_urgent: bool,
    /// The task that polls, if it waits.
    waiting: Option<Waker>,
}

// === impl Panel ===

impl Panel {
    pub(super) fn new(observer: impl Fn(&str, BreakerSignal) + Send + Sync + 'static) -> Self {
        Self { observer: Box::new(observer), lamps: Mutex::new(Lamps::default()) }
    }

    pub(super) fn tell(&self, name: &str, signal: BreakerSignal) {
        (self.observer)(name, signal);
    }

    /// Notes that a circuit has to be looked at when time has passed.
    pub(super) fn note(&self, name: &Arc<str>) {
        self.with(|lamps| {
            if !lamps.busy.contains(name) {
                lamps.busy.insert(Arc::clone(name));
            }
        });
    }

    /// Notes that a circuit has a call to make, and wakes the task that polls.
    pub(super) fn wake(&self, name: &Arc<str>) {
        self.note(name);
        let waiting = self.with(|lamps| {
            lamps.is_urgent = true;
            lamps.waiting.take()
        });
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }

    pub(super) fn forget(&self, name: &str) {
        self.with(|lamps| lamps.busy.remove(name));
    }

    /// The circuits that have something to do, which are about to be looked at.
    pub(super) fn busy(&self) -> Vec<Arc<str>> {
        self.with(|lamps| {
            lamps.is_urgent = false;
            lamps.busy.iter().cloned().collect()
        })
    }

    /// The circuits that have something to do.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.with(|lamps| lamps.busy.iter().cloned().collect())
    }

    pub(super) fn poll_urgent(&self, context: &Context<'_>) -> Poll<()> {
        self.with(|lamps| {
            if lamps.is_urgent {
                return Poll::Ready(());
            }
            lamps.waiting = Some(context.waker().clone());
            Poll::Pending
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Lamps) -> T) -> T {
        act(&mut self.lamps.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Panel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Panel").finish_non_exhaustive()
    }
}
