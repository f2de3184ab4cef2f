//! R19, of abuse logs: what is under their keys and is none of ours.

use tidegate_core::{Case, Span, StoreError, Subject};
use tidegate_test::servers::RunningServer;

use crate::attempts::{dual, key, ladder, policy};
use crate::node::{Node, PATIENT};
use crate::place;

const FAR: u64 = 1 << 53;

/// A log as it is stored, from its parts.
#[derive(Clone)]
struct Log {
    tag: [u8; 2],
    expiry: u64,
    until: u64,
    small: [u8; 4],
    times: Vec<u64>,
}

// === impl Log ===

impl Log {
    /// As a script could have left it.
    fn sound(now: u64) -> Self {
        let times = (0..9).map(|place| now - 9_000 + place).collect();
        Self { tag: *b"a1", expiry: now / 1_000 + 60_000, until: 0, small: [0, 0, 9, 0], times }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.tag.to_vec();
        [self.expiry, self.until, 7].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(self.small);
        self.times.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes
    }
}

async fn outcome(server: &RunningServer, node: &Node, value: &[u8]) -> Result<bool, StoreError> {
    let mut connection = server.connection().await;
    let mut write = redis::cmd("SET");
    write.arg(key("acme")).arg(value).arg("PX").arg(60_000);
    write.exec_async(&mut connection).await.unwrap();
    let set = std::sync::Arc::clone(&node.engine().policies());
    let subject = Subject::new().org("acme");
    let mut case = Case::new(&set.policies()[0], &subject);
    let decided = node.engine().decide_by_store(&mut case).await;
    let outcome = decided.map(|decision| decision.is_admitted());
    if outcome.as_ref().is_err_and(|error| *error != StoreError::Timeout) {
        let mut read = redis::cmd("GET");
        let after: Vec<u8> = read.arg(key("acme")).query_async(&mut connection).await.unwrap();
        assert_eq!(after, value, "nothing was changed");
    }
    outcome
}

#[tokio::test]
async fn r19_what_is_no_log_is_corrupt_or_of_another_version() {
    let server = place::server().await;
    let time: (u64, u64) = redis::from_redis_value(server.command(&["TIME"]).await).unwrap();
    let now = time.0 * 1_000_000 + time.1;
    let changed = |change: &dyn Fn(&mut Log)| {
        let mut log = Log::sound(now);
        change(&mut log);
        log.bytes()
    };
    let corrupt = [
        ("cut", changed(&|_| {})[..60].to_vec()),
        ("only the tag", b"a1".to_vec()),
        ("text", b"12".to_vec()),
        ("too long", [changed(&|_| {}), vec![0]].concat()),
        ("more than it says", changed(&|log| log.small[2] = 8)),
        ("members that are not there", changed(&|log| log.small[3] = 1)),
        ("neither with members nor without", changed(&|log| log.small[3] = 2)),
        (
            "more than a log holds",
            changed(&|log| {
                log.small[2] = 101;
                log.times = vec![now - 9; 101];
            }),
        ),
        ("no such scope", changed(&|log| log.small[0] = 4)),
        ("no such level", changed(&|log| log.small[..2].copy_from_slice(&[1, 7]))),
        ("a level without a block", changed(&|log| log.small[1] = 1)),
        ("an end without a block", changed(&|log| log.until = 1)),
        (
            "an end beyond counting",
            changed(&|log| {
                log.small[0] = 1;
                log.until = FAR;
            }),
        ),
        ("an expiry beyond counting", changed(&|log| log.expiry = FAR)),
        ("a time beyond counting", changed(&|log| log.times[8] = u64::MAX)),
        ("the first time after the last", changed(&|log| log.times[0] = now)),
    ];
    for shape in [dual(), ladder()] {
        let node = Node::with(&place::url(server.addr()), PATIENT, policy(&shape));
        assert_eq!(outcome(&server, &node, &Log::sound(now).bytes()).await, Ok(false));
        for (what, value) in &corrupt {
            let error = StoreError::Corrupt { charge: 0 };
            assert_eq!(outcome(&server, &node, value).await, Err(error), "{what}");
        }
        let later = changed(&|log| log.tag = *b"a2");
        assert_eq!(outcome(&server, &node, &later).await, Err(StoreError::Version { charge: 0 }));
        let other = [b"q1".as_slice(), &[0; 24]].concat();
        assert_eq!(outcome(&server, &node, &other).await, Ok(true), "as good as none");
        // The scripts do not look at times that do not matter; whoever reads all of them says so.
        let disorder = changed(&|log| log.times.swap(3, 4));
        assert_eq!(outcome(&server, &node, &disorder).await, Err(StoreError::Timeout));
    }
    // An operator can always begin anew.
    let node = Node::with(&place::url(server.addr()), PATIENT, policy(&ladder()));
    assert!(outcome(&server, &node, &corrupt[0].1).await.is_err());
    let set = std::sync::Arc::clone(&node.engine().policies());
    let subject = Subject::new().org("acme");
    let mut case = Case::new(&set.policies()[0], &subject);
    assert!(node.engine().block(&mut case, None, Span::HOUR, None).await.is_err());
    assert!(node.engine().reset(&mut case, None).await.unwrap()[0].amended.changed);
    assert_eq!(node.decide("acme").await, Ok(true));
}
