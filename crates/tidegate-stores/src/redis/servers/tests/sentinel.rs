//! A primary that moves.

use core::time::Duration;

use tidegate_core::StoreError;
use tidegate_test::proxy::{Canned, plausible};
use tidegate_test::servers::Sentinel;
use tidegate_test::servers::port::Port;

use super::super::Changes;
use super::{PATIENT, count, count_at_last, servers, trouble};

fn url(set: &Sentinel) -> String {
    let hosts: Vec<_> = set.sentinel_addrs().iter().map(ToString::to_string).collect();
    format!("redis+sentinel://{}/{}", hosts.join(","), set.master_name())
}

#[tokio::test]
async fn the_new_primary_is_found_after_a_failover() {
    let set = Sentinel::start(1, 3).await;
    let servers = servers(&url(&set), Duration::from_secs(1));
    assert_eq!(servers.check().await, Ok(()));
    assert_eq!(count(&servers, "k").await, Ok(1));
    set.primary().kill();
    let lost = count(&servers, "k").await.unwrap_err();
    assert!(matches!(lost, StoreError::Unavailable | StoreError::Timeout), "{lost:?}");
    let successor = set.successor(set.primary()).await;
    let counted = count_at_last(&servers, "k").await;
    assert_eq!(successor.text(&["GET", "k"]).await, counted.to_string());
    assert_eq!(servers.changes(), Changes { restarts: 0, failovers: 1 });
}

#[tokio::test]
async fn a_stopped_primary_is_left_for_its_successor() {
    let set = Sentinel::start(1, 3).await;
    let servers = servers(&url(&set), Duration::from_millis(500));
    assert_eq!(count(&servers, "k").await, Ok(1));
    set.primary().pause();
    let successor = set.successor(set.primary()).await;
    count_at_last(&servers, "k").await;
    let written = successor.text(&["GET", "k"]).await;
    // Back again, the old one is demoted; it is not written, whoever asks.
    set.primary().resume();
    for _ in 0..20 {
        count(&servers, "k").await.unwrap();
    }
    let expected = written.parse::<i64>().unwrap() + 20;
    assert_eq!(successor.text(&["GET", "k"]).await, expected.to_string());
    assert_eq!(servers.changes(), Changes { restarts: 0, failovers: 1 });
}

#[tokio::test]
async fn sentinels_that_are_gone_or_hang_do_not_matter() {
    let set = Sentinel::start(0, 3).await;
    set.sentinels()[0].kill();
    set.sentinels()[1].pause();
    let servers = servers(&url(&set), Duration::from_secs(2));
    assert_eq!(count(&servers, "k").await, Ok(1));
}

#[tokio::test]
async fn the_majority_is_believed_and_a_replica_is_not() {
    let primary = tidegate_test::servers::RunningServer::start().await;
    let named = |port: u16| async move {
        let answer = format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{port}\r\n", port.to_string().len());
        Canned::start(move |command| match &*command[0] {
            b"SENTINEL" => answer.clone().into_bytes(),
            _ => plausible(command),
        })
        .await
    };
    let (gone, replica) = (Port::free(), tidegate_test::servers::RunningServer::start().await);
    replica.command(&["REPLICAOF", "127.0.0.1", "1"]).await;
    for other in [gone.number(), replica.port()] {
        let (late, first, second) =
            (named(other).await, named(primary.port()).await, named(primary.port()).await);
        let hosts = format!("{},{},{}", late.addr(), first.addr(), second.addr());
        let servers = servers(&format!("redis+sentinel://{hosts}/any"), PATIENT);
        count(&servers, "k").await.unwrap();
        assert_eq!(replica.command(&["EXISTS", "k"]).await, redis::Value::Int(0));
    }
}

#[tokio::test]
async fn a_name_nobody_watches_is_a_mistake_and_silence_is_not() {
    let set = Sentinel::start(0, 1).await;
    let at = set.sentinel_addrs()[0];
    let mistaken = servers(&format!("redis+sentinel://{at}/mymasterr"), PATIENT);
    assert_eq!(count(&mistaken, "k").await, Err(StoreError::Refused));
    assert!(
        trouble(&mistaken).contains("watches no primary of this name"),
        "{}",
        trouble(&mistaken)
    );

    let silent = Port::free().addr();
    let partly = servers(&format!("redis+sentinel://{at},{silent}/mymasterr"), PATIENT);
    assert_eq!(count(&partly, "k").await, Err(StoreError::Unavailable));
    assert!(!partly.check().await.unwrap_err().is_refusal());
}

#[tokio::test]
async fn passwords_for_the_sentinels_and_for_the_servers() {
    let set = Sentinel::start_with(0, 1, Some("hunter2")).await;
    let (at, name) = (set.sentinel_addrs()[0], set.master_name());
    let both = format!("redis+sentinel://:hunter2@{at}/{name}?sentinel_password=hunter2");
    assert_eq!(count(&servers(&both, PATIENT), "k").await, Ok(1));
    for wrong in [
        format!("redis+sentinel://:hunter2@{at}/{name}"),
        format!("redis+sentinel://:hunter2@{at}/{name}?sentinel_password=hunter3"),
        format!("redis+sentinel://{at}/{name}?sentinel_password=hunter2"),
        format!("redis+sentinel://:hunter3@{at}/{name}?sentinel_password=hunter2"),
    ] {
        let servers = servers(&wrong, PATIENT);
        assert_eq!(count(&servers, "k").await, Err(StoreError::Refused), "{wrong}");
        assert!(!trouble(&servers).contains("hunter"), "{}", trouble(&servers));
    }
}
