//! `/admin/quotas`: what any organisation has left.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_core::{
    Counts, Dimension, FailureMode, Limit, ManualClock, Override, Period, PolicySet,
    PolicySetBuilder, PolicySpec, Quota, Scope, Shape, Span, Store, StoreError,
};
use tidegate_engine::memory::MemoryStore;
use tidegate_test::stub::Stub;

use crate::admin::{TOKEN, bearer, send};
use crate::raw::Reply;
use crate::world::{BUDGET, Memory, NOW, World, bucket, name};

/// Quotas by organisation, one of them for a class, one for each user, one that refuses nobody; one that
/// is no organisation's; a policy that counts users alone; and a policy without any.
fn policies() -> PolicySetBuilder {
    use Dimension::{Class, Org, User};
    let quota = |text: &str, by: &[Dimension], count, per| {
        let quota = Quota::try_new(count, Period::Fixed(per), Counts::Admitted).unwrap();
        let scope = Scope::of(by.iter().copied());
        Limit::new(name(text), scope, Shape::Quota(quota)).with_named_key()
    };
    let burst = |text| Limit::new(name(text), Scope::of([Org]), bucket(9, 9)).with_named_key();
    let more = Quota::try_new(500, Period::Fixed(Span::DAY), Counts::Admitted).unwrap();
    let more = Override::exact(Org, "globex", Shape::Quota(more)).unwrap();
    let tokens = PolicySpec::new(name("tokens"), FailureMode::Degraded)
        .limit(quota("daily", &[Org], 100, Span::DAY).overridden(more).unwrap())
        .limit(quota("own", &[User], 20, Span::DAY))
        .limit(quota("each", &[Org, User], 10, Span::HOUR))
        .limit(quota("seen", &[Org], 1, Span::DAY).in_shadow())
        .limit(burst("burst"));
    let write = PolicySpec::new(name("write"), FailureMode::Degraded)
        .class(name("write"))
        .limit(quota("hourly", &[Org, Class], 5, Span::HOUR));
    let users = PolicySpec::new(name("users"), FailureMode::Degraded).limit(quota(
        "hourly",
        &[Org, User],
        50,
        Span::HOUR,
    ));
    let api = PolicySpec::new(name("api"), FailureMode::FailOpen).limit(burst("api"));
    PolicySet::builder().policy(tokens).policy(write).policy(users).policy(api)
}

fn world() -> World {
    let clock = Arc::new(ManualClock::new(NOW));
    let store: Memory = MemoryStore::new(BUDGET, Arc::clone(&clock));
    World::serving(&json!({}), store, clock, policies(), Some(TOKEN))
}

fn ask<S: Store + 'static>(world: &World<S>, query: &str) -> Reply {
    send(world, &format!("GET /admin/quotas?{query}"), &bearer(TOKEN), "")
}

/// Policy, limit, capacity and remainder of each quota.
fn left(world: &World, query: &str) -> Vec<(String, u64, u64)> {
    let reply = ask(world, query);
    assert_eq!(reply.status, 200, "{reply:?}");
    let told = reply.json();
    let of = |quota: &Value| {
        let name = |field: &str| quota[field].as_str().unwrap().to_owned();
        let number = |field: &str| quota[field].as_u64().unwrap();
        let called = format!("{}/{}/{}", name("policy"), name("limit"), name("by"));
        (called, number("capacity"), number("remaining"))
    };
    told["quotas"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn an_operator_can_ask_what_any_organisation_has_left() {
    let world = world();
    let subject = json!({"org": "acme", "user": "u7", "class": "write"});
    for (policy, cost) in [("tokens", 7), ("write", 2)] {
        let ask = json!({"policy": policy, "subject": subject, "cost": cost});
        assert_eq!(world.post("/v1/decide", &ask).json()["verdict"], "admit", "{policy}");
    }
    let of = |name: &str, capacity, remaining| (name.to_owned(), capacity, remaining);
    for _ in 0..2 {
        let acme = [of("tokens/daily/org", 100, 93), of("write/hourly/org+class", 5, 3)];
        assert_eq!(left(&world, "org=acme"), acme, "and asking costs nothing");
    }
    let fresh = [of("tokens/daily/org", 100, 100), of("write/hourly/org+class", 5, 5)];
    assert_eq!(left(&world, "org=nobody+has+heard+of"), fresh);
    let with_user = [
        of("tokens/daily/org", 100, 93),
        of("tokens/each/org+user", 10, 3),
        of("users/hourly/org+user", 50, 50),
        of("write/hourly/org+class", 5, 3),
    ];
    assert_eq!(left(&world, "org=acme&user=u7"), with_user);
    assert_eq!(left(&world, "org=globex")[0], of("tokens/daily/org", 500, 500), "an override");
    let daily = ask(&world, "org=acme").json()["quotas"][0].clone();
    assert_eq!(daily["reset_at"], "2027-01-16T00:00:00.000000Z");
    assert_eq!(daily["reset_after"], 16 * 3_600);
}

#[test]
fn it_is_for_operators_and_about_an_organisation() {
    let world = world();
    assert_eq!(send(&world, "GET /admin/quotas?org=acme", "", "").status, 401);
    let posted = send(&world, "POST /admin/quotas?org=acme", &bearer(TOKEN), "");
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET, HEAD")));
    for (query, field) in [
        ("", "/org"),
        ("user=u7", "/org"),
        ("org=acme&org=acme", "/org"),
        ("org=acme&tier=gold", "/tier"),
        ("org=acme&cost=2", "/cost"),
    ] {
        let refused = ask(&world, query);
        assert_eq!((refused.status, &refused.problem()["field"]), (400, &json!(field)), "{query}");
    }
}

#[test]
fn without_the_store_nobody_is_told_a_wrong_number() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store: Stub = Stub::in_memory(&clock);
    let wire = Arc::clone(store.wire());
    let world = World::serving(&json!({}), store, clock, policies(), Some(TOKEN));
    assert_eq!(ask(&world, "org=acme").status, 200);
    wire.fail(StoreError::Contended);
    let shed = ask(&world, "org=acme");
    assert_eq!((shed.status, shed.header("retry-after")), (503, Some("1")));
    assert_eq!(shed.problem()["type"], "urn:tidegate:problem:overloaded");
    wire.fail(StoreError::Unavailable);
    for _ in 0..4 {
        let failed = ask(&world, "org=acme");
        assert_eq!(failed.status, 503);
        assert_eq!(failed.problem()["type"], "urn:tidegate:problem:store-failed");
    }
}
