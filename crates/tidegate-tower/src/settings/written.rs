//! The section `http` as it is written: unknown fields are refused, and missing ones are reported.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use http::header::HeaderName;
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::{Cost, Store};
use tidegate_engine::Engine;
use tidegate_engine::file::{Door, Report, SettingsError};

use super::units::{Header, Network};
use crate::answer::{BodyProfile, HeaderProfile, Headers, Profile, Reset, RetryAfter};
use crate::client::Trust;
use crate::gate::{Gate, GateBuilder};
use crate::routes::{Class, Route, Routes, RoutesBuilder};

/// The section `http` of a policy file, for a program that has no sections of its own in it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct HttpFile {
    /// The settings of the HTTP layers.
    pub http: Written,
}

/// The section `http`, as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The class of requests that no route matches. There is always one, so nothing is without a limit.
    pub default: String,
    /// The endpoint classes, and which policies decide about them.
    pub classes: BTreeMap<String, WrittenClass>,
    /// Which requests belong to which class. The most specific path that matches counts, in any order.
    #[serde(default)]
    pub routes: Vec<WrittenRoute>,
    /// The kinds of jobs that can be enqueued.
    #[serde(default)]
    pub jobs: Vec<WrittenJob>,
    /// The proxies that are believed about where a request came from. Default: none.
    #[serde(default)]
    pub trusted_proxies: Vec<Network>,
    /// The one header field in which trusted proxies name the client. Default: x-forwarded-for.
    pub client_header: Option<Header>,
    /// The header field of the request id. Default: x-request-id.
    pub request_id_header: Option<Header>,
    /// How clients are answered: header fields and bodies.
    #[serde(default)]
    pub answers: WrittenAnswers,
}

/// How clients are answered, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenAnswers {
    /// The families of header fields. Default: ratelimit and triple.
    pub headers: Option<Vec<HeaderProfile>>,
    /// How a reset is told: as seconds since the epoch, or from now. Default: epoch.
    pub reset: Option<Reset>,
    /// Which refusals have a Retry-After: all but those by a quota, or all. Default: burst.
    pub retry_after: Option<RetryAfter>,
    /// The form of the body of a refusal. Default: envelope.
    pub body: Option<BodyProfile>,
}

/// An endpoint class, as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenClass {
    /// The policy that decides before authentication.
    pub early: String,
    /// The policy that decides behind authentication. Left out where nobody is known yet, as at a login.
    pub policy: Option<String>,
}

/// A route, as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenRoute {
    /// The path: `/v1/reports/{id}`, `/files/{*path}`.
    pub path: String,
    /// The methods; HEAD comes with GET. Default: all.
    #[serde(default)]
    pub methods: Vec<String>,
    /// The endpoint class of the route.
    pub class: String,
    /// The scope that a caller needs to pass.
    pub scope: Option<String>,
    /// The cost of one request. Default: 1.
    #[schemars(range(min = 1))]
    pub cost: Option<u64>,
}

/// A kind of job, as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenJob {
    /// The name of the job.
    pub name: String,
    /// The endpoint class of the job, which has a policy for known callers.
    pub class: String,
    /// The scope that a caller needs to enqueue the job.
    pub scope: Option<String>,
    /// The cost of one job. Default: 1.
    #[schemars(range(min = 1))]
    pub cost: Option<u64>,
}

// === impl HttpFile ===

impl Door for HttpFile {
    fn check(&self, report: &mut Report<'_>) {
        self.http.check(report);
    }
}

// === impl Written ===

impl Written {
    /// Reports what is wrong with the section: routes that cannot be used, and classes that the policies
    /// of the file cannot decide about.
    pub fn check(&self, report: &mut Report<'_>) {
        let unfit = match self.routes() {
            Ok(routes) => {
                report.policies().map_or_else(Vec::new, |policies| routes.unfit(policies))
            }
            Err(error) => return report.say(&error.field, error.problem),
        };
        for (class, stage, unfit) in unfit {
            report.say(&format!("http.classes.{class}.{stage}"), unfit.to_string());
        }
    }

    /// A gate with these settings. Settings that the file does not have can still be added.
    ///
    /// # Errors
    ///
    /// If the settings are invalid.
    pub fn gate<S: Store>(&self, engine: Arc<Engine<S>>) -> Result<GateBuilder<S>, SettingsError> {
        let gate = Gate::builder(engine, self.routes()?)
            .trust(self.trust())
            .profile(self.answers.profile());
        Ok(match &self.request_id_header {
            Some(header) => gate.request_id(header.0.clone()),
            None => gate,
        })
    }

    fn trust(&self) -> Trust {
        let usual = || HeaderName::from_static("x-forwarded-for");
        let header = self.client_header.as_ref().map_or_else(usual, |header| header.0.clone());
        Trust::proxies(self.trusted_proxies.iter().map(|network| network.0), header)
    }

    fn routes(&self) -> Result<Routes, SettingsError> {
        let Some(unmatched) = self.classes.get(&self.default) else {
            let problem = format!("there is no class `{}`; declare it in `classes`", self.default);
            return Err(said("default", problem));
        };
        let mut routes = Routes::builder(unmatched.class(&self.default)?);
        for (name, class) in self.classes.iter().filter(|(name, _)| **name != self.default) {
            routes = routes.class(class.class(name)?);
        }
        for (place, route) in self.routes.iter().enumerate() {
            routes = route.add(routes, &format!("routes[{place}]"))?;
        }
        for (place, job) in self.jobs.iter().enumerate() {
            let route = Route::new(job.name.as_str(), job.class.as_str());
            let field = format!("jobs[{place}]");
            routes = routes.job(with(route, job.scope.as_deref(), job.cost, &field)?);
        }
        routes.build().map_err(|error| said("routes", error.to_string()))
    }
}

// === impl WrittenAnswers ===

impl WrittenAnswers {
    fn profile(&self) -> Profile {
        let headers = self.headers.as_ref();
        Profile {
            headers: headers.map_or_else(Headers::default, |it| it.iter().copied().collect()),
            reset: self.reset.unwrap_or_default(),
            retry_after: self.retry_after.unwrap_or_default(),
            body: self.body.unwrap_or_default(),
        }
    }
}

// === impl WrittenClass ===

impl WrittenClass {
    fn class(&self, name: &str) -> Result<Class, SettingsError> {
        let class = Class::try_new(name, &self.early);
        let class = match &self.policy {
            Some(policy) => class.and_then(|class| class.then(policy)),
            None => class,
        };
        class.map_err(|error| said(&format!("classes.{name}"), error.to_string()))
    }
}

// === impl WrittenRoute ===

impl WrittenRoute {
    fn add(&self, routes: RoutesBuilder, field: &str) -> Result<RoutesBuilder, SettingsError> {
        let mut route = Route::new(self.path.as_str(), self.class.as_str());
        for method in &self.methods {
            let known = Method::from_bytes(method.as_bytes()).ok();
            // A method in lower case would be another one, which no client sends.
            let known = known.filter(|_| !method.bytes().any(|byte| byte.is_ascii_lowercase()));
            let Some(method) = known else {
                let problem = format!("`{method}` is not a method; write GET, POST, …");
                return Err(said(&format!("{field}.methods"), problem));
            };
            route = route.method(method);
        }
        Ok(routes.route(with(route, self.scope.as_deref(), self.cost, field)?))
    }
}

fn with(
    route: Route,
    scope: Option<&str>,
    cost: Option<u64>,
    field: &str,
) -> Result<Route, SettingsError> {
    let route = scope.into_iter().fold(route, Route::scope);
    let Some(cost) = cost else { return Ok(route) };
    match Cost::try_new(cost) {
        Ok(cost) => Ok(route.cost(cost)),
        Err(error) => Err(said(&format!("{field}.cost"), error.to_string())),
    }
}

fn said(field: &str, problem: String) -> SettingsError {
    SettingsError { field: format!("http.{field}"), problem }
}
