//! `/v1/settle`.

use serde_json::{Value, json};
use tidegate_core::{Span, Ticket};

use crate::world::World;

fn decide(world: &World, cost: u64) -> Value {
    let ask = json!({"policy": "tokens", "subject": {"org": "acme"}, "cost": cost});
    world.post("/v1/decide", &ask).json()
}

#[test]
fn what_was_not_used_comes_back_once() {
    let world = World::new();
    let decided = decide(&world, 60);
    assert_eq!(decided["remaining"], 40);
    let settlement = json!({"ticket": decided["ticket"], "cost": 10});
    let settled = world.post("/v1/settle", &settlement);
    assert_eq!(settled.status, 200);
    assert_eq!(settled.json(), json!({"returned": 50, "added": 0}));
    assert_eq!(decide(&world, 1)["remaining"], 89);
    let again = world.post("/v1/settle", &settlement);
    assert_eq!(again.status, 409);
    assert_eq!(again.problem()["field"], "/ticket");
    assert_eq!(decide(&world, 1)["remaining"], 88, "nothing was moved");
}

#[test]
fn zero_gives_all_back_and_more_is_taken() {
    let world = World::new();
    let ticket = decide(&world, 60)["ticket"].clone();
    let settled = world.post("/v1/settle", &json!({"ticket": ticket, "cost": 0}));
    assert_eq!(settled.json(), json!({"returned": 60, "added": 0}));
    let ticket = decide(&world, 10)["ticket"].clone();
    let settled = world.post("/v1/settle", &json!({"ticket": ticket, "cost": 35}));
    assert_eq!(settled.json(), json!({"returned": 0, "added": 25}));
    assert_eq!(decide(&world, 1)["remaining"], 64);
}

#[test]
fn only_the_admitted_get_a_ticket_and_only_where_a_limit_settles() {
    let world = World::new();
    assert!(decide(&world, 1)["ticket"].is_string());
    assert_eq!(decide(&world, 1_000).get("ticket"), None, "denied");
    let other = json!({"policy": "api", "subject": {"ip": "203.0.113.7"}});
    assert_eq!(world.post("/v1/decide", &other).json().get("ticket"), None);
}

#[test]
fn tickets_that_are_not_ours_change_nothing() {
    let world = World::new();
    let ticket = decide(&world, 60)["ticket"].as_str().unwrap().to_owned();
    let altered = ticket.replace(|letter: char| letter.is_ascii_lowercase(), "x");
    for wrong in ["", "AQ", "not a ticket!", &altered, &ticket[1..], &format!("{ticket}A")] {
        let refused = world.post("/v1/settle", &json!({"ticket": wrong, "cost": 0}));
        assert_eq!(refused.status, 400, "{wrong}");
        assert_eq!(refused.problem()["field"], "/ticket");
    }
    assert_eq!(decide(&world, 1)["remaining"], 39);
}

#[test]
fn a_ticket_expires() {
    let world = World::new();
    let ticket = decide(&world, 60)["ticket"].clone();
    world.clock.advance(Ticket::LIFE);
    world.clock.advance(Span::SECOND);
    let late = world.post("/v1/settle", &json!({"ticket": ticket, "cost": 0}));
    assert_eq!(late.status, 410);
    assert_eq!(late.problem()["type"], "urn:tidegate:problem:ticket-expired");
}
