//! Policies swapped while requests come.

use serde_json::json;
use tidegate_core::{Dimension, FailureMode, Limit, PolicySet, PolicySpec, Scope};

use crate::world::{World, bucket, name};

pub(crate) fn with_burst(burst: u64) -> tidegate_core::PolicySetBuilder {
    let limit = Limit::new(name("burst"), Scope::of([Dimension::Org]), bucket(1, burst));
    let api = PolicySpec::new(name("api"), FailureMode::FailOpen).limit(limit);
    PolicySet::builder().policy(api)
}

#[test]
fn a_reload_is_seen_by_the_next_request() {
    let world = World::new();
    let mut client = world.client();
    let ask = json!({"policy": "api", "subject": {"org": "acme"}}).to_string();
    assert_eq!(client.post("/v1/decide", ask.as_bytes()).status, 422, "there was no such limit");
    world.engine.reload(&with_burst(7)).unwrap();
    world.handle.count_reload(true);
    let decided = client.post("/v1/decide", ask.as_bytes()).json();
    assert_eq!((&decided["limit"], &decided["remaining"]), (&json!(7), &json!(6)));
    assert_eq!(client.post("/v1/decide", br#"{"policy":"queue"}"#).status, 404);
    let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
    assert!(metrics.contains("tidegate_policies 1\n"));
    assert!(metrics.contains("tidegate_reloads_total{result=\"accepted\"} 1\n"));
    assert!(metrics.contains("tidegate_decisions_total{policy=\"api\",verdict=\"admit\"} 1\n"));
    assert!(!metrics.contains("policy=\"queue\""), "what is gone has no series");
}

#[test]
fn counts_survive_a_reload() {
    let world = World::new();
    let ask = json!({"policy": "api", "subject": {"org": "acme"}});
    world.engine.reload(&with_burst(2)).unwrap();
    for _ in 0..3 {
        world.post("/v1/decide", &ask);
    }
    world.engine.reload(&with_burst(1)).unwrap();
    world.post("/v1/decide", &ask);
    let metrics = String::from_utf8(world.get("/metrics").body).unwrap();
    for line in [
        "tidegate_decisions_total{policy=\"api\",verdict=\"admit\"} 2\n",
        "tidegate_decisions_total{policy=\"api\",verdict=\"deny\"} 2\n",
        "tidegate_refusals_total{policy=\"api\",limit=\"burst\"} 2\n",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}
