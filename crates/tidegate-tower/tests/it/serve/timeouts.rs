//! How long a client may take.
#![expect(clippy::disallowed_methods, reason = "time is virtual here: nobody waits for it")]

use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tidegate_tower::serve::Bounds;
use tokio::io::AsyncReadExt;
use tokio::time::{sleep, timeout};

use super::{PEER, piped};

const GET: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn t34_a_head_that_does_not_come_in_time_ends_its_connection() {
    for said in ["", "G", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\nhost: x\r\nx-sl"] {
        let mut client = piped(Bounds::default());
        client.say(said).await;
        assert!(!client.hear(4).await.1, "{said:?}: there is still time");
        // To tell the protocols apart and to read the head may take five seconds each.
        assert!(client.hear(2).await.1, "{said:?}: and now there is not");
    }
}

#[tokio::test(start_paused = true)]
async fn t34_a_head_that_trickles_has_no_more_time_than_another() {
    let mut client = piped(Bounds::default());
    client.say("GET / HTTP/1.1\r\n").await;
    let mut seconds = 0;
    while !client.hear(1).await.1 {
        client.say("x").await;
        seconds += 1;
    }
    assert_eq!(seconds, 5);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_kept_for_a_minute_and_then_closed() {
    let mut client = piped(Bounds::default());
    for _ in 0..3 {
        client.say(GET).await;
        let (answer, ended) = client.hear(55).await;
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(PEER), "{answer}");
        assert!(!ended);
    }
    client.say("GET / HTT").await;
    assert!(!client.hear(4).await.1);
    assert!(client.hear(2).await.1, "the next head has five seconds from its first byte");

    let mut client = piped(Bounds::default());
    client.say(GET).await;
    assert!(!client.hear(59).await.1);
    assert!(client.hear(2).await.1);
}

#[tokio::test(start_paused = true)]
async fn a_service_may_take_its_time() {
    let mut client = piped(Bounds::default());
    client.say("GET /later HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let (answer, ended) = client.hear(101).await;
    assert!(answer.starts_with("HTTP/1.1 200") && !ended, "{answer}");
}

#[tokio::test(start_paused = true)]
async fn t34_a_body_that_stops_coming_fails() {
    for trickles in [false, true] {
        let mut client = piped(Bounds::default());
        client.say("POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nx").await;
        for _ in 0..2 {
            assert_eq!(client.hear(13).await.0, "");
            client.say(if trickles { "x" } else { "" }).await;
        }
        let (answer, _) = client.hear(5).await;
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        assert!(answer.ends_with("the body of the request did not come in time"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_goes_on_coming_is_read_to_its_end() {
    let mut client = piped(Bounds::default());
    client.say("POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: 10240\r\n\r\n").await;
    for _ in 0..10 {
        assert_eq!(client.hear(20).await.0, "");
        client.say(&"x".repeat(1 << 10)).await;
    }
    let (answer, _) = client.hear(1).await;
    assert!(answer.ends_with("10240"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn t34_who_does_not_take_an_answer_is_not_waited_for_for_ever() {
    let mut client = piped(Bounds::default());
    client.say("GET /much HTTP/1.1\r\nhost: x\r\n\r\n").await;
    sleep(Duration::from_secs(59)).await;
    assert!(!client.serving.is_finished());
    sleep(Duration::from_secs(2)).await;
    assert!(client.serving.is_finished());
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_of_http2_is_closed_after_a_minute() {
    let client = piped(Bounds::default());
    let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .handshake(TokioIo::new(client.stream))
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    sleep(Duration::from_secs(50)).await;
    let request = Request::new(Empty::<bytes::Bytes>::new());
    let answer = sender.send_request(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, format!("{PEER} HTTP/2.0"));
    sleep(Duration::from_secs(59)).await;
    assert!(!connection.is_finished(), "a minute since the last request");
    timeout(Duration::from_secs(7), connection).await.expect("told to go").unwrap().unwrap();
}

/// Whether the connection of an HTTP/2 client that only says so, with its settings, has ended in time.
async fn has_ended(bounds: Bounds, seconds: u64) -> bool {
    let mut piped = piped(bounds);
    let settings = "\0\0\0\x04\0\0\0\0\0";
    piped.say(&format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{settings}")).await;
    let mut heard = Vec::new();
    let reading = piped.stream.read_to_end(&mut heard);
    timeout(Duration::from_secs(seconds), reading).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn t34_on_few_places_an_http_2_client_asks_at_once_or_goes() {
    assert!(!has_ended(Bounds::default(), 20).await, "it may be idle at first");
    let prompt = Bounds { prompt: true, ..Bounds::default() };
    assert!(!has_ended(prompt.clone(), 4).await);
    assert!(has_ended(prompt, 7).await);
    // With no ordinary places the connection gets one that is kept for health checks.
    let health = vec!["/livez"];
    let reserved = Bounds { connections: 0, reserve: 4, health, ..Bounds::default() };
    assert!(has_ended(reserved, 7).await);
}

#[tokio::test(start_paused = true)]
async fn t34_a_slow_head_behind_another_request_has_its_time_once_that_is_answered() {
    let mut client = piped(Bounds::default());
    // The first is answered after 100 seconds; of the second, half a head has come by then.
    client.say("GET /later HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\nx-sl").await;
    let (heard, ended) = client.hear(104).await;
    assert_eq!((heard.matches("HTTP/1.1 200").count(), ended), (1, false), "{heard}");
    assert!(client.hear(2).await.1, "five seconds after the answer, the rest has not come");

    let mut client = piped(Bounds::default());
    client.say("GET /later HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\nx-sl").await;
    client.hear(104).await;
    client.say("ow: 1\r\nhost: x\r\n\r\n").await;
    let (heard, ended) = client.hear(10).await;
    assert_eq!((heard.matches("HTTP/1.1 200").count(), ended), (1, false), "{heard}");
}
