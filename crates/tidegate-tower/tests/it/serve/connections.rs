//! How many, how large, and how it ends.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use tidegate_tower::serve::{Bounds, NotServed, Serve, Stopped};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::service_fn;

use super::{answer, piped};

/// A listener on a port of its own.
struct Site {
    address: SocketAddr,
    serve: Serve,
    stop: oneshot::Sender<()>,
    running: JoinHandle<std::io::Result<Stopped>>,
}

impl Site {
    async fn start(bounds: Bounds) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serve = Serve::new(bounds);
        let running = tokio::spawn({
            let serve = serve.clone();
            async move { serve.run(listener, service_fn(answer), async { drop(stopped.await) }).await }
        });
        Self { address, serve, stop, running }
    }

    /// A connection that has been served once and is kept open.
    async fn visit(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }
}

/// Reads a part of an answer; nothing if there is none.
async fn first(stream: &mut TcpStream) -> String {
    let mut space = [0; 1024];
    // A reset says the same as an end.
    let count = stream.read(&mut space).await.unwrap_or(0);
    String::from_utf8(space[..count].to_vec()).unwrap()
}

#[tokio::test]
async fn t34_one_address_does_not_take_all_connections() {
    let site = Site::start(Bounds { connections_of_one: 2, ..Bounds::default() }).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut stream = site.visit("/").await;
        assert!(first(&mut stream).await.starts_with("HTTP/1.1 200"));
        kept.push(stream);
    }
    assert_eq!(first(&mut site.visit("/").await).await, "", "closed at once");
    assert_eq!((site.serve.open(), site.serve.refused(NotServed::Address)), (2, 1));
    drop(kept.pop());
    while site.serve.open() > 1 {
        tokio::task::yield_now().await;
    }
    assert!(first(&mut site.visit("/").await).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn there_are_never_more_connections_than_there_may_be() {
    let site = Site::start(Bounds { connections: 3, ..Bounds::default() }).await;
    let mut kept = Vec::new();
    for _ in 0..10 {
        let mut stream = site.visit("/").await;
        let answer = first(&mut stream).await;
        kept.push((stream, answer.starts_with("HTTP/1.1 200")));
    }
    assert_eq!(kept.iter().filter(|(_, served)| *served).count(), 3);
    assert_eq!((site.serve.open(), site.serve.refused(NotServed::Total)), (3, 7));
}

#[tokio::test]
async fn what_is_under_way_is_finished_when_the_listener_stops_and_what_is_idle_ends() {
    let site = Site::start(Bounds::default()).await;
    let mut idle = site.visit("/").await;
    assert!(first(&mut idle).await.starts_with("HTTP/1.1 200"));
    let mut busy = TcpStream::connect(site.address).await.unwrap();
    busy.write_all(b"POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nx")
        .await
        .unwrap();
    while site.serve.open() < 2 {
        tokio::task::yield_now().await;
    }
    site.stop.send(()).unwrap();
    assert_eq!(first(&mut idle).await, "", "ended");
    drop(idle);
    busy.write_all(b"x").await.unwrap();
    let answer = first(&mut busy).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with('2'), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    drop(busy);
    assert_eq!(site.running.await.unwrap().unwrap(), Stopped { cut: 0 });
    assert!(TcpStream::connect(site.address).await.is_err(), "nobody listens");
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_cut_off() {
    let site = Site::start(Bounds { drain: Duration::from_millis(50), ..Bounds::default() }).await;
    let mut never = site.visit("/never").await;
    while site.serve.open() < 1 {
        tokio::task::yield_now().await;
    }
    site.stop.send(()).unwrap();
    let stopped = site.running.await.unwrap().unwrap();
    assert_eq!(first(&mut never).await, "");
    assert_eq!(stopped, Stopped { cut: 1 });
}

/// The answer to a head.
async fn answered(head: &str) -> String {
    let mut client = piped(Bounds::default());
    // Whoever is refused may not be read to the end.
    let _ = client.stream.write_all(head.as_bytes()).await;
    client.hear(10).await.0
}

/// The answer to a request with so many header fields of this length.
async fn with_fields(count: usize, length: usize) -> String {
    let mut head = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n".to_owned();
    for number in 0..count {
        write!(head, "x{number}: {}\r\n", "v".repeat(length)).unwrap();
    }
    answered(&format!("{head}\r\n")).await
}

async fn status(count: usize, length: usize) -> String {
    with_fields(count, length).await.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn t36_heads_have_a_hundred_fields_and_16_kib_at_most() {
    assert_eq!(status(98, 1).await, "200");
    assert_eq!(status(99, 1).await, "431", "with `host` and `connection` these are 101");
    assert_eq!(status(1, 15 << 10).await, "200");
    assert_eq!(status(1, 17 << 10).await, "431");
    assert_eq!(status(90, 200).await, "431", "many that are large together");
}

#[tokio::test(start_paused = true)]
async fn what_the_listener_refuses_has_the_code_and_the_type_of_every_problem() {
    let refused = [
        (with_fields(99, 1).await, "431", "request.head_too_large"),
        (with_fields(1, 17 << 10).await, "431", "request.head_too_large"),
        (answered("GET / HTTP/1.1\r\nno colon\r\n\r\n").await, "400", "request.malformed"),
    ];
    for (answer, status, code) in refused {
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("\r\ncontent-type: application/problem+json\r\n"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&problem["code"], &problem["type"]), (&code.into(), &"about:blank".into()));
        assert_eq!(problem["status"].to_string(), status);
    }
}
