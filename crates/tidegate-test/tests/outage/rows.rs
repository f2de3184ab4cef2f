//! Requests that are charged to rows, while the store is away: each node has its part of every row.

use std::sync::Arc;

use tidegate_core::{
    Bucket, Bundle, Case, Clock as _, Dimension, FailureMode, FleetSize, Limit, ManualClock, Mode,
    PolicySet, PolicySpec, Protects, Rate, RowId, Scope, Shape, Span, Subject, Timestamp,
};
use tidegate_engine::Engine;
use tidegate_stores::redis::RedisStore;
use tidegate_test::lua::secret;
use tidegate_test::servers::RunningServer;

use crate::node::store;
use crate::policies::name;

/// Of three nodes, each with a third of every row.
const NODES: u32 = 3;

struct Outbound {
    clock: Arc<ManualClock>,
    engine: Engine<RedisStore>,
    rows: Bundle,
}

/// A bucket that fills in a day.
fn row(id: u128, by: &[Dimension], burst: u64) -> Arc<Limit> {
    let rate = Rate::try_new(burst, Span::DAY).unwrap();
    let shape = Shape::Bucket(Bucket::try_new(rate, burst).unwrap());
    let limit = Limit::new(name("row"), Scope::of(by.iter().copied()), shape);
    Arc::new(limit.as_row(RowId::from_u128(id), &"top".into()).unwrap())
}

impl Outbound {
    fn at(url: &str) -> Self {
        let patient = *PolicySpec::DEADLINES.end();
        let stance = PolicySpec::stance(name("calls"), FailureMode::Degraded)
            .protecting(Protects::Outbound)
            .fleet_size(FleetSize::new(NODES).unwrap())
            .deadline(patient);
        let set = PolicySet::builder().policy(stance).build(None).unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
        let engine =
            Engine::new(store(url, patient), set)
                .sharing(&secret())
                .timed_by(Arc::<ManualClock>::clone(&clock));
        // The route has twelve for each tenant, the tenant above thirty for all of them.
        let rows = Bundle::try_new(vec![row(1, &[Dimension::Org], 12), row(2, &[], 30)]).unwrap();
        Self { clock, engine, rows }
    }

    async fn ask(&self, tenant: &str) -> (bool, Mode) {
        let set = Arc::clone(&self.engine.policies());
        let subject = Subject::new().org(tenant);
        let mut case = Case::over(set.get("calls").unwrap(), &self.rows, &subject);
        let decision = self.engine.decide(&mut case).await.unwrap();
        (decision.is_admitted(), decision.mode())
    }

    /// How many requests of this tenant pass, one after the other, all of them in this mode.
    async fn admitted(&self, tenant: &str, mode: Mode) -> usize {
        for passed in 0.. {
            match self.ask(tenant).await {
                (true, seen) => assert_eq!(seen, mode),
                (false, seen) => {
                    assert_eq!(seen, mode);
                    return passed;
                }
            }
        }
        unreachable!("a limit refuses some time")
    }

    /// Lets seconds pass, with the probes that are due meanwhile.
    async fn pass(&self, secs: u64) {
        for _ in 0..secs {
            self.clock.advance(Span::SECOND);
            for due in self.engine.poll(self.clock.now()) {
                self.engine.probe(due).await;
            }
        }
    }
}

#[tokio::test]
async fn p28_p43_rows_are_held_to_the_part_of_a_node_in_an_outage_and_nothing_comes_back_from_it() {
    let server = RunningServer::builder().args(["--appendonly", "yes"]).start().await;
    let node = Outbound::at(&server.url());
    node.pass(1).await;
    for _ in 0..5 {
        assert_eq!(node.ask("acme").await, (true, Mode::Normal));
    }
    server.kill();
    // From the first failure on: four of twelve for a tenant, ten of thirty for all.
    assert_eq!(node.admitted("acme", Mode::Degraded).await, 4);
    assert_eq!(node.admitted("brio", Mode::Degraded).await, 4);
    assert_eq!(node.admitted("cold", Mode::Degraded).await, 2, "all together have ten");
    assert_eq!(node.admitted("acme", Mode::Degraded).await, 0);
    node.pass(60).await;
    assert_eq!(node.admitted("dear", Mode::Degraded).await, 0);
    server.restart().await;
    node.pass(235).await;
    assert_eq!(node.admitted("acme", Mode::Degraded).await, 0, "five minutes at least");
    node.pass(60).await;
    // What was counted before the outage counts, what was admitted in it does not.
    assert_eq!(node.admitted("acme", Mode::Normal).await, 12 - 5);
    assert_eq!(node.admitted("brio", Mode::Normal).await, 12);
    assert_eq!(node.admitted("cold", Mode::Normal).await, 30 - 12 - 12);
}
