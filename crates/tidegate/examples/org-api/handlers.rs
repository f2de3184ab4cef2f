//! The handlers of the API. They do little: the limits are around them.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tidegate::Store;
use tidegate_tower::answer::Code;
use tidegate_tower::metrics::Format;
use tidegate_tower::pages::{NoPage, WantedPage};
use tidegate_tower::{Identity, NotEnqueued, Visit};

use super::app::App;

pub(crate) async fn list(identity: Identity) -> Json<Value> {
    Json(json!({ "org": identity.org_id(), "reports": ["r1", "r2"] }))
}

pub(crate) async fn show(identity: Identity, Path(id): Path<String>) -> Json<Value> {
    Json(json!({ "org": identity.org_id(), "id": id }))
}

#[derive(Deserialize)]
pub(crate) struct NewReport {
    title: String,
}

pub(crate) async fn create(visit: Visit, Json(report): Json<NewReport>) -> impl IntoResponse {
    let created = json!({ "id": visit.request_id.as_str(), "title": report.title });
    (StatusCode::CREATED, Json(created))
}

/// Enqueues an export. It is counted twice, by different limits: as a request by the layers, and as a job
/// by what it weighs.
pub(crate) async fn export<S: Store + 'static>(
    State(app): State<Arc<App<S>>>,
    identity: Identity,
    visit: Visit,
    Path(id): Path<String>,
) -> Result<Response, NotEnqueued> {
    app.gate.enqueue("export", &identity, &visit).await?;
    // … and now hand it to the queue. Workers rely on what was counted here.
    let enqueued = json!({ "job": visit.request_id.as_str(), "report": id });
    Ok((StatusCode::ACCEPTED, Json(enqueued)).into_response())
}

pub(crate) async fn delete_user(identity: Identity, Path(_): Path<String>) -> StatusCode {
    match identity.has_role("admin") {
        true => StatusCode::NO_CONTENT,
        false => StatusCode::FORBIDDEN,
    }
}

#[derive(Deserialize)]
pub(crate) struct LoginForm {
    user: String,
    password: String,
}

/// Logs in. Limited by address alone here; the guide to logins limits by account as well.
pub(crate) async fn login(visit: Visit, Json(login): Json<LoginForm>) -> Response {
    if login.user == "ada" && login.password == "correct horse" {
        return Json(json!({ "token": "ada-laptop" })).into_response();
    }
    visit.refuse(Code::AuthenticationRequired).map(Body::from)
}

pub(crate) async fn health() -> &'static str {
    "ok"
}

/// The metrics, for scrapers: rendered at most once a second, off the threads that serve, and shared. On a
/// real site they would be on a listener of their own.
pub(crate) async fn metrics<S: Store + 'static>(
    State(app): State<Arc<App<S>>>,
    headers: HeaderMap,
) -> Response {
    let format = Format::accepted(&headers);
    let (gate, policies) = (app.gate.clone(), app.gate.engine().policies().into_arc());
    let rendered = move || {
        let text = gate.reporter().metrics()?.encode(gate.clone()).ok()?;
        Some(format.of(text).into())
    };
    let wanted = WantedPage::new(&policies, app.clock.now());
    match app.metrics[format as usize].read(wanted, rendered).await {
        Ok(page) => ([(CONTENT_TYPE, format.content_type())], page).into_response(),
        Err(NoPage::Busy) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Err(NoPage::Failed) => StatusCode::NOT_FOUND.into_response(),
    }
}
