//! Checks that must hold for a server's data after any fault.

use redis::aio::ConnectionLike;
use redis::{RedisResult, cmd};

use super::cluster::RunningCluster;
use super::server::RunningServer;

/// Keys to scan in one step.
const STEP: usize = 1_000;

/// The keys of one server that have no time to live, and so would stay for ever.
///
/// # Errors
///
/// If the server cannot be asked.
pub async fn keys_without_ttl(connection: &mut impl ConnectionLike) -> RedisResult<Vec<String>> {
    let mut found = Vec::new();
    let mut cursor: u64 = 0;
    loop {
        let scan = cmd("SCAN").arg(cursor).arg("COUNT").arg(STEP).take();
        let (next, keys): (u64, Vec<Vec<u8>>) = scan.query_async(connection).await?;
        for key in keys {
            // -1 means no expiry; -2 means a key that has just expired, which is fine.
            if cmd("PTTL").arg(&key).query_async::<i64>(connection).await? == -1 {
                found.push(String::from_utf8_lossy(&key).into_owned());
            }
        }
        if next == 0 {
            return Ok(found);
        }
        cursor = next;
    }
}

/// The keys without a time to live on `server`; see [`keys_without_ttl`].
///
/// # Panics
///
/// If the server cannot be asked.
pub async fn left_on(server: &RunningServer) -> Vec<String> {
    let mut connection = server.connection().await;
    // A replica in a cluster would redirect us without this; any other server answers with an
    // error.
    let _ = cmd("READONLY").exec_async(&mut connection).await;
    keys_without_ttl(&mut connection).await.expect("a server that answers")
}

/// The keys without a time to live on all nodes of `cluster` that are up; see [`keys_without_ttl`].
///
/// # Panics
///
/// If one of the nodes cannot be asked.
pub async fn left_in(cluster: &RunningCluster) -> Vec<String> {
    let mut found = Vec::new();
    for node in cluster.nodes().iter().filter(|node| node.is_up()) {
        found.extend(left_on(node).await);
    }
    // A replica has the same keys as its master.
    found.sort();
    found.dedup();
    found
}
