//! Connections that are idle for so long that nothing but their sockets is kept.

use super::*;

/// Longer than it takes until the buffers of an idle connection are freed.
const A_WHILE: u64 = 10;

const GET: &str = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";

fn answers(heard: &str) -> usize {
    heard.matches("HTTP/1.1 200").count()
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_idle_for_a_while_goes_on_as_before() {
    let mut client = piped(Bounds::default());
    for round in 0..3 {
        client.say(GET).await;
        let (heard, ended) = client.hear(A_WHILE).await;
        assert_eq!((answers(&heard), ended), (1, false), "round {round}: {heard}");
    }
    client.say(&[GET, GET, GET].concat()).await;
    assert_eq!(answers(&client.hear(A_WHILE).await.0), 3, "several at once");
    let body = "x".repeat(3_000);
    client
        .say(&format!("POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: 3000\r\n\r\n{body}"))
        .await;
    let heard = client.hear(A_WHILE).await.0;
    assert!(heard.ends_with("3000"), "more than is read at first: {heard}");
}

#[tokio::test(start_paused = true)]
async fn a_head_that_comes_after_a_while_may_come_in_pieces_and_has_its_time() {
    let mut client = piped(Bounds::default());
    client.say(GET).await;
    client.hear(A_WHILE).await;
    let (first, rest) = GET.split_at(1);
    client.say(first).await;
    assert_eq!(client.hear(3).await, (String::new(), false), "the rest may take three seconds");
    client.say(rest).await;
    assert_eq!(answers(&client.hear(A_WHILE).await.0), 1);
    client.say(first).await;
    let (_, ended) = client.hear(A_WHILE).await;
    assert!(ended, "and not ten");
}

#[tokio::test(start_paused = true)]
async fn an_empty_line_before_a_request_is_not_forgotten_meanwhile() {
    let mut client = piped(Bounds::default());
    client.say(GET).await;
    client.hear(A_WHILE).await;
    client.say("\r\n").await;
    assert_eq!(client.hear(3).await, (String::new(), false));
    client.say("\r\n").await;
    let (heard, ended) = client.hear(A_WHILE).await;
    assert!(heard.starts_with("HTTP/1.1 400") && ended, "a second one is refused: {heard}");
}

#[tokio::test(start_paused = true)]
async fn t28_what_is_malformed_after_a_while_is_refused() {
    let mut client = piped(Bounds::default());
    client.say(GET).await;
    client.hear(A_WHILE).await;
    client.say("GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n").await;
    let (heard, ended) = client.hear(A_WHILE).await;
    assert!(heard.starts_with("HTTP/1.1 400") && ended, "{heard}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_after_a_while_leaves_nothing_behind() {
    let mut client = piped(Bounds::default());
    client.say(GET).await;
    client.hear(A_WHILE).await;
    drop(client.stream);
    timeout(Duration::from_secs(1), client.serving).await.unwrap().unwrap();
}
