//! P73: scripts that a server forgets are sent again, once, within the same deadline.

use std::sync::Arc;

use tidegate_test::servers::wait;

use crate::node::{Node, PATIENT};
use crate::place;
use crate::table::Row;
use crate::trial::ORG;

const NODES: usize = 8;
const CALLS: u64 = 250;

#[tokio::test]
async fn r12_p73_scripts_are_flushed_under_load() {
    let server = Arc::new(place::server().await);
    let url = place::url(server.addr());
    let mut nodes = tokio::task::JoinSet::new();
    for _ in 0..NODES {
        let node = Node::new(&url, PATIENT);
        nodes.spawn(async move {
            for _ in 0..CALLS {
                assert_eq!(node.decide(ORG).await, Ok(true), "{}", node.trouble());
            }
        });
    }
    let flush = async {
        let mut flushed = 0;
        while !nodes.is_empty() {
            server.command(&["SCRIPT", "FLUSH"]).await;
            flushed += 1;
            while nodes.try_join_next().is_some_and(|ended| ended.is_ok()) {}
            wait::pause(core::time::Duration::from_millis(1)).await;
        }
        flushed
    };
    let flushed = tokio::time::timeout(6 * PATIENT, flush).await.expect("the calls end");
    println!("{flushed} flushes under {} calls", NODES as u64 * CALLS);
    assert!(flushed >= 10, "only {flushed} flushes");
    let counted = Node::new(&url, PATIENT).counted(ORG).await;
    assert_eq!(counted, [NODES as u64 * CALLS; 3], "each exactly once");
    assert_eq!(place::left_for_ever(&[&server]).await, Vec::<String>::new());
    Row {
        id: "R12",
        fault: "the server forgets its scripts (`SCRIPT FLUSH`), over and over under load",
        seen: "decisions, each counted once".to_owned(),
        then: "the text is sent after `NOSCRIPT`, within the same deadline",
        back: None,
    }
    .record();
}
