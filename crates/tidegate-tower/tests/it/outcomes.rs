//! Limits that count by outcome: probing for what one may not do.

use http::{Method, StatusCode};
use tidegate_core::Span;
use tower::{Layer, ServiceExt, service_fn};

use crate::world::{POLICIES, World, acme, request};

/// Three refusals by the service for each token within a minute, and three for each address.
fn world() -> World {
    let probing = "    limits:\n      - { name: probing, by: [org, token], window: { count: 3, per: 1min }, outcome: [401, 403] }\n      - { name: org, by";
    let strangers = "    limits:\n      - { name: strangers, by: ip, window: { count: 3, per: 1min }, outcome: [401, 403] }\n      - { name: address, by: [ip, class], bucket: { rate: 100/s, burst: 100 } }";
    let policies = POLICIES
        .replace("rate: 1/s, burst: 4", "rate: 100/s, burst: 100")
        .replace("rate: 1/s, burst: 3", "rate: 90/s, burst: 90")
        .replace("rate: 1/s, burst: 2 } }\n  - name: write", "rate: 80/s, burst: 80 } }\n  - name: write")
        .replace("    limits:\n      - { name: org, by", probing)
        .replace("    limits:\n      - { name: address, by: [ip, class], bucket: { rate: 1/s, burst: 6 } }", strangers);
    World::with(&policies, |gate| gate)
}

fn wanting(world: &World, status: &str) -> u16 {
    let mut asking = request(Method::GET, "/reports/1", Some(acme()));
    asking.headers_mut().insert("want", status.parse().unwrap());
    world.send(asking).status().as_u16()
}

#[test]
fn refusals_count_and_what_is_served_is_given_back() {
    let world = world();
    for _ in 0..20 {
        assert_eq!(wanting(&world, "200"), 200, "none of these counts");
    }
    let probing: Vec<u16> = (0..4).map(|_| wanting(&world, "403")).collect();
    assert_eq!(probing, [403, 403, 403, 429]);
    assert_eq!(wanting(&world, "200"), 429, "whatever it would have been");
    world.pass_time(Span::from_secs(60));
    assert_eq!(wanting(&world, "200"), 200);
}

#[test]
fn refusals_for_a_missing_scope_count_and_take_nothing_else() {
    let world = world();
    let poor = acme().scopes(["reports:write"]);
    assert_eq!(world.statuses("/reports/1", &poor, 5), [403, 403, 403, 429, 429]);
    assert_eq!(world.served(), 0);
}

#[test]
fn refusals_of_strangers_count_by_address() {
    let world = world();
    let asked: Vec<u16> = (0..4)
        .map(|_| world.send(request(Method::GET, "/reports/1", None)).status().as_u16())
        .collect();
    assert_eq!(asked, [401, 401, 401, 429]);
}

#[test]
fn guesses_at_once_cannot_slip_past() {
    let world = world();
    let never = service_fn(
        |_| -> std::future::Pending<
            Result<http::Response<http_body_util::Full<bytes::Bytes>>, std::convert::Infallible>,
        > { std::future::pending() },
    );
    crate::store::answer_at_once(world.gate.engine().store());
    let stack = world.gate.org().layer(never);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut begun: Vec<_> = (0..5)
        .map(|_| Box::pin(stack.clone().oneshot(request(Method::GET, "/reports/1", Some(acme())))))
        .collect();
    let refused = begun.iter_mut().filter_map(|call| match call.as_mut().poll(&mut context) {
        std::task::Poll::Ready(answer) => Some(answer.unwrap().status()),
        std::task::Poll::Pending => None,
    });
    let refused: Vec<StatusCode> = refused.collect();
    assert_eq!(
        refused,
        [StatusCode::TOO_MANY_REQUESTS; 2],
        "three are under way, and none is known"
    );
}
