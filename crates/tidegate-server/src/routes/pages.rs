//! The endpoints that answer the same to everybody: `/metrics`, `/v1/policies` and `/openapi.json`.
//!
//! Each is a [page](tidegate_tower::pages): made at most once a second, away from the threads that serve.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use tidegate_core::{Span, Store};
use tidegate_tower::metrics::{Format, encode};
use tidegate_tower::pages::{NoPage, SharedPage, WantedPage};

use crate::answer::{self, Answer, JSON};
use crate::metrics::ServerMetrics;
use crate::state::ServerState;
use crate::wire::listing::PoliciesAnswer;
use tidegate_tower::answer::{Code, Problem};

/// Answers with the metrics: as `OpenMetrics` if the client accepts it, otherwise as Prometheus text.
pub(crate) async fn metrics<S: Store + 'static>(
    shared: &Arc<ServerState<S>>,
    headers: &HeaderMap,
) -> Result<Answer, Problem> {
    let format = Format::accepted(headers);
    let pages = &shared.pages;
    let page = match format {
        Format::OpenMetrics => &pages.open_metrics,
        Format::Prometheus => &pages.prometheus,
    };
    read(shared, page, ("metrics are", format.content_type()), move |shared| {
        let text = encode(ServerMetrics(Arc::clone(shared))).ok()?;
        Some(format.of(text).into())
    })
    .await
}

/// Lists the policies in force.
pub(crate) async fn policies<S: Store + 'static>(
    shared: &Arc<ServerState<S>>,
) -> Result<Answer, Problem> {
    read(shared, &shared.pages.policies, ("the policies are", JSON), |shared| {
        let standing = |name: &str| shared.engine.standing(name);
        let policies = shared.engine.policies();
        serde_json::to_vec(&PoliciesAnswer::new(&policies, standing)).ok().map(Bytes::from)
    })
    .await
}

/// Answers with the `OpenAPI` description of the server.
pub(crate) async fn openapi<S: Store + 'static>(
    shared: &Arc<ServerState<S>>,
) -> Result<Answer, Problem> {
    let document = |_: &_| Some(crate::openapi::document());
    read(shared, &shared.pages.openapi, ("the description is", JSON), document).await
}

/// The page for the policies in force; if it is too old, `make` makes it from the shared state. `what` it
/// is, with its verb, is for problems.
async fn read<S: Store + 'static>(
    shared: &Arc<ServerState<S>>,
    page: &Arc<SharedPage>,
    (what, content_type): (&str, HeaderValue),
    make: impl FnOnce(&Arc<ServerState<S>>) -> Option<Bytes> + Send + 'static,
) -> Result<Answer, Problem> {
    let shared = Arc::clone(shared);
    let set = shared.engine.policies().into_arc();
    let (now, age) = (shared.clock.now(), shared.settings.page_age);
    let wanted = WantedPage { age, ..WantedPage::new(&set, now) };
    // Boxed, because pages are rare: otherwise the future of every request would be as large.
    let page =
        Box::pin(page.read(wanted, move || make(&shared))).await.map_err(|why| match why {
            NoPage::Busy => {
                let detail = format!("{what} being rendered for other clients; retry in a second");
                Code::Busy.problem(detail).retry_after(Span::from_secs(1))
            }
            NoPage::Failed => {
                Code::Unavailable.problem(format!("{what} not available: rendering failed"))
            }
        })?;
    Ok(answer::typed(StatusCode::OK, content_type, page))
}
