//! A counter that is not what we wrote: the trouble of one key, and of nobody else.

use redis::Value;
use tidegate_core::StoreError;
use tidegate_test::servers::RunningServer;

use crate::node::{Node, PATIENT};
use crate::place;
use crate::table::Row;
use crate::trial::{ORG, Trial};

/// The keys of [`ORG`], in the order of the policy.
const KEYS: [&str; 3] =
    ["rl:{acme}:limit:bucket:w1h", "rl:{acme}:limit:window:sw1d", "rq:{acme}:limit:quota:w1d"];

/// Every key with its content and its expiry.
async fn everything(server: &RunningServer) -> Vec<(String, Value, Value)> {
    let keys = server.command(&["KEYS", "*"]).await;
    let mut keys: Vec<String> = redis::from_redis_value(keys).unwrap();
    keys.sort();
    let mut all = Vec::new();
    for key in keys {
        let dump = server.command(&["DUMP", &key]).await;
        let expiry = server.command(&["PEXPIRETIME", &key]).await;
        all.push((key, dump, expiry));
    }
    all
}

/// Puts a value in the place of a counter; says what comes of it. Nothing may change by that.
async fn meets(server: &RunningServer, trial: &mut Trial, write: &[&[u8]]) -> StoreError {
    let mut connection = server.connection().await;
    let key = KEYS.iter().find(|key| write[1] == key.as_bytes()).unwrap();
    let before = server.command(&["DUMP", key]).await;
    let Value::BulkString(before) = before else { panic!("{key} is not there") };
    server.command(&["DEL", key]).await;
    let mut command = redis::Cmd::new();
    write.iter().for_each(|word| {
        command.arg(*word);
    });
    command.exec_async(&mut connection).await.unwrap();
    let all = everything(server).await;
    let outcome = trial.call().await;
    assert_eq!(everything(server).await, all, "something was changed");
    assert_eq!(trial.node.decide("another").await, Ok(true), "others are not concerned");
    let mut restore = redis::cmd("RESTORE");
    restore.arg(key).arg(86_400_000).arg(before).arg("REPLACE");
    restore.exec_async(&mut connection).await.unwrap();
    outcome.unwrap_err()
}

async fn begin() -> (RunningServer, String, Trial) {
    let server = place::server().await;
    let url = place::url(server.addr());
    let mut trial = Trial::begin(Node::new(&url, PATIENT)).await;
    assert_eq!(trial.call().await, Ok(true));
    assert_eq!(trial.node.decide("another").await, Ok(true));
    for key in KEYS {
        assert_eq!(server.command(&["EXISTS", key]).await, Value::Int(1), "{key}");
    }
    (server, url, trial)
}

#[tokio::test]
async fn r10_an_error_in_the_middle_of_a_script() {
    let (server, url, mut trial) = begin().await;
    // The last key of the three, so that others could have been written by then.
    let write: [&[u8]; 3] = [b"LPUSH", KEYS[2].as_bytes(), b"abc"];
    assert_eq!(meets(&server, &mut trial, &write).await, StoreError::Corrupt { charge: 2 });
    let back = trial.recovers().await;
    trial.balances(&url, &[&server]).await;
    Row {
        id: "R10",
        fault: "one key of a decision is of another type, as by somebody's mistake",
        seen: trial.seen(),
        then: "nothing was changed: everything is read and checked before the first write",
        back: Some(back),
    }
    .record();
}

/// A state with everything in it as large as can be.
fn endless(tag: &[u8; 2], length: usize) -> Vec<u8> {
    let mut state = tag.to_vec();
    state.resize(length, 0xff);
    state
}

#[tokio::test]
async fn r19_values_that_are_no_counters() {
    let (server, url, mut trial) = begin().await;
    let lengths = [(b"b1", b"b2", 50), (b"g1", b"g7", 278), (b"q1", b"q9", 26)];
    for (charge, (now, later, length)) in lengths.into_iter().enumerate() {
        let key = KEYS[charge].as_bytes();
        let (long, beyond) = (vec![b'x'; 10 << 20], endless(now, length));
        let short = now.to_vec();
        let values: [&[u8]; 7] = [b"abc", b"nan", b"", b"-1", &long, &beyond, &short];
        for value in values {
            let write: [&[u8]; 3] = [b"SET", key, value];
            let met = meets(&server, &mut trial, &write).await;
            let told = String::from_utf8_lossy(&value[..value.len().min(8)]);
            assert_eq!(met, StoreError::Corrupt { charge }, "{told} as {now:?}");
        }
        let hash: [&[u8]; 4] = [b"HSET", key, b"a", b"b"];
        assert_eq!(meets(&server, &mut trial, &hash).await, StoreError::Corrupt { charge });
        let later: [&[u8]; 3] = [b"SET", key, &endless(later, length)];
        assert_eq!(meets(&server, &mut trial, &later).await, StoreError::Version { charge });
    }
    let back = trial.recovers().await;
    assert_eq!(trial.node.decide(ORG).await, Ok(true));
    // One decision went past the books, and what was put there by hand had no expiry to keep.
    let counted = Node::new(&url, PATIENT).counted(ORG).await;
    assert_eq!(counted, [4; 3]);
    assert_eq!(place::left_for_ever(&[&server]).await, Vec::<String>::new());
    Row {
        id: "R19",
        fault: "the value of one key cannot be read: wrong type, text, `nan`, 10 MB, numbers beyond \
                2⁵³, a later version",
        seen: trial.seen(),
        then: "when the key is mended, deleted or has expired; other keys are not concerned",
        back: Some(back),
    }
    .record();
}
