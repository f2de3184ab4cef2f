//! The state that all threads share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tidegate_core::{Clock, Span, Timestamp};
use tidegate_engine::Engine;
use tidegate_tower::metrics::{Counter, Stripes};
use tidegate_tower::pages::SharedPage;
use tidegate_tower::serve::Serve;

use crate::metrics::{HeadRefusal, ThreadCounters};
use crate::settings::Settings;

/// All pages of a server.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// `/metrics` as `OpenMetrics`.
    pub(crate) open_metrics: Arc<SharedPage>,
    /// `/metrics` in the text format of Prometheus.
    pub(crate) prometheus: Arc<SharedPage>,
    /// `/v1/policies`.
    pub(crate) policies: Arc<SharedPage>,
    /// `/openapi.json`.
    pub(crate) openapi: Arc<SharedPage>,
}

/// The state of a server that all its threads share.
pub(crate) struct ServerState<S> {
    pub(crate) engine: Arc<Engine<S>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    /// The listener for decisions: its connections and the memory they hold.
    pub(crate) serve: Serve,
    started: Timestamp,
    /// The counters of each thread.
    pub(crate) tallies: Stripes<ThreadCounters>,
    pub(crate) pages: Pages,
    /// Requests refused for what their heads say.
    pub(crate) head_refusals: [Counter; HeadRefusal::ALL.len()],
    /// Whether the server is stopping.
    pub(crate) draining: AtomicBool,
    /// Counts of the reloads that were refused, and of those that were accepted.
    pub(crate) reloads: [Counter; 2],
}

// === impl ServerState ===

impl<S> ServerState<S> {
    pub(crate) fn new(settings: Settings, engine: Arc<Engine<S>>, clock: Arc<dyn Clock>) -> Self {
        Self {
            engine,
            serve: Serve::new(settings.bounds()),
            tallies: Stripes::new(settings.threads.get()),
            pages: Pages::default(),
            started: clock.now(),
            clock,
            settings,
            head_refusals: Default::default(),
            draining: AtomicBool::new(false),
            reloads: Default::default(),
        }
    }

    /// How long the server has been running.
    pub(crate) fn uptime(&self) -> Span {
        self.clock.now().since(self.started)
    }
}
