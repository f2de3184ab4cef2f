//! What each endpoint takes, and everything it may answer.

use serde_json::{Value, json};
use tidegate_core::Dimension;
use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{
    Content, ContentBuilder, Header, HeaderBuilder, RefOr, Required, Response, ResponseBuilder,
    Schema,
};

use super::examples;
use super::schemas::{cost, fact, named, policy, text};
use crate::route::ServerRoute;
use tidegate_tower::answer::Code;

const JSON: &str = "application/json";

/// Problems that any request can have, health checks included.
const HEAD: [Code; 3] = [Code::Malformed, Code::UriTooLong, Code::HeadTooLarge];

/// Problems that any request can have except a health check.
const ANY: [Code; 5] = [HEAD[0], HEAD[1], HEAD[2], Code::Misdirected, Code::CrossSite];

/// Problems of the endpoints whose page is made once and shared by all clients.
const PAGE: [Code; 2] = [Code::Busy, Code::Unavailable];

/// Problems that any request with a body can have.
const BODY: [Code; 5] =
    [Code::InvalidField, Code::Timeout, Code::BodyTooLarge, Code::UnsupportedMediaType, Code::Busy];

/// Problems that can stand in the way of a decision.
const UNDECIDED: [Code; 3] = [Code::UnknownPolicy, Code::NothingApplies, Code::Overloaded];

/// Problems that can stand in the way of a settlement.
const UNSETTLED: [Code; 5] = [
    Code::BadTicket,
    Code::TicketSettled,
    Code::TicketExpired,
    Code::StoreFailed,
    Code::Overloaded,
];

/// The description of a route with its usual method.
pub(super) fn operation(route: ServerRoute) -> Operation {
    match route {
        ServerRoute::Decide | ServerRoute::Peek | ServerRoute::Batch | ServerRoute::Settle => {
            decision(route)
        }
        ServerRoute::Explain => explain(),
        ServerRoute::Gate => gate("gate", true),
        ServerRoute::Policies => {
            about("policies", "policies", "List the policies in force", &[&ANY, &PAGE])
                .response("200", answer("The policies, sorted by name", "Policies", None))
        }
        ServerRoute::Livez => about("operation", "livez", "Say that the process lives", &[&HEAD])
            .response("200", response("The process is alive", "text/plain", text()).build()),
        ServerRoute::Readyz => about(
            "operation",
            "readyz",
            "Say whether the server takes requests",
            &[&HEAD],
        )
        .description(Some(
            "A server whose store fails takes them too, and decides by the failure modes of its \
                     policies: it says `degraded`, and its status stays 200.",
        ))
        .response("200", answer("The server takes requests", "Readiness", None))
        .response("503", answer("It is stopping", "Readiness", None)),
        ServerRoute::Metrics => {
            let what = "The metrics; as OpenMetrics to those who accept it";
            let told = response(what, "text/plain", text())
                .content("application/openmetrics-text", content(text(), None));
            about("operation", "metrics", "Get the metrics", &[&ANY, &PAGE])
                .response("200", told.build())
        }
        ServerRoute::Openapi | ServerRoute::Other => {
            let object = ObjectBuilder::new().schema_type(Type::Object);
            about("operation", "openapi", "Describe this interface", &[&ANY, &PAGE])
                .response("200", response("This description", JSON, object).build())
        }
    }
    .build()
}

/// The description of the gate for proxies that ask with `HEAD`.
pub(super) fn gate_head() -> Operation {
    gate("gate_head", false).build()
}

/// The description of a route that takes a body and decides or settles.
fn decision(route: ServerRoute) -> OperationBuilder {
    let about =
        |id, summary, problems: &[Code]| about("decisions", id, summary, &[&ANY, &BODY, problems]);
    match route {
        ServerRoute::Settle => {
            let summary = "Settle a request: what it was charged for becomes what it really cost";
            let settled = Some(json!({"returned": 1, "added": 0}));
            about("settle", summary, &UNSETTLED)
                .request_body(Some(body("Settlement", examples::settlement())))
                .response("200", answer("Units given back and added", "Settled", settled))
        }
        ServerRoute::Batch => about("decide_batch", "Decide up to 100 requests", &[])
            .description(Some(
                "All of them are read first: if one cannot be, none is decided. Then each is decided by \
                 itself and in order, and its result is a decision, or the problem why there is none.",
            ))
            .request_body(Some(body("Batch", examples::batch())))
            .response("200", answer("A result for each request", "BatchResults", None)),
        ServerRoute::Peek => {
            let (what, decision) = ("The decision that would be made", Some(examples::decision()));
            about("peek", "Say what a decision would be, and charge nothing", &UNDECIDED)
                .request_body(Some(body("Ask", examples::ask())))
                .response("200", answer(what, "Decision", decision))
        }
        _ => about("decide", "Decide a request, and count it if it is admitted", &UNDECIDED)
            .description(Some(
                "The status is 200 whatever the verdict: a refusal is an answer. So is a decision made \
                 without the store, while it fails: `mode` says so.",
            ))
            .request_body(Some(body("Ask", examples::ask())))
            .response("200", answer("The decision", "Decision", Some(examples::decision()))),
    }
}

fn explain() -> OperationBuilder {
    let summary = "Say which limits apply to a subject, and what they say now";
    let kinds = [Code::InvalidField, Code::UnknownPolicy, Code::Overloaded];
    let facts = Dimension::told()
        .map(|dimension| parameter(dimension.name(), dimension.meaning(), fact(dimension).into()));
    about("policies", "explain", summary, &[&ANY, &kinds])
        .parameter(policy_parameter())
        .parameters(Some(facts))
        .parameter(parameter("cost", "The cost of the request", cost(1).into()))
        .response("200", answer("Every limit of the policy, in order", "Explanation", None))
}

/// The refusals of the gate: the status, the reason, and whether a limit or guardrail may have refused.
const REFUSALS: [(u16, &str, bool); 8] = [
    (429, "Past a limit", true),
    (403, "Past a limit, not countable, or sent by a web page of another origin", true),
    (503, "Cannot be decided now", true),
    (400, "Bad Request", false),
    (404, "No such policy", false),
    (414, "URI Too Long", false),
    (421, "Misdirected Request", false),
    (431, "Too many header fields", false),
];

/// Headers of a refusal: the numbers of the limit or guardrail that refused, there if one did.
const NUMBERS: [(&str, &str); 3] = [
    ("ratelimit-limit", "The most that passes, and in how many seconds: `3;w=60`"),
    ("ratelimit-remaining", "What is left of the limit"),
    ("ratelimit-reset", "When it is full again, in seconds since the Unix epoch"),
];

fn gate(id: &str, with_body: bool) -> OperationBuilder {
    let what = "The status of a refusal; 403 for nginx, which knows no other";
    let statuses = text().enum_values(Some(["403", "429"]));
    let degraded = text().enum_values(Some(["degrade"]));
    let what_degraded = "There if it passes with a lower quality of service";
    let passed = ResponseBuilder::new()
        .description("The request may pass")
        .header("tidegate-verdict", header(what_degraded, degraded));
    let operation = about("gate", id, "Decide a request that a reverse proxy has", &[])
        .description(Some(
            "For nginx `auth_request`, Caddy `forward_auth` and Traefik `forwardAuth`. Who asks is \
             read from configured headers of trusted peers, otherwise it is the peer's address.",
        ))
        .parameter(policy_parameter())
        .parameter(parameter("deny", what, statuses.into()))
        .response("200", passed.build());
    REFUSALS.into_iter().fold(operation, |operation, (status, why, by_limit)| {
        let refusal = refusal(why, status, with_body, by_limit)
            .header("x-request-id", header("The id of the request", text()));
        let numbers = NUMBERS.into_iter().filter(|_| by_limit);
        let refusal = numbers
            .fold(refusal, |refusal, (name, what)| refusal.header(name, header(what, text())));
        operation.response(status.to_string(), refusal.build())
    })
}

// === the pieces ===

/// An operation with the problems that may be answered; all kinds with the same status are one response.
fn about(tag: &str, id: &str, summary: &str, kinds: &[&[Code]]) -> OperationBuilder {
    let operation = OperationBuilder::new().tag(tag).operation_id(Some(id)).summary(Some(summary));
    let mut kinds: Vec<Code> = kinds.iter().copied().flatten().copied().collect();
    kinds.sort_by_key(|kind| kind.status());
    let by_status = kinds.chunk_by(|one, other| one.status() == other.status());
    by_status.fold(operation, |operation, same| {
        let titles: Vec<_> = same.iter().map(|kind| kind.title()).collect();
        let may_wait = same.iter().any(|kind| matches!(kind, Code::Overloaded | Code::Busy));
        let status = same[0].status().as_u16();
        let refusal = refusal(&titles.join("; "), status, true, may_wait);
        operation.response(status.to_string(), refusal.build())
    })
}

fn policy_parameter() -> Parameter {
    let parameter = parameter("policy", "The policy whose limits decide", policy().into());
    ParameterBuilder::from(parameter)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .build()
}

/// A parameter of a query, which may be left out.
fn parameter(name: &str, description: &str, schema: RefOr<Schema>) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

fn body(name: &str, example: Value) -> RequestBody {
    let content = content(named(name), Some(example));
    RequestBodyBuilder::new().required(Some(Required::True)).content(JSON, content).build()
}

fn answer(description: &str, name: &str, example: Option<Value>) -> Response {
    let content = content(named(name), example);
    ResponseBuilder::new().description(description).content(JSON, content).build()
}

fn response(description: &str, media: &str, schema: ObjectBuilder) -> ResponseBuilder {
    ResponseBuilder::new().description(description).content(media, content(schema, None))
}

fn content(schema: impl Into<RefOr<Schema>>, example: Option<Value>) -> Content {
    ContentBuilder::new().schema(Some(schema)).example(example).build()
}

fn header(description: &str, schema: ObjectBuilder) -> Header {
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
}

/// A refusal; `may_wait` says that waiting may help against it.
fn refusal(description: &str, status: u16, with_body: bool, may_wait: bool) -> ResponseBuilder {
    let mut response = ResponseBuilder::new().description(description);
    if with_body {
        let example = (status == 400).then(examples::problem);
        response = response.content("application/problem+json", content(named("Problem"), example));
    }
    if may_wait {
        let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0.0));
        let what = "Seconds to wait, rounded up; left out if waiting does not help";
        response = response.header("retry-after", header(what, seconds));
    }
    response
}
