//! The bytes that clients make a server keep: bounded for the process, and told in `/metrics`.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::json;
use tidegate_core::ManualClock;
use tidegate_engine::Engine;
use tidegate_engine::memory::MemoryStore;
use tidegate_server::{Server, Settings, WrittenSettings};
use tidegate_tower::serve::{Bounds, Serve, Share};
use tower::Service;

use crate::admin;
use crate::raw::Client;
use crate::world::{BUDGET, NOW, World, policies};

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A field that is not indexed.
fn field(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).unwrap();
    [&[0, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
}

/// Asks over HTTP/2 for an answer, and never opens a window for it.
fn shut(client: &mut Client, path: &str, fields: &[u8]) {
    let head =
        [&[0x82, 0x86][..], &field(":path", path), &field(":authority", "t"), fields].concat();
    let settings = frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]);
    client.send(&[PREFACE, &settings, &frame(1, 5, 1, &head)].concat());
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How many bytes are held, as `/metrics` tells.
fn told(world: &World, of: &str) -> usize {
    let page = String::from_utf8(world.get("/metrics").body).unwrap();
    let begins = format!("tidegate_http_memory_bytes{{use=\"{of}\"}} ");
    let value = page.lines().find_map(|line| line.strip_prefix(&begins));
    value.unwrap_or_else(|| panic!("{page}")).parse().unwrap()
}

const HALF_HEAD: &[u8] = b"GET / HTTP/1.1\r\nhost: t\r\nx-ha";
const HALF_BODY: &[u8] =
    b"POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";

#[test]
fn t12_metrics_tell_the_bytes_that_clients_of_both_listeners_hold() {
    let world = admin::world();
    let operators = world.admin.unwrap();
    // The server reads in its own time.
    let is = |of: &str, bytes: usize| while told(&world, of) != bytes {};
    assert_eq!(["heads", "bodies", "answers"].map(|of| told(&world, of)), [0, 0, 0]);

    let mut clients = [world.address, operators].map(Client::connect);
    for (count, client) in (1..).zip(&mut clients) {
        client.send(HALF_HEAD);
        // A head of 16 KiB, and room for what is read next.
        is("heads", count * (24 << 10));
    }
    drop(clients);
    is("heads", 0);

    let mut client = world.client();
    client.send(HALF_BODY);
    is("bodies", 1000);
    let token = admin::bearer(admin::TOKEN);
    let mut operator = Client::connect(operators);
    let head = "POST /admin/block HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n";
    operator.send(format!("{head}{token}content-length: 500\r\n\r\n{{").as_bytes());
    is("bodies", 1500);
    drop((client, operator));
    is("bodies", 0);

    let mut client = world.client();
    shut(&mut client, "/v1/explain/door?account=ada", &[]);
    while told(&world, "answers") < 500 {}
    let explained = told(&world, "answers");
    let mut operator = Client::connect(operators);
    let token = field("authorization", &format!("Bearer {}", admin::TOKEN));
    shut(&mut operator, "/admin/blocks", &token);
    while told(&world, "answers") <= explained {}
    drop((client, operator));
    is("answers", 0);
    is("heads", 0);
}

/// The value of a setting in the SETTINGS frame that a server begins with.
fn setting(heard: &[u8], number: u8) -> Option<u32> {
    assert_eq!(heard[3], 4, "the first frame is SETTINGS");
    let settings = heard[9..9 + usize::from(heard[2])].chunks(6);
    let value = |of: &[u8]| u32::from_be_bytes(of[2..6].try_into().unwrap());
    settings.filter(|of| of[..2] == [0, number]).map(value).next()
}

#[test]
fn t35_streams_of_the_server_and_of_operators_have_windows_of_16_kib() {
    let world = admin::world();
    for address in [world.address, world.admin.unwrap()] {
        let mut client = Client::connect(address);
        client.send(&[PREFACE, &frame(4, 0, 0, &[])].concat());
        // SETTINGS_INITIAL_WINDOW_SIZE is 4.
        assert_eq!(setting(&client.some(), 4), Some(16 << 10), "{address}");
    }
}

/// A request for one decision in a batch, of a connection with this memory.
fn batch(share: &Arc<Share>) -> Request<Full<Bytes>> {
    let body = json!({"requests": [{"policy": "queue"}]}).to_string();
    let request = Request::post("/v1/decide/batch").header("host", "t");
    let request = request.header("content-type", "application/json");
    request.extension(Arc::clone(share)).body(Full::from(body)).unwrap()
}

#[test]
fn t12_a_connection_has_its_share_also_where_the_server_is_mounted() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store = MemoryStore::new(BUDGET, Arc::clone(&clock));
    let engine = Arc::new(Engine::new(store, policies().build(None).unwrap()));
    let hosts = Some(vec!["t".parse().unwrap()]);
    let listen = "127.0.0.1:0".parse().ok();
    let written = WrittenSettings { listen, hosts, ..Default::default() };
    let server = Server::bind(Settings::try_new(&written).unwrap(), engine, clock).unwrap();
    // An answer counts as 1 KiB, and one connection may hold an eighth.
    let host = Serve::new(Bounds { answers_memory: 8 * 1500, ..Bounds::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (mut service, memory) = (server.service(), host.memory());
    let mut ask = |share: &Arc<Share>| -> Result<Response<_>, Infallible> {
        runtime.block_on(service.call(batch(share)))
    };
    let [one, other] = [memory.share(), memory.share()];
    let unread = ask(&one).unwrap();
    assert_eq!(unread.status(), StatusCode::OK);
    assert_eq!(ask(&one).unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ask(&other).unwrap().status(), StatusCode::OK, "another connection has its own");
    drop(unread);
    assert_eq!(ask(&one).unwrap().status(), StatusCode::OK);
}
