//! The server is there and does not answer.

use tidegate_core::Span;
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::{RunningServer, wait};
use tidegate_test::sim::trace::Truth;

use crate::story::Story;
use crate::table::Row;

#[tokio::test]
async fn r03_p09_p19_p42_p52_p55_p57_stopped() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let (strike, heal) = (async || server.pause(), async || server.resume());
    let figures = Story::of_a_stall(&server, &proxy).tell(strike, heal).await;
    let fault = "the process is stopped (SIGSTOP), or its machine hangs";
    Row { id: "R03", fault, over: figures.over.to_string(), figures: &figures }.record();
}

#[tokio::test]
async fn r04_p09_p19_p42_p52_p55_p57_writes_are_paused() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let strike = async || drop(server.command(&["CLIENT", "PAUSE", "600000", "WRITE"]).await);
    let heal = async || drop(server.command(&["CLIENT", "UNPAUSE"]).await);
    let figures = Story::of_a_stall(&server, &proxy).tell(strike, heal).await;
    let fault = "writes are paused (`CLIENT PAUSE … WRITE`)";
    Row { id: "R04", fault, over: figures.over.to_string(), figures: &figures }.record();
}

#[tokio::test]
async fn r05_p09_p19_p42_p52_p55_p57_all_commands_are_paused() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    // It cannot be ended, for that is a command as well; so it is over when it is, in real time, and
    // for how much virtual time the store was bad is not known exactly.
    let strike = async || drop(server.command(&["CLIENT", "PAUSE", "9000", "ALL"]).await);
    let heal = async || {
        wait::until("the pause is over", async || server.try_command(&["PING"]).await.is_ok())
            .await;
    };
    let story = Story {
        lasts: Span::from_secs(25),
        truth: Truth::Odd,
        ..Story::of_a_stall(&server, &proxy)
    };
    let figures = story.tell(strike, heal).await;
    let fault = "all commands are paused (`CLIENT PAUSE … ALL`)";
    Row { id: "R05", fault, over: figures.over.to_string(), figures: &figures }.record();
}
