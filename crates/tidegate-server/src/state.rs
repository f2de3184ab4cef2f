//! The state that all threads share, and the state that each thread has for itself.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::{Clock, Span, Store, Timestamp};
use tidegate_engine::Engine;
use tidegate_tower::serve::Serve;

use crate::metrics::{HeadRefusals, Tally};
use crate::pages::Pages;
use crate::settings::Settings;

/// The state of a server that all its threads share.
pub(crate) struct Shared<S> {
    pub(crate) engine: Arc<Engine<S>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    /// The listener for decisions: its connections and the memory they hold.
    pub(crate) serve: Serve,
    started: Timestamp,
    /// The counters of each thread.
    tallies: Mutex<Vec<Arc<Tally>>>,
    pub(crate) pages: Pages,
    /// Requests refused for what their heads say.
    pub(crate) head_refusals: HeadRefusals,
    draining: AtomicBool,
    /// Counts of the reloads that were refused, and of those that were accepted.
    reloads: [AtomicU64; 2],
}

/// The state of one thread. It has its own counters, so that threads do not wait for each other's caches.
pub(crate) struct Worker<S> {
    pub(crate) shared: Arc<Shared<S>>,
    pub(crate) tally: Arc<Tally>,
}

// === impl Shared ===

impl<S> Shared<S> {
    pub(crate) fn new(settings: Settings, engine: Arc<Engine<S>>, clock: Arc<dyn Clock>) -> Self {
        Self {
            engine,
            serve: Serve::new(settings.bounds()),
            pages: Pages::default(),
            started: clock.now(),
            clock,
            settings,
            tallies: Mutex::default(),
            head_refusals: HeadRefusals::default(),
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

    /// How long the server has been running.
    pub(crate) fn uptime(&self) -> Span {
        self.clock.now().since(self.started)
    }

    /// The counters of each thread.
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
        Self { shared, tally }
    }
}
