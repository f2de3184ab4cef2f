//! What is told of a call: to the client by way of axum, to the log, to the metrics.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::post;
use http::Request;
use serde_json::{Value, json};
use tidegate_test::page::SharedBuffer;
use tower::ServiceExt as _;
use tracing::subscriber::with_default;

use super::*;

/// What an application has at hand in its handlers.
#[derive(Clone)]
struct App(Arc<(Engine<MemoryStore<Arc<ManualClock>>>, LimiterConfig)>);

/// A handler as seed 002 has it: the call is guarded, and that is all there is to write.
async fn verify(State(App(app)): State<App>) -> Result<&'static str, ErrorResponse> {
    let (engine, config) = &*app;
    limiter(engine, "email_verification:u7", config).await?;
    Ok("sent")
}

#[tokio::test]
async fn a_handler_of_axum_returns_the_refusal_as_it_is() {
    let app = App(Arc::new((guarded(&site()).0, site())));
    let router = Router::new().route("/verify", post(verify)).with_state(app);
    let send = || {
        let request = Request::post("/verify").body(Body::empty()).unwrap();
        router.clone().oneshot(request)
    };
    for _ in 0..2 {
        assert_eq!(send().await.unwrap().status(), 200);
    }
    let refused = send().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()["retry-after"], "60");
    assert_eq!(refused.headers()["content-type"], "application/json");
    assert_eq!(refused.headers()["cache-control"], "no-store");
    let body = axum::body::to_bytes(refused.into_body(), 1 << 10).await.unwrap();
    let message = "Too many attempts for verification code. Try again in 60 seconds.";
    let expected =
        json!({"code": "TooManyAttempts", "message": message, "context": {"retryAfter": 60}});
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
}

/// The fields of what is logged about attempts meanwhile.
fn logged(during: impl FnOnce()) -> Vec<Value> {
    let page = SharedBuffer::default();
    let writer = page.clone();
    let to = tracing_subscriber::fmt().json().with_max_level(tracing::Level::DEBUG);
    with_default(to.with_writer(move || writer.clone()).finish(), during);
    let text = page.text();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ours = lines.filter(|line| line["target"] == "tidegate::attempts");
    ours.map(|line| {
        assert_eq!(line["level"], "DEBUG");
        line["fields"].clone()
    })
    .collect()
}

/// The line of a call whose attempts were counted.
fn line(counts: (u64, u64), decision: &str, wait: u64) -> Value {
    json!({
        "policy": "email-verification",
        "key_prefix": "verify",
        "short_count": counts.0,
        "long_count": counts.1,
        "decision": decision,
        "mode": "normal",
        "retry_after_secs": wait,
    })
}

/// The line of a call that nobody could count.
fn uncounted(decision: &str, mode: &str, wait: u64) -> Value {
    json!({
        "policy": "email-verification",
        "key_prefix": "verify",
        "decision": decision,
        "mode": mode,
        "retry_after_secs": wait,
    })
}

#[test]
fn each_decision_is_a_line_with_these_fields() {
    let told = logged(|| {
        let (config, site) = (site(), guarded(&site()));
        for _ in 0..2 {
            let _ = checked(&site, "verify:alice@example.com", &config);
        }
        site.1.advance(Span::MINUTE);
        for _ in 0..4 {
            let _ = checked(&site, "verify:alice@example.com", &config);
        }
    });
    assert_eq!(
        told,
        [
            line((1, 1), "allowed", 0),
            line((2, 2), "allowed", 0),
            line((1, 3), "allowed", 0),
            line((2, 4), "allowed", 0),
            line((3, 5), "blocked", 540),
            line((4, 6), "blocked", 3_600),
        ]
    );
    let told = logged(|| {
        let config = site().in_shadow();
        let site = guarded(&config);
        for _ in 0..3 {
            let _ = checked(&site, "verify:alice@example.com", &config);
        }
    });
    // A shadow does not count what it would have refused.
    assert_eq!(told[2], line((2, 2), "allowed in shadow", 60));
}

#[test]
fn without_the_store_each_decision_is_a_line_too() {
    let call = |config: &LimiterConfig, failure, error, calls| {
        logged(|| {
            let engine = failing(error, config, failure);
            for _ in 0..calls {
                let _ = ready(check(&engine, "verify:alice@example.com", config)).unwrap();
            }
        })
    };
    let closed = FailureMode::FailClosed;
    let told = call(&site(), closed, StoreError::Unavailable, 4);
    assert_eq!(told[0], uncounted("unavailable", "fail_closed", 10), "the store has failed it");
    assert_eq!(told[3], uncounted("unavailable", "fail_closed", 300), "closed for a while");
    let told = call(&site().in_shadow(), closed, StoreError::Unavailable, 1);
    assert_eq!(told, [uncounted("allowed in shadow", "fail_closed", 10)]);
    let told = call(&site(), closed, StoreError::Contended, 1);
    assert_eq!(told, [uncounted("unavailable", "overloaded", 1)]);
    let told = call(&site().in_shadow(), closed, StoreError::Contended, 1);
    assert_eq!(told, [uncounted("allowed in shadow", "overloaded", 1)]);
    // Local caps: sixty in a minute.
    let open = site().with_code(ErrorCode::RateLimited);
    let told = call(&open, FailureMode::FailOpen, StoreError::Unavailable, 61);
    assert_eq!(told[0], uncounted("allowed", "fail_open", 0));
    assert_eq!(told[59], uncounted("allowed", "degraded", 0));
    assert_eq!(told[60], uncounted("blocked", "degraded", 60));
}

#[test]
fn blocks_are_counted_by_what_they_came_from() {
    let metrics = Metrics::default();
    let config = site().measured_by(&metrics);
    let (engine, clock) = guarded(&config);
    let counts = || {
        let text = metrics.encode(Arc::new(guarded(&config).0)).unwrap();
        ["temp", "long", "operator"].map(|scope| {
            let series = format!("limiter_blocked_total{{scope=\"{scope}\"}} ");
            let count = text.lines().find_map(|line| line.strip_prefix(&series));
            count.unwrap().parse::<u64>().unwrap()
        })
    };
    let site = (engine, clock);
    for (calls, counted) in [(2, [0, 0, 0]), (1, [1, 0, 0]), (2, [3, 0, 0]), (1, [3, 1, 0])] {
        for _ in 0..calls {
            let _ = checked(&site, "verify:u7", &config);
        }
        assert_eq!(counts(), counted);
    }
    let (set, account) = (site.0.policies(), Account::new("verify:u8"));
    let subject = Subject::new().account(&account);
    let mut case = Case::new(set.get("email-verification").unwrap(), &subject);
    assert!(ready(site.0.block(&mut case, None, Span::HOUR, None)).unwrap().is_ok());
    let _ = checked(&site, "verify:u8", &config);
    assert_eq!(counts(), [3, 1, 1]);
    let shadow = config.clone().in_shadow();
    let unblocked = guarded(&shadow);
    for _ in 0..9 {
        let _ = checked(&unblocked, "verify:u7", &shadow);
    }
    assert_eq!(counts(), [3, 1, 1], "a shadow keeps nobody out");
}
