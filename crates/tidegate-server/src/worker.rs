//! What the threads share, and what each has for itself.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::{Clock, Span, Store, Timestamp};
use tidegate_engine::Engine;
use tokio::sync::Semaphore;

use crate::accept::Admission;
use crate::connection::watch::Watches;
use crate::metrics::{Scrapes, Tally};
use crate::settings::Settings;

/// What every thread sees.
pub(crate) struct Shared<S> {
    pub(crate) engine: Arc<Engine<S>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    pub(crate) admission: Arc<Admission>,
    started: Timestamp,
    /// What each thread has counted.
    tallies: Mutex<Vec<Arc<Tally>>>,
    pub(crate) scrapes: Scrapes,
    /// One permit for each byte of a body that has come in part and is kept until the rest comes.
    pub(crate) bodies: Semaphore,
    draining: AtomicBool,
    /// Reloads that were refused, and those that were accepted.
    reloads: [AtomicU64; 2],
}

/// What one thread has for itself, so that threads do not wait for each other's caches.
pub(crate) struct Worker<S> {
    pub(crate) shared: Arc<Shared<S>>,
    pub(crate) watches: Watches,
    pub(crate) tally: Arc<Tally>,
}

/// What all bodies that are waiting for their rest may take together: an HTTP/2 connection can begin
/// many at once, so the number of connections is no bound.
const BODIES_BYTES: usize = 256 << 20;

// === impl Shared ===

impl<S> Shared<S> {
    pub(crate) fn new(settings: Settings, engine: Arc<Engine<S>>, clock: Arc<dyn Clock>) -> Self {
        Self {
            engine,
            admission: Admission::new(
                settings.max_connections,
                settings.max_connections_per_address,
            ),
            scrapes: Scrapes::default(),
            bodies: Semaphore::new(BODIES_BYTES),
            started: clock.now(),
            clock,
            settings,
            tallies: Mutex::default(),
            draining: AtomicBool::new(false),
            reloads: Default::default(),
        }
    }

    /// Whether the server is stopping.
    #[inline]
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    pub(crate) fn drain(&self) {
        self.draining.store(true, Relaxed);
    }

    /// How long it has been running.
    pub(crate) fn uptime(&self) -> Span {
        self.clock.now().since(self.started)
    }

    /// What each thread has counted.
    pub(crate) fn tallies(&self) -> Vec<Arc<Tally>> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn count_reload(&self, accepted: bool) {
        self.reloads[usize::from(accepted)].fetch_add(1, Relaxed);
    }

    pub(crate) fn reloads(&self, accepted: bool) -> u64 {
        self.reloads[usize::from(accepted)].load(Relaxed)
    }
}

// === impl Worker ===

impl<S: Store> Worker<S> {
    pub(crate) fn new(shared: Arc<Shared<S>>) -> Self {
        let tally = Arc::new(Tally::new(&shared.engine.policies()));
        shared.tallies.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&tally));
        Self { watches: Watches::new(&shared.settings.timeouts), shared, tally }
    }
}
