//! What a caller sees: admitted, blocked with its numbers, and trouble without its details.

use std::sync::Arc;

use tidegate_core::{ManualClock, PolicySet, Span, Timestamp};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::ready;
use tidegate_test::stub::Failing;

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

fn failing(error: StoreError, failure: FailureMode) -> Engine<Failing> {
    let limits = Limits { temp: threshold(3, 60, 30), long: None };
    let policy = site().policy(limits, failure).unwrap();
    let policies = PolicySet::builder().policy(policy).build(None).unwrap();
    let clock = ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000));
    Engine::new(Failing::failing(error), policies).timed_by(Arc::new(clock))
}

#[test]
fn p11_while_nobody_can_tell_it_is_unavailable_and_its_details_are_for_debug_builds() {
    for error in [StoreError::Unavailable, StoreError::Refused, StoreError::Corrupt { charge: 0 }] {
        let engine = failing(error, FailureMode::FailClosed);
        // Before and after the store is given up: the first of them have met the failure themselves.
        for time in 0..6 {
            let refused = ready(limiter(&engine, "verify:u7", &site())).unwrap().unwrap_err();
            assert_eq!(refused.code(), ErrorCode::ServiceUnavailable);
            assert!(!refused.message().contains("store"), "the message tells nothing of it");
            let shown = refused.body()["context"].get("detail").is_some();
            assert_eq!(shown && time == 0, cfg!(debug_assertions) && time == 0);
            let response = http::Response::<String>::from(refused);
            assert_eq!(response.status(), 503);
            let seconds = response.headers()["retry-after"].to_str().unwrap();
            assert!(seconds.parse::<u64>().unwrap() > 0, "{seconds}");
        }
    }
}

#[test]
fn p18_local_caps_refuse_with_the_usual_code() {
    let engine = failing(StoreError::Timeout, FailureMode::FailOpen);
    let passed = (0..70).filter(|_| ready(limiter(&engine, "verify:u7", &site())).unwrap().is_ok());
    assert_eq!(passed.count(), 60, "the locked cap");
    let refused = ready(limiter(&engine, "verify:u7", &site())).unwrap().unwrap_err();
    assert_eq!((refused.code(), refused.retry_after()), (ErrorCode::TooManyAttempts, Some(60)));
    assert_eq!(http::Response::<String>::from(refused).status(), 429);
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
