//! The server is there and does not answer.

use core::time::Duration;

use tidegate_core::StoreError;
use tidegate_test::servers::RunningServer;

use crate::node::{Node, SHORT};
use crate::place;
use crate::table::Row;
use crate::trial::Trial;

async fn stalled() -> (RunningServer, String, Trial) {
    let server = place::server().await;
    let url = place::url(server.addr());
    let trial = Trial::begin(Node::new(&url, SHORT)).await;
    (server, url, trial)
}

#[tokio::test]
async fn r03_stopped() {
    let (server, url, mut trial) = stalled().await;
    server.pause();
    // Connecting still succeeds, so the deadline has to cover the first words as well.
    trial.fails(3).await;
    server.resume();
    let back = trial.recovers().await;
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R03",
        fault: "the process is stopped (SIGSTOP), or its machine hangs",
        seen: trial.seen(),
        then: "connects again by itself; what was sent may be counted late",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r04_writes_are_paused() {
    let (server, url, mut trial) = stalled().await;
    server.command(&["CLIENT", "PAUSE", "60000", "WRITE"]).await;
    trial.fails(2).await;
    // A look is answered, so a probe that only looked would say that all is well.
    assert_eq!(trial.node.probe().await, Err(StoreError::Timeout));
    server.command(&["CLIENT", "UNPAUSE"]).await;
    let back = trial.recovers().await;
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R04",
        fault: "writes are paused (`CLIENT PAUSE … WRITE`), as before a planned failover",
        seen: trial.seen(),
        then: "when the pause is over; what was sent is counted then",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r05_all_commands_are_paused() {
    let (server, url, mut trial) = stalled().await;
    // No longer than the calls take, twice over: it cannot be ended, for that is a command as well.
    server.command(&["CLIENT", "PAUSE", "2400", "ALL"]).await;
    trial.fails(3).await;
    let back = trial.recovers().await;
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R05",
        fault: "all commands are paused (`CLIENT PAUSE … ALL`)",
        seen: trial.seen(),
        then: "when the pause is over; what was sent is counted then",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r06_busy_with_one_slow_command() {
    let (server, url, mut trial) = stalled().await;
    let begin = trial.now();
    let asleep = server.command(&["DEBUG", "SLEEP", "2.5"]);
    let calls = async {
        trial.until_it_fails().await;
        trial.fails(2).await;
        trial.recovers().await;
        trial.since(begin)
    };
    let (_, back) = tokio::join!(asleep, calls);
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R06",
        fault: "busy with one slow command (`DEBUG SLEEP`, `KEYS` on millions)",
        seen: trial.seen(),
        then: "when the command is done; what was sent is counted then",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r07_busy_with_a_script() {
    let server = place::builder().args(["--busy-reply-threshold", "50"]).start().await;
    let url = place::url(server.addr());
    let mut trial = Trial::begin(Node::new(&url, Duration::from_secs(5))).await;
    let forever = server.try_command(&["EVAL", "while true do end", "0"]);
    let calls = async {
        trial.until_it_fails().await;
        trial.fails(2).await;
        assert!(trial.node.trouble().contains("BUSY"), "{}", trial.node.trouble());
        // Past the harness, which waits for its own answer.
        let mut connection = server.connection().await;
        redis::cmd("SCRIPT").arg("KILL").exec_async(&mut connection).await.unwrap();
        trial.recovers().await
    };
    let (ended, back) = tokio::join!(forever, calls);
    ended.unwrap_err();
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R07",
        fault: "busy with somebody's script (`BUSY`)",
        seen: trial.seen(),
        then: "when that script ends or is killed; nothing is sent again",
        back: Some(back),
    }
    .record();
}
