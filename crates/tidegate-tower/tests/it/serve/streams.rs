//! What goes on for long: streams, upgrades, and clients that leave meanwhile.
#![expect(clippy::disallowed_methods, reason = "time is virtual here: nobody waits for it")]

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tidegate_tower::serve::{Bounds, Serve, Upload};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Sleep, sleep, timeout};
use tower::service_fn;

use super::{PEER, Piped};

/// A body that says something every 50 seconds, without an end; or 16 KiB at once, again and again, and
/// then trailers.
struct Events {
    left: usize,
    every: Duration,
    timer: Pin<Box<Sleep>>,
    piece: Bytes,
    /// How many such bodies there are.
    _alive: Alive,
}

struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        if !self.every.is_zero() {
            core::task::ready!(self.timer.as_mut().poll(context));
            self.timer = Box::pin(sleep(self.every));
        }
        self.left -= 1;
        if self.left == 0 {
            let mut trailers = HeaderMap::new();
            trailers.insert("x-sum", "7".parse().unwrap());
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        let piece = self.piece.clone();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

/// A client at the other end of a pipe.
fn piped(bounds: Bounds) -> Piped {
    counted(bounds).0
}

/// A client at the other end of a pipe, and how many requests are alive at ours.
fn counted(bounds: Bounds) -> (Piped, Arc<AtomicUsize>) {
    let alive = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&alive);
    let client = Piped::to(async move |served| {
        let service = service_fn(move |request| answer(request, Arc::clone(&count)));
        let stop = std::future::pending();
        Serve::new(bounds).connection(served, PEER.parse().unwrap(), service, stop).await;
    });
    (client, alive)
}

async fn answer(
    mut request: Request<Upload>,
    count: Arc<AtomicUsize>,
) -> Result<Response<Events>, Infallible> {
    let alive = Alive::new(&count);
    let every = Duration::from_secs(50);
    let mut events = Events {
        left: 100,
        every,
        timer: Box::pin(sleep(every)),
        piece: "tick\n".into(),
        _alive: alive,
    };
    let mut response = match request.uri().path() {
        "/events" => Response::new(events),
        "/much" => {
            (events.every, events.piece) = (Duration::ZERO, vec![b'x'; 16 << 10].into());
            Response::new(events)
        }
        "/never" => std::future::pending().await,
        _ => {
            events.left = 0;
            Response::new(events)
        }
    };
    if request.uri().path() == "/chat" {
        let switched = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut stream = TokioIo::new(switched.await.unwrap());
            let mut word = [0; 5];
            while stream.read_exact(&mut word).await.is_ok() {
                word.reverse();
                stream.write_all(&word).await.unwrap();
            }
        });
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response.headers_mut().insert(CONNECTION, "upgrade".parse().unwrap());
        response.headers_mut().insert(UPGRADE, "chat".parse().unwrap());
    }
    Ok(response)
}

/// Whether nothing is alive any more within so many seconds.
async fn is_given_up_within(alive: &AtomicUsize, seconds: u64) -> bool {
    let given_up = async {
        while alive.load(SeqCst) > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(seconds), given_up).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn events_that_come_now_and_then_are_sent_for_as_long_as_they_come() {
    let mut client = piped(Bounds::default());
    client.say("GET /events HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let (heard, ended) = client.hear(3_600).await;
    assert_eq!(heard.matches("tick").count(), 71, "one every 50 seconds");
    assert!(!ended);
}

#[tokio::test(start_paused = true)]
async fn who_leaves_while_it_waits_or_is_sent_something_is_gone() {
    for path in ["/never", "/events"] {
        let (mut client, alive) = counted(Bounds::default());
        client.say(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        client.hear(120).await;
        assert_eq!(alive.load(SeqCst), 1);
        client.stream.shutdown().await.unwrap();
        assert!(is_given_up_within(&alive, 2).await, "{path}: nobody is there to be answered");
    }
}

#[tokio::test(start_paused = true)]
async fn who_leaves_behind_further_requests_is_gone_too() {
    for further in ["GET / HT", "GET / HTTP/1.1\r\nhost: x\r\n\r\n", &"\r\n".repeat(900)] {
        let (mut client, alive) = counted(Bounds::default());
        client.say("GET /never HTTP/1.1\r\nhost: x\r\n\r\n").await;
        client.hear(1).await;
        client.say(further).await;
        client.hear(1).await;
        assert_eq!(alive.load(SeqCst), 1);
        client.stream.shutdown().await.unwrap();
        assert!(is_given_up_within(&alive, 2).await, "behind {} bytes", further.len());
    }
}

#[tokio::test(start_paused = true)]
async fn another_protocol_is_spoken_once_that_was_agreed() {
    let mut client = piped(Bounds::default());
    let head = "GET /chat HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n";
    client.say(head).await;
    let (heard, _) = client.hear(1).await;
    assert!(heard.starts_with("HTTP/1.1 101"), "{heard}");
    for _ in 0..3 {
        client.say("hello").await;
        // Longer than any connection may be idle.
        assert_eq!(client.hear(1_000).await, ("olleh".to_owned(), false));
    }
    assert!(client.serving.is_finished(), "the listener is done with it");
}

#[tokio::test(start_paused = true)]
async fn t28_what_comes_before_the_switch_is_shown_after_it_and_not_earlier() {
    let mut client = piped(Bounds::default());
    let head = "GET /chat HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n";
    client.say(&format!("{head}hello")).await;
    let (heard, _) = client.hear(1).await;
    assert!(heard.starts_with("HTTP/1.1 101") && heard.ends_with("olleh"), "{heard}");

    // The service does not switch, so these are requests.
    let mut client = piped(Bounds::default());
    let asks = "GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n";
    client.say(&format!("{asks}GET / HTTP/1.1\r\nhost: x\r\n\r\n")).await;
    let (heard, _) = client.hear(1).await;
    assert_eq!(heard.matches("HTTP/1.1 200").count(), 2, "{heard}");
    let mut client = piped(Bounds::default());
    client.say(&format!("{asks}hello, this is not HTTP\r\n\r\n")).await;
    let (heard, ended) = client.hear(5).await;
    assert_eq!((heard.matches("HTTP/1.1 200").count(), ended), (1, true), "{heard}");
    assert!(heard.contains("HTTP/1.1 400"), "{heard}");
}

#[tokio::test(start_paused = true)]
async fn t34_a_stream_whose_window_stays_shut_is_reset_and_its_connection_goes_on() {
    let client = piped(Bounds::default());
    let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(1_000)
        .handshake(TokioIo::new(client.stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = |path: &str| {
        let uri = format!("http://x{path}");
        Request::builder().uri(uri).body(Empty::<Bytes>::new()).unwrap()
    };
    let mut stuck = sender.send_request(request("/much")).await.unwrap();
    for _ in 0..3 {
        sleep(Duration::from_secs(25)).await;
        let answer = sender.send_request(request("/")).await.unwrap();
        assert_eq!(answer.status(), 200, "the others go on");
    }
    let error = loop {
        match stuck.frame().await {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("read to its end"),
        }
    };
    assert!(format!("{error:?}").contains("CANCEL"), "{error:?}");
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

#[tokio::test(start_paused = true)]
async fn t34_a_head_of_http2_has_its_time_whatever_else_is_under_way() {
    let mut client = piped(Bounds::default());
    let head = [&[0x82, 0x86, 0x04, 7][..], b"/events", &[0x01, 1], b"x"].concat();
    let begun = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(4, 0, 0, &[]),
        // Whole and last of its stream; then one of which the rest does not come.
        frame(1, 5, 1, &head),
        frame(1, 0, 3, &head),
    ]
    .concat();
    client.stream.write_all(&begun).await.unwrap();
    let mut heard = Vec::new();
    let mut ends_within = async |seconds: u64| {
        let reading = client.stream.read_to_end(&mut heard);
        timeout(Duration::from_secs(seconds), reading).await.is_ok()
    };
    assert!(!ends_within(4).await, "there is still time");
    assert!(ends_within(2).await, "and now there is not");
}

#[tokio::test(start_paused = true)]
async fn trailers_reach_the_client() {
    let client = piped(Bounds::default());
    let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .handshake(TokioIo::new(client.stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = Request::builder().uri("http://x/much").body(Empty::<Bytes>::new()).unwrap();
    let answer = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(answer.trailers().unwrap()["x-sum"], "7");
    assert_eq!(answer.to_bytes().len(), 99 * (16 << 10));
}
