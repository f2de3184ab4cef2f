//! Jobs are counted where they are enqueued.

use http::{Method, StatusCode};
use tidegate_tower::answer::Code;
use tidegate_tower::{Identity, NotEnqueued, Visit};

use crate::world::{World, acme, finish, request};

/// The visit that a request of this world is.
fn visit(world: &World) -> Visit {
    use tower::{Layer, ServiceExt, service_fn};
    let seen =
        service_fn(|request: http::Request<http_body_util::Full<bytes::Bytes>>| async move {
            let visit = request.extensions().get::<Visit>().cloned();
            let mut response = http::Response::new(http_body_util::Full::<bytes::Bytes>::default());
            response.extensions_mut().insert(visit);
            Ok::<_, std::convert::Infallible>(response)
        });
    let request = request(Method::GET, "/public", None);
    let answer = finish(world.gate.early().layer(seen).oneshot(request)).unwrap();
    answer.extensions().get::<Option<Visit>>().cloned().flatten().unwrap()
}

fn enqueue(world: &World, job: &str, identity: &Identity) -> Result<(), NotEnqueued> {
    finish(world.gate.enqueue(job, identity, &visit(world)))
}

#[test]
fn a_job_is_charged_what_it_weighs() {
    let world = World::new();
    assert!(enqueue(&world, "export", &acme()).is_ok());
    assert!(enqueue(&world, "export", &acme()).is_ok());
    let refused = enqueue(&world, "export", &acme()).unwrap_err();
    assert_eq!(refused.code(), Code::RateLimitExceeded, "25 a day, and each weighs 10");
    let response = refused.into_response();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(enqueue(&world, "export", &Identity::new("globex").scopes(["reports:export"])).is_ok());
}

#[test]
fn a_job_without_its_scope_is_not_counted() {
    let world = World::new();
    for _ in 0..5 {
        let refused = enqueue(&world, "export", &acme().scopes(["reports:read"])).unwrap_err();
        assert_eq!(refused.code(), Code::InsufficientScope);
    }
    assert!(enqueue(&world, "export", &acme()).is_ok());
}

#[test]
fn a_job_that_was_not_declared_is_not_enqueued() {
    let refused = enqueue(&World::new(), "surprise", &acme()).unwrap_err();
    assert_eq!(refused.code(), Code::Misconfigured);
    assert_eq!(refused.to_string(), "the job must not be enqueued: internal.misconfigured");
}
