//! What is left to do once there is a response.

use core::future::Future;
use core::pin::Pin;

use http::{Extensions, Response};
use tidegate_core::Store;
use tidegate_engine::ready;
use tracing::warn;

use super::Side;
use crate::answer::Figures;
use crate::gate::{Gate, Passage};
use crate::outcome::{self, Pending};
use crate::request_id::RequestId;
use crate::visit::Visit;

/// What is done once there is a response: header fields, and giving back what did not count.
pub(super) struct After<S> {
    gate: Gate<S>,
    figures: Option<Figures>,
    pending: Option<Pending>,
    /// Of the outermost layer, which writes the header fields of all.
    request_id: Option<RequestId>,
}

pub(super) type Settling = Pin<Box<dyn Future<Output = ()> + Send>>;

// === impl After ===

impl<S: Store + 'static> After<S> {
    pub(super) fn new(gate: Gate<S>, side: Side, passage: Passage, request: &Extensions) -> Self {
        // Behind an early layer, that one is around this.
        let outermost = |visit: &&Visit| side == Side::Early || !visit.was_early;
        let visit = request.get::<Visit>().filter(outermost);
        let request_id = visit.map(|visit| visit.request_id.clone());
        let Passage { figures, pending, .. } = passage;
        Self { gate, figures, pending, request_id }
    }

    /// Writes the header fields; also what is still to be done before the response is sent.
    pub(super) fn finish<B>(self, mut response: Response<B>) -> (Response<B>, Option<Settling>) {
        let outcome = outcome::of(&response);
        let within = response.extensions_mut().remove::<Figures>();
        let figures = match (self.figures, within) {
            (Some(mine), Some(within)) if mine.is_scarcer_than(&within) => Some(mine),
            (mine, within) => within.or(mine),
        };
        match self.request_id {
            Some(request_id) => {
                if let Some(figures) = figures {
                    figures.write(self.gate.profile(), response.headers_mut());
                }
                let header = self.gate.request_id_header().clone();
                response.headers_mut().insert(header, request_id.header_value());
            }
            // Whoever is around this one knows whether less is left of something else.
            None => drop(figures.map(|figures| response.extensions_mut().insert(figures))),
        }
        let settling = self.pending.filter(|pending| pending.is_given_back(outcome));
        (response, settling.and_then(|pending| give_back(self.gate, pending)))
    }
}

/// Gives back what was charged for an outcome that did not come. What cannot be given back stays
/// counted.
fn give_back<S: Store + 'static>(gate: Gate<S>, pending: Pending) -> Option<Settling> {
    let settling = async move {
        if let Err(error) = gate.engine().settle(pending.ticket().as_str(), 0).await {
            warn!(%error, "an outcome that does not count could not be given back");
        }
    };
    if S::SHARED {
        return Some(Box::pin(settling));
    }
    // A store within the process is done at once.
    ready(settling);
    None
}
