//! `/livez`, `/readyz` and `/openapi.json`.

use serde_json::json;
use tidegate_core::Span;

use crate::world::World;

#[test]
fn it_lives() {
    let reply = World::new().get("/livez");
    assert_eq!((reply.status, reply.body.as_slice()), (200, b"ok\n".as_slice()));
}

#[test]
fn readiness_has_details() {
    let world = World::new();
    world.clock.advance(Span::from_millis(90_500));
    let reply = world.get("/readyz");
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.json(),
        json!({
            "status": "ready", "version": env!("CARGO_PKG_VERSION"), "policies": 5,
            "store": "memory", "mode": "normal", "modes": {}, "uptime_seconds": 90, "connections": 1,
        })
    );
}

#[test]
fn every_get_can_be_a_head() {
    let world = World::new();
    let mut client = world.client();
    for target in ["/livez", "/readyz", "/metrics", "/openapi.json", "/v1/policies"] {
        client.send(format!("HEAD {target} HTTP/1.1\r\nhost: t\r\n\r\n").as_bytes());
        let reply = client.head_reply();
        assert_eq!(reply.status, 200, "{target}");
        let length: usize = reply.header("content-length").unwrap().parse().unwrap();
        assert!(length > 0, "{target}");
    }
    assert_eq!(client.get("/livez").body, b"ok\n");
}
