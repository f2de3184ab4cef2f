//! HTTP/2 with prior knowledge.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Frame};
use hyper::client::conn::http2::SendRequest;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::world::World;

type Sender = SendRequest<Full<Bytes>>;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

async fn connect(address: SocketAddr) -> Sender {
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
    let (sender, connection) = handshake.await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    sender
}

fn request(method: Method, target: &str, body: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("http://t{target}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap()
}

async fn read(response: Response<hyper::body::Incoming>) -> (u16, Vec<u8>) {
    let status = response.status().as_u16();
    (status, response.into_body().collect().await.unwrap().to_bytes().to_vec())
}

fn ask() -> String {
    json!({"policy": "api", "subject": {"org": "acme", "user": "u7"}}).to_string()
}

#[test]
fn decisions_are_the_same_over_http2() {
    let world = World::new();
    run(async {
        let mut sender = connect(world.address).await;
        for verdict in ["admit", "admit", "admit", "deny"] {
            let response = sender.send_request(request(Method::POST, "/v1/decide", &ask())).await;
            let response = response.unwrap();
            assert_eq!(response.headers()["content-type"], "application/json");
            assert_eq!(response.headers()["cache-control"], "no-store");
            assert!(!response.headers().contains_key("connection"));
            let (status, body) = read(response).await;
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!((status, &body["verdict"]), (200, &json!(verdict)));
        }
    });
}

/// Threat T15: a burst of streams in one packet spends each token once.
#[test]
fn t15_thirty_streams_at_once_are_not_admitted_twice() {
    let world = World::new();
    run(async {
        let sender = connect(world.address).await;
        let streams = (0..30).map(|_| {
            let mut sender = sender.clone();
            tokio::spawn(async move {
                let sent = sender.send_request(request(Method::POST, "/v1/decide", &ask())).await;
                read(sent.unwrap()).await.1
            })
        });
        let streams: Vec<_> = streams.collect();
        let mut admitted = 0;
        for stream in streams {
            let body: Value = serde_json::from_slice(&stream.await.unwrap()).unwrap();
            admitted += u32::from(body["verdict"] == "admit");
        }
        assert_eq!(admitted, 3);
    });
}

#[test]
fn problems_are_the_same_over_http2() {
    let world = World::with(&json!({"max_body": "1KiB"}));
    run(async {
        let mut sender = connect(world.address).await;
        for (method, target, body, status) in [
            (Method::POST, "/v1/decide", "{".to_owned(), 400),
            (Method::POST, "/v1/decide", " ".repeat(2_000), 413),
            (Method::GET, "/nowhere", String::new(), 404),
            (Method::PUT, "/v1/decide", ask(), 405),
            (Method::GET, &format!("/livez?{}", "x".repeat(9_000)), String::new(), 414),
        ] {
            let response = sender.send_request(request(method, target, &body)).await.unwrap();
            assert_eq!(response.headers()["content-type"], "application/problem+json");
            let (found, body) = read(response).await;
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!((found, &body["status"]), (status, &json!(status)));
        }
        let response = sender.send_request(request(Method::GET, "/livez", "")).await.unwrap();
        assert_eq!(read(response).await, (200, b"ok\n".to_vec()), "the connection still works");
    });
}

#[test]
fn t36_header_fields_are_counted_over_http2_too() {
    let world = World::new();
    run(async {
        let mut sender = connect(world.address).await;
        let mut many = request(Method::GET, "/livez", "");
        for number in 0..150 {
            let name: hyper::header::HeaderName = format!("x-{number}").parse().unwrap();
            many.headers_mut().insert(name, hyper::header::HeaderValue::from_static("y"));
        }
        let response = sender.send_request(many).await.unwrap();
        assert_eq!(read(response).await.0, 431);
    });
}

#[test]
fn a_head_has_a_length_and_no_body() {
    let world = World::new();
    run(async {
        let mut sender = connect(world.address).await;
        let response = sender.send_request(request(Method::HEAD, "/livez", "")).await.unwrap();
        assert_eq!(response.headers()["content-length"], "3");
        assert_eq!(read(response).await, (200, Vec::new()));
    });
}

#[test]
fn t34_an_idle_connection_is_closed_over_http2() {
    let world = World::with(&json!({"idle_timeout": "50ms"}));
    run(async {
        let mut sender = connect(world.address).await;
        let response = sender.send_request(request(Method::GET, "/livez", "")).await.unwrap();
        assert_eq!(read(response).await.0, 200);
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn an_idle_connection_outlives_the_time_for_heads_over_http2() {
    let world = World::with(&json!({"header_timeout": "50ms"}));
    run(async {
        let mut sender = connect(world.address).await;
        for _ in 0..3 {
            let response = sender.send_request(request(Method::GET, "/livez", "")).await.unwrap();
            assert_eq!(read(response).await.0, 200);
            assert!(world.client().is_closed(), "the time for heads has passed once more");
        }
    });
}

#[test]
fn t34_a_slow_body_is_told_over_http2() {
    let world = World::with(&json!({"body_timeout": "50ms"}));
    run(async {
        let stream = TokioIo::new(TcpStream::connect(world.address).await.unwrap());
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        let request =
            Request::post("http://t/v1/decide").header("content-type", "application/json");
        let request = request.body(Never).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), 408);
    });
}

/// A body that never comes.
struct Never;

impl hyper::body::Body for Never {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

/// Sends a text in every place there is for one.
pub(crate) fn send_canary(world: &World, canary: &'static str) {
    run(async {
        let mut sender = connect(world.address).await;
        let mut canaries = request(Method::POST, &format!("/{canary}?{canary}"), canary);
        let value = hyper::header::HeaderValue::from_static(canary);
        canaries.headers_mut().insert(hyper::header::HeaderName::from_static(canary), value);
        let response = sender.send_request(canaries).await.unwrap();
        assert_eq!(read(response).await.0, 404);
    });
}

#[test]
fn stopping_says_goodbye() {
    let mut world = World::new();
    run(async {
        let mut sender = connect(world.address).await;
        let response = sender.send_request(request(Method::GET, "/livez", "")).await.unwrap();
        assert_eq!(read(response).await.0, 200);
        world.stop();
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(world.ended().cut, 0);
}

#[test]
fn t43_the_name_of_the_server_counts_over_http2_too() {
    let world = World::new();
    run(async {
        let mut sender = connect(world.address).await;
        for (uri, host, status) in [
            ("http://t/v1/policies", None, 200),
            ("http://attacker.example/v1/policies", None, 421),
            ("http://t/v1/policies", Some("attacker.example"), 421),
            ("http://attacker.example/v1/policies", Some("t"), 421),
            ("http://t/v1/policies", Some("t"), 200),
            ("http://attacker.example/livez", None, 200),
        ] {
            let mut request = Request::get(uri);
            if let Some(host) = host {
                request = request.header("host", host);
            }
            let request = request.body(Full::default()).unwrap();
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(response.status(), status, "{uri} {host:?}");
        }
    });
}
