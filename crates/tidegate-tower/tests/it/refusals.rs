//! Whom nothing is known about, and what is wired wrongly: never a way through.

use std::sync::Arc;

use http::{Method, Request, StatusCode};
use http_body_util::Full;
use tidegate_core::ManualClock;
use tidegate_engine::Engine;
use tidegate_engine::file::File;
use tidegate_tower::routes::{Class, Route, Unfit};
use tidegate_tower::{Gate, GateError, Routes, RoutesError};
use tower::{Layer, ServiceExt, service_fn};

use crate::world::{POLICIES, World, acme, finish, request, store};

#[test]
fn t10_without_the_address_of_the_peer_nothing_passes() {
    let world = World::new();
    let mut nameless = Request::new(Full::default());
    *nameless.uri_mut() = "/public".parse().unwrap();
    assert_eq!(world.send(nameless).status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(world.served(), 0);
}

#[test]
fn a_route_with_a_scope_is_not_for_strangers() {
    let world = World::new();
    let answer = world.send(request(Method::GET, "/reports/1", None));
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(world.served(), 0);
}

#[test]
fn the_org_layer_alone_lets_no_stranger_through() {
    let world = World::new();
    let service = service_fn(|_| async {
        Ok::<_, std::convert::Infallible>(http::Response::new(Full::<bytes::Bytes>::default()))
    });
    let stack = world.gate.org().layer(service);
    let stranger = request(Method::GET, "/public", None);
    let answer = finish(stack.clone().oneshot(stranger)).unwrap();
    assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR, "nothing has limited it");
    let known = request(Method::GET, "/public", Some(acme()));
    let answer = finish(stack.oneshot(known)).unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(answer.headers().contains_key("ratelimit"), "and says what is left");
}

#[test]
fn t06_a_policy_that_is_gone_lets_nothing_through() {
    let world = World::new();
    let other: File =
        File::parse("other.yaml", &POLICIES.replace("name: read", "name: gone")).unwrap();
    let refused = world.gate.reload(other.policies()).unwrap_err();
    assert!(matches!(refused, GateError::Unfit(Unfit::NoPolicy { .. })), "{refused}");
    assert_eq!(world.get("/reports/1", &acme()).status(), StatusCode::OK, "nothing has changed");
    world.gate.engine().reload(other.policies()).unwrap();
    let behind = world.get("/reports/1", &acme()).status();
    assert_eq!(behind, StatusCode::INTERNAL_SERVER_ERROR, "behind the gate's back");
}

fn refused(policies: &str) -> String {
    let clock = Arc::new(ManualClock::new(tidegate_core::Timestamp::from_micros(0)));
    let file: File = File::parse("policies.yaml", policies).unwrap();
    let store = store(&clock);
    let engine = Engine::new(store, file.policies().clone().build(None).unwrap());
    let gate = Gate::builder(Arc::new(engine), crate::world::routes()).build();
    gate.map(drop).unwrap_err().to_string()
}

#[test]
fn what_would_not_limit_is_refused_at_the_start() {
    let shared = POLICIES.replace("by: [org, class], bucket", "by: [class], bucket");
    assert!(refused(&shared).contains("one organisation could exhaust it for the others"));
    let unknown = POLICIES.replace("by: [ip, class], bucket", "by: [ip, user], bucket");
    assert!(refused(&unknown).contains("`user`, which is not known then"));
    let uncertain = POLICIES.replace("by: [ip, class], bucket", "by: [ip, agent], bucket");
    assert!(refused(&uncertain).contains("no limit of it is certain to apply"));
    let some = POLICIES.replace("by: [ip, class], bucket", "by: [ip, class], only: ipv6, bucket");
    assert!(refused(&some).contains("no limit of it is certain to apply"), "not to IPv4");
    for by in ["[class]", "[route]", "[class, route, agent]"] {
        let everybody = POLICIES.replace("by: [ip, class], bucket", &format!("by: {by}, bucket"));
        let told = refused(&everybody);
        assert_eq!(
            told,
            "policy `address` decides before authentication, but its limit `address` does not count \
             by address: one client could exhaust it for everybody; add `ip` to what it counts by",
            "{by}"
        );
    }
    let missing = POLICIES.replace("name: bulk", "name: bulky");
    assert!(refused(&missing).contains("policy `bulk`, which does not exist"));
}

#[test]
fn t06_a_route_without_a_policy_is_refused_at_the_start() {
    let unmatched = || Class::try_new("read", "address").unwrap();
    let routes = |route| Routes::builder(unmatched()).route(route).build().map(drop).unwrap_err();
    let unknown = routes(Route::new("/x", "weird"));
    assert!(matches!(unknown, RoutesError::UnknownClass { .. }), "{unknown}");
    for path in ["x", "/a//b", "/a/../b", "/a/", "/a%2Fb", "/a;b"] {
        let bad = routes(Route::new(path, "read"));
        assert!(matches!(bad, RoutesError::NotCanonical(_)), "{path}: {bad}");
    }
    let twice = Routes::builder(unmatched())
        .route(Route::new("/x", "read").method(Method::GET))
        .route(Route::new("/x", "read").method(Method::GET));
    assert_eq!(twice.build().map(drop).unwrap_err(), RoutesError::Twice("/x".into()));
    let conflict = Routes::builder(unmatched())
        .route(Route::new("/x/{a}", "read"))
        .route(Route::new("/x/{b}", "read"));
    assert!(matches!(conflict.build().map(drop), Err(RoutesError::Conflict { .. })));
    let job = Routes::builder(unmatched()).job(Route::new("export", "read"));
    assert!(matches!(job.build().map(drop), Err(RoutesError::NobodyKnown { .. })));
}
