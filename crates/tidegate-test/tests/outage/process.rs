//! The process dies.

use tidegate_test::proxy::Proxy;
use tidegate_test::servers::RunningServer;

use crate::story::Story;
use crate::table::Row;

#[tokio::test]
async fn r01_p19_p42_p52_p55_p57_killed() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let strike = async || {
        // What it counted is on its disk, so that it can be compared.
        server.command(&["SAVE"]).await;
        server.kill();
    };
    let heal = async || server.restart().await;
    let figures = Story::of(&server, &proxy).tell(strike, heal).await;
    let fault = "the server is killed, and started again with what it had saved";
    Row { id: "R01", fault, over: figures.over.to_string(), figures: &figures }.record();
}
