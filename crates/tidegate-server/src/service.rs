//! One request: which route, which method, which answer.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;

use crate::backend::Backend;
use crate::connection::watch::{Phase, Watch};
use crate::worker::Worker;

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// Answers the requests of one connection.
pub(crate) struct Door<S> {
    pub(crate) worker: Arc<Worker<S>>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) peer: IpAddr,
    pub(crate) protocol: Protocol,
}

impl<S: Backend> Door<S> {
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let _ = (request, self.peer, self.protocol, &self.worker);
        self.watch.enter(Phase::Write);
        Ok(Response::new(Full::new(Bytes::from_static(b"ok\n"))))
    }
}
