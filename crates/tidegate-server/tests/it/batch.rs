//! `/v1/decide/batch`.

use serde_json::{Value, json};

use crate::world::World;

#[test]
fn each_request_is_decided_by_itself_and_in_order() {
    let world = World::new();
    let ask = json!({"policy": "api", "subject": {"org": "acme", "user": "u7"}});
    let requests = json!({"requests": [
        ask, ask, {"policy": "apii"}, ask, ask, {"policy": "api", "subject": {}},
    ]});
    let reply = world.post("/v1/decide/batch", &requests);
    assert_eq!(reply.status, 200);
    let reply = reply.json();
    let results = reply["results"].as_array().unwrap();
    let said: Vec<String> = results
        .iter()
        .map(|result| match result["verdict"].as_str() {
            Some(verdict) => verdict.to_owned(),
            None => format!("{} {}", result["status"], result["field"]),
        })
        .collect();
    assert_eq!(
        said,
        [
            "admit",
            "admit",
            "404 \"/requests/2/policy\"",
            "admit",
            "deny",
            "422 \"/requests/5/subject\"",
        ]
    );
    assert_eq!(results[2]["suggestion"], "api");
}

#[test]
fn a_batch_with_a_request_that_cannot_be_read_charges_nothing() {
    let world = World::new();
    let ask = json!({"policy": "api", "subject": {"org": "acme", "user": "u7"}});
    for (wrong, field) in [
        (json!({"policy": "api", "cost": 0}), "/requests/1/cost"),
        (json!(7), "/requests/1"),
        (json!({"policy": "api", "subject": {"ip": "x"}}), "/requests/1/subject/ip"),
        (json!({"policy": "api", "odd": 1}), "/requests/1/odd"),
    ] {
        let reply = world.post("/v1/decide/batch", &json!({"requests": [ask, wrong, ask]}));
        assert_eq!(reply.status, 400);
        assert_eq!(reply.problem()["field"], field);
    }
    let looked = world.post("/v1/peek", &ask).json();
    assert_eq!(looked["remaining"], looked["limit"], "{looked}");
}

#[test]
fn a_hundred_fit_and_one_more_does_not() {
    let world = World::with(&json!({"max_body": "256KiB"}));
    let ask = json!({"policy": "api", "subject": {"ip": "203.0.113.7"}});
    let batch = |count: usize| json!({"requests": vec![&ask; count]});
    let reply = world.post("/v1/decide/batch", &batch(100)).json();
    let admitted = |result: &&Value| result["verdict"] == "admit";
    assert_eq!(reply["results"].as_array().unwrap().iter().filter(admitted).count(), 100);
    for count in [0, 101] {
        let refused = world.post("/v1/decide/batch", &batch(count));
        assert_eq!(refused.status, 400);
        assert_eq!(refused.problem()["field"], "/requests");
    }
    let denied = world.post("/v1/decide", &ask).json();
    assert_eq!(denied["remaining"], 0, "what was refused as a whole charged nothing");
}

#[test]
fn tickets_come_with_their_results() {
    let world = World::new();
    let requests = json!({"requests": [
        {"policy": "tokens", "subject": {"org": "acme"}, "cost": 5},
        {"policy": "tokens", "subject": {"org": "acme"}, "cost": 7},
    ]});
    let reply = world.post("/v1/decide/batch", &requests).json();
    for (place, cost) in [5, 7].into_iter().enumerate() {
        let ticket = &reply["results"][place]["ticket"];
        let settled = world.post("/v1/settle", &json!({"ticket": ticket, "cost": 0}));
        assert_eq!(settled.json()["returned"], cost);
    }
}
