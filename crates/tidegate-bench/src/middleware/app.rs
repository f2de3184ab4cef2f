//! Runs a stack as a server, or in a loop for a profiler.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::{HOST, HeaderValue};
use axum::http::{Request, Uri};
use tokio::net::TcpListener;
use tokio::runtime;
use tower::Service as _;

use super::stack::{LEFT, Stack};
use crate::Fallible;
use crate::args::name;

/// Serves a stack on one thread until the process is killed.
pub(crate) fn serve(stack: Stack, listen: &str) -> Fallible<()> {
    let app = stack.app()?.into_make_service_with_connect_info::<SocketAddr>();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await?;
        axum::serve(listener, app).await?;
        Ok(())
    })
}

/// Sends `requests` requests through a stack without a socket: only axum and the limiter are left
/// to profile.
pub(crate) fn profile(stack: Stack, requests: u32) -> Fallible<()> {
    let mut app = stack.app()?;
    let peer = ConnectInfo(SocketAddr::from((Ipv4Addr::LOCALHOST, 5000)));
    let mut answers = BTreeMap::<u16, u32>::new();
    for _ in 0..requests {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = Uri::from_static("/hello");
        request.headers_mut().insert(HOST, HeaderValue::from_static("127.0.0.1"));
        request.extensions_mut().insert(peer);
        let answer = tidegate_engine::ready(app.call(request)).ok_or("nothing here waits")?;
        *answers.entry(answer?.status().as_u16()).or_default() += 1;
    }
    let admitted = if stack.refuses() { requests.min(LEFT) } else { requests };
    match answers.get(&200) == Some(&admitted) {
        true => Ok(()),
        false => Err(format!("{} answered {answers:?}", name(&stack)).into()),
    }
}
