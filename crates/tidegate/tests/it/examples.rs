//! The examples do what their comments say. They are compiled into this test, so that it cannot run
//! one that was built earlier.

#[path = "../../examples/five_lines.rs"]
#[expect(dead_code, reason = "its `main`")]
mod five_lines;
#[path = "../../examples/fleet.rs"]
#[expect(dead_code, reason = "its `main`")]
mod fleet;
#[path = "../../examples/from_file.rs"]
#[expect(dead_code, reason = "its `main`")]
mod from_file;
#[path = "../../examples/settle.rs"]
#[expect(dead_code, reason = "its `main`")]
mod settle;

use tidegate::ready;
use tidegate_test::servers::RunningServer;

#[test]
fn five_lines_admit_two_of_three() {
    let mut out = Vec::new();
    ready(five_lines::run(&mut out)).expect("memory never waits").unwrap();
    let said = String::from_utf8(out).unwrap();
    assert_eq!(said, "request 1: admit\nrequest 2: admit\nrequest 3: deny\n");
}

#[test]
fn a_file_is_read_and_reloaded() {
    let mut out = Vec::new();
    from_file::run(&mut out, from_file::EXAMPLE).unwrap();
    let said = String::from_utf8(out).unwrap();
    let lines: Vec<_> = said.lines().collect();
    let verdicts = lines.iter().map(|line| line.split([';', ' ']).nth(1).unwrap());
    let expected = ["admitted", "denied", "denied", "admitted", "admitted", "denied"];
    assert!(verdicts.eq(expected), "{said}");
    assert!(lines[1].starts_with("acme: denied by `once`; come back in 59.9"), "{said}");
}

#[test]
fn what_was_not_used_is_given_back_once() {
    let mut out = Vec::new();
    ready(settle::run(&mut out)).expect("memory never waits").unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "charged 4000: 6000 left\nsettled for 1500: 2500 given back\n\
         settled again: the ticket was settled before; nothing was changed\nnow: 8500 left\n"
    );
}

#[tokio::test]
async fn a_fleet_on_redis_admits_as_many_as_one_node() {
    let server = RunningServer::start().await;
    let mut out = Vec::new();
    fleet::run(&mut out, &server.url()).await.unwrap();
    let said = String::from_utf8(out).unwrap();
    assert_eq!(said, "node 1: admit\nnode 2: admit\nnode 1: deny\nnode 2: deny\n");
}
