//! The endpoints that answer the same to everybody: `/metrics`, `/v1/policies` and `/openapi.json`.
//!
//! Each is a [page](crate::pages): made at most once a second, away from the threads that serve.

use std::sync::Arc;

use arc_swap::Guard;
use bytes::Bytes;
use http::header::HeaderValue;
use http::{HeaderMap, StatusCode};
use tidegate_core::{Span, Store};

use super::decide::write;
use crate::answer::{self, Answer};
use crate::metrics::{Format, Snapshot};
use crate::pages::{NoPage, PATIENCE, Page, Wanted};
use crate::problem::{Kind, Problem};
use crate::state::{Shared, Worker};
use crate::wire::listing::PoliciesAnswer;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Answers with the metrics: as `OpenMetrics` if the client accepts it, otherwise as Prometheus text.
pub(crate) async fn metrics<S: Store + 'static>(
    worker: &Worker<S>,
    headers: &HeaderMap,
) -> Result<Answer, Problem> {
    let format = Format::accepted(headers);
    let pages = &worker.shared.pages;
    let page = match format {
        Format::OpenMetrics => &pages.open_metrics,
        Format::Prometheus => &pages.prometheus,
    };
    let made = read(worker, page, move |shared| {
        let text = Snapshot::of(shared).encode().ok()?;
        Some(match format {
            Format::OpenMetrics => text.into(),
            Format::Prometheus => format.of(&text).into(),
        })
    });
    let text = made.await.map_err(|why| no_page(why, "metrics are"))?;
    Ok(answer::typed(StatusCode::OK, format.content_type(), text))
}

/// Lists the policies in force.
pub(crate) async fn policies<S: Store + 'static>(worker: &Worker<S>) -> Result<Answer, Problem> {
    let made = read(worker, &worker.shared.pages.policies, |shared| {
        let mut document = Vec::new();
        let standing = |name: &str| shared.engine.standing(name);
        write(&mut document, &PoliciesAnswer::new(&shared.engine.policies(), standing));
        Some(document.into())
    });
    let document = made.await.map_err(|why| no_page(why, "the policies are"))?;
    Ok(answer::typed(StatusCode::OK, JSON, document))
}

/// Answers with the `OpenAPI` description of the server.
pub(crate) async fn openapi<S: Store + 'static>(worker: &Worker<S>) -> Result<Answer, Problem> {
    let made = read(worker, &worker.shared.pages.openapi, |_| Some(crate::openapi::document()));
    let document = made.await.map_err(|why| no_page(why, "the description is"))?;
    Ok(answer::typed(StatusCode::OK, JSON, document))
}

/// The page for the policies in force; if it is too old, `make` makes it from the shared state.
async fn read<S: Store + 'static>(
    worker: &Worker<S>,
    page: &Arc<Page>,
    make: impl FnOnce(&Shared<S>) -> Option<Bytes> + Send + 'static,
) -> Result<Bytes, NoPage> {
    let shared = Arc::clone(&worker.shared);
    let set = Guard::into_inner(shared.engine.policies());
    let (now, age) = (shared.clock.now(), shared.settings.page_age);
    let wanted = Wanted { set: &set, now, age, patience: PATIENCE };
    // Boxed, because pages are rare: otherwise the future of every request would be as large.
    Box::pin(page.read(wanted, move || make(&shared))).await
}

#[cold]
fn no_page(why: NoPage, what: &str) -> Problem {
    match why {
        NoPage::Busy => {
            let detail = format!("{what} being rendered for other clients; retry in a second");
            Kind::Busy.problem(detail).retry_after(Span::from_secs(1))
        }
        NoPage::Failed => Kind::Unavailable.problem(format!("{what} not there: rendering failed")),
    }
}
