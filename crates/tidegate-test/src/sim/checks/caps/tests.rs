//! Two properties that follow from others, so that no trace can break them alone: their checks, by hand.

use super::*;
use crate::sim::checks::Law;

const WHO: SimClient = SimClient { account: Some(1), prefix: Some(1), agent: None };

#[test]
fn p66_one_attempt_too_many_in_an_hour_is_noticed() {
    let mut caps = Caps::new(FallbackKind::Login);
    let minutes = |count: u64| count * 60 * SECOND;
    for attempt in 0..21 {
        caps.p66_harvest_is_bounded(minutes(attempt), &WHO).unwrap();
    }
    let broken = caps.clone().p66_harvest_is_bounded(minutes(59), &WHO).unwrap_err();
    assert_eq!(broken.property, "P66");
    // An hour after the first there is room for one more.
    caps.p66_harvest_is_bounded(minutes(60), &WHO).unwrap();
}

#[test]
fn p31_one_node_that_admits_what_two_may_is_noticed() {
    let law = Law { name: "login", kind: FallbackKind::Login, deadline: 250_000 };
    let mut nodes = vec![vec![PolicyLane::new(law, 0)], vec![PolicyLane::new(law, 0)]];
    for admitted in 1..=7 {
        let caps = &mut nodes[0][0].caps;
        let keys = caps.keys(&WHO);
        caps.take(admitted, &keys);
        let holds = p31_the_fleet_admits_so_many_times_as_much(&nodes, 0, 0);
        assert_eq!(holds.is_ok(), admitted <= 6, "{admitted} admitted by two nodes");
    }
}
