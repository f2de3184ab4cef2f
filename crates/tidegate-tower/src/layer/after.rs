//! What is left to do once there is a response.

use core::future::Future;
use core::pin::Pin;

use http::Response;
use tidegate_core::{Store, StoreError};
use tidegate_engine::{SettleError, ready};
use tracing::warn;

use crate::answer::Figures;
use crate::gate::{Gate, Passage};
use crate::outcome::{self, PendingCharge};

/// The work that a response leaves: header fields, and giving back charges that do not count.
pub(super) struct After<S> {
    pub(super) gate: Gate<S>,
    pub(super) passage: Passage,
}

pub(super) type Settling = Pin<Box<dyn Future<Output = ()> + Send>>;

// === impl After ===

impl<S: Store + 'static> After<S> {
    /// Writes the header fields. Also returns the settlement that has to end before the response is
    /// sent, if any.
    pub(super) fn finish<B>(self, mut response: Response<B>) -> (Response<B>, Option<Settling>) {
        let Self { gate, passage } = self;
        let within = response.extensions_mut().remove::<Figures>();
        let figures = match (passage.figures, within) {
            (Some(mine), Some(within)) if mine.is_scarcer_than(&within) => Some(mine),
            (mine, within) => within.or(mine),
        };
        match figures {
            Some(figures) if passage.outermost => {
                figures.write(&gate.0.profile, response.headers_mut());
            }
            // The layer around this one knows whether less is left of something else.
            Some(figures) => drop(response.extensions_mut().insert(figures)),
            None => {}
        }
        if let Some(name) = passage.name {
            let header = gate.0.request_id.clone();
            response.headers_mut().insert(header, name.header_value());
        }
        let outcome = || outcome::of(&response);
        let uncounted = passage.pending.filter(|it| !it.outcomes.contains(outcome()));
        let settling = uncounted.and_then(|pending| give_back(gate, pending));
        (response, settling)
    }
}

/// Gives back the charge for an outcome that does not count. A charge that cannot be given back stays.
fn give_back<S: Store + 'static>(gate: Gate<S>, pending: PendingCharge) -> Option<Settling> {
    let settling = async move {
        match gate.engine().settle(pending.ticket.as_str(), 0).await {
            // The engine reports shed settlements once a second: a flood must not fill the log.
            Ok(_) | Err(SettleError::Store(StoreError::Contended)) => {}
            Err(error) => warn!(%error, "could not refund a request whose status does not count"),
        }
    };
    if S::WAITS {
        return Some(Box::pin(settling));
    }
    // This store settles in a plain call, so the first poll finishes it.
    ready(settling);
    None
}
