//! What a listener keeps for its clients: heads in parts, answers that nobody takes, bodies that nobody
//! reads.
#![expect(clippy::disallowed_methods, reason = "time is virtual here: nobody waits for it")]

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tidegate_tower::serve::{Bounds, MemoryUse, Serve, Upload};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use tower::service_fn;

use super::{PEER, Piped, answer};

/// A head of 16 KiB, and hyper's room for what it reads next.
const HEAD: usize = 24 << 10;
const HALF: &str = "GET / HTTP/1.1\r\nhost: x\r\nx-ha";

/// A client of this server.
fn client_of(serve: &Serve) -> Piped {
    let serve = serve.clone();
    Piped::to(async move |served| {
        let (peer, stop) = (PEER.parse().unwrap(), std::future::pending());
        serve.connection(served, peer, service_fn(answer), stop).await;
    })
}

/// Waits until the listener has read what was said.
async fn is_read() {
    sleep(Duration::from_millis(10)).await;
}

/// A server with memory for so many heads.
fn with_heads(count: usize) -> Serve {
    Serve::new(Bounds { heads_memory: count * HEAD, ..Bounds::default() })
}

fn heads(serve: &Serve) -> (usize, u64) {
    let memory = serve.memory();
    (memory.used(MemoryUse::Heads) / HEAD, memory.refused(MemoryUse::Heads))
}

#[tokio::test(start_paused = true)]
async fn t34_heads_that_come_in_parts_are_bounded_together() {
    let serve = with_heads(8);
    let mut clients = Vec::new();
    for count in 1..=8 {
        let mut client = client_of(&serve);
        client.say(HALF).await;
        is_read().await;
        assert_eq!(heads(&serve), (count, 0));
        clients.push(client);
    }
    let mut ninth = client_of(&serve);
    ninth.say(HALF).await;
    let (heard, ended) = ninth.hear(2).await;
    assert!(heard.starts_with("HTTP/1.1 503 Service Unavailable\r\n") && ended, "{heard}");
    assert!(heard.contains("too many heads are on their way"), "{heard}");
    assert_eq!(heads(&serve), (8, 1));
    let mut whole = client_of(&serve);
    whole.say("GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(whole.hear(1).await.0.starts_with("HTTP/1.1 200"), "in one piece it needs none");
    let mut first = clients.remove(0);
    first.say("lf: 1\r\n\r\n").await;
    assert!(first.hear(1).await.0.starts_with("HTTP/1.1 200"));
    assert_eq!(heads(&serve), (7, 1), "what is answered is given back");
    // Also by a client that goes on with another one.
    first.say(HALF).await;
    is_read().await;
    assert_eq!(heads(&serve), (8, 1));
    drop((clients, first));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(heads(&serve), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn t34_a_head_in_parts_behind_another_request_counts_and_may_be_refused() {
    let serve = with_heads(8);
    let held: Vec<_> = {
        let shares: Vec<_> = (0..8).map(|_| serve.memory().share()).collect();
        shares.iter().map(|share| share.hold(MemoryUse::Heads, HEAD).unwrap()).collect()
    };
    let mut client = client_of(&serve);
    client.say(&format!("GET / HTTP/1.1\r\nhost: x\r\n\r\n{HALF}")).await;
    let (heard, ended) = client.hear(2).await;
    assert!(heard.starts_with("HTTP/1.1 200") && ended, "the first is answered: {heard}");
    assert!(heard.contains("HTTP/1.1 503"), "{heard}");
    drop(held);
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn t35_a_client_of_http_2_for_whom_there_is_no_room_has_one_stream_and_no_head_in_parts() {
    let serve = with_heads(8);
    let full: Vec<_> = (0..8).map(|_| serve.memory().share()).collect();
    let full: Vec<_> = full.iter().map(|share| share.hold(MemoryUse::Heads, HEAD)).collect();
    let mut client = client_of(&serve);
    let head = [&[0x82, 0x86, 0x84, 0x01, 1][..], b"x"].concat();
    let whole = [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 5, 1, &head)].concat();
    client.stream.write_all(&whole).await.unwrap();
    let mut heard = vec![0; 4096];
    let count = timeout(Duration::from_secs(1), client.stream.read(&mut heard)).await;
    assert_eq!(setting(&heard[..count.unwrap().unwrap()], 3), Some(1), "streams at once");
    // The rest of a head does not come at once, and there is no room for the half.
    client.stream.write_all(&frame(1, 1, 3, &head)).await.unwrap();
    let ends = timeout(Duration::from_secs(1), client.stream.read_to_end(&mut heard)).await;
    assert!(ends.is_ok(), "{heard:?}");
    drop(full);
}

/// How often `of` stands in `heard` as the status of a response, written out by HPACK.
fn statuses(heard: &[u8], of: &[u8; 3]) -> usize {
    heard.windows(3).filter(|window| window == of).count()
}

#[tokio::test(start_paused = true)]
async fn t36_a_client_of_http_2_with_too_many_fields_is_told_and_not_read_any_further() {
    let mut client = client_of(&Serve::new(Bounds::default()));
    let begun = [&[0x82, 0x86, 0x84, 0x01, 1][..], b"x"].concat();
    let entering = [&begun[..], &[0x40, 1], b"a", &[0]].concat();
    // A field from the table, over and over.
    let many = [&begun[..], &[0xbe; 110]].concat();
    let mut sent = [PREFACE, &frame(4, 0, 0, &[]), &frame(1, 5, 1, &entering)].concat();
    (1..60).for_each(|number| sent.extend(frame(1, 5, 2 * number + 1, &many)));
    client.stream.write_all(&sent).await.unwrap();
    let mut heard = Vec::new();
    let ends = timeout(Duration::from_secs(3), client.stream.read_to_end(&mut heard)).await;
    assert!(ends.is_ok(), "its connection is closed");
    let heads = heard.windows(4).filter(|it| matches!(it, [_, 1, 4 | 5, 0])).count();
    assert!((2..=8).contains(&heads), "{heads} answers, of 60 that were asked for");
    assert_eq!(statuses(&heard, b"200") + usize::from(heard.contains(&0x88)), 1, "the first one");
}

/// The value of a setting in the SETTINGS frame that a server begins with.
fn setting(heard: &[u8], number: u8) -> Option<u32> {
    assert_eq!(heard[3], 4, "the first frame is SETTINGS");
    let settings = heard[9..9 + usize::from(heard[2])].chunks(6);
    let value = |of: &[u8]| u32::from_be_bytes(of[2..6].try_into().unwrap());
    settings.filter(|of| of[..2] == [0, number]).map(value).next()
}

#[tokio::test(start_paused = true)]
async fn t35_the_window_of_a_stream_has_64_kib_or_16_where_bodies_are_small() {
    for (small_bodies, window) in [(false, 64 << 10), (true, 16 << 10)] {
        let serve = Serve::new(Bounds { small_bodies, ..Bounds::default() });
        let mut client = client_of(&serve);
        client.stream.write_all(&[PREFACE, &frame(4, 0, 0, &[])].concat()).await.unwrap();
        let mut heard = [0; 512];
        let count = client.stream.read(&mut heard).await.unwrap();
        // 65,535 is what holds when nothing is said.
        assert_eq!(setting(&heard[..count], 4).unwrap_or(65_535), window);
    }
}

/// Answers with a megabyte: the same for everybody, or made for this request.
async fn megabyte(request: Request<Upload>) -> Result<Response<Full<Bytes>>, Infallible> {
    static SAME: std::sync::LazyLock<Bytes> =
        std::sync::LazyLock::new(|| vec![b'x'; 1 << 20].into());
    let page = match request.uri().path() {
        "/same" => SAME.clone(),
        _ => vec![b'x'; 1 << 20].into(),
    };
    Ok(Response::new(Full::from(page)))
}

#[tokio::test(start_paused = true)]
async fn t35_answers_that_nobody_takes_are_bounded_together_unless_they_are_the_same_bytes() {
    let serve = Serve::new(Bounds { answers_memory: 64 << 20, ..Bounds::default() });
    let answers = || {
        let memory = serve.memory();
        (memory.used(MemoryUse::Answers) >> 20, memory.refused(MemoryUse::Answers))
    };
    let client = |path: &'static str| {
        let serve = serve.clone();
        async move {
            let mut client = Piped::to(async move |served| {
                let (peer, stop) = (PEER.parse().unwrap(), std::future::pending());
                serve.connection(served, peer, service_fn(megabyte), stop).await;
            });
            client.say(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
            sleep(Duration::from_millis(10)).await;
            client
        }
    };
    let same = client("/same").await;
    assert_eq!(answers(), (0, 0), "one more client of the same bytes takes no memory");
    let mut own = Vec::new();
    for count in 1..=64 {
        own.push(client("/own").await);
        assert_eq!(answers(), (count, 0));
    }
    let mut next = client("/own").await;
    assert!(next.hear(1).await.1, "there is no room for its answer, so it ends");
    assert_eq!(answers(), (64, 1));
    let mut first = own.remove(0);
    let (heard, _) = first.hear(1).await;
    assert_eq!(heard.bytes().filter(|byte| *byte == b'x').count(), 1 << 20);
    assert_eq!(answers(), (63, 1), "what is taken is given back");
    assert!(client("/own").await.hear(1).await.0.starts_with("HTTP/1.1 200"));
    drop((own, same));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(answers().0, 0, "and so is what nobody is left to take");
}

#[tokio::test(start_paused = true)]
async fn t12_two_listeners_of_a_process_share_their_memory() {
    let serve = with_heads(16);
    let beside = Serve::beside(&serve, Bounds::default());
    let mut clients = Vec::new();
    for count in 1..=16 {
        let mut client = client_of(if count % 2 == 0 { &serve } else { &beside });
        client.say(HALF).await;
        is_read().await;
        assert_eq!(heads(&serve), (count, 0));
        clients.push(client);
    }
    let mut stranger = client_of(&serve);
    stranger.say(HALF).await;
    assert!(stranger.hear(1).await.0.contains("503"), "nothing is left for everybody");
    let mut operator = client_of(&beside);
    operator.say(HALF).await;
    assert_eq!(operator.hear(1).await, (String::new(), false), "and something beside that");
    assert_eq!(heads(&serve), (17, 1));
}

/// The pipe holds as much as is told, so every byte beyond was read by the listener.
#[tokio::test(start_paused = true)]
async fn t38_of_a_body_that_nobody_reads_16_kib_are_discarded() {
    const PIPE: usize = 16 << 10;
    let mut client = client_of(&Serve::new(Bounds { small_bodies: true, ..Bounds::default() }));
    client.say("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 104857600\r\n\r\n").await;
    let mut sent = 0;
    let piece = [b'x'; 1 << 10];
    while timeout(Duration::from_millis(100), client.stream.write_all(&piece)).await.is_ok() {
        sent += piece.len();
        assert!(sent < 1 << 20, "it reads on and on");
    }
    // Besides what is thrown away: what the pipe holds, and hyper's buffer.
    println!("{sent} bytes were taken");
    assert!((16 << 10..=(16 << 10) + PIPE + (16 << 10)).contains(&sent), "{sent}");
}
