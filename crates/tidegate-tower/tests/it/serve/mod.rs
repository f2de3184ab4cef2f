//! The listener, against clients that are slow, many, or both. Time is virtual where it is the subject:
//! connections are pipes in memory then, and an hour takes no longer than a second.

mod connections;
mod memory;
mod parked;
mod readiness;
mod smuggling;
mod streams;
mod timeouts;

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tidegate_tower::Peer;
use tidegate_tower::serve::{Bounds, Serve, Upload};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tower::service_fn;

const PEER: &str = "198.51.100.7:5000";

/// Answers with the peer; or with the length of the body, or much, or never, as the path says.
#[expect(clippy::disallowed_methods, reason = "time is virtual where it is asked for this")]
async fn answer(request: Request<Upload>) -> Result<Response<Full<Bytes>>, Infallible> {
    let peer = request.extensions().get::<Peer>().unwrap().0;
    let mut response = Response::new(Full::from(format!("{peer} {:?}", request.version())));
    match request.uri().path() {
        "/upload" => match request.into_body().collect().await {
            Ok(body) => *response.body_mut() = Full::from(body.to_bytes().len().to_string()),
            Err(error) => {
                *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
                *response.body_mut() = Full::from(error.to_string());
            }
        },
        "/much" => *response.body_mut() = Full::from(vec![b'x'; 4 << 20]),
        "/never" => std::future::pending().await,
        "/later" => tokio::time::sleep(Duration::from_secs(100)).await,
        _ => {}
    }
    Ok(response)
}

/// A client at the other end of a pipe, and the connection that serves it.
struct Piped {
    stream: DuplexStream,
    serving: JoinHandle<()>,
}

fn piped(bounds: Bounds) -> Piped {
    Piped::to(async move |served| {
        let (peer, stop) = (PEER.parse().unwrap(), std::future::pending());
        Serve::new(bounds).connection(served, peer, service_fn(answer), stop).await;
    })
}

impl Piped {
    /// A client of what serves the other end.
    fn to<F>(serve: impl FnOnce(DuplexStream) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stream, served) = tokio::io::duplex(16 << 10);
        Self { stream, serving: tokio::spawn(serve(served)) }
    }

    async fn say(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Everything that comes for so long; and whether that was the end.
    async fn hear(&mut self, seconds: u64) -> (String, bool) {
        let mut heard = Vec::new();
        let reading = self.stream.read_to_end(&mut heard);
        let ended = timeout(Duration::from_secs(seconds), reading).await.is_ok();
        (String::from_utf8(heard).unwrap(), ended)
    }
}
