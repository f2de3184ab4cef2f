//! T42, R10, R11, R14, R17, R19 of a fleet: what it may do, and what it says when it may not or finds what
//! is none of ours.

use tidegate_core::{
    Accord, AccordState, Cursor, Fleet as _, FleetError, FleetStep, Forced, Motion, Span,
};
use tidegate_stores::redis::RedisFleet;
use tidegate_test::servers::{Flavour, RunningCluster, RunningServer, wait};

use crate::fleets::fleet;
use crate::place;

const LONG: Span = Span::from_secs(10);
const RECORDS: &str = "tg:{fleet}:records";
const CHANGES: &str = "tg:{fleet}:changes";

fn step(seen: u64, motion: Motion) -> FleetStep {
    FleetStep { seen, motion }
}

fn trip() -> FleetStep {
    step(0, Motion::Trip { window: Span::from_secs(10) })
}

/// Everything a fleet does: opens, forces, lifts, forgets, and tells of changes.
async fn exercise(fleet: &RedisFleet, name: &str) -> Result<(), FleetError> {
    let open = fleet.agree(name, trip()).await?.accord;
    let force = step(open.generation, Motion::Force(Forced::Closed));
    let forced = fleet.agree(name, force).await?.accord;
    fleet.agree(name, step(forced.generation, Motion::Lift)).await?;
    fleet.changed_since(Cursor::START).await.map(|_| ())
}

/// Makes the closed records of a server old enough to be forgotten.
async fn age(server: &RunningServer, name: &str) {
    let old = (-(1_i64 << 53)).to_string();
    server.command(&["ZADD", CHANGES, &old, &format!("{{{name}")]).await;
}

pub(crate) async fn forget(server: &RunningServer, fleet: &RedisFleet) -> Result<(), FleetError> {
    exercise(fleet, "old").await?;
    age(server, "old").await;
    exercise(fleet, "new").await
}

#[tokio::test]
async fn t42_the_lines_of_the_document_are_enough_for_a_fleet() {
    for flavour in Flavour::ALL {
        let server = place::fleet_builder().flavour(flavour).start().await;
        let fleet = fleet(&place::url(server.addr()), LONG);
        fleet.check().await.unwrap();
        assert_eq!(forget(&server, &fleet).await, Ok(()), "{flavour:?}: {:?}", fleet.trouble());
        let left = server.command(&["HEXISTS", RECORDS, "old"]).await;
        assert_eq!(left, redis::Value::Int(0), "it was forgotten");
    }
    let cluster = RunningCluster::start_from(3, 0, &place::fleet_builder()).await;
    let fleet = fleet(&place::cluster_url(&cluster), LONG);
    fleet.check().await.unwrap();
    assert_eq!(exercise(&fleet, "up").await, Ok(()), "{:?}", fleet.trouble());
}

#[tokio::test]
async fn t42_every_right_of_the_fleet_is_needed() {
    let server = place::fleet_builder().start().await;
    for right in place::fleet_rules() {
        let without = right.replace('+', "-");
        server.command(&["FLUSHALL"]).await;
        server.command(&["ACL", "SETUSER", "tidegate", &without]).await;
        let fleet = fleet(&place::url(server.addr()), LONG);
        // The right to forget is needed only when there is something old.
        let answer = forget(&server, &fleet).await;
        assert_eq!(answer, Err(FleetError::Refused), "{right}");
        server.command(&["ACL", "SETUSER", "tidegate", right]).await;
        server.command(&["FLUSHALL"]).await;
        assert_eq!(forget(&server, &fleet).await, Ok(()), "{right}");
    }
}

#[tokio::test]
async fn r10_r19_what_is_no_record_is_told_and_only_an_operator_replaces_it() {
    let server = place::fleet_builder().start().await;
    let fleet = fleet(&place::url(server.addr()), LONG);
    let sound = fleet.agree("up", trip()).await.unwrap().accord.encode();
    let with = |place: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[place] = byte;
        bytes
    };
    let mut connection = server.connection().await;
    let mut put = async |bytes: &[u8]| {
        let mut write = redis::cmd("HSET");
        write.arg(RECORDS).arg("up").arg(bytes).exec_async(&mut connection).await.unwrap();
    };
    for (what, bytes, error) in [
        ("nothing", Vec::new(), FleetError::Corrupt),
        ("text", b"nan".to_vec(), FleetError::Corrupt),
        ("cut", sound[..50].to_vec(), FleetError::Corrupt),
        ("too long", [sound.clone(), vec![0]].concat(), FleetError::Corrupt),
        ("10 MB", vec![b'f'; 10_000_000], FleetError::Corrupt),
        ("no such state", with(2, b'x'), FleetError::Corrupt),
        ("a generation beyond counting", with(10, 0xff), FleetError::Corrupt),
        ("an end beyond counting", with(18, 0x20), FleetError::Corrupt),
        ("successes where there are none", with(19, 1), FleetError::Corrupt),
        ("a holder where there is none", with(30, 1), FleetError::Corrupt),
        ("a later version", with(1, b'2'), FleetError::Version),
    ] {
        put(&bytes).await;
        let told = fleet.agree("up", trip()).await;
        assert_eq!(told, Err(error), "{what}");
        let force = fleet.agree("up", step(0, Motion::Force(Forced::Open))).await;
        match error {
            FleetError::Version => assert_eq!(force, Err(error), "{what}"),
            _ => assert_eq!(force.unwrap().accord.state, AccordState::ForcedOpen, "{what}"),
        }
        assert_eq!(fleet.agree("other", trip()).await.map(|_| ()), Ok(()), "{what}");
    }
}

#[tokio::test]
async fn r10_keys_of_another_type_are_refused_and_left_as_they_are() {
    for (key, other) in [(RECORDS, CHANGES), (CHANGES, RECORDS)] {
        let server = place::fleet_builder().start().await;
        let fleet = fleet(&place::url(server.addr()), LONG);
        server.command(&["SET", key, "of somebody else"]).await;
        for motion in [Motion::Force(Forced::Open), Motion::Lift] {
            let told = fleet.agree("up", step(0, motion)).await;
            assert_eq!(told.map(|_| ()), Err(FleetError::Refused), "{key}");
        }
        let told = fleet.changed_since(Cursor::START).await;
        assert_eq!(told.map(|_| ()), Err(FleetError::Refused), "{key}");
        assert_eq!(server.text(&["GET", key]).await, "of somebody else");
        assert_eq!(server.command(&["EXISTS", other]).await, redis::Value::Int(0));
    }
}

#[tokio::test]
async fn r08_r11_r14_a_server_that_does_not_write_now_is_unavailable() {
    let server = place::fleet_builder().start().await;
    let fleet = fleet(&place::url(server.addr()), LONG);
    let record = fleet.agree("up", trip()).await.unwrap().accord;
    server.command(&["REPLICAOF", "127.0.0.1", "1"]).await;
    assert_eq!(fleet.agree("b", trip()).await, Err(FleetError::Unavailable));
    server.command(&["REPLICAOF", "NO", "ONE"]).await;
    let again = wait::until_some(|| async { fleet.agree("up", trip()).await.ok() }).await;
    assert_eq!(again.map(|agreed| agreed.accord), Some(record));
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    assert_eq!(fleet.agree("b", trip()).await, Err(FleetError::Unavailable), "OOM");
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(fleet.agree("b", trip()).await.map(|it| it.accord == Accord::FRESH), Ok(false));
    server.kill();
    let gone = fleet.agree("b", trip()).await.unwrap_err();
    assert!(matches!(gone, FleetError::Timeout | FleetError::Unavailable), "{gone}");
    assert_eq!(fleet.agree("b", trip()).await, Err(FleetError::Unavailable));
}
