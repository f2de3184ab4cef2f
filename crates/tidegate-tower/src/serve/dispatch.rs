//! Each request on its way to the service, and its answer on the way back.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::bounds::Bounds;
use super::host::{BoxError, Host, ListenerRefusal, Origin, PlaceKind, Protocol};
use super::memory::{HeldBytes, MemoryUse};
use super::upload::Upload;
use super::watch::{Open, Watch};
use crate::answer::Code;
use crate::body::Body;

/// Hands the requests of one connection to its service.
#[derive(Clone, Debug)]
pub(super) struct Dispatch<H, V> {
    pub(super) host: H,
    pub(super) service: V,
    pub(super) bounds: Arc<Bounds>,
    pub(super) origin: Arc<Origin>,
    pub(super) watch: Arc<Watch>,
}

pin_project! {
    /// The future of a response.
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
        /// The service is not ready yet.
        Waiting { service: V, request: Option<Request<Upload>> },
        /// The service works on the request.
        Working { #[pin] future: F },
        /// The service has failed before it was given the request.
        Failed { error: Option<BoxError> },
        /// The listener has refused the request.
        Refused { response: Option<Response<Bytes>> },
    }
}

pin_project! {
    /// The body of a response, which keeps its request open until it is sent.
    pub(super) struct SentBody<B> {
        #[pin]
        body: Body<B>,
        open: Open,
    }
}

/// The most bytes of an answer that are not counted: that many are kept for each stream in any case.
const SMALL: usize = 16 << 10;

/// Counts the rest of an answer as memory of its connection until hyper has sent it, or its client is
/// gone. A page that others are given as well takes no more memory for one more client, and a body that
/// is made piece by piece waits for its client; neither is counted.
#[cold]
fn counted(frame: Frame<Bytes>, open: &Open) -> Result<Frame<Bytes>, BoxError> {
    struct Counted {
        data: Bytes,
        _held: HeldBytes,
    }
    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.data
        }
    }
    let (data, share) = match (frame.into_data(), open.share()) {
        (Ok(data), Some(share)) if data.is_unique() => (data, share),
        (Ok(data), _) => return Ok(Frame::data(data)),
        (Err(other), _) => return Ok(other),
    };
    let bytes = data.len().min(share.most_of_an_answer());
    let _held = share
        .hold(MemoryUse::Answers, bytes)
        .ok_or("clients have not read earlier answers, and this one found no memory")?;
    Ok(Frame::data(Bytes::from_owner(Counted { data, _held })))
}

// === impl Dispatch ===

impl<H: Host, V> Dispatch<H, V> {
    /// Why the listener refuses a request, if it does.
    fn refusal<B>(&self, request: &Request<B>) -> Option<ListenerRefusal> {
        if request.headers().len() > self.bounds.headers {
            return Some(ListenerRefusal {
                code: Code::HeadTooLarge,
                detail: "the request has too many header fields",
            });
        }
        let is_health = |path: &&str| *path == request.uri().path();
        if self.origin.place == PlaceKind::Reserved && !self.bounds.health.iter().any(is_health) {
            return Some(ListenerRefusal {
                code: Code::Busy,
                detail: "all connections are taken; only health checks are answered on this one",
            });
        }
        None
    }
}

impl<H, V> hyper::service::Service<Request<Incoming>> for Dispatch<H, V>
where
    H: Host,
    V: Service<Request<Upload>, Response = Response<H::Body>, Error: Into<BoxError>> + Clone,
{
    type Response = Response<SentBody<H::Body>>;
    type Error = BoxError;
    type Future = Answering<V>;

    #[inline]
    fn call(&self, request: Request<Incoming>) -> Answering<V> {
        let open = match self.origin.protocol {
            Protocol::Http1 => self.watch.open(),
            Protocol::Http2 => self.watch.open_stream(),
        };
        let state = match self.refusal(&request) {
            None => {
                let share = (!self.bounds.small_bodies).then(|| Arc::clone(&self.origin.share));
                let timeout = self.bounds.body_timeout;
                let request = request.map(|body| Upload::new(body, timeout, share));
                let mut service = self.service.clone();
                // Almost every service is ready at once, and then its future is made in its place. One
                // that is not is asked again, by a waker that counts.
                match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(Ok(())) => State::Working { future: service.call(request) },
                    Poll::Ready(Err(error)) => State::Failed { error: Some(error.into()) },
                    Poll::Pending => State::Waiting { service, request: Some(request) },
                }
            }
            Some(refusal) => {
                let mut response = self.host.refuse(refusal);
                match self.origin.protocol {
                    Protocol::Http1 => {
                        let close = HeaderValue::from_static("close");
                        response.headers_mut().insert(CONNECTION, close);
                    }
                    // Whatever else it has sent costs as much to read as this request did.
                    Protocol::Http2 => self.watch.turn_deaf(),
                }
                State::Refused { response: Some(response) }
            }
        };
        Answering { state, open: Some(open) }
    }
}

// === impl Answering ===

impl<V, B> Future for Answering<V>
where
    V: Service<Request<Upload>, Response = Response<B>, Error: Into<BoxError>>,
{
    type Output = Result<Response<SentBody<B>>, BoxError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let response = loop {
            let future = match this.state.as_mut().project() {
                States::Waiting { service, request } => {
                    ready!(service.poll_ready(context)).map_err(Into::into)?;
                    // The request is taken once, because this state is left at once.
                    let Some(request) = request.take() else { return Poll::Pending };
                    service.call(request)
                }
                States::Working { future } => {
                    let response = ready!(future.poll(context)).map_err(Into::into)?;
                    break response.map(Body::passed);
                }
                States::Failed { error } => {
                    return error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error)));
                }
                States::Refused { response } => {
                    let Some(response) = response.take() else { return Poll::Pending };
                    break response.map(Body::refused);
                }
            };
            this.state.set(State::Working { future });
        };
        let Some(open) = this.open.take() else { return Poll::Pending };
        Poll::Ready(Ok(response.map(|body| SentBody { body, open })))
    }
}

// === impl SentBody ===

impl<B: HttpBody<Data = Bytes, Error: Into<BoxError>>> HttpBody for SentBody<B> {
    type Data = Bytes;
    type Error = BoxError;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut this = self.project();
        this.open.is_asked();
        let frame = ready!(this.body.as_mut().poll_frame(context));
        Poll::Ready(frame.map(|frame| {
            let frame = frame.map_err(Into::into)?;
            this.open.hands_over();
            let length = frame.data_ref().map_or(0, Bytes::len);
            match length > SMALL && this.body.is_end_stream() {
                true => counted(frame, this.open),
                false => Ok(frame),
            }
        }))
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
