//! The future of a response that goes through a layer.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body::Body as HttpBody;
use pin_project_lite::pin_project;
use tidegate_core::Store;
use tower_service::Service;

use super::after::{After, Settling};
use super::service::{GateService, refused};
use crate::body::Body;
use crate::gate::Ruling;

pub(super) type Judging = Pin<Box<dyn Future<Output = (Parts, Ruling)> + Send>>;

pin_project! {
    /// The future of a response. If it is dropped, what was charged stays charged.
    pub struct GateFuture<S, V, B, R>
    where
        V: Service<Request<B>>,
    {
        #[pin]
        pub(super) state: CallState<S, V, V::Future, B, R>,
    }
}

pin_project! {
    /// The states of the future, in this order; but a refusal comes at once, or after the decision.
    #[project = CallStates]
    pub(super) enum CallState<S, V, F, B, R> {
        /// The store has been asked, and its decision is awaited.
        Deciding { judging: Judging, service: GateService<S, V>, body: Option<B> },
        /// The service within works on the request.
        Passing { #[pin] future: F, after: Option<After<S>> },
        /// The response is there, and perhaps a charge is being given back.
        Answered { settling: Option<Settling>, response: Option<Response<Body<R>>> },
    }
}

// === impl GateFuture ===

impl<S, V, B, R> Future for GateFuture<S, V, B, R>
where
    S: Store + 'static,
    V: Service<Request<B>, Response = Response<R>> + Clone,
    B: HttpBody,
    R: HttpBody<Data = Bytes>,
{
    type Output = Result<Response<Body<R>>, V::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let next = match state.as_mut().project() {
                CallStates::Deciding { judging, service, body } => {
                    let (head, ruling) = ready!(judging.as_mut().poll(context));
                    // The body is taken once, because this state is left at once.
                    let Some(body) = body.take() else { return Poll::Pending };
                    match ruling {
                        Ruling::Pass(passage) => service.pass(head, body, passage),
                        Ruling::Refuse(response) => refused(*response, head.version, &body),
                    }
                }
                CallStates::Passing { future, after } => {
                    let response = ready!(future.poll(context))?.map(Body::passed);
                    let Some(after) = after.take() else { return Poll::Ready(Ok(response)) };
                    match after.finish(response) {
                        (response, None) => return Poll::Ready(Ok(response)),
                        (response, settling) => {
                            CallState::Answered { settling, response: Some(response) }
                        }
                    }
                }
                CallStates::Answered { settling, response } => {
                    if let Some(settling) = settling {
                        ready!(settling.as_mut().poll(context));
                    }
                    return response.take().map_or(Poll::Pending, |it| Poll::Ready(Ok(it)));
                }
            };
            state.set(next);
        }
    }
}

tidegate_core::debug_as!(GateFuture<S, V, B, R>, "GateFuture { .. }", S, V: Service<Request<B>>, B, R);
