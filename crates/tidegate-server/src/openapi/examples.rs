//! Examples of requests and answers. The requests work with the policies that the server comes with.

use serde_json::{Value, json};

pub(super) fn ask() -> Value {
    json!({
        "policy": "api",
        "subject": {"org": "acme", "user": "u7", "ip": "203.0.113.7"},
        "cost": 1,
    })
}

pub(super) fn settlement() -> Value {
    json!({"ticket": "AQ", "cost": 0})
}

pub(super) fn batch() -> Value {
    json!({"requests": [ask(), {"policy": "api", "subject": {"ip": "2001:db8::7"}}]})
}

pub(super) fn decision() -> Value {
    json!({
        "policy": "api",
        "verdict": "deny",
        "mode": "normal",
        "blocked": true,
        "source": "action",
        "binding": "burst",
        "limit": 20,
        "remaining": 0,
        "reset_after": 2,
        "retry_after": 1,
        "backoff_seconds": 0,
        "next_allowed_at": "2026-11-15T11:14:50.223456Z",
        "decided_at": "2026-11-15T11:14:50.123456Z",
        "retry_after_us": 100_000,
        "readings": [{
            "name": "burst",
            "scope": "org+user",
            "shape": "bucket",
            "capacity": 20,
            "remaining": 0,
            "room": "after",
            "retry_after_us": 100_000,
            "reset_after_us": 2_000_000,
            "backoff_us": 0,
            "stage": "action",
            "shadow": false,
        }],
    })
}

pub(super) fn block() -> Value {
    json!({
        "scope": "temp",
        "level": "L2",
        "ends_at": "2026-11-15T11:15:50.123456Z",
        "ends_in_us": 60_000_000,
        "begins": true,
    })
}

pub(super) fn problem() -> Value {
    json!({
        "type": "urn:tidegate:problem:invalid-field",
        "title": "Invalid field",
        "status": 400,
        "detail": "a cost of 0 counts nothing; the smallest cost is 1",
        "code": "request.invalid_field",
        "field": "/cost",
    })
}
