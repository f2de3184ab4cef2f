//! Bodies: what everyone has, what nobody can break out of, and what entrances do not tell.

use bytes::Bytes;
use http::{HeaderValue, Response};
use proptest::prelude::*;
use serde_json::Value;
use tidegate_core::Timestamp;

use super::scenes::Scene;
use super::{NOW, lines, profiles, refused, refused_unasked};
use crate::answer::refusal::percent_encoded;
use crate::answer::{
    BodyProfile, Code, ErrorCode, ErrorResponse, HeaderProfile, Headers, Profile, Refused,
};
use crate::request_id::RequestId;

fn parsed(response: &Response<Bytes>) -> Value {
    serde_json::from_slice(response.body()).unwrap()
}

/// The part that has the request id.
fn inner(body: &Value) -> &Value {
    body.get("error").unwrap_or(body)
}

#[test]
fn every_body_says_which_request_it_was_and_when() {
    for profile in profiles() {
        let refusals = Scene::ALL.into_iter().filter_map(|scene| refused(&profile, scene, false));
        let unasked = Code::OF_LAYERS.iter().map(|code| refused_unasked(&profile, *code, false));
        for response in refusals.chain(unasked) {
            let body = parsed(&response);
            assert_eq!(inner(&body)["request_id"], "req-7f3a");
            assert_eq!(inner(&body)["timestamp"], "2025-11-16T08:00:00.250000Z");
            assert_eq!(response.headers()["cache-control"], "no-store");
        }
    }
}

#[test]
fn the_wait_in_the_body_is_that_of_the_header() {
    for profile in profiles() {
        for scene in Scene::ALL {
            let Some(response) = refused(&profile, scene, false) else { continue };
            let body = parsed(&response);
            let told = match profile.body {
                BodyProfile::Problem => &body["retry_after"],
                BodyProfile::Envelope => &body["error"]["details"]["retry_after"],
                BodyProfile::Compact => &body["context"]["retryAfter"],
            };
            let header = response.headers().get("retry-after");
            let header = header.map(|value| value.to_str().unwrap().parse::<u64>().unwrap());
            assert_eq!(told.as_u64(), header, "{scene:?}");
        }
    }
}

/// All that is told, but for what every refusal says about caches.
fn told(response: &Response<Bytes>) -> String {
    let body = core::str::from_utf8(response.body()).unwrap();
    format!("{}{body}", lines(response.headers())).replace("cache-control: no-store\n", "")
}

#[test]
fn p82_refusals_at_entrances_name_nothing_from_within() {
    let within = [
        "sign-in",
        "per-account",
        "per-address",
        "account",
        "login",
        "alice",
        "203.0.113",
        "store",
        "fail",
        "closed",
        "degraded",
        "normal",
        "mode",
        "scope",
        "ladder",
        "acme",
        "L1",
    ];
    for profile in profiles() {
        for scene in Scene::ENTRANCES {
            for grpc in [false, true] {
                let Some(response) = refused(&profile, scene, grpc) else { continue };
                let told = told(&response);
                for word in within {
                    assert!(!told.contains(word), "{scene:?} tells {word}:\n{told}");
                }
            }
        }
    }
}

#[test]
fn p82_no_refusal_tells_who_asked_or_what_failed() {
    for profile in profiles() {
        for scene in Scene::ALL {
            let Some(response) = refused(&profile, scene, false) else { continue };
            let told = told(&response);
            for word in ["acme", "alice", "203.0.113", "curl", "store", "fail", "shadow", "trial"] {
                assert!(!told.contains(word), "{scene:?} tells {word}:\n{told}");
            }
        }
    }
}

#[test]
fn grpc_reads_its_status_from_the_head_and_there_is_no_body() {
    let statuses = [8, 8, 14, 14, 7, 16, 3, 13];
    for (code, status) in Code::OF_LAYERS.iter().copied().zip(statuses) {
        let response = refused_unasked(&Profile::default(), code, true);
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "application/grpc");
        assert_eq!(response.headers()["grpc-status"], status.to_string());
        let message = match code {
            Code::Overloaded => {
                "Too many requests at once to check this one. Try again in 1 second."
            }
            code => code.message(),
        };
        assert_eq!(response.headers()["grpc-message"], message);
        assert!(response.body().is_empty());
    }
    assert_eq!(percent_encoded("50% of\n\u{e4}~"), "50%25 of%0A%C3%A4~");
}

#[test]
fn who_is_not_known_or_may_not_is_told_how_to_become_so() {
    let challenge = |code| {
        let response = refused_unasked(&Profile::default(), code, false);
        response.headers().get("www-authenticate").cloned()
    };
    for code in Code::ALL {
        let expected = match code {
            Code::AuthenticationRequired => Some(HeaderValue::from_static("Bearer")),
            Code::InsufficientScope => {
                Some(HeaderValue::from_static(r#"Bearer error="insufficient_scope""#))
            }
            _ => None,
        };
        assert_eq!(challenge(code), expected);
    }
}

#[test]
fn a_set_of_header_profiles_is_what_was_put_into_it() {
    for bits in 0..8_usize {
        let some = || HeaderProfile::ALL.into_iter().enumerate();
        let chosen: Vec<_> = some().filter(|(at, _)| bits >> at & 1 == 1).map(|it| it.1).collect();
        let set: Headers = chosen.iter().copied().collect();
        assert_eq!(set.into_iter().collect::<Vec<_>>(), chosen);
    }
}

proptest! {
    #[test]
    fn no_request_id_that_is_adopted_breaks_out_of_a_body(
        bytes in proptest::collection::vec(prop_oneof![0x20..=0x7e_u8, any::<u8>()], 0..200),
        micros in any::<u64>(),
    ) {
        let adopted = HeaderValue::from_bytes(&bytes).ok().and_then(|it| RequestId::adopt(&it));
        let request_id = &adopted.unwrap_or_else(RequestId::generate);
        let at = Timestamp::from_micros(micros);
        for profile in profiles() {
            let code = Code::RateLimitExceeded;
            let refused = Refused::new(code, request_id, at);
            let body = parsed(&profile.refusal(&refused));
            prop_assert_eq!(&inner(&body)["request_id"], request_id.as_str());
        }
    }

    #[test]
    fn no_message_or_detail_breaks_out_of_a_compact_body(message in any::<String>(), detail in any::<String>()) {
        let error = ErrorResponse::new(ErrorCode::RateLimited)
            .with_message(message.as_str())
            .with_detail(detail.as_str())
            .with_retry_after(7)
            .with_request(&super::request_id(), NOW);
        let response = Response::<String>::from(error.clone());
        let body: Value = serde_json::from_str(response.body()).unwrap();
        prop_assert_eq!(&body, &error.body());
        prop_assert_eq!(&body["message"], &message);
        let members: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
        let mut sorted = members.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, ["code", "context", "message", "request_id", "timestamp"]);
        let shown = body["context"].get("detail").and_then(Value::as_str);
        prop_assert_eq!(shown, cfg!(debug_assertions).then_some(detail.as_str()));
    }
}
