//! Numbers that come from a database or a claim.

use tidegate_core::{Bucket, Name, Rate, Shape, Span};
use tidegate_tower::{Identity, Plan};

use crate::world::{POLICIES, World, acme};

/// A bucket of the limit by token.
fn token(burst: u64) -> (Name, Shape) {
    let bucket = Bucket::try_new(Rate::per_second(1).unwrap(), burst).unwrap();
    (Name::try_new("token").unwrap(), Shape::Bucket(bucket))
}

/// Whoever has the role `generous` has the numbers of their claim.
fn claimed(identity: &Identity) -> Option<Plan> {
    identity.has_role("generous").then(|| Plan::of([token(3)]))
}

#[test]
fn numbers_of_a_claim_hold_for_whoever_has_it() {
    let world = World::with(POLICIES, |gate| gate.limits_from(claimed));
    let generous = acme().roles(["generous"]);
    assert_eq!(world.statuses("/reports/1", &generous, 4), [200, 200, 200, 429]);
    let other = Identity::new("globex").token("t1").scopes(["reports:read"]);
    assert_eq!(world.statuses("/reports/1", &other, 3), [200, 200, 429], "the usual numbers");
}

#[test]
fn a_reload_forgets_what_was_learnt_and_learns_it_again() {
    let world = World::with(POLICIES, |gate| gate.limits_from(claimed));
    let generous = acme().roles(["generous"]);
    assert_eq!(world.statuses("/reports/1", &generous, 1), [200]);
    let same: tidegate_engine::file::File =
        tidegate_engine::file::File::parse("policies.yaml", POLICIES).unwrap();
    world.gate.reload(same.policies()).unwrap();
    assert_eq!(world.statuses("/reports/1", &generous, 3), [200, 200, 429], "and nothing is free");
}

#[test]
fn who_changes_plan_keeps_what_was_used() {
    let world = World::with(POLICIES, |gate| gate.limits_from(claimed));
    assert_eq!(world.statuses("/reports/1", &acme(), 3), [200, 200, 429]);
    let upgraded = acme().roles(["generous"]);
    assert_eq!(world.statuses("/reports/1", &upgraded, 1), [429], "nothing is granted by it");
    world.pass_time(Span::from_secs(1));
    assert_eq!(world.statuses("/reports/1", &upgraded, 1), [200]);
}

#[test]
fn plans_that_are_written_are_named() {
    let usual = "{ name: token, by: [org, token, class], bucket: { rate: 1/s, burst: 2 } }";
    let gold = "{ name: token, by: [org, token, class], bucket: { rate: 1/s, burst: 2 }, overrides: [ { match: { plan: gold }, bucket: { burst: 3 } } ] }";
    assert!(POLICIES.contains(usual));
    let named = |identity: &Identity| identity.has_role("gold").then(|| Plan::named("gold"));
    let world = World::with(&POLICIES.replace(usual, gold), |gate| gate.limits_from(named));
    let asked = world.statuses("/reports/1", &acme().roles(["gold"]), 4);
    assert_eq!(asked, [200, 200, 200, 429]);
}

#[test]
fn numbers_that_cannot_be_learnt_leave_the_usual_ones() {
    let wrong = |_: &Identity| Some(Plan::of([(Name::try_new("nothing").unwrap(), token(9).1)]));
    let world = World::with(POLICIES, |gate| gate.limits_from(wrong));
    assert_eq!(world.statuses("/reports/1", &acme(), 3), [200, 200, 429]);
}
