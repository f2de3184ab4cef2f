//! Every reply a server may give to a script, fed one by one.

use tidegate_core::StoreError;
use tidegate_test::proxy::{Canned, plausible};

use super::{PATIENT, count, servers, trouble};

/// What comes of one reply, and how many commands the server then was sent that run scripts.
async fn outcome(reply: &str) -> (Result<i64, StoreError>, usize) {
    let canned = Canned::scripts([format!("{reply}\r\n").into_bytes()]).await;
    let servers = servers(&canned.url(), PATIENT);
    let outcome = count(&servers, "k").await;
    let scripts = canned.record().iter().filter(|command| command[0].starts_with(b"EVAL")).count();
    (outcome, scripts)
}

#[tokio::test]
async fn every_error_reply_is_an_error_and_is_sent_once() {
    const IN_SCRIPT: &str = "script: 2bab3b661081db58bd2341920e0ba7cf5dc77b25, on @user_script:1.";
    const OLD: &str =
        "-ERR Error running script (call to f_2bab): @user_script:1: @user_script: 1:";
    let in_script = |reply: &str| format!("{reply} {IN_SCRIPT}");
    let old = |inner: &str| format!("{OLD} {inner}");
    for (reply, expected) in [
        ("-BUSY Redis is busy running a script.".into(), StoreError::Unavailable),
        ("-UNKILLABLE Sorry the script already executed write".into(), StoreError::Unavailable),
        ("-LOADING Redis is loading the dataset in memory".into(), StoreError::Unavailable),
        ("-MISCONF Redis is configured to save RDB snapshots".into(), StoreError::Unavailable),
        (in_script("-MISCONF Redis is configured"), StoreError::Unavailable),
        ("-OOM command not allowed".into(), StoreError::Unavailable),
        (in_script("-OOM command not allowed when used memory"), StoreError::Unavailable),
        (old("-OOM command not allowed when used memory"), StoreError::Unavailable),
        ("-READONLY You can't write against a read only replica.".into(), StoreError::Unavailable),
        (in_script("-READONLY You can't write"), StoreError::Unavailable),
        (old("-READONLY You can't write against a read only"), StoreError::Unavailable),
        ("-NOREPLICAS Not enough good replicas to write.".into(), StoreError::Unavailable),
        ("-MASTERDOWN Link with MASTER is down".into(), StoreError::Unavailable),
        ("-CLUSTERDOWN The cluster is down".into(), StoreError::Unavailable),
        ("-EXECABORT Transaction discarded".into(), StoreError::Unavailable),
        ("-ERR max number of clients reached".into(), StoreError::Unavailable),
        ("-ERR value is not an integer or out of range".into(), StoreError::Unavailable),
        ("-FOO".into(), StoreError::Unavailable),
        ("-FOO bar".into(), StoreError::Unavailable),
        ("-ERR".into(), StoreError::Unavailable),
        ("-ERR ".into(), StoreError::Unavailable),
        ("-".into(), StoreError::Unavailable),
        ("-MOVED 1 127.0.0.1:1".into(), StoreError::Unavailable),
        ("-ASK 1 127.0.0.1:1".into(), StoreError::Unavailable),
        ("-TRYAGAIN Multiple keys request during rehashing".into(), StoreError::Unavailable),
        ("-CROSSSLOT Keys in request don't hash to the same slot".into(), StoreError::Refused),
        ("-NOAUTH Authentication required.".into(), StoreError::Refused),
        ("-WRONGPASS invalid username-password pair".into(), StoreError::Refused),
        ("-NOPERM this user has no permissions".into(), StoreError::Refused),
        (in_script("-NOPERM No permissions to access a key"), StoreError::Refused),
        (in_script("-ERR The user executing the script can't run this"), StoreError::Refused),
        (old("The user executing the script can't run this command"), StoreError::Refused),
        // Raised by a script that may have written: nobody knows what.
        (in_script("-ERR value is not an integer or out of range"), StoreError::Timeout),
        (in_script("-WRONGTYPE Operation against a key"), StoreError::Timeout),
        (in_script("-FOO from a module"), StoreError::Timeout),
        (old("-ERR value is not an integer"), StoreError::Timeout),
        (old("-WRONGTYPE Operation against a key"), StoreError::Timeout),
        (old("attempt to index a nil value"), StoreError::Timeout),
    ] {
        assert_eq!(outcome(&reply).await, (Err(expected), 1), "{reply}");
    }
}

#[tokio::test]
async fn a_reply_that_is_none_is_an_unknown_outcome() {
    for reply in [
        "$-1",
        "*-1",
        "+OK",
        "*2\r\n:1\r\n:2",
        "*0",
        "$1\r\n1",
        "_",
        ",nan",
        "#t",
        "(12345678901234567890",
        "?what is this",
        "HTTP/1.1 400 Bad Request",
        "$99999999999999999999\r\n",
        ":12x",
    ] {
        assert_eq!(outcome(reply).await, (Err(StoreError::Timeout), 1), "{reply}");
    }
    assert_eq!(outcome(":-1").await, (Ok(-1), 1));
    assert_eq!(outcome(":9223372036854775807").await, (Ok(i64::MAX), 1));
}

#[tokio::test]
async fn a_script_unknown_even_as_text_is_not_sent_a_third_time() {
    let noscript = || b"-NOSCRIPT No matching script. Please use EVAL.\r\n".to_vec();
    let canned = Canned::scripts([noscript(), noscript(), b":1\r\n".to_vec()]).await;
    let servers = servers(&canned.url(), PATIENT);
    assert_eq!(count(&servers, "k").await, Err(StoreError::Unavailable));
    assert_eq!(count(&servers, "k").await, Ok(1));
}

#[tokio::test]
async fn after_a_garbled_reply_the_connection_is_another() {
    // The second value would be taken for the answer to the next call.
    let canned = Canned::scripts([b"+OK\r\n:77\r\n".to_vec(), b":2\r\n".to_vec()]).await;
    let servers = servers(&canned.url(), PATIENT);
    assert_eq!(count(&servers, "k").await, Err(StoreError::Timeout));
    assert!(trouble(&servers).contains("unexpected reply to the script"), "{}", trouble(&servers));
    assert_eq!(count(&servers, "k").await, Ok(2));
    let greetings = canned.record().iter().filter(|command| *command[0] == *b"INFO").count();
    assert_eq!(greetings, 2 * 3, "three sections for each connection");
}

#[tokio::test]
async fn an_answer_after_the_caller_has_gone_is_for_nobody() {
    let canned = Canned::start(|command| match &*command[0] {
        b"EVALSHA" => format!(":{}\r\n", command[3].len()).into_bytes(),
        _ => plausible(command),
    })
    .await;
    let servers = servers(&canned.url(), PATIENT);
    assert_eq!(count(&servers, "k").await, Ok(1));
    for length in 2..50 {
        // Polled once, so that it is on its way, and dropped.
        let gone = "x".repeat(1000);
        let mut dropped = Box::pin(count(&servers, &gone));
        let waker = core::task::Waker::noop();
        assert!(dropped.as_mut().poll(&mut core::task::Context::from_waker(waker)).is_pending());
        drop(dropped);
        let key = "y".repeat(length);
        assert_eq!(count(&servers, &key).await, Ok(i64::try_from(length).unwrap()));
    }
}

#[tokio::test]
async fn what_a_server_says_of_itself_is_judged() {
    let good = "redis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:a\r\n\
                maxmemory_policy:noeviction\r\nrole:master\r\n";
    for (info, expected, words) in [
        (good.to_owned(), Ok(1), ""),
        (good.replace("7.0.15", "6.0.16"), Err(StoreError::Refused), "Redis 6.2 or later"),
        (good.replace("7.0.15", "6.2.0"), Ok(1), ""),
        (good.replace("7.0.15", "10.0"), Ok(1), ""),
        (good.replace("7.0.15", "?"), Err(StoreError::Refused), "Redis 6.2 or later"),
        (good.replace("7.0.15", "5.0") + "server_name:valkey\r\n", Ok(1), ""),
        (good.replace("noeviction", "allkeys-lru"), Err(StoreError::Refused), "allkeys-lru"),
        (good.replace("role:master", "role:slave"), Err(StoreError::Unavailable), "replica"),
        (good.replace("standalone", "sentinel"), Err(StoreError::Refused), "redis+sentinel://"),
        (good.replace("run_id:a\r\n", ""), Err(StoreError::Unavailable), "is it Redis"),
        (String::new(), Err(StoreError::Unavailable), "is it Redis"),
    ] {
        let text = format!("${}\r\n{info}\r\n", info.len()).into_bytes();
        let canned = Canned::start(move |command| match &*command[0] {
            b"INFO" => text.clone(),
            b"EVALSHA" => b":1\r\n".to_vec(),
            _ => plausible(command),
        })
        .await;
        let servers = servers(&canned.url(), PATIENT);
        assert_eq!(count(&servers, "k").await, expected, "{info}");
        assert!(trouble(&servers).contains(words), "{}", trouble(&servers));
        assert_eq!(trouble(&servers).is_empty(), words.is_empty(), "{}", trouble(&servers));
    }
}
