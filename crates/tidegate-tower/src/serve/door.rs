//! Each request on its way to the service.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::pulse::{Open, Pulse, Sent};
use super::upload::Upload;
use crate::visit::Peer;

/// Puts the peer into requests, and hands them on to the service once it is ready.
#[derive(Debug)]
pub(super) struct Door<V> {
    pub(super) service: V,
    pub(super) peer: SocketAddr,
    pub(super) body_timeout: Option<Duration>,
    pub(super) pulse: Arc<Pulse>,
}

pin_project! {
    /// A response to come.
    pub(super) struct Answering<V>
    where
        V: Service<Request<Upload>>,
    {
        #[pin]
        state: State<V, V::Future>,
        open: Option<Open>,
    }
}

pin_project! {
    #[project = States]
    enum State<V, F> {
        /// The service is not ready.
        Waiting { service: V, request: Option<Request<Upload>> },
        /// It works on the request.
        Working { #[pin] future: F },
    }
}

// === impl Door ===

impl<V, B> hyper::service::Service<Request<Incoming>> for Door<V>
where
    V: Service<Request<Upload>, Response = Response<B>> + Clone,
{
    type Response = Response<Sent<B>>;
    type Error = V::Error;
    type Future = Answering<V>;

    fn call(&self, request: Request<Incoming>) -> Answering<V> {
        let mut request = request.map(|body| Upload::new(body, self.body_timeout));
        request.extensions_mut().insert(Peer(self.peer));
        let state = State::Waiting { service: self.service.clone(), request: Some(request) };
        Answering { state, open: Some(self.pulse.open()) }
    }
}

// === impl Answering ===

impl<V, B> Future for Answering<V>
where
    V: Service<Request<Upload>, Response = Response<B>>,
{
    type Output = Result<Response<Sent<B>>, V::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let future = match this.state.as_mut().project() {
                States::Waiting { service, request } => {
                    ready!(service.poll_ready(context))?;
                    // Taken once, because the state is left at once.
                    let Some(request) = request.take() else { return Poll::Pending };
                    service.call(request)
                }
                States::Working { future } => {
                    let response = ready!(future.poll(context))?;
                    let Some(open) = this.open.take() else { return Poll::Pending };
                    return Poll::Ready(Ok(response.map(|body| Sent::new(body, open))));
                }
            };
            this.state.set(State::Working { future });
        }
    }
}
