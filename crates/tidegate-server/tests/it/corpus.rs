//! What the fuzzers began with, and what they found, replayed: `fuzz/` has the targets.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use tidegate_core::ManualClock;
use tidegate_server::fuzz;
use tidegate_test::stub::{Call, Stub};

use crate::raw::post;
use crate::world::{NOW, World};

/// The inputs of one target; there are some.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    let inputs: Vec<_> = files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(!inputs.is_empty(), "{directory:?} is empty");
    inputs
}

/// Reads an input as the target does; must not panic.
fn read(target: &str, input: &[u8]) {
    match target {
        "request_body" => drop(fuzz::request_body(input)),
        "request_query" => drop(fuzz::request_query(input)),
        _ => assert!(fuzz::cost(input), "{}", String::from_utf8_lossy(input)),
    }
}

const TARGETS: [&str; 3] = ["request_body", "request_query", "cost"];

#[test]
fn every_input_of_the_corpus_is_read() {
    for target in TARGETS {
        corpus(target).iter().for_each(|input| read(target, input));
    }
}

proptest! {
    #[test]
    fn so_is_every_input_with_some_bytes_changed((target, input) in changed()) {
        read(target, &input);
    }
}

/// An input of one of the targets, with some bytes changed and perhaps cut short.
fn changed() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), 1..=u8::MAX), 1..6);
    let cut = any::<prop::sample::Index>();
    let which = any::<prop::sample::Index>();
    (prop::sample::select(TARGETS.to_vec()), which, changes, cut).prop_map(
        |(target, which, changes, cut)| {
            let inputs = corpus(target);
            let mut input = inputs[which.index(inputs.len())].clone();
            for (place, byte) in changes {
                if !input.is_empty() {
                    let place = place.index(input.len());
                    input[place] ^= byte;
                }
            }
            input.truncate(cut.index(input.len() + 1).max(input.len() / 2));
            (target, input)
        },
    )
}

/// Sends an input to every place of the server that reads such things.
fn send(world: &World<Stub>, target: &str, input: &[u8]) {
    let query: String = input.iter().map(|byte| format!("%{byte:02x}")).collect();
    let requests = match target {
        "request_query" => vec![
            format!("GET /v1/explain/api?org={query} HTTP/1.1\r\nhost: t\r\n\r\n").into_bytes(),
            format!("GET /v1/gate/api?deny={query} HTTP/1.1\r\nhost: t\r\n\r\n").into_bytes(),
        ],
        "request_body" => ["/v1/decide", "/v1/peek", "/v1/decide/batch", "/v1/settle"]
            .map(|path| post(path, input))
            .to_vec(),
        _ => {
            let text = String::from_utf8_lossy(input);
            let ask = format!(r#"{{"policy":"tokens","subject":{{"org":"a"}},"cost":{text}}}"#);
            let fact = json!({"policy": "api", "subject": {"org": text, "user": text}}).to_string();
            vec![post("/v1/decide", ask.as_bytes()), post("/v1/decide", fact.as_bytes())]
        }
    };
    for request in requests {
        let mut client = world.client();
        client.try_send(&request);
        // A connection that closes without an answer is what a panic looks like.
        let status = client.reply().status;
        assert!(status < 500, "{status}");
    }
}

#[test]
fn t24_no_input_counts_against_a_store_that_is_well() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store: Stub = Stub::in_memory(&clock);
    let wire = Arc::clone(store.wire());
    let world = World::start(&json!({}), store, clock);
    for target in TARGETS {
        corpus(target).iter().for_each(|input| send(&world, target, input));
    }
    let mut runner = TestRunner::new(Config { cases: 200, ..Config::default() });
    let sent = runner.run(&changed(), |(target, input)| {
        send(&world, target, &input);
        Ok(())
    });
    sent.unwrap();
    assert!(wire.count(Call::Charge) >= 50, "many of them are requests");
    for policy in ["api", "login", "tokens", "queue", "degrade"] {
        let standing = world.engine.standing(policy).unwrap();
        assert_eq!(standing.failures, 0, "{policy}: {standing:?}");
    }
}
