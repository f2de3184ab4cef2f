//! The server answers, and what it says is no.

use core::time::Duration;

use tidegate_core::StoreError;
use tidegate_test::servers::{RunningServer, wait};

use crate::node::{Node, PATIENT};
use crate::place;
use crate::table::Row;
use crate::trial::{ORG, Trial};

async fn started(more: &[&str]) -> (RunningServer, String, Trial) {
    let server = place::builder().args(more.iter().copied()).start().await;
    let url = place::url(server.addr());
    let trial = Trial::begin(Node::new(&url, PATIENT)).await;
    (server, url, trial)
}

/// Fails with a word of the server's own, and works again when the setting is as it was.
async fn refused_until(
    server: &RunningServer,
    trial: &mut Trial,
    word: &str,
    [setting, value, back]: [&str; 3],
) -> Duration {
    server.command(&["CONFIG", "SET", setting, value]).await;
    trial.fails(3).await;
    assert!(trial.node.trouble().contains(word), "{}", trial.node.trouble());
    server.command(&["CONFIG", "SET", setting, back]).await;
    trial.recovers().await
}

#[tokio::test]
async fn r08_out_of_memory() {
    let (server, url, mut trial) = started(&[]).await;
    let back = refused_until(&server, &mut trial, "OOM", ["maxmemory", "1", "0"]).await;
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R08",
        fault: "out of memory (`OOM`, under `noeviction`)",
        seen: trial.seen(),
        then: "when there is memory again; nothing was changed",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r08b_a_server_that_evicts() {
    let server = place::builder().args(["--maxmemory-policy", "allkeys-lru"]).start().await;
    let url = place::url(server.addr());
    let mut trial = Trial::unproven(Node::new(&url, PATIENT));
    let trouble = trial.node.store().check().await.unwrap_err();
    assert!(trouble.is_refusal() && trouble.to_string().contains("noeviction"), "{trouble}");
    trial.fails(2).await;
    server.command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
    let back = trial.recovers().await;
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R08b",
        fault: "a `maxmemory-policy` that evicts",
        seen: trial.seen(),
        then: "when it is set to `noeviction`; the start-up check says so",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r09_out_of_memory_between_two_writes() {
    let (server, url, mut trial) = started(&[]).await;
    let used: u64 = server.info("used_memory").await.unwrap().parse().unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", &(used + 60_000).to_string()]).await;
    // Every organisation is new and takes three keys, so that memory ends anywhere among them.
    let (mut orgs, mut refused) = (Vec::new(), 0);
    while refused < 20 && orgs.len() < 10_000 {
        let org = format!("o{}", orgs.len());
        let outcome = trial.node.decide(&org).await;
        refused += usize::from(outcome.is_err());
        assert!(matches!(outcome, Ok(true) | Err(StoreError::Unavailable)), "{outcome:?}");
        if outcome.is_err() {
            trial.note(&outcome);
        }
        orgs.push((org, u64::from(outcome.is_ok())));
    }
    assert_eq!(refused, 20, "{} passed", orgs.len());
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    let back = trial.recovers().await;
    for (org, admitted) in &orgs {
        assert_eq!(trial.node.counted(org).await, [*admitted; 3], "{org}");
    }
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R09",
        fault: "out of memory in the middle of a decision",
        seen: trial.seen(),
        then: "all of a decision was written or nothing: memory is looked at before its first write",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r11_read_only() {
    let (server, url, mut trial) = started(&[]).await;
    server.command(&["REPLICAOF", "127.0.0.1", "1"]).await;
    // A replica that does not know the script says so first.
    server.command(&["SCRIPT", "FLUSH"]).await;
    trial.fails(1).await;
    assert!(trial.node.trouble().contains("READONLY"), "{}", trial.node.trouble());
    trial.fails(2).await;
    assert!(trial.node.trouble().contains("it is a replica"), "{}", trial.node.trouble());
    server.command(&["REPLICAOF", "NO", "ONE"]).await;
    let back = trial.recovers().await;
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R11",
        fault: "the server has become a replica (`READONLY`)",
        seen: trial.seen(),
        then: "it is left, and the primary is looked for at every call",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r13_it_cannot_save() {
    let (server, url, mut trial) = started(&["--dbfilename", "folder.rdb"]).await;
    std::fs::create_dir_all(server.folder().join("folder.rdb/within")).unwrap();
    server.command(&["CONFIG", "SET", "save", "3600 1"]).await;
    let _ = server.try_command(&["BGSAVE"]).await;
    wait::until("the save has failed", async || {
        server.info("rdb_last_bgsave_status").await.as_deref() == Some("err")
    })
    .await;
    trial.fails(3).await;
    assert!(trial.node.trouble().contains("MISCONF"), "{}", trial.node.trouble());
    server.command(&["CONFIG", "SET", "stop-writes-on-bgsave-error", "no"]).await;
    let back = trial.recovers().await;
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R13",
        fault: "it cannot save to disk (`MISCONF`)",
        seen: trial.seen(),
        then: "when it can save again, or need not",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r15_too_few_replicas() {
    let (server, url, mut trial) = started(&[]).await;
    let setting = ["min-replicas-to-write", "2", "0"];
    let back = refused_until(&server, &mut trial, "NOREPLICAS", setting).await;
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R15",
        fault: "fewer replicas than `min-replicas-to-write` (`NOREPLICAS`)",
        seen: trial.seen(),
        then: "when the replicas are back",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r16_too_many_clients() {
    let (server, url, trial) = started(&[]).await;
    server.command(&["CONFIG", "SET", "maxclients", "2"]).await;
    let mut late = Trial::unproven(Node::new(&url, PATIENT));
    late.fails(3).await;
    // Who was let in before stays.
    assert_eq!(trial.node.decide(ORG).await, Ok(true));
    server.command(&["CONFIG", "SET", "maxclients", "100"]).await;
    let back = late.recovers().await;
    assert_eq!(place::left_for_ever(&[&server]).await, Vec::<String>::new());
    Row {
        id: "R16",
        fault: "the server has as many clients as it takes (`maxclients`)",
        seen: late.seen(),
        then: "when one goes; nodes that are connected are not concerned",
        back: Some(back),
    }
    .record();
}
