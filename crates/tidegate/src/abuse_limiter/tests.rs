//! What a caller sees: admitted, blocked with its numbers, and trouble without its details.

use std::sync::Arc;

use tidegate_core::{ManualClock, PolicySet, Span, Timestamp};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::ready;

use super::*;

fn threshold(block_at: u16, per: u64, block: u64) -> Threshold {
    Threshold { block_at, per: Span::from_secs(per), block: Span::from_secs(block) }
}

fn site() -> LimiterConfig {
    LimiterConfig::new("email-verification", "verification code")
}

type Site = (Engine<MemoryStore<Arc<ManualClock>>>, Arc<ManualClock>);

fn guarded(config: &LimiterConfig) -> Site {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
    let limits = Limits { temp: threshold(3, 60, 30), long: Some(threshold(6, 600, 3600)) };
    let policy = config.policy(limits, FailureMode::FailClosed).unwrap();
    let policies = PolicySet::builder().policy(policy).build(None).unwrap();
    let budget = Budget { buckets: 8, quotas: 8, windows: 8, attempts: 64 };
    (Engine::new(MemoryStore::new(budget, Arc::clone(&clock)), policies), clock)
}

fn checked(site: &Site, who: &str, config: &LimiterConfig) -> LimiterDecision {
    ready(check(&site.0, who, config)).unwrap().unwrap()
}

#[test]
fn the_third_attempt_in_a_minute_is_blocked_with_both_counts_and_the_true_wait() {
    let (config, site) = (site(), guarded(&site()));
    assert_eq!(checked(&site, "verify:u7", &config), LimiterDecision::Allowed);
    assert_eq!(checked(&site, "verify:u7", &config), LimiterDecision::Allowed);
    let blocked = LimiterDecision::Blocked {
        scope: BlockScope::Temp,
        retry_after_secs: 60,
        short_count: 3,
        long_count: 3,
    };
    assert_eq!(checked(&site, "verify:u7", &config), blocked);
    assert_eq!(checked(&site, "verify:u8", &config), LimiterDecision::Allowed, "somebody else");
    for _ in 0..3 {
        let _ = checked(&site, "verify:u7", &config);
    }
    let LimiterDecision::Blocked { scope, retry_after_secs, .. } =
        checked(&site, "verify:u7", &config)
    else {
        panic!("still blocked")
    };
    assert_eq!((scope, retry_after_secs), (BlockScope::Long, 3600));
    site.1.advance(Span::HOUR);
    assert_eq!(checked(&site, "verify:u7", &config), LimiterDecision::Allowed);
}

#[test]
fn a_refusal_is_a_response_that_names_the_action_and_the_seconds() {
    let (config, site) = (site(), guarded(&site()));
    let refused = (0..3).find_map(|_| ready(limiter(&site.0, "verify:u7", &config)).unwrap().err());
    let refused = refused.unwrap();
    assert_eq!(refused.code(), ErrorCode::TooManyAttempts);
    let response = http::Response::<String>::from(refused);
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "60");
    let body: serde_json::Value = serde_json::from_str(response.body()).unwrap();
    assert_eq!(body["code"], "TooManyAttempts");
    assert_eq!(body["context"]["retryAfter"], 60);
    assert_eq!(
        body["message"],
        "Too many attempts for verification code. Try again in 60 seconds."
    );
}

#[test]
fn outside_of_identity_it_is_rate_limited() {
    let config = site().with_code(ErrorCode::RateLimited);
    let site = guarded(&config);
    let refused = (0..3).find_map(|_| ready(limiter(&site.0, "report:u7", &config)).unwrap().err());
    assert_eq!(refused.unwrap().body()["code"], "RateLimited");
}

#[test]
fn in_shadow_everything_passes() {
    let config = site().in_shadow();
    let site = guarded(&config);
    for _ in 0..20 {
        assert_eq!(checked(&site, "verify:u7", &config), LimiterDecision::Allowed);
    }
}

#[test]
fn trouble_is_typed_and_its_details_are_for_debug_builds() {
    let unavailable =
        [StoreError::Unavailable, StoreError::Timeout, StoreError::Contended, StoreError::Refused];
    for error in unavailable {
        let response = trouble(&DecideError::Store(error));
        assert_eq!(response.code(), ErrorCode::ServiceUnavailable);
        assert_eq!(response.status(), 503);
    }
    let garbled = trouble(&DecideError::Store(StoreError::Corrupt { charge: 0 }));
    assert_eq!(garbled.code(), ErrorCode::InternalServerError);
    let shown = garbled.body()["context"].get("detail").is_some();
    assert_eq!(shown, cfg!(debug_assertions));
    assert!(!garbled.message().contains("corrupt"), "the message tells nothing of the store");
}

#[test]
fn a_missing_policy_is_an_error_and_no_way_in() {
    let (engine, _clock) = guarded(&site());
    let other = LimiterConfig::new("nobody-wrote-this", "anything");
    let refused = ready(limiter(&engine, "x:y", &other)).unwrap().unwrap_err();
    assert_eq!(refused.code(), ErrorCode::InternalServerError);
}

#[test]
fn t41_who_tries_is_not_logged() {
    assert_eq!(namespace("verify:alice@example.com"), "verify");
    assert_eq!(namespace("verify:2001:db8::7"), "verify", "addresses have colons too");
    assert_eq!(namespace("alice@example.com"), "");
    assert_eq!(namespace(&format!("{}:x", "a".repeat(65))), "", "nobody writes as much into a log");
}
