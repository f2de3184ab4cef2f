//! What each endpoint takes, and everything it may answer.

use serde_json::{Value, json};
use tidegate_core::Dimension;
use utoipa::openapi::path::{
    Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{
    ContentBuilder, Header, HeaderBuilder, Ref, RefOr, Required, Response, ResponseBuilder, Schema,
};

use super::examples;
use super::schemas::{cost, fact, named, policy};
use crate::problem::Kind;
use crate::route::Route;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

/// Problems that any request can have, health checks included.
const HEAD: [Kind; 3] = [Kind::Malformed, Kind::UriTooLong, Kind::HeadTooLarge];

/// Problems that any request can have except a health check.
const ANY: [Kind; 5] = [HEAD[0], HEAD[1], HEAD[2], Kind::Misdirected, Kind::CrossSite];

/// Problems of the endpoints whose page is made once and shared by all clients.
const PAGE: [Kind; 2] = [Kind::Busy, Kind::Unavailable];

/// Problems that any request with a body can have.
const BODY: [Kind; 5] =
    [Kind::InvalidField, Kind::Timeout, Kind::BodyTooLarge, Kind::UnsupportedMediaType, Kind::Busy];

/// The description of a route with its usual method.
pub(super) fn operation(route: Route) -> Operation {
    match route {
        Route::Decide => decide(),
        Route::Peek => peek(),
        Route::Batch => batch(),
        Route::Settle => settle(),
        Route::Policies => policies(),
        Route::Explain => explain(),
        Route::Gate => gate("gate", true),
        Route::Livez => livez(),
        Route::Readyz => readyz(),
        Route::Metrics => metrics(),
        Route::Openapi | Route::Other => openapi(),
    }
    .build()
}

/// The description of the gate for proxies that ask with `HEAD`.
pub(super) fn gate_head() -> Operation {
    gate("gate_head", false).build()
}

fn decide() -> OperationBuilder {
    let summary = "Decide a request, and count it if it is admitted";
    let operation = about(Route::Decide, "decide", summary)
        .description(Some(
            "The status is 200 whatever the verdict: a refusal is an answer. So is a decision made \
             without the store, while it fails: `mode` says so.",
        ))
        .request_body(Some(body("Ask", &examples::ask())))
        .response("200", answer("The decision", "Decision", Some(examples::decision())));
    refusing(operation, &[&ANY, &BODY, &UNDECIDED])
}

fn peek() -> OperationBuilder {
    let operation = about(Route::Peek, "peek", "Say what a decision would be, and charge nothing")
        .request_body(Some(body("Ask", &examples::ask())))
        .response(
            "200",
            answer("The decision that would be made", "Decision", Some(examples::decision())),
        );
    refusing(operation, &[&ANY, &BODY, &UNDECIDED])
}

/// Problems that can stand in the way of a decision.
const UNDECIDED: [Kind; 3] = [Kind::UnknownPolicy, Kind::NothingApplies, Kind::Overloaded];

fn batch() -> OperationBuilder {
    let operation = about(Route::Batch, "decide_batch", "Decide up to 100 requests")
        .description(Some(
            "All of them are read first: if one cannot be, none is decided. Then each is decided by \
             itself and in order, and its result is a decision, or the problem why there is none.",
        ))
        .request_body(Some(body("Batch", &examples::batch())))
        .response("200", answer("A result for each request", "BatchResults", None));
    refusing(operation, &[&ANY, &BODY])
}

fn settle() -> OperationBuilder {
    let summary = "Settle a request: what it was charged for becomes what it really cost";
    let operation = about(Route::Settle, "settle", summary)
        .request_body(Some(body("Settlement", &examples::settlement())))
        .response(
            "200",
            answer(
                "Units given back and added",
                "Settled",
                Some(json!({"returned": 1, "added": 0})),
            ),
        );
    let tickets = [
        Kind::BadTicket,
        Kind::TicketSettled,
        Kind::TicketExpired,
        Kind::StoreFailed,
        Kind::Overloaded,
    ];
    refusing(operation, &[&ANY, &BODY, &tickets])
}

fn policies() -> OperationBuilder {
    let operation = about(Route::Policies, "policies", "List the policies in force")
        .response("200", answer("The policies, sorted by name", "Policies", None));
    refusing(operation, &[&ANY, &PAGE])
}

fn explain() -> OperationBuilder {
    let summary = "Say which limits apply to a subject, and what they say now";
    let query = |name: &str, description: &str, schema: RefOr<Schema>| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Query)
            .required(Required::False)
            .description(Some(description))
            .schema(Some(schema))
    };
    let facts = Dimension::told()
        .map(|dimension| query(dimension.name(), dimension.meaning(), fact(dimension).into()));
    let operation = about(Route::Explain, "explain", summary)
        .parameter(policy_parameter())
        .parameters(Some(facts))
        .parameter(query("cost", "The cost of the request", cost(1).into()))
        .response("200", answer("Every limit of the policy, in order", "Explanation", None));
    let kinds = [Kind::InvalidField, Kind::UnknownPolicy, Kind::Overloaded];
    refusing(operation, &[&ANY, &kinds])
}

fn gate(id: &str, with_body: bool) -> OperationBuilder {
    let deny = ParameterBuilder::new()
        .name("deny")
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some("The status of a refusal; 403 for nginx, which knows no other"))
        .schema(Some(
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["403", "429"])),
        ));
    let passed = ResponseBuilder::new().description("The request may pass").header(
        "tidegate-verdict",
        HeaderBuilder::new()
            .schema(Some(text_of(&["degrade"])))
            .description(Some("There if it passes with a lower quality of service"))
            .build(),
    );
    let operation = about(Route::Gate, id, "Decide a request that a reverse proxy has")
        .description(Some(
            "For nginx `auth_request`, Caddy `forward_auth` and Traefik `forwardAuth`. Who asks is \
             read from configured headers of trusted peers, otherwise it is the peer's address.",
        ))
        .parameter(policy_parameter())
        .parameter(deny)
        .response("200", passed.build());
    let refusals = [
        (429, "Past a limit"),
        (403, "Past a limit, not countable, or sent by a web page of another origin"),
        (503, "Cannot be decided now"),
    ];
    let operation = refusals.into_iter().fold(operation, |operation, (status, why)| {
        let refusal = refusing_with(why, status, with_body, true);
        let refusal = NUMBERS.into_iter().fold(named_refusal(refusal), |refusal, (name, what)| {
            refusal.header(name, text_header(what))
        });
        operation.response(status.to_string(), refusal.build())
    });
    let others = [
        (400, "Bad Request"),
        (404, "No such policy"),
        (414, "URI Too Long"),
        (421, "Misdirected Request"),
        (431, "Too many header fields"),
    ];
    others.into_iter().fold(operation, |operation, (status, why)| {
        let refusal = named_refusal(refusing_with(why, status, with_body, false));
        operation.response(status.to_string(), refusal.build())
    })
}

/// Headers of a refusal: the numbers of the limit or guardrail that refused, there if one did.
const NUMBERS: [(&str, &str); 3] = [
    ("ratelimit-limit", "The most that passes, and in how many seconds: `3;w=60`"),
    ("ratelimit-remaining", "What is left of the limit"),
    ("ratelimit-reset", "When it is full again, in seconds since the Unix epoch"),
];

fn named_refusal(refusal: ResponseBuilder) -> ResponseBuilder {
    refusal.header("x-request-id", text_header("The id of the request"))
}

fn text_header(description: &str) -> Header {
    HeaderBuilder::new().schema(Some(string())).description(Some(description)).build()
}

fn livez() -> OperationBuilder {
    let operation = about(Route::Livez, "livez", "Say that the process lives")
        .response("200", plain("The process is alive", TEXT));
    refusing(operation, &[&HEAD])
}

fn readyz() -> OperationBuilder {
    let operation = about(Route::Readyz, "readyz", "Say whether the server takes requests")
        .description(Some(
            "A server whose store fails takes them too, and decides by the failure modes of its \
             policies: it says `degraded`, and its status stays 200.",
        ))
        .response("200", answer("The server takes requests", "Readiness", None))
        .response("503", answer("It is stopping", "Readiness", None));
    refusing(operation, &[&HEAD])
}

fn metrics() -> OperationBuilder {
    let text = |media| (media, ContentBuilder::new().schema(Some(string())).build());
    let (plain, open) = (text(TEXT), text("application/openmetrics-text"));
    let told = ResponseBuilder::new()
        .description("The metrics; as OpenMetrics to those who accept it")
        .content(plain.0, plain.1)
        .content(open.0, open.1);
    let operation =
        about(Route::Metrics, "metrics", "Get the metrics").response("200", told.build());
    refusing(operation, &[&ANY, &PAGE])
}

fn openapi() -> OperationBuilder {
    let object = ContentBuilder::new().schema(Some(ObjectBuilder::new().schema_type(Type::Object)));
    let told = ResponseBuilder::new().description("This description").content(JSON, object.build());
    let operation =
        about(Route::Openapi, "openapi", "Describe this interface").response("200", told.build());
    refusing(operation, &[&ANY, &PAGE])
}

// === the pieces ===

fn about(route: Route, id: &str, summary: &str) -> OperationBuilder {
    let tag = match route {
        Route::Decide | Route::Peek | Route::Batch | Route::Settle => "decisions",
        Route::Policies | Route::Explain => "policies",
        Route::Gate => "gate",
        _ => "operation",
    };
    OperationBuilder::new().tag(tag).operation_id(Some(id)).summary(Some(summary))
}

fn policy_parameter() -> Parameter {
    ParameterBuilder::new()
        .name("policy")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The policy whose limits decide"))
        .schema(Some(policy()))
        .build()
}

fn body(name: &str, example: &Value) -> RequestBody {
    let content =
        ContentBuilder::new().schema(Some(named(name))).example(Some(example.clone())).build();
    RequestBodyBuilder::new().required(Some(Required::True)).content(JSON, content).build()
}

fn answer(description: &str, name: &str, example: Option<Value>) -> Response {
    let content = ContentBuilder::new().schema(Some(named(name))).example(example).build();
    ResponseBuilder::new().description(description).content(JSON, content).build()
}

fn plain(description: &str, media: &str) -> Response {
    let content = ContentBuilder::new().schema(Some(string())).build();
    ResponseBuilder::new().description(description).content(media, content).build()
}

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn text_of(values: &[&'static str]) -> ObjectBuilder {
    string().enum_values(Some(values.iter().copied()))
}

/// Adds the problems that may be answered; all kinds with the same status are one response.
fn refusing(mut operation: OperationBuilder, kinds: &[&[Kind]]) -> OperationBuilder {
    let mut kinds: Vec<Kind> = kinds.iter().copied().flatten().copied().collect();
    kinds.sort_by_key(|kind| kind.status());
    for same in kinds.chunk_by(|one, other| one.status() == other.status()) {
        let titles: Vec<_> = same.iter().map(|kind| kind.title()).collect();
        let (status, may_wait) = (same[0].status(), same.iter().any(may_pass));
        operation = operation
            .response(status.to_string(), refusal(&titles.join("; "), status, true, may_wait));
    }
    operation
}

/// Whether waiting may help against this kind of problem.
const fn may_pass(kind: &Kind) -> bool {
    matches!(kind, Kind::Overloaded | Kind::Busy)
}

fn refusal(description: &str, status: u16, with_body: bool, may_wait: bool) -> Response {
    refusing_with(description, status, with_body, may_wait).build()
}

fn refusing_with(
    description: &str,
    status: u16,
    with_body: bool,
    may_wait: bool,
) -> ResponseBuilder {
    let mut response = ResponseBuilder::new().description(description);
    if with_body {
        let example = (status == 400).then(examples::problem);
        let problem: Ref = named("Problem");
        let content = ContentBuilder::new().schema(Some(problem)).example(example).build();
        response = response.content("application/problem+json", content);
    }
    if may_wait {
        let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0.0));
        let header = HeaderBuilder::new()
            .schema(Some(seconds))
            .description(Some("Seconds to wait, rounded up; left out if waiting does not help"))
            .build();
        response = response.header("retry-after", header);
    }
    response
}
