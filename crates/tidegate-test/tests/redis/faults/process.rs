//! The process dies, comes back, or comes back slowly.

use core::time::Duration;

use tidegate_core::{Changes, Store as _};
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::wait;

use crate::node::{Node, PATIENT, SHORT, three};
use crate::place;
use crate::table::Row;
use crate::trial::{ORG, Trial};

#[tokio::test]
async fn r01_killed() {
    let server = place::server().await;
    let proxy = Proxy::start(server.addr()).await;
    let mut trial = Trial::begin(Node::new(&place::url(proxy.addr()), PATIENT)).await;
    // A call that was sent and never answered.
    server.pause();
    let sent = proxy.commands();
    let kill = async {
        wait::until("the call is sent", async || proxy.commands() > sent).await;
        server.kill();
    };
    let (outcome, ()) = tokio::join!(trial.node.decide(ORG), kill);
    trial.note(&outcome);
    // Nobody listens: that is known at once, and not when the time is over.
    let straight = Node::new(&place::url(server.addr()), PATIENT);
    for _ in 0..3 {
        let begin = trial.now();
        trial.note(&straight.decide(ORG).await);
        assert!(trial.since(begin) < PATIENT / 5, "{:?}", trial.since(begin));
    }
    server.restart().await;
    let back = trial.recovers().await;
    assert_eq!(trial.node.store().changes(), Changes { restarts: 1, failovers: 0 });
    assert_eq!(place::left_for_ever(&[&server]).await, Vec::<String>::new());
    Row {
        id: "R01",
        fault: "the server is killed",
        seen: trial.seen(),
        then: "connects again by itself; restart noticed",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r02_restarted_with_nothing_in_its_memory() {
    const LIMIT: u64 = 5;
    let server = place::server().await;
    let url = place::url(server.addr());
    let mut trial = Trial::unproven(Node::with(&url, SHORT, three(LIMIT)));
    let mut admitted = 0;
    let spend = async |trial: &mut Trial, admitted: &mut u64| {
        while trial.call().await == Ok(true) {
            *admitted += 1;
        }
    };
    spend(&mut trial, &mut admitted).await;
    assert_eq!(admitted, LIMIT);
    server.restart().await;
    let back = trial.recovers().await;
    admitted += 1;
    spend(&mut trial, &mut admitted).await;
    assert_eq!(admitted, 2 * LIMIT, "one fresh limit and no more");
    assert_eq!(trial.node.store().changes(), Changes { restarts: 1, failovers: 0 });
    assert_eq!(place::left_for_ever(&[&server]).await, Vec::<String>::new());
    Row {
        id: "R02",
        fault: "restarted, nothing was saved",
        seen: "decisions from zero: at most one fresh limit for each key".to_owned(),
        then: "restart noticed",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r14_loading_what_was_saved() {
    let server = place::server().await;
    let url = place::url(server.addr());
    let mut trial = Trial::begin(Node::new(&url, Duration::from_secs(2))).await;
    server.command(&["DEBUG", "POPULATE", "4000"]).await;
    server.command(&["SAVE"]).await;
    // Microseconds for each key; and it listens now and then while it loads.
    let slowly = ["--key-load-delay", "700", "--loading-process-events-interval-bytes", "1024"];
    let begin = trial.now();
    server.restart_with(&slowly).await;
    trial.until_it_fails().await;
    trial.fails(2).await;
    assert!(trial.node.trouble().contains("LOADING"), "{}", trial.node.trouble());
    trial.recovers().await;
    let back = trial.since(begin);
    assert_eq!(trial.node.store().changes().restarts, 1);
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R14",
        fault: "loading its data after a restart",
        seen: trial.seen(),
        then: "once it is loaded, with the counts that were saved; restart noticed",
        back: Some(back),
    }
    .record();
}
