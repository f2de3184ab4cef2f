//! The API: one table of endpoints, and the layers around it.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use tidegate::file::File;
use tidegate::memory::MemoryStore;
use tidegate::{Clock, Engine, Store};
use tidegate_tower::answer::Code;
use tidegate_tower::pages::SharedPage;
use tidegate_tower::report::Reporter;
use tidegate_tower::settings::{HttpFile, WrittenRoute};
use tidegate_tower::{Gate, Visit};
use tower::Layer;

use super::handlers;
use super::tokens::{BearerClaim, Tokens};

/// Everything a request needs.
pub(crate) struct App<S> {
    pub(crate) gate: Gate<S>,
    pub(crate) tokens: Tokens,
    pub(crate) clock: Arc<dyn Clock>,
    /// `/metrics` in both [formats](tidegate_tower::metrics::Format), rendered at most once a second.
    pub(crate) metrics: [Arc<SharedPage>; 2],
}

/// One endpoint of the API.
pub(crate) struct ApiRoute<S> {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    handler: MethodRouter<Arc<App<S>>>,
}

/// The API with the limits of a file, counted in memory; a fleet would share a `RedisStore`.
pub(crate) fn app<C: Clock + Clone + 'static>(
    file: &File<HttpFile>,
    clock: C,
    reporter: Reporter,
    tokens: Tokens,
) -> Result<Router, Box<dyn Error>> {
    let http = &file.door().http;
    let store = MemoryStore::try_new(file.budget(), clock.clone())?;
    let engine = Engine::new(store, file.policies().clone().build(None)?);
    let clock: Arc<dyn Clock> = Arc::new(clock);
    let gate = http.gate(Arc::new(engine))?.reporter(reporter);
    let gate = gate.timed_by(Arc::clone(&clock)).build()?;

    let endpoints = endpoints()?;
    agree(&endpoints, &http.routes)?;
    let metrics = Default::default();
    let app = Arc::new(App { gate: gate.clone(), tokens, clock, metrics });
    let router = endpoints
        .into_iter()
        .fold(Router::new(), |router, endpoint| router.route(endpoint.path, endpoint.handler))
        .with_state(Arc::clone(&app));

    // Around the router, and not with `Router::layer`: that would come after the search for a route, and
    // what is searched for has to be the path that was decided about.
    let known = gate.org().layer(router);
    let authenticated = from_fn_with_state(app, authenticate).layer(known);
    Ok(Router::new().fallback_service(gate.early().layer(authenticated)))
}

/// All endpoints of the API. Paths that are not here are not served.
pub(crate) fn endpoints<S: Store + 'static>() -> Result<Vec<ApiRoute<S>>, Box<dyn Error>> {
    Ok(vec![
        ApiRoute::new(Method::GET, "/v1/reports", handlers::list)?,
        ApiRoute::new(Method::POST, "/v1/reports", handlers::create)?,
        ApiRoute::new(Method::GET, "/v1/reports/{id}", handlers::show)?,
        ApiRoute::new(Method::POST, "/v1/reports/{id}/export", handlers::export)?,
        ApiRoute::new(Method::DELETE, "/v1/admin/users/{id}", handlers::delete_user)?,
        ApiRoute::new(Method::POST, "/v1/login", handlers::login)?,
        ApiRoute::new(Method::GET, "/healthz", handlers::health)?,
        ApiRoute::new(Method::GET, "/metrics", handlers::metrics)?,
    ])
}

/// Checks that every endpoint has a route in the policy file. Without one it would have the limits of the
/// default class, and ask for no scope (threat T06).
pub(crate) fn agree<S>(endpoints: &[ApiRoute<S>], routes: &[WrittenRoute]) -> Result<(), String> {
    for ApiRoute { method, path, .. } in endpoints {
        let of_it = |route: &&WrittenRoute| {
            route.path == *path && route.methods.iter().any(|listed| listed == method.as_str())
        };
        if !routes.iter().any(|route| of_it(&route)) {
            return Err(format!("{method} {path} has no route in the policy file"));
        }
    }
    Ok(())
}

/// Finds out who sends a request. One without a token is anonymous, and gets no further than an anonymous
/// request may.
async fn authenticate<S: Store + 'static>(
    State(app): State<Arc<App<S>>>,
    visit: Visit,
    mut request: Request,
    next: Next,
) -> Response {
    let identity = match BearerClaim::of(request.headers()) {
        BearerClaim::Nobody => return next.run(request).await,
        BearerClaim::Bearer(secret) => app.tokens.find(secret).cloned(),
        BearerClaim::Unclear => None,
    };
    match identity {
        Some(identity) => {
            request.extensions_mut().insert(identity);
            next.run(request).await
        }
        None => visit.refuse(Code::AuthenticationRequired).map(Body::from),
    }
}

// === impl ApiRoute ===

impl<S: Store + 'static> ApiRoute<S> {
    fn new<H, T>(method: Method, path: &'static str, handler: H) -> Result<Self, Box<dyn Error>>
    where
        H: Handler<T, Arc<App<S>>>,
        T: 'static,
    {
        let handler = on(MethodFilter::try_from(method.clone())?, handler);
        Ok(Self { method, path, handler })
    }
}
