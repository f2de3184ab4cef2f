//! The layers: one before authentication, one behind it.
//!
//! Both are the same service; they differ in what is known of a request, and so in which policy is
//! asked. Bodies are never looked at to decide: a request is ruled on by its head, and its body goes on
//! untouched or is dropped (threat T38).

mod after;
mod future;
mod service;

pub use future::GateFuture;
pub use service::GateService;

use core::fmt;

use tidegate_core::Store;
use tower_layer::Layer;

use crate::gate::Gate;

/// A layer of a [`Gate`]: [before](Gate::early) or [behind](Gate::org) authentication.
pub struct GateLayer<S> {
    pub(crate) gate: Gate<S>,
    pub(crate) side: Side,
}

/// The side of authentication on which a layer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Early,
    Org,
}

// === impl GateLayer ===

impl<S> Clone for GateLayer<S> {
    fn clone(&self) -> Self {
        Self { gate: self.gate.clone(), side: self.side }
    }
}

impl<S> fmt::Debug for GateLayer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateLayer").field("side", &self.side).finish_non_exhaustive()
    }
}

impl<S: Store + 'static, V: Clone> Layer<V> for GateLayer<S> {
    type Service = GateService<S, V>;

    fn layer(&self, inner: V) -> Self::Service {
        GateService { gate: self.gate.clone(), side: self.side, inner }
    }
}
