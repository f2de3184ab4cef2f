//! G2, G4: a fleet in Redis agrees by the rule of the core, on real servers with clocks of their own:
//! while slots move, replies get lost, connections are reset, and servers are killed.

use core::time::Duration;
use std::rc::Rc;

use tidegate_core::{
    Accord, AccordState, Changed, Cursor, Fleet, FleetError, FleetStep, Motion, Span,
};
use tidegate_stores::redis::{RedisFleet, Target};
use tidegate_test::fleet::{FleetSpans, FleetTally, conform};
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::{Flavour, RunningServer, wait};
use tokio::task::{JoinSet, LocalSet};

use crate::node::PATIENT;
use crate::place;

/// Short, because the clock of a server cannot be set.
const SPANS: FleetSpans = FleetSpans {
    window: Span::from_millis(40),
    lease: Span::from_millis(30),
    pause: Span::from_millis(20),
};

/// How long a call may take where it should not fail.
const LONG: Span = Span::from_secs(10);

pub(crate) fn fleet(url: &str, within: Span) -> RedisFleet {
    let target = Target::parse(url).unwrap().with_timeout(PATIENT.min(within.into()));
    RedisFleet::within(target, within).unwrap()
}

/// Plays the traces of some seeds at the same time, until all have ended; `trouble` is made meanwhile, over
/// and over.
async fn judge(
    fleet: &RedisFleet,
    seeds: core::ops::Range<u64>,
    mut trouble: impl AsyncFnMut(u32),
) -> FleetTally {
    let played = LocalSet::new();
    let sum = Rc::new(core::cell::Cell::new(FleetTally::default()));
    let mut traces = JoinSet::new();
    for seed in seeds {
        let (fleet, sum) = (fleet.clone(), Rc::clone(&sum));
        let trace = async move {
            let pass = async |span: Span| {
                if !span.is_zero() {
                    wait::pause(span.into()).await;
                }
            };
            let tally = conform(&fleet, seed, SPANS, pass).await.unwrap();
            let mut all = sum.get();
            all += tally;
            sum.set(all);
        };
        traces.spawn_local_on(trace, &played);
    }
    let all = async {
        while let Some(ended) = traces.join_next().await {
            ended.unwrap();
        }
    };
    let troubles = async {
        for round in 0.. {
            trouble(round).await;
        }
    };
    played
        .run_until(async {
            tokio::select! {
                () = all => {}
                () = troubles => {}
            }
        })
        .await;
    let tally = sum.get();
    println!("{tally:?}");
    assert!(tally.steps > 500 && tally.leases > 30 && tally.late > 30, "{tally:?}");
    tally
}

/// No trouble at all.
async fn none(_: u32) {
    core::future::pending::<()>().await;
}

async fn a_server_agrees(flavour: Flavour) {
    let server = place::fleet_builder().flavour(flavour).start().await;
    let fleet = fleet(&place::url(server.addr()), LONG);
    let tally = judge(&fleet, 0..20, none).await;
    assert_eq!(tally.failed, 0, "{:?}", fleet.trouble());
    assert!(tally.expired > 10, "{tally:?}");
}

#[tokio::test]
async fn g2_g4_redis_agrees_by_the_rule() {
    a_server_agrees(Flavour::Redis).await;
}

#[tokio::test]
async fn g2_g4_valkey_8_agrees_by_the_rule() {
    a_server_agrees(Flavour::Valkey8).await;
}

#[tokio::test]
async fn g2_g4_valkey_9_agrees_by_the_rule() {
    a_server_agrees(Flavour::Valkey9).await;
}

#[tokio::test]
async fn g2_g4_a_cluster_agrees_while_the_slot_moves() {
    let builder = place::fleet_builder().flavour(Flavour::Redis);
    let cluster = tidegate_test::servers::RunningCluster::start_from(3, 0, &builder).await;
    let fleet = fleet(&place::cluster_url(&cluster), LONG);
    let slot = cluster.slot_of("{fleet}").await;
    let moves = core::cell::Cell::new(0);
    let tally = judge(&fleet, 0..20, async |round| {
        let from = cluster.node_of_slot(slot).await;
        let others = cluster.masters().iter().filter(|node| node.port() != from.port());
        let to = others.cycle().nth(round as usize % 2).unwrap();
        wait::pause(Duration::from_millis(50)).await;
        cluster.move_slot_begin(slot, to).await;
        wait::pause(Duration::from_millis(20)).await;
        for key in ["tg:{fleet}:records", "tg:{fleet}:changes"] {
            cluster.migrate_key(key, to).await;
            wait::pause(Duration::from_millis(10)).await;
        }
        cluster.move_slot_end(slot, to).await;
        moves.set(moves.get() + 1);
    })
    .await;
    assert!(moves.get() >= 3, "the slot has moved {} times", moves.get());
    assert!(tally.failed > 0, "some steps meet a slot whose keys are apart: {tally:?}");
    let redirects = cluster.nodes().iter();
    let mut moved = 0;
    for node in redirects {
        let stats = node.text(&["INFO", "errorstats"]).await;
        moved += usize::from(stats.contains("errorstat_MOVED") || stats.contains("errorstat_ASK"));
    }
    assert!(moved > 0, "nobody was redirected");
}

#[tokio::test]
async fn g2_g4_a_fleet_agrees_when_replies_are_lost_and_connections_reset() {
    let server = place::fleet_builder().start().await;
    let proxy = Proxy::start(server.addr()).await;
    let fleet = fleet(&place::url(proxy.addr()), Span::from_millis(60));
    let tally = judge(&fleet, 0..20, async |round| {
        let brief = wait::pause(Duration::from_millis(30));
        match round % 6 {
            0 => proxy.drop_replies(true),
            2 => proxy.kill_all(),
            // In the middle of a step, or of its answer.
            3 => proxy.reset_after_up(Some(u64::from(round) * 37 % 900)),
            4 => {
                proxy.reset_after_up(None);
                proxy.reset_after_down(Some(u64::from(round) * 53 % 400));
            }
            _ => {
                proxy.drop_replies(false);
                proxy.reset_after_up(None);
                proxy.reset_after_down(None);
                wait::pause(Duration::from_millis(60)).await;
            }
        }
        brief.await;
    })
    .await;
    assert!(tally.failed > 100, "{tally:?}");
}

#[tokio::test]
async fn g2_g4_a_fleet_agrees_when_its_server_is_killed_and_knows_what_it_had() {
    let server = place::fleet_builder().args(["--appendonly", "yes", "--appendfsync", "always"]);
    let server = server.start().await;
    let fleet = fleet(&place::url(server.addr()), Span::from_millis(500));
    let kills = core::cell::Cell::new(0);
    let tally = judge(&fleet, 0..20, async |_| {
        wait::pause(Duration::from_millis(250)).await;
        server.restart_with(&["--appendonly", "yes", "--appendfsync", "always"]).await;
        kills.set(kills.get() + 1);
    })
    .await;
    assert!(kills.get() >= 2 && tally.failed > 10, "{} kills: {tally:?}", kills.get());
}

/// Sends one step until it is answered.
async fn surely(fleet: &RedisFleet, name: &str, step: FleetStep) -> tidegate_core::Agreed {
    let answered = wait::until_some(|| async { fleet.agree(name, step).await.ok() }).await;
    answered.unwrap_or_else(|| panic!("never again: {:?}", fleet.trouble()))
}

async fn changes(fleet: &RedisFleet, cursor: Cursor) -> Changed {
    let answered = wait::until_some(|| async { fleet.changed_since(cursor).await.ok() }).await;
    answered.unwrap_or_else(|| panic!("never again: {:?}", fleet.trouble()))
}

fn trip(seen: u64) -> FleetStep {
    FleetStep { seen, motion: Motion::Trip { window: Span::from_secs(10) } }
}

#[tokio::test]
async fn g4_a_fleet_that_lost_its_memory_says_so_and_goes_on_higher() {
    let server = place::fleet_builder().start().await;
    let fleet = fleet(&place::url(server.addr()), LONG);
    let open = surely(&fleet, "up", trip(0)).await.accord;
    surely(&fleet, "other", trip(0)).await;
    let before = changes(&fleet, Cursor::START).await;
    assert_eq!(before.accords.len(), 2);
    server.restart().await;
    let empty = changes(&fleet, before.cursor).await;
    assert!(empty.accords.is_empty() && empty.cursor.life != before.cursor.life);
    let again = surely(&fleet, "up", trip(open.generation)).await;
    assert!(again.lost && again.accord.generation > open.generation, "{again:?}");
    // Another one has never heard of what was lost, and its record is higher all the same.
    let other = surely(&fleet, "other", trip(0)).await;
    assert!(!other.lost && other.accord.generation > open.generation);
    let after = changes(&fleet, before.cursor).await;
    assert_eq!(after.accords.len(), 2, "a cursor of the life before is one from the beginning");
    assert_ne!(after.cursor.life, before.cursor.life);
}

#[tokio::test]
async fn g4_the_primary_fails_over_and_the_fleet_goes_on() {
    let set = tidegate_test::servers::Sentinel::start_from(1, 3, &place::fleet_builder()).await;
    let fleet = fleet(&place::sentinel_url(&set), LONG);
    let open = surely(&fleet, "up", trip(0)).await.accord;
    let cursor = changes(&fleet, Cursor::START).await.cursor;
    set.primary().kill();
    let answer = surely(&fleet, "up", trip(open.generation)).await;
    assert!(matches!(answer.accord.state, AccordState::Open { .. }));
    assert!(answer.accord.generation >= open.generation);
    let next = surely(&fleet, "next", trip(0)).await.accord;
    let heard = changes(&fleet, cursor).await.accords;
    assert!(heard.contains(&("next".to_owned(), next)), "{heard:?}");
}

#[tokio::test]
async fn what_is_closed_expires_and_what_is_open_stays() {
    for flavour in Flavour::ALL {
        let server = place::fleet_builder().flavour(flavour).start().await;
        let fleet = fleet(&place::url(server.addr()), LONG);
        let ttls = async |server: &RunningServer| {
            let mut ttls = Vec::new();
            for key in ["tg:{fleet}:records", "tg:{fleet}:changes"] {
                let left = server.command(&["PTTL", key]).await;
                ttls.push(redis::from_redis_value::<i64>(left).unwrap());
            }
            ttls
        };
        let open = surely(&fleet, "up", trip(0)).await.accord;
        assert_eq!(ttls(&server).await, [-1, -1], "an open record stays");
        let force = Motion::Force(tidegate_core::Forced::Closed);
        let forced = FleetStep { seen: open.generation, motion: force };
        let forced = surely(&fleet, "up", forced).await.accord;
        assert_eq!(ttls(&server).await, [-1, -1], "so does a forced one");
        let lift = FleetStep { seen: forced.generation, motion: Motion::Lift };
        surely(&fleet, "up", lift).await;
        for left in ttls(&server).await {
            assert!((3_590_000..=3_600_001).contains(&left), "{flavour:?}: {left}");
        }
        // An hour later, which the server is told by the numbers of its keys.
        for key in ["tg:{fleet}:records", "tg:{fleet}:changes"] {
            server.command(&["PEXPIRE", key, "1"]).await;
        }
        wait::until("both are gone", || async {
            server.command(&["DBSIZE"]).await == redis::Value::Int(0)
        })
        .await;
        let fresh = surely(&fleet, "up", FleetStep { seen: 0, motion: Motion::Lift }).await;
        assert_eq!(fresh.accord, Accord::FRESH);
    }
}

#[tokio::test]
async fn a_call_to_a_silent_fleet_ends_at_its_deadline() {
    let server = place::fleet_builder().start().await;
    // Through the door that production uses.
    let fleet = RedisFleet::new(Target::parse(&place::url(server.addr())).unwrap()).unwrap();
    surely(&fleet, "up", trip(0)).await;
    server.pause();
    let late = tokio::time::timeout(Duration::from_secs(2), fleet.agree("up", trip(0))).await;
    assert_eq!(late.expect("in time"), Err(FleetError::Timeout));
    server.resume();
    surely(&fleet, "up", trip(0)).await;
}
