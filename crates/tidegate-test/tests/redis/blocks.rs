//! The list of blocks: complete, in bounded pages, of one server or of all masters of a cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidegate_core::{
    Amendment, Attempts, Case, CounterRef, Ladder, Name, Page, Shape, Span, Store as _, StoreError,
    Subject,
};
use tidegate_engine::OperateError;
use tidegate_test::servers::Flavour;

use crate::attempts::policy;
use crate::node::{Node, PATIENT};
use crate::place;

const BLOCKED: usize = 2_500;
const FREE: usize = 500;

fn shape() -> Shape {
    Shape::Attempts(Attempts::climbing(5, Span::HOUR, Ladder::default()).unwrap())
}

/// Blocks many and leaves others alone.
async fn fill(node: &Arc<Node>) {
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..50 {
        let node = Arc::clone(node);
        callers.spawn(async move {
            let set = Arc::clone(&node.engine().policies());
            for number in (caller..BLOCKED + FREE).step_by(50) {
                let org = format!("o{number}");
                let subject = Subject::new().org(&org);
                let mut case = Case::new(&set.policies()[0], &subject);
                if number < BLOCKED {
                    let engine = node.engine();
                    let change = engine.block(&mut case, None, Span::HOUR, None).await.unwrap();
                    assert!(change.amended.changed);
                } else {
                    assert!(node.engine().decide_by_store(&mut case).await.unwrap().is_admitted());
                }
            }
        });
    }
    callers.join_all().await;
}

/// All names that are listed, with the number of pages. Each page looks at about `at_most` keys.
async fn listed(node: &Node, at_most: usize) -> (BTreeSet<String>, usize) {
    let (mut found, mut after, mut pages) = (BTreeSet::new(), None::<String>, 0);
    loop {
        let page = Page { after: after.as_deref(), at_most };
        let blocks = node.engine().blocks(page).await.unwrap();
        pages += 1;
        assert!(blocks.list.len() <= 2 * at_most.min(1_000) + 64, "{}", blocks.list.len());
        for entry in blocks.list {
            assert_eq!(entry.limit.as_ref().map(Name::as_str), Some("login"));
            assert_eq!(entry.policy.as_ref().map(Name::as_str), Some("p"));
            found.insert(entry.key);
        }
        match blocks.next {
            Some(next) => after = Some(next),
            None => return (found, pages),
        }
    }
}

async fn lists(url: &str, servers: usize) {
    let node = Arc::new(Node::with(url, PATIENT, policy(&shape())));
    assert_eq!(listed(&node, 100).await.0, BTreeSet::new(), "none yet");
    fill(&node).await;
    let expected: BTreeSet<String> = (0..BLOCKED)
        .map(|number| format!("abuse_limiter:attempts:{{o{number}}}:limit:login"))
        .collect();
    for (at_most, least) in [(100, 25), (usize::MAX, servers), (0, 100)] {
        let (found, pages) = listed(&node, at_most).await;
        assert_eq!(found, expected);
        assert!(pages >= least, "{pages} pages of {at_most}");
    }
    let first = expected.first().unwrap();
    let lifted = node.engine().unblock_listed(first).await.unwrap();
    assert!(lifted.changed && lifted.block.is_none());
    assert!(!node.engine().unblock_listed(first).await.unwrap().changed, "once");
    assert_eq!(listed(&node, 1_000).await.0.len(), BLOCKED - 1);
    for (after, error) in [("nonsense", true), ("-1", true), ("a b:1", true), ("1:2:3", true)] {
        let page = Page { after: Some(after), at_most: 10 };
        let refused =
            node.engine().blocks(page).await.is_err_and(|it| it == OperateError::NotListed);
        assert_eq!(refused, error, "{after}");
    }
    let long = format!("abuse_limiter:attempts:{{{}", "a".repeat(3_000));
    for name in ["rl:{o1}:w60s", "abuse_limiter:seq:{o1}", "", long.as_str()] {
        let amended =
            node.store().amend(CounterRef::Listed(name), Amendment::Reset, Span::SECOND).await;
        assert_eq!(amended, Err(StoreError::Refused), "{name}");
    }
}

#[tokio::test]
async fn all_blocks_are_listed_on_one_server() {
    for flavour in [Flavour::Redis, Flavour::Valkey9] {
        let server = place::builder().flavour(flavour).start().await;
        lists(&place::url(server.addr()), 1).await;
        // What is no log of ours is passed over.
        server.command(&["SADD", "abuse_limiter:attempts:{odd}:set", "x"]).await;
        server.command(&["SET", "abuse_limiter:attempts:{odd}:text", "text"]).await;
        let node = Node::with(&place::url(server.addr()), PATIENT, policy(&shape()));
        assert_eq!(listed(&node, 1_000).await.0.len(), BLOCKED - 1);
    }
}

#[tokio::test]
async fn all_blocks_are_listed_on_a_cluster() {
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    lists(&place::cluster_url(&cluster), 3).await;
}
