//! What the server says about itself.

use std::sync::Arc;

use bytes::Bytes;
use http::header::HeaderValue;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::decide::write;
use crate::answer::{self, Answer};
use crate::backend::Backend;
use crate::metrics::{Format, Snapshot};
use crate::problem::{Kind, Problem};
use crate::worker::Worker;

/// What is running, and how it is.
#[derive(Serialize, ToSchema)]
#[schema(as = Readiness)]
pub(crate) struct ReadyAnswer {
    /// `ready`, `draining` while the server stops, or `store_failed` while the store does not work.
    status: &'static str,
    /// Why the store does not work, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The version of the server.
    version: &'static str,
    /// How many policies are in force.
    policies: usize,
    /// Where counters are kept.
    store: &'static str,
    /// How decisions are made: `normal` while the store answers.
    mode: &'static str,
    /// Seconds since the server was started.
    uptime_seconds: u64,
    /// Open connections, this one included.
    connections: usize,
}

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Says that the process lives.
pub(crate) fn livez() -> Answer {
    answer::typed(StatusCode::OK, TEXT, Bytes::from_static(b"ok\n"))
}

/// Says whether the server takes requests: 503 while it stops, so that load balancers leave, and
/// while its store does not work, as of the last probe. Nothing is asked for it: whoever polls this
/// must not be able to put load on the store.
pub(crate) fn readyz<S: Backend>(worker: &Worker<S>) -> Result<Answer, Problem> {
    let shared = &worker.shared;
    let fails = shared.store_fails();
    let (status, code) = match &fails {
        _ if shared.is_draining() => ("draining", StatusCode::SERVICE_UNAVAILABLE),
        Some(_) => ("store_failed", StatusCode::SERVICE_UNAVAILABLE),
        None => ("ready", StatusCode::OK),
    };
    let mut document = Vec::with_capacity(256);
    write(
        &mut document,
        &ReadyAnswer {
            status,
            reason: fails.map(|error| error.to_string()),
            version: env!("CARGO_PKG_VERSION"),
            policies: shared.engine.policies().policies().len(),
            store: shared.engine.store().name(),
            mode: tidegate_core::Mode::Normal.name(),
            uptime_seconds: shared.uptime().as_micros() / 1_000_000,
            connections: shared.admission.open(),
        },
    );
    Ok(answer::typed(code, JSON, document.into()))
}

/// Tells the metrics, as `OpenMetrics` to those who accept it and as Prometheus text to others.
pub(crate) async fn metrics<S: Backend>(
    worker: &Worker<S>,
    headers: &HeaderMap,
) -> Result<Answer, Problem> {
    let format = Format::accepted(headers);
    let shared = Arc::clone(&worker.shared);
    // To count a store's entries takes milliseconds; requests must not wait for that.
    let text = if shared.scrapes.begin() {
        let made = tokio::task::spawn_blocking(move || {
            let turn = shared.scrapes.turn();
            Snapshot::of(&shared).encode().ok().map(|text| turn.made(text))
        });
        made.await.ok().flatten()
    } else {
        shared.scrapes.last()
    };
    let text = text.ok_or_else(|| Kind::Busy.problem("others are being told; ask again"))?;
    Ok(answer::typed(StatusCode::OK, format.content_type(), format.of(&text).into()))
}

/// Describes this interface.
pub(crate) fn openapi() -> Result<Answer, Problem> {
    let document = crate::openapi::document();
    Ok(answer::typed(StatusCode::OK, JSON, document))
}
