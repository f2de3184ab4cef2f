//! What a caller sees: admitted, blocked with its numbers, and trouble without its details.

mod told;

use std::sync::Arc;

use tidegate_core::{ManualClock, PolicyError, PolicySet, Span, Timestamp};
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

fn limits() -> Limits {
    Limits { temp: threshold(3, 60, 30), long: Some(threshold(6, 600, 3600)) }
}

fn guarded(config: &LimiterConfig) -> Site {
    guarded_by(config, FailureMode::FailClosed)
}

fn guarded_by(config: &LimiterConfig, failure: FailureMode) -> Site {
    engine_of(config.policy(limits(), failure).unwrap())
}

fn engine_of(policy: PolicySpec) -> Site {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
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
fn the_long_window_counts_on_when_the_short_one_has_begun_anew() {
    let (config, site) = (site(), guarded(&site()));
    for _ in 0..2 {
        assert_eq!(checked(&site, "verify:u7", &config), LimiterDecision::Allowed);
    }
    site.1.advance(Span::MINUTE);
    for _ in 0..2 {
        assert_eq!(checked(&site, "verify:u7", &config), LimiterDecision::Allowed);
    }
    // The next one would be the sixth in ten minutes, until the first are that old.
    let blocked = LimiterDecision::Blocked {
        scope: BlockScope::Temp,
        retry_after_secs: 540,
        short_count: 3,
        long_count: 5,
    };
    assert_eq!(checked(&site, "verify:u7", &config), blocked);
}

#[test]
fn a39_too_many_at_once_are_unavailable_for_a_second() {
    let engine = failing(StoreError::Contended, &site(), FailureMode::FailClosed);
    let refused = ready(limiter(&engine, "verify:u7", &site())).unwrap().unwrap_err();
    assert_eq!((refused.code(), refused.retry_after()), (ErrorCode::ServiceUnavailable, Some(1)));
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
    let site = guarded_by(&config, FailureMode::FailOpen);
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
fn in_shadow_everything_passes_while_the_store_fails_too() {
    let config = site().in_shadow();
    let engine = failing(StoreError::Unavailable, &config, FailureMode::FailClosed);
    for _ in 0..20 {
        let decided = ready(check(&engine, "verify:u7", &config)).unwrap();
        assert_eq!(decided.ok(), Some(LimiterDecision::Allowed), "before the trip and after it");
    }
}

fn failing(error: StoreError, config: &LimiterConfig, failure: FailureMode) -> Engine<Failing> {
    let limits = Limits { temp: threshold(3, 60, 30), long: None };
    let policy = config.policy(limits, failure).unwrap();
    let policies = PolicySet::builder().policy(policy).build(None).unwrap();
    let clock = ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000));
    Engine::new(Failing::failing(error), policies).timed_by(Arc::new(clock))
}

#[test]
fn p11_while_nobody_can_tell_it_is_unavailable_and_its_details_are_for_debug_builds() {
    for error in [StoreError::Unavailable, StoreError::Refused, StoreError::Corrupt { charge: 0 }] {
        let engine = failing(error.clone(), &site(), FailureMode::FailClosed);
        // Before and after the store is given up: the first of them have met the failure themselves.
        for time in 0..6 {
            let refused = ready(limiter(&engine, "verify:u7", &site())).unwrap().unwrap_err();
            assert_eq!(refused.code(), ErrorCode::ServiceUnavailable);
            assert!(!refused.message().contains("store"), "the message tells nothing of it");
            // Three failures are enough; one unreadable counter is none of the store.
            let met = time < 3 || error == StoreError::Corrupt { charge: 0 };
            let shown = refused.body()["context"].get("detail").is_some();
            assert_eq!(shown, cfg!(debug_assertions) && met, "{error}, {time}");
            let response = http::Response::<String>::from(refused);
            assert_eq!(response.status(), 503);
            let seconds = response.headers()["retry-after"].to_str().unwrap();
            assert!(seconds.parse::<u64>().unwrap() > 0, "{seconds}");
        }
    }
}

#[test]
fn p18_local_caps_refuse_with_the_usual_code() {
    let config = site().with_code(ErrorCode::RateLimited);
    let engine = failing(StoreError::Timeout, &config, FailureMode::FailOpen);
    let passed = (0..70).filter(|_| ready(limiter(&engine, "report:u7", &config)).unwrap().is_ok());
    assert_eq!(passed.count(), 60, "the locked cap");
    let refused = ready(limiter(&engine, "report:u7", &config)).unwrap().unwrap_err();
    assert_eq!((refused.code(), refused.retry_after()), (ErrorCode::RateLimited, Some(60)));
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
fn p04_a34_a_call_site_about_identity_can_only_fail_closed() {
    use ErrorCode::{RateLimited, TooManyAttempts};
    use FailureMode::{Degraded, FailClosed, FailOpen};
    for (code, said, failure, told) in [
        (TooManyAttempts, None, FailClosed, "Some(Auth)"),
        (TooManyAttempts, None, FailOpen, "not fail-closed"),
        (TooManyAttempts, None, Degraded, "not fail-closed"),
        (TooManyAttempts, Some(Protects::Admin), FailClosed, "Some(Admin)"),
        (TooManyAttempts, Some(Protects::Admin), FailOpen, "not fail-closed"),
        (TooManyAttempts, Some(Protects::ApiHeavy), FailOpen, "milder"),
        (TooManyAttempts, Some(Protects::Read), Degraded, "milder"),
        (RateLimited, None, FailOpen, "None"),
        (RateLimited, None, Degraded, "None"),
        (RateLimited, Some(Protects::Auth), FailClosed, "Some(Auth)"),
        (RateLimited, Some(Protects::Auth), FailOpen, "not fail-closed"),
    ] {
        for config in [site().with_code(code), site().with_code(code).in_shadow()] {
            let spec = config.policy(limits(), failure).unwrap();
            let spec = said.into_iter().fold(spec, PolicySpec::protecting);
            let found = match PolicySet::builder().policy(spec).build(None) {
                Ok(set) => format!("{:?}", set.policies()[0].protects()),
                Err(PolicyError::NotFailClosed { .. }) => "not fail-closed".into(),
                Err(PolicyError::Milder { .. }) => "milder".into(),
                Err(other) => panic!("{other}"),
            };
            assert_eq!(found, told, "{code:?} {said:?} {failure:?}");
        }
    }
}

#[test]
fn p04_a34_a_call_site_about_identity_lets_nobody_through_by_a_policy_that_is_no_entrance() {
    use FailureMode::{FailClosed, FailOpen};
    // As from a file, or made for a call site that answers otherwise.
    for (protects, failure, passes) in [
        (None, FailOpen, false),
        (Some(Protects::ApiHeavy), FailOpen, false),
        (Some(Protects::Health), FailOpen, false),
        (Some(Protects::Auth), FailClosed, true),
        (Some(Protects::Login), FailClosed, true),
        (Some(Protects::Otp), FailClosed, true),
        (Some(Protects::Admin), FailClosed, true),
    ] {
        let roomy = Limits { temp: threshold(9, 60, 30), long: None };
        let spec = site().with_code(ErrorCode::RateLimited).policy(roomy, failure).unwrap();
        let (engine, _clock) = engine_of(protects.into_iter().fold(spec, PolicySpec::protecting));
        let asked = ready(limiter(&engine, "verify:u7", &site())).unwrap();
        let code = asked.err().map(|refused| refused.code());
        let expected = (!passes).then_some(ErrorCode::InternalServerError);
        assert_eq!(code, expected, "{protects:?}");
    }
    let site = site();
    let (engine, _clock) = guarded(&site);
    assert_eq!(ready(limiter(&engine, "verify:u7", &site)).unwrap(), Ok(()));
    // A reload that exchanges the policy.
    let open = site.clone().with_code(ErrorCode::RateLimited).policy(limits(), FailOpen).unwrap();
    engine.reload(&PolicySet::builder().policy(open)).unwrap();
    let refused = ready(limiter(&engine, "verify:u7", &site)).unwrap().unwrap_err();
    assert_eq!(refused.code(), ErrorCode::InternalServerError);
}

#[test]
fn t41_who_tries_is_not_logged() {
    assert_eq!(namespace("verify:alice@example.com"), "verify");
    assert_eq!(namespace("verify:2001:db8::7"), "verify", "addresses have colons too");
    assert_eq!(namespace("alice@example.com"), "");
    assert_eq!(namespace(&format!("{}:x", "a".repeat(65))), "", "nobody writes as much into a log");
}
