//! Threats T38 and T28: a refused upload is neither read nor taken for requests.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use crate::site::{Answer, Ask, Setting};

const UPLOAD: usize = 100 << 20;

/// What the operating system may hold for us besides is not ours to count.
const MOST_READ: usize = 64 << 10;

/// A socket of the server that counts what is read from it.
struct Counted {
    stream: TcpStream,
    read: Arc<AtomicUsize>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.read.fetch_add(buffer.filled().len() - before, Relaxed);
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A connection to an API on which Ada may write no more, and what the API reads from it.
async fn exhausted() -> (TcpStream, Arc<AtomicUsize>) {
    let (api, serve, _) = Setting::default().site();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&read);
    tokio::spawn(async move {
        loop {
            let (stream, peer) = listener.accept().await.unwrap();
            let counted = Counted { stream, read: Arc::clone(&counter) };
            let (serve, api) = (serve.clone(), api.clone());
            let stop = std::future::pending();
            tokio::spawn(async move { serve.connection(counted, peer, api, stop).await });
        }
    });
    for expected in [201, 201, 201, 429] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let ask = Ask::report().bearing("ada-laptop");
        stream.write_all(ask.text().as_bytes()).await.unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        assert_eq!(Answer::parse(&heard).status, expected);
    }
    read.store(0, Relaxed);
    (TcpStream::connect(address).await.unwrap(), read)
}

fn head(framing: &str) -> String {
    format!(
        "POST /v1/reports HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ada-laptop\r\n\
         content-type: application/json\r\n{framing}\r\n\r\n"
    )
}

/// Sends a head and then much of this, until nobody takes it; what was heard, and how much was read
/// beyond the head.
async fn upload(framing: &str, piece: &[u8]) -> (String, usize) {
    let (stream, read) = exhausted().await;
    let (mut from, mut to) = stream.into_split();
    let head = head(framing);
    to.write_all(head.as_bytes()).await.unwrap();
    let piece = piece.to_vec();
    let sending = tokio::spawn(async move {
        let mut sent = 0;
        while sent < UPLOAD && to.write_all(&piece).await.is_ok() {
            sent += piece.len();
        }
        sent
    });
    let mut heard = Vec::new();
    // The end may be a reset: it comes after the answer, and not in its place.
    let _ = from.read_to_end(&mut heard).await;
    drop(from);
    let sent = sending.await.unwrap();
    assert!(sent < UPLOAD, "somebody has taken all of it");
    (String::from_utf8(heard).unwrap(), read.load(Relaxed).saturating_sub(head.len()))
}

#[tokio::test]
async fn t38_a_hundred_mib_to_an_exhausted_key_are_refused_unread() {
    let zeros = vec![b'0'; 64 << 10];
    for framing in [format!("content-length: {UPLOAD}"), "transfer-encoding: chunked".to_owned()] {
        let mut piece = zeros.clone();
        if framing.contains("chunked") {
            piece = [b"10000\r\n", &zeros[..], b"\r\n"].concat();
        }
        let (heard, read) = upload(&framing, &piece).await;
        let answer = Answer::parse(&heard);
        assert_eq!((answer.status, answer.header("connection")), (429, Some("close")), "{heard}");
        println!("{read} bytes read of the body");
        assert!(read < MOST_READ, "{framing}: {read} bytes");
    }
}

#[tokio::test]
async fn t28_what_follows_a_refusal_is_not_taken_for_a_request() {
    let smuggled = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_000);
    let (heard, _) = upload(&format!("content-length: {UPLOAD}"), smuggled.as_bytes()).await;
    assert_eq!(heard.matches("HTTP/1.1 ").count(), 1, "{heard}");
}

#[tokio::test]
async fn t28_a_short_body_is_drained_and_the_next_request_is_the_next_request() {
    let (mut stream, _) = exhausted().await;
    let smuggled = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let refused = head(&format!("content-length: {}", smuggled.len()));
    let next = Ask::get("/v1/reports").bearing("bob-laptop").text();
    stream.write_all(format!("{refused}{smuggled}{next}").as_bytes()).await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    let statuses: Vec<&str> =
        heard.match_indices("HTTP/1.1 ").map(|(at, _)| &heard[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["429", "200"], "{heard}");
    assert!(heard.contains(r#""org":"acme""#) && !heard.ends_with("ok"), "{heard}");
}

#[tokio::test]
async fn t38_whoever_asks_before_sending_is_told_before_sending() {
    let (mut stream, read) = exhausted().await;
    let head = head(&format!("content-length: {UPLOAD}\r\nexpect: 100-continue"));
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    assert!(heard.starts_with("HTTP/1.1 429"), "{heard}");
    assert_eq!(read.load(Relaxed), head.len());
}
