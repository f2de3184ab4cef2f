//! The wire breaks: the server has counted, or has not, and nobody says which.

use core::time::Duration;

use tidegate_core::StoreError;
use tidegate_test::proxy::Proxy;

use crate::node::{Node, PATIENT, SHORT};
use crate::place;
use crate::table::Row;
use crate::trial::Trial;

/// Answers of nobody we know: protocol that is none, replies of another kind, and a promise of
/// megabytes that never come.
const NONSENSE: [&[u8]; 9] = [
    b"\xff\xfe\xfd\r\n",
    b"*2\r\n:1\r\n",
    b":42\r\n",
    b"$-1\r\n",
    b"+OK\r\n",
    b"$4\r\nabcd\r\n",
    b"*1\r\n*1\r\n*1\r\n:1\r\n",
    b"$9223372036854775807\r\n",
    b"$10485760\r\nxxxx",
];

#[tokio::test]
async fn r21_replies_that_are_none() {
    let server = place::server().await;
    let proxy = Proxy::start(server.addr()).await;
    let url = place::url(proxy.addr());
    let mut trial = Trial::begin(Node::new(&url, SHORT)).await;
    let mut back = Duration::ZERO;
    for nonsense in NONSENSE {
        proxy.garble(Some(nonsense.to_vec()));
        let connections = proxy.connections();
        assert_eq!(trial.call().await, Err(StoreError::Timeout), "{nonsense:?}");
        // From a connection that talks nonsense nothing more is believed.
        proxy.garble(None);
        back = back.max(trial.recovers().await);
        assert!(proxy.connections() > connections, "{nonsense:?}");
    }
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R21",
        fault: "a reply that is none, or that never ends",
        seen: trial.seen(),
        then: "the connection is left, and another one opened",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn p71_p72_cut_after_every_byte_in_both_directions() {
    let server = place::server().await;
    let proxy = Proxy::start(server.addr()).await;
    let url = place::url(proxy.addr());
    let mut trial = Trial::begin(Node::new(&url, PATIENT)).await;
    trial.call().await.unwrap();
    let (up, down) = (proxy.bytes_up(), proxy.bytes_down());
    trial.call().await.unwrap();
    let (up, down) = (proxy.bytes_up() - up, proxy.bytes_down() - down);
    println!("one decision: {up} bytes there, {down} bytes back");
    let mut counted = 3;
    for bytes in 1..=up {
        proxy.reset_after_up(Some(bytes));
        assert_eq!(trial.call().await, Err(StoreError::Timeout), "cut after {bytes}");
        proxy.reset_after_up(None);
        trial.call().await.unwrap();
        counted += 1 + u64::from(bytes == up);
    }
    // With its last byte a reply is known. The time of the server is in it, with up to six digits of
    // microseconds, so it may be some bytes shorter than the one that was measured.
    for bytes in 0..down {
        proxy.reset_after_down(Some(bytes));
        let outcome = trial.call().await;
        let whole = outcome == Ok(true) && bytes + 5 >= down;
        assert!(whole || outcome == Err(StoreError::Timeout), "cut after {bytes}: {outcome:?}");
        proxy.reset_after_down(None);
        trial.call().await.unwrap();
        counted += 2;
    }
    // Counted where all of it had arrived, and nowhere else.
    let exact = Node::new(&place::url(server.addr()), PATIENT).counted(crate::trial::ORG).await;
    assert_eq!(exact, [counted; 3]);
    trial.balances(&url, &[&server]).await;
}

#[tokio::test]
async fn p72_cut_at_every_byte_of_the_first_words() {
    let server = place::server().await;
    let proxy = Proxy::start(server.addr()).await;
    let url = place::url(proxy.addr());
    Trial::begin(Node::new(&url, PATIENT)).await;
    // A new connection each: AUTH and three times INFO, then the call.
    let begin = proxy.bytes_up();
    let mut all = Trial::begin(Node::new(&url, PATIENT)).await;
    let length = proxy.bytes_up() - begin;
    for bytes in 1..=length {
        proxy.reset_after_up(Some(bytes));
        let newcomer = Node::new(&url, PATIENT);
        let outcome = newcomer.decide(crate::trial::ORG).await;
        let certainly_not = Err(StoreError::Unavailable);
        assert!(outcome == certainly_not || outcome == Err(StoreError::Timeout), "{outcome:?}");
        all.note(&outcome);
        proxy.reset_after_up(None);
    }
    let counted = Node::new(&url, PATIENT).counted(crate::trial::ORG).await;
    assert_eq!(counted, [3; 3], "only the call that arrived whole is counted");
    assert_eq!(all.seen(), "`Unavailable`, then `Timeout`");
    assert_eq!(place::left_for_ever(&[&server]).await, Vec::<String>::new());
}

#[tokio::test]
async fn p72_replies_that_are_lost_are_counted_once() {
    let server = place::server().await;
    let proxy = Proxy::start(server.addr()).await;
    let url = place::url(proxy.addr());
    let mut trial = Trial::begin(Node::new(&url, SHORT)).await;
    proxy.drop_replies(true);
    assert_eq!(trial.call().await, Err(StoreError::Timeout));
    proxy.drop_replies(false);
    trial.recovers().await;
    proxy.blackhole(true);
    trial.fails(2).await;
    proxy.blackhole(false);
    trial.recovers().await;
    proxy.delay_down(2 * SHORT);
    trial.fails(1).await;
    proxy.delay_down(Duration::ZERO);
    trial.recovers().await;
    trial.balances(&url, &[&server]).await;
    // Slow is no fault as long as it is in time.
    let patient = Node::new(&url, PATIENT);
    proxy.chunk(Some(1));
    assert_eq!(patient.decide("slow").await, Ok(true));
    proxy.chunk(None);
    proxy.throttle(Some(2_000));
    assert_eq!(patient.decide("slow").await, Ok(true));
    assert_eq!(patient.counted("slow").await, [2; 3]);
}
