//! Services that are not ready at once, and some that never will be.

use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tidegate_tower::serve::{Bounds, Serve, Upload};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::Service;

use super::PEER;

/// What the readiness of a service comes to, after some polls.
#[derive(Clone, Copy)]
enum Ends {
    Well,
    Badly,
}

/// A service that has to be asked some times whether it is ready.
#[derive(Clone)]
struct Slow {
    polls_left: Arc<AtomicUsize>,
    ends: Ends,
}

impl Service<Request<Upload>> for Slow {
    type Response = Response<Full<Bytes>>;
    type Error = io::Error;
    type Future = Ready<io::Result<Self::Response>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let left = self.polls_left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        match (left, self.ends) {
            (Ok(_), _) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            (Err(_), Ends::Well) => Poll::Ready(Ok(())),
            (Err(_), Ends::Badly) => Poll::Ready(Err(io::ErrorKind::Other.into())),
        }
    }

    fn call(&mut self, _: Request<Upload>) -> Self::Future {
        assert_eq!(self.polls_left.load(SeqCst), 0, "called before it was ready");
        ready(Ok(Response::new(Full::from("done"))))
    }
}

/// Everything that a client hears that asks once.
async fn heard(polls: usize, ends: Ends) -> String {
    let (mut stream, served) = tokio::io::duplex(16 << 10);
    let serving = tokio::spawn(async move {
        let service = Slow { polls_left: Arc::new(AtomicUsize::new(polls)), ends };
        let peer: SocketAddr = PEER.parse().unwrap();
        let stop = std::future::pending();
        Serve::new(Bounds::default()).connection(served, peer, service, stop).await;
    });
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    serving.await.unwrap();
    text
}

#[tokio::test(start_paused = true)]
async fn a_service_is_called_once_it_is_ready_however_often_it_has_to_be_asked() {
    for polls in [0, 1, 2, 5] {
        let text = heard(polls, Ends::Well).await;
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("done"),
            "{polls}: {text}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_fails_before_it_is_ready_ends_the_connection() {
    for polls in [0, 1, 3] {
        assert_eq!(heard(polls, Ends::Badly).await, "", "after {polls} polls");
    }
}
