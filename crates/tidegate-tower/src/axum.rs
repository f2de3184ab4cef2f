//! Extractors for axum, [`Identity`] and [`Visit`], and errors that are responses.
//!
//! ```
//! use tidegate_tower::{Identity, Visit};
//!
//! // A handler behind both layers.
//! async fn report(identity: Identity, visit: Visit) -> String {
//!     format!("{} for {}", visit.request_id, identity.org_id())
//! }
//! # let _ = report;
//! ```

use axum_core::body::Body;
use axum_core::extract::{FromRequestParts, OptionalFromRequestParts};
use axum_core::response::{IntoResponse, Response};
use http::request::Parts;
use tracing::error;

use crate::answer::{Code, ErrorResponse};
use crate::enqueue::NotEnqueued;
use crate::identity::Identity;
use crate::visit::Visit;

/// The rejection of an extractor whose value is not in the request. Its body is that of a refusal.
#[derive(Debug)]
pub struct Missing(Box<Response>);

// === impl Missing ===

impl Missing {
    /// Refuses in the profile of the gate around the handler. Without a gate nobody knows the time, and
    /// the response is a bare status.
    fn refuse(code: Code, head: &Parts) -> Self {
        let Some(visit) = head.extensions.get::<Visit>() else {
            return Self(Box::new(code.status().into_response()));
        };
        Self(Box::new(visit.refuse(code).map(Body::from)))
    }
}

impl IntoResponse for Missing {
    fn into_response(self) -> Response {
        *self.0
    }
}

impl IntoResponse for NotEnqueued {
    fn into_response(self) -> Response {
        Self::into_response(self).map(Body::from)
    }
}

impl IntoResponse for ErrorResponse {
    /// Lets a handler use `?` on a guard of its own, as on `abuse_limiter::limiter`.
    fn into_response(self) -> Response {
        http::Response::<String>::from(self).map(Body::from)
    }
}

impl<T: Sync> FromRequestParts<T> for Identity {
    type Rejection = Missing;

    /// The identity that authentication has put into the request; 401 if there is none.
    async fn from_request_parts(head: &mut Parts, _: &T) -> Result<Self, Missing> {
        let known = head.extensions.get::<Self>().cloned();
        known.ok_or_else(|| Missing::refuse(Code::AuthenticationRequired, head))
    }
}

impl<T: Sync> OptionalFromRequestParts<T> for Identity {
    type Rejection = core::convert::Infallible;

    async fn from_request_parts(
        head: &mut Parts,
        _: &T,
    ) -> Result<Option<Self>, core::convert::Infallible> {
        Ok(head.extensions.get::<Self>().cloned())
    }
}

impl<T: Sync> FromRequestParts<T> for Visit {
    type Rejection = Missing;

    /// The visit that a layer has put into the request; 500 if no layer stands around the handler.
    async fn from_request_parts(head: &mut Parts, _: &T) -> Result<Self, Missing> {
        head.extensions.get::<Self>().cloned().ok_or_else(|| {
            error!("a handler asks for the Visit, but no layer of a Gate stands around it");
            Missing::refuse(Code::Misconfigured, head)
        })
    }
}
