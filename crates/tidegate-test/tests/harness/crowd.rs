//! As many connections as a flood test opens.

use std::net::SocketAddr;

use tidegate_test::proxy::Proxy;
use tidegate_test::servers::RunningServer;
use tokio::task::JoinSet;

use crate::wire::Wire;

/// What a fleet may open.
const WANTED: u64 = 10_000;

#[tokio::test]
async fn ten_thousand_connections_are_held_and_killed_at_once() {
    // Three descriptors each: the client's, and the proxy's two.
    let descriptors = rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let count = WANTED.min((descriptors - 500) / 3);
    let builder = RunningServer::builder().args(["--maxclients", "12000", "--tcp-backlog", "4096"]);
    let server = builder.start().await;
    let proxy = Proxy::start(server.addr()).await;
    let mut wires = Vec::new();
    while (wires.len() as u64) < count {
        // In groups that fit the queues of both listeners.
        let group: JoinSet<Wire> =
            (wires.len() as u64..count).take(1_000).map(|_| greeted(proxy.addr())).collect();
        wires.extend(group.join_all().await);
    }
    assert_eq!((proxy.connections(), proxy.open_connections()), (count, count));
    for wire in wires.iter_mut().rev().take(100) {
        assert_eq!(wire.ask("PING").await.unwrap(), "+PONG", "with all of them open");
    }
    proxy.kill_all();
    for wire in &mut wires {
        assert!(wire.rest().await.1.is_some(), "reset");
    }
    println!("{count} connections");
}

async fn greeted(addr: SocketAddr) -> Wire {
    let mut wire = Wire::to(addr).await;
    assert_eq!(wire.ask("PING").await.unwrap(), "+PONG");
    wire
}
