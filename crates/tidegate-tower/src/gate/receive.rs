//! A request as it comes in: its id, its client and its endpoint.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Response, Uri};
use tidegate_core::Store;
use tracing::error;

use super::Gate;
use crate::answer::{Code, Refused};
use crate::layer::Side;
use crate::path;
use crate::request_id::RequestId;
use crate::trace::TraceContext;
use crate::visit::Visit;

/// The most bytes of a user agent that count. A longer one differs from others in its first bytes too.
const MAX_AGENT: usize = 256;

// === impl Gate ===

impl<S: Store> Gate<S> {
    /// Finds out the id, trace, client and endpoint of a request, and leaves them in its extensions as a
    /// [`Visit`]. From here on its path is canonical, and a trace that cannot be read is gone.
    /// A request of which that cannot be found out is refused.
    pub(super) fn receive(
        &self,
        head: &mut Parts,
        side: Side,
    ) -> Result<Visit, Box<Response<Bytes>>> {
        let at = self.0.clock.now();
        let request_id = self.name(&mut head.headers, side);
        let trace = TraceContext::adopt(&mut head.headers);
        let refuse = |code| {
            let grpc = speaks_grpc(&head.headers);
            self.refuse_unseen(&Refused { grpc, ..Refused::new(code, &request_id, at) })
        };
        let client = self.client(head).ok_or_else(|| refuse(Code::Misconfigured))?;
        canonicalise(&mut head.uri).map_err(|_| refuse(Code::InvalidPath))?;
        let endpoint = self.0.routes.find(&head.method, head.uri.path()).clone();
        let was_early = side == Side::Early;
        let profile = self.0.profile;
        let visit = Visit { request_id, trace, client, endpoint, at, was_early, profile };
        head.extensions.insert(visit.clone());
        Ok(visit)
    }

    /// The id of the request: the client's if it can be adopted, or else a new one. The early layer puts
    /// a new id into the request's header; the org layer needs it only for its own records.
    fn name(&self, headers: &mut HeaderMap, side: Side) -> RequestId {
        let header = &self.0.request_id;
        RequestId::of(headers, header).unwrap_or_else(|| {
            let made = RequestId::generate();
            if side == Side::Early {
                headers.insert(header.clone(), made.header_value());
            }
            made
        })
    }

    fn client(&self, head: &Parts) -> Option<IpAddr> {
        let Some(peer) = (self.0.peer)(&head.extensions) else {
            // One bucket for everybody who has no address would be a way to shut everybody out (T10).
            error!(
                "the address of the peer is unknown, so the request is refused: put \
                 tidegate_tower::Peer into the request's extensions when accepting a connection"
            );
            return None;
        };
        Some(self.0.trust.client(peer, &head.headers))
    }
}

pub(super) fn speaks_grpc(headers: &HeaderMap) -> bool {
    let declared = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    declared.is_some_and(|declared| declared.starts_with(b"application/grpc"))
}

/// The part of the user agent that counts.
pub(super) fn agent(headers: &HeaderMap) -> &[u8] {
    let agent = headers.get(USER_AGENT).map_or(&[][..], HeaderValue::as_bytes);
    &agent[..agent.len().min(MAX_AGENT)]
}

/// Gives a request its canonical path, so that services behind see the path that was decided about.
fn canonicalise(uri: &mut Uri) -> Result<(), path::PathError> {
    let std::borrow::Cow::Owned(canonical) = path::canonical(uri.path())? else { return Ok(()) };
    let target = match uri.query() {
        Some(query) => format!("{canonical}?{query}"),
        None => canonical,
    };
    let mut parts = core::mem::take(uri).into_parts();
    let target = PathAndQuery::try_from(target).map_err(|_| path::PathError::TooLong)?;
    parts.path_and_query = Some(target);
    *uri = Uri::from_parts(parts).map_err(|_| path::PathError::TooLong)?;
    Ok(())
}
