//! Pages in browsers: what they send, as far as a test without a browser can send it.
//!
//! `crates/tidegate/tests/proof/chromium.rs` does the same with a real one.

use std::net::SocketAddr;

use serde_json::json;
use tidegate_core::Store;

use crate::admin::{TOKEN, bearer};
use crate::raw::{Client, Reply};
use crate::world::World;

/// Asks for a decision that charges `acme`, with this name of the server and these header lines.
fn decide(address: SocketAddr, host: &str, headers: &str) -> Reply {
    let body = r#"{"policy":"api","subject":{"org":"acme","user":"u7"}}"#;
    let mut client = Client::connect(address);
    let head = format!("POST /v1/decide HTTP/1.1\r\nhost: {host}\r\n{headers}");
    client.send(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes());
    client.reply()
}

fn get(address: SocketAddr, target: &str, host: &str, headers: &str) -> Reply {
    let mut client = Client::connect(address);
    client.send(format!("GET {target} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n").as_bytes());
    client.reply()
}

const JSON: &str = "content-type: application/json\r\n";

/// What is left for `acme`: nothing has been charged while it is 3.
fn left<S: Store + 'static>(world: &World<S>) -> u64 {
    let mut client = Client::connect(world.address);
    let reply =
        client.post("/v1/peek", br#"{"policy":"api","subject":{"org":"acme","user":"u7"}}"#);
    reply.json()["remaining"].as_u64().unwrap()
}

fn counted(world: &World, reason: &str) -> String {
    let metrics = String::from_utf8(world.get("/metrics").body).unwrap();
    let name = format!("tidegate_http_requests_refused_total{{reason=\"{reason}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().to_owned()
}

/// A server with the names it has by default, and one of the tests.
fn world() -> World {
    World::with(&json!({"hosts": ["localhost", "127.0.0.1", "t", "api.internal:7700"]}))
}

#[test]
fn t43_a_page_of_another_origin_charges_nothing() {
    let world = world();
    let own = world.address.to_string();
    let simple = "content-type: text/plain\r\n";
    let foreign = "origin: http://attacker.example\r\n";
    for (headers, status) in [
        // What `fetch` with the mode `no-cors` sends, and what is left of it where one check is alone.
        (format!("{simple}{foreign}sec-fetch-site: cross-site\r\n"), 403),
        (format!("{JSON}{foreign}"), 403),
        (format!("{JSON}origin: null\r\n"), 403),
        (format!("{JSON}sec-fetch-site: cross-site\r\n"), 403),
        (format!("{JSON}sec-fetch-site: same-site\r\n"), 403),
        (simple.to_owned(), 415),
        (String::new(), 415),
    ] {
        let reply = decide(world.address, &own, &headers);
        assert_eq!(reply.status, status, "{headers}");
        reply.problem();
    }
    assert_eq!(left(&world), 3, "nothing was charged");
    assert_eq!(counted(&world, "cross_site"), "5");
    let ours = format!("{JSON}origin: http://{own}\r\nsec-fetch-site: same-origin\r\n");
    assert_eq!(decide(world.address, &own, &ours).status, 200);
    assert_eq!(left(&world), 2);
}

#[test]
fn t43_a_name_of_somebody_else_that_leads_here_is_refused() {
    let world = world();
    for host in ["attacker.example", "attacker.example:7700", "api.internal", "tt", "0.0.0.0"] {
        let reply = decide(world.address, host, JSON);
        assert_eq!(reply.status, 421, "{host}");
        let detail = reply.problem()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(host) && detail.contains("`server.hosts`"), "{detail}");
        for target in ["/v1/policies", "/metrics", "/openapi.json", "/v1/explain/api", "/nowhere"] {
            assert_eq!(get(world.address, target, host, "").status, 421, "{target} of {host}");
        }
    }
    assert_eq!(left(&world), 3, "nothing was charged");
    assert_eq!(counted(&world, "host"), "30");
    let own = world.address.to_string();
    for host in ["localhost", "LOCALHOST:1", "t", "api.internal.:7700", "127.0.0.1", &own] {
        assert_eq!(get(world.address, "/v1/policies", host, "").status, 200, "{host}");
    }
    let mut client = Client::connect(world.address);
    client.send(b"GET http://attacker.example/v1/policies HTTP/1.1\r\nhost: t\r\n\r\n");
    assert_eq!(client.reply().status, 421, "the target names a server too");
    client.send(b"GET /v1/policies HTTP/1.1\r\nhost: t\r\n\r\n");
    assert_eq!(client.reply().status, 200, "the connection goes on");
}

#[test]
fn a_probe_by_whatever_name_is_told_how_the_server_is() {
    let world = world();
    for target in ["/livez", "/readyz"] {
        let strange = "sec-fetch-site: cross-site\r\n";
        assert_eq!(get(world.address, target, "10.0.0.7:31000", strange).status, 200, "{target}");
    }
}

#[test]
fn a_trusted_proxy_asks_the_gate_in_the_name_of_its_client() {
    let strange = "origin: https://app.example\r\nsec-fetch-site: same-site\r\n";
    let trusting = World::with(&json!({"gate": {"trusted_peers": ["127.0.0.0/8"]}}));
    assert_eq!(get(trusting.address, "/v1/gate/queue", "app.example", strange).status, 200);
    assert_eq!(get(trusting.address, "/v1/policies", "app.example", "").status, 421);
    let alone = world();
    assert_eq!(get(alone.address, "/v1/gate/queue", "app.example", "").status, 421);
    assert_eq!(get(alone.address, "/v1/gate/queue", "t", strange).status, 403);
    assert_eq!(
        get(alone.address, "/v1/gate/queue", "t", "").status,
        200,
        "and nothing was charged"
    );
}

#[test]
fn t43_a_page_reaches_no_operator_even_with_the_token() {
    let world = crate::admin::world();
    let admin = world.admin.unwrap();
    let token = bearer(TOKEN);
    assert_eq!(get(admin, "/admin/blocks", "t", &token).status, 200);
    assert_eq!(get(admin, "/admin/blocks", "attacker.example", &token).status, 421);
    let foreign = format!("{token}origin: http://attacker.example\r\n");
    assert_eq!(get(admin, "/admin/blocks", "t", &foreign).status, 403);
    let untyped =
        format!("POST /admin/reset HTTP/1.1\r\nhost: t\r\n{token}content-length: 2\r\n\r\n{{}}");
    let mut client = Client::connect(admin);
    client.send(untyped.as_bytes());
    assert_eq!(client.reply().status, 415);
}
