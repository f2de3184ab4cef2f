//! P67: no reply that is not a script's own is taken for a decision.

use tidegate_core::StoreError;
use tidegate_test::proxy::Canned;

use crate::node::{Node, PATIENT};

/// What a server may say to a script, and what it means. Only `Timeout` leaves open what was done.
const REPLIES: [(&str, StoreError); 34] = {
    use StoreError::{Refused, Timeout, Unavailable};
    [
        ("-BUSY Redis is busy running a script.", Unavailable),
        ("-UNKILLABLE Sorry the script already executed write commands.", Unavailable),
        ("-LOADING Redis is loading the dataset in memory", Unavailable),
        ("-MISCONF Redis is configured to save RDB snapshots", Unavailable),
        ("-OOM command not allowed when used memory > 'maxmemory'.", Unavailable),
        ("-READONLY You can't write against a read only replica.", Unavailable),
        ("-NOREPLICAS Not enough good replicas to write.", Unavailable),
        ("-MASTERDOWN Link with MASTER is down", Unavailable),
        ("-CLUSTERDOWN The cluster is down", Unavailable),
        ("-MOVED 3999 127.0.0.1:1", Unavailable),
        ("-ASK 3999 127.0.0.1:1", Unavailable),
        ("-EXECABORT Transaction discarded because of previous errors.", Unavailable),
        ("-TRYAGAIN Multiple keys request during rehashing of slot", Unavailable),
        ("-CROSSSLOT Keys in request don't hash to the same slot", Refused),
        ("-NOAUTH Authentication required.", Refused),
        ("-WRONGPASS invalid username-password pair or user is disabled.", Refused),
        ("-NOPERM this user has no permissions to run the 'evalsha' command", Refused),
        ("-ERR max number of clients reached", Unavailable),
        ("-FOO never heard of", Unavailable),
        ("-ERR", Unavailable),
        ("-", Unavailable),
        ("-WRONGTYPE Operation against a key script: f, on @user_script:1.", Timeout),
        ("-ERR value is not an integer script: f, on @user_script:1.", Timeout),
        ("_", Timeout),
        ("$-1", Timeout),
        ("*-1", Timeout),
        ("*0", Timeout),
        ("*2\r\n:1\r\n:2", Timeout),
        (":1", Timeout),
        (":-1", Timeout),
        (":9223372036854775807", Timeout),
        (",nan", Timeout),
        ("#t", Timeout),
        ("$0\r\n", Timeout),
    ]
};

#[tokio::test]
async fn p67_no_reply_but_the_scripts_own_is_a_decision() {
    for (reply, error) in REPLIES {
        let canned = Canned::scripts([format!("{reply}\r\n").into_bytes()]).await;
        let node = Node::new(&canned.url(), PATIENT);
        assert_eq!(node.decide("acme").await, Err(error), "{reply}: {}", node.trouble());
        let scripts = canned.record().into_iter().filter(|words| words[0].starts_with(b"EVAL"));
        assert_eq!(scripts.count(), 1, "{reply} is not sent again");
    }
    // The server does not know the script, and then says something else.
    let replies = ["-NOSCRIPT No matching script.\r\n", "-OOM command not allowed\r\n"];
    let canned = Canned::scripts(replies.map(|reply| reply.as_bytes().to_vec())).await;
    let node = Node::new(&canned.url(), PATIENT);
    assert_eq!(node.decide("acme").await, Err(StoreError::Unavailable));
}
