//! What clients receive, byte for byte, in each of the profiles.

use crate::site::{Answer, Ask, START, Setting, Site};

/// The fields that are about limits, as received, in their order.
fn fields(answer: &Answer) -> String {
    let ours = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default();
        name.contains("ratelimit")
            || ["retry-after", "cache-control", "content-type", "x-request-id"].contains(&name)
    };
    let mut lines: Vec<&str> = answer.head.lines().skip(1).filter(ours).collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// What a client is told the first time, and when there is nothing left.
async fn told(answers: &str) -> (Answer, Answer) {
    let site = Setting::default().saying(&format!("answers: {answers}")).start().await;
    let ask = Ask::report().bearing("ada-laptop").header("x-request-id", "golden-7");
    let passed = site.send(&ask).await;
    assert_eq!(site.passed(&ask, 2).await, 2);
    (passed, site.send(&ask).await)
}

#[tokio::test]
async fn golden_ratelimit_with_envelope() {
    let (passed, refused) = told("{ headers: [ratelimit], body: envelope }").await;
    assert_eq!(passed.status, 201);
    assert_eq!(
        fields(&passed),
        "content-type: application/json\n\
         ratelimit-policy: \"org\";q=10;w=2, \"user\";q=5;w=3, \"token-address\";q=3;w=3, \"day\";q=50;w=86400\n\
         ratelimit: \"token-address\";r=2;t=1\n\
         x-request-id: golden-7"
    );
    assert_eq!(refused.status, 429);
    assert_eq!(
        fields(&refused),
        "cache-control: no-store\n\
         content-type: application/json\n\
         ratelimit-policy: \"org\";q=10;w=2, \"user\";q=5;w=3, \"token-address\";q=3;w=3, \"day\";q=50;w=86400\n\
         ratelimit: \"token-address\";r=0;t=3\n\
         retry-after: 1\n\
         x-request-id: golden-7"
    );
    assert_eq!(
        refused.body,
        format!(
            r#"{{"error":{{"code":"throttling.rate_limit_exceeded","message":"Too many requests. Try again in 1 second.","details":{{"limit":"token-address","scope":"org+token+ip+class","capacity":3,"window":3,"remaining":0,"reset":{reset},"retry_after":1}},"request_id":"golden-7","timestamp":"2027-01-15T00:00:00.000000Z"}}}}"#,
            reset = START + 3
        )
    );
}

#[tokio::test]
async fn golden_triple_with_problem() {
    let (passed, refused) = told("{ headers: [triple], body: problem }").await;
    assert_eq!(
        fields(&passed),
        format!(
            "content-type: application/json\n\
             ratelimit-limit: 3;w=3\n\
             ratelimit-remaining: 2\n\
             ratelimit-reset: {}\n\
             x-request-id: golden-7",
            START + 1
        )
    );
    assert_eq!(
        fields(&refused),
        format!(
            "cache-control: no-store\n\
             content-type: application/problem+json\n\
             ratelimit-limit: 3;w=3\n\
             ratelimit-remaining: 0\n\
             ratelimit-reset: {}\n\
             retry-after: 1\n\
             x-request-id: golden-7",
            START + 3
        )
    );
    assert_eq!(
        refused.body,
        r#"{"type":"urn:tidegate:problem:rate-limit-exceeded","title":"Rate limit exceeded","status":429,"detail":"Too many requests. Try again in 1 second.","code":"throttling.rate_limit_exceeded","request_id":"golden-7","timestamp":"2027-01-15T00:00:00.000000Z","retry_after":1}"#
    );
}

#[tokio::test]
async fn golden_x_ratelimit_with_compact() {
    let (passed, refused) = told("{ headers: [x-ratelimit], reset: delta, body: compact }").await;
    assert_eq!(
        fields(&passed),
        "content-type: application/json\n\
         x-ratelimit-limit: 3\n\
         x-ratelimit-remaining: 2\n\
         x-ratelimit-reset: 1\n\
         x-request-id: golden-7"
    );
    assert_eq!(
        fields(&refused),
        "cache-control: no-store\n\
         content-type: application/json\n\
         retry-after: 1\n\
         x-ratelimit-limit: 3\n\
         x-ratelimit-remaining: 0\n\
         x-ratelimit-reset: 3\n\
         x-request-id: golden-7"
    );
    assert_eq!(
        refused.body,
        r#"{"code":"RateLimited","message":"Too many requests. Try again in 1 second.","context":{"retryAfter":1},"request_id":"golden-7","timestamp":"2027-01-15T00:00:00.000000Z"}"#
    );
}

#[tokio::test]
async fn a_quota_says_when_to_come_back_only_if_that_is_wanted() {
    for (wanted, expected) in [("burst", None), ("always", Some("86280"))] {
        let setting = Setting::default()
            .saying(&format!("answers: {{ retry_after: {wanted} }}"))
            .replacing("count: 50, per: day", "count: 12, per: day");
        let site = setting.start().await;
        let ask = Ask::report().bearing("ada-laptop");
        for _ in 0..4 {
            assert_eq!(site.passed(&ask, 4).await, 3);
            site.pass_time(30);
        }
        let refused = site.send(&ask).await;
        assert_eq!((refused.status, &*refused.limit()), (429, "day"));
        assert_eq!(refused.header("retry-after"), expected);
    }
}

#[tokio::test]
async fn every_refusal_has_a_request_id_and_a_timestamp() {
    let site = Site::start().await;
    let mut refusals = vec![
        site.send(&Ask::get("/v1/reports")).await,
        site.send(&Ask::get("/v1/reports").bearing("unknown")).await,
        site.send(&Ask::report().bearing("bob-laptop")).await,
        site.send(&Ask::get("/v1%2freports").bearing("ada-laptop")).await,
        site.send(&Ask::new("POST", "/v1/login").json(r#"{"user":"a","password":"b"}"#)).await,
    ];
    assert_eq!(site.passed(&Ask::get("/v1/reports").bearing("ada-laptop"), 11).await, 10);
    refusals.push(site.send(&Ask::get("/v1/reports").bearing("ada-laptop")).await);
    for answer in &refusals {
        let error = &answer.json()["error"];
        let id = answer.header("x-request-id").unwrap();
        assert!(id.len() == 32 && error["request_id"] == id, "{answer:?}");
        assert_eq!(error["timestamp"], "2027-01-15T00:00:00.000000Z", "{answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
    }
    let statuses: Vec<u16> = refusals.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [401, 401, 403, 400, 401, 429]);
}

#[tokio::test]
async fn who_could_be_guessing_is_told_less() {
    let site = Site::start().await;
    let login = Ask::new("POST", "/v1/login").json(r#"{"user":"a","password":"b"}"#);
    assert_eq!(site.statuses(&login, 10).await, [401; 10]);
    let refused = site.send(&login).await;
    assert_eq!(refused.status, 429);
    let details = refused.json()["error"]["details"].clone();
    assert_eq!(details, serde_json::json!({ "retry_after": 60 }));
    assert!(!refused.head.contains("tries"), "{refused:?}");
}
