//! The wire breaks, and nobody knows what has arrived.

use tidegate_test::proxy::Proxy;
use tidegate_test::servers::RunningServer;

use crate::story::Story;
use crate::table::Row;

#[tokio::test]
async fn p09_p19_p42_p52_p55_p57_nothing_goes_through() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let (strike, heal) = (async || proxy.blackhole(true), async || proxy.blackhole(false));
    let figures = Story::of_a_stall(&server, &proxy).tell(strike, heal).await;
    let fault = "the network swallows everything";
    Row { id: "W1", fault, over: figures.over.to_string(), figures: &figures }.record();
}

#[tokio::test]
async fn p09_p19_p42_p52_p55_p57_replies_are_lost() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let (strike, heal) = (async || proxy.drop_replies(true), async || proxy.drop_replies(false));
    let figures = Story::of_a_stall(&server, &proxy).tell(strike, heal).await;
    let fault = "the network swallows every reply: what is asked is counted, and nobody knows";
    Row { id: "W2", fault, over: figures.over.to_string(), figures: &figures }.record();
}
