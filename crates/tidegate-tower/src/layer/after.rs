//! What is left to do once there is a response.

use core::future::Future;
use core::pin::Pin;

use http::Response;
use tidegate_core::{Store, StoreError};
use tidegate_engine::{SettleError, ready};
use tracing::warn;

use crate::answer::Figures;
use crate::gate::{Gate, Passage};
use crate::outcome::{self, Pending};

/// What is done once there is a response: header fields, and giving back what did not count.
pub(super) struct After<S> {
    gate: Gate<S>,
    passage: Passage,
}

pub(super) type Settling = Pin<Box<dyn Future<Output = ()> + Send>>;

// === impl After ===

impl<S: Store + 'static> After<S> {
    pub(super) const fn new(gate: Gate<S>, passage: Passage) -> Self {
        Self { gate, passage }
    }

    /// Writes the header fields; also what is still to be done before the response is sent.
    pub(super) fn finish<B>(self, mut response: Response<B>) -> (Response<B>, Option<Settling>) {
        let Self { gate, passage } = self;
        let within = response.extensions_mut().remove::<Figures>();
        let figures = match (passage.figures, within) {
            (Some(mine), Some(within)) if mine.is_scarcer_than(&within) => Some(mine),
            (mine, within) => within.or(mine),
        };
        match figures {
            Some(figures) if passage.outermost => {
                figures.write(gate.profile(), response.headers_mut());
            }
            // Whoever is around this one knows whether less is left of something else.
            Some(figures) => drop(response.extensions_mut().insert(figures)),
            None => {}
        }
        if let Some(name) = passage.name {
            let header = gate.request_id_header().clone();
            response.headers_mut().insert(header, name.header_value());
        }
        let Some(pending) = passage.pending else { return (response, None) };
        let given_back = pending.is_given_back(outcome::of(&response));
        (response, given_back.then(|| give_back(gate, pending)).flatten())
    }
}

/// Gives back what was charged for an outcome that did not come. What cannot be given back stays
/// counted.
fn give_back<S: Store + 'static>(gate: Gate<S>, pending: Pending) -> Option<Settling> {
    let settling = async move {
        match gate.engine().settle(pending.ticket().as_str(), 0).await {
            // The engine tells of what is shed, once a second: a flood must not fill the log.
            Ok(_) | Err(SettleError::Store(StoreError::Contended)) => {}
            Err(error) => warn!(%error, "an outcome that does not count could not be given back"),
        }
    };
    if S::WAITS {
        return Some(Box::pin(settling));
    }
    // Settled by a plain call, so it is done when it is polled first.
    ready(settling);
    None
}
