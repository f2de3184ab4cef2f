//! Another server takes over, and may not know the latest counts.

use tidegate_core::{Changes, Clock as _, Mode, Span, Store as _};
use tidegate_test::servers::{RunningServer, Sentinel, wait};
use tidegate_test::sim::trace::{Observation, StoreOutcome, Truth, What};

use crate::figures::{self, Figures};
use crate::node::Node;
use crate::people::{OWNER, Person};
use crate::policies::{self, ADMIN, API, LOGIN, OTP};
use crate::table::Row;
use crate::world::{World, all};

/// So many attempts at one account pass in ten minutes.
const LIMIT: usize = 5;

fn url(set: &Sentinel) -> String {
    let hosts: Vec<String> = set.sentinel_addrs().iter().map(ToString::to_string).collect();
    format!("redis+sentinel://{}/{}", hosts.join(","), set.master_name())
}

/// Waits until the replica has everything.
async fn in_step(set: &Sentinel) {
    wait::until("the replica has caught up", async || {
        let offset = set.primary().info("master_repl_offset").await;
        set.replicas()[0].info("slave_repl_offset").await == offset
    })
    .await;
}

/// Attempts of the owner until one is refused; how many passed.
async fn spend(node: &Node) -> usize {
    let mut admitted = 0;
    while node.ask(LOGIN, OWNER).await.admitted {
        admitted += 1;
    }
    admitted
}

/// How many calls a server was asked to run scripts.
async fn scripts_run(server: &RunningServer) -> u64 {
    let stats = server.text(&["INFO", "commandstats"]).await;
    let calls = stats.lines().filter(|line| line.starts_with("cmdstat_eval"));
    let counts = calls.filter_map(|line| line.split("calls=").nth(1)?.split(',').next());
    counts.map(|count| count.parse::<u64>().unwrap()).sum()
}

#[tokio::test]
async fn r22_p52_p55_p75_failed_over_by_sentinel_without_the_latest_counts() {
    let set = Sentinel::start(1, 3).await;
    let (primary, replica) = (set.primary(), &set.replicas()[0]);
    let world = World::proven(&url(&set), 1).await;
    let node = &world.nodes[0];
    let mut healthy = Vec::new();
    for number in 0..8 {
        for policy in policies::ALL {
            let told = node.ask(policy, Person::other(number)).await;
            assert!(told.admitted, "{}", node.trouble());
            healthy.push(told.took);
        }
    }
    in_step(&set).await;
    replica.pause();
    // Or the kernel would still deliver what was written since.
    primary.command(&["CLIENT", "KILL", "TYPE", "replica"]).await;
    let spent = spend(node).await;
    assert_eq!(spent, LIMIT, "acknowledged, and nowhere else");
    let place = world.tape.place();
    primary.kill();
    world.truth(Truth::Bad);
    // On the heap: several of these futures at once would fill the stack of a test.
    let ask = |policy| Box::pin(node.ask(policy, Person::caught(0)));
    let told = all((0..8).flat_map(|_| policies::ALL.map(ask)).collect()).await;
    let failed = told.iter().filter(|told| told.mode != Mode::Degraded);
    let met: Vec<Span> = failed.map(|told| told.took).collect();
    world.all_stand(Mode::Degraded);
    let tripped = world.clock.now();
    let mut after = Vec::new();
    for round in 0..1_000 {
        for policy in policies::ALL {
            after.push(node.ask(policy, Person::other(round)).await.took);
        }
    }
    replica.resume();
    assert_eq!(set.successor(primary).await.port(), replica.port());
    world.truth(Truth::Good);
    let before = scripts_run(replica).await;
    let probed = world.tape.place();
    world.until(Mode::Normal, Span::from_secs(310)).await;
    let stayed = world.since(tripped);
    // Each good probe is two calls, and for the first of all more, with the texts of the scripts.
    let probes = good(&world.tape.since(probed));
    let run = scripts_run(replica).await - before;
    assert!(run >= probes && run <= 2 * probes + 16, "p52: {run} calls for {probes} probes");
    // The block of the owner was forgotten with his attempts.
    let again = spend(node).await;
    assert_eq!(again, spent, "p75: one fresh limit and no more");
    assert_eq!(node.engine.store().changes(), Changes { restarts: 0, failovers: 1 });
    world.tape.finish();
    let over = figures::beyond_caps(&world.tape.since(place));
    assert_eq!(over, 0);
    let figures = Figures { healthy, met, after, over, back: stayed, stayed };
    let fault = "Sentinel: the primary dies, and its replica had not got the latest writes";
    let over = format!("0; then {again} attempts at one account, those that were lost");
    Row { id: "R22", fault, over, figures: &figures }.record();
}

fn good(records: &[Observation]) -> u64 {
    let is = |record: &&Observation| {
        matches!(record.what, What::Done { outcome: StoreOutcome::Good, .. })
    };
    records.iter().filter(is).count() as u64
}

#[tokio::test]
async fn r23_p75_failed_over_while_nobody_asked_counts_where_somebody_could_get_in() {
    let set = Sentinel::start(1, 3).await;
    let world = World::proven(&url(&set), 1).await;
    let node = &world.nodes[0];
    for policy in policies::ALL {
        assert!(node.ask(policy, OWNER).await.admitted, "{}", node.trouble());
    }
    in_step(&set).await;
    let old = set.primary();
    old.kill();
    assert_eq!(set.successor(old).await.port(), set.replicas()[0].port());
    // The connection is found dead before anything is sent over it, so the new primary is found within
    // the same call, and nobody has noticed anything.
    let told = node.ask(API, OWNER).await;
    assert_eq!((told.admitted, told.mode), (true, Mode::Normal), "{}", node.trouble());
    for (policy, counted) in [(LOGIN, 1), (OTP, 1), (ADMIN, 1), (API, 0)] {
        assert_eq!(node.failures(policy), counted, "counts may be lost: {policy}");
    }
    world.all_stand(Mode::Normal);
    let lost = world.tape.since(0).iter().filter(|record| record.what == What::Lost).count();
    assert_eq!(lost, 1, "told once");
    // The probes that follow are good, and what was suspected passes.
    world.pass(Span::from_secs(11)).await;
    world.all_stand(Mode::Normal);
    assert!(policies::ALL.iter().all(|policy| node.failures(*policy) == 0));
    world.tape.finish();
}
