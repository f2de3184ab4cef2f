//! Probes: when they are made, and which of their results count.

use super::*;

const BAD: Result<(), Failure> = Err(Failure::Backend);

#[test]
fn p57_one_request_and_a_store_that_hangs_degrade_within_ten_seconds() {
    let mut node = Driven::normal();
    node.fail(at(0));
    // A deadline may be as long as the pause between two probes: then the next one always comes first.
    let mut late = None;
    while node.mode() == Mode::Normal {
        let due = node.machine.due().expect("a suspected store is probed");
        let probe = node.poll(due);
        if let Some(late) = late {
            node.step(Input::Probed(late, BAD), due);
        }
        late = probe;
    }
    let [tripped] = node.changes()[..] else { panic!("{:?}", node.told) };
    assert!(tripped.at <= at(10), "{tripped:?}");
}

#[test]
fn p54_a_probe_without_a_result_restarts_the_two_minutes() {
    let mut node = Driven::degraded();
    node.heal_until(before(at(240)));
    let hangs = node.poll(at(240)).unwrap();
    node.heal_until(before(at(365)));
    assert_eq!(node.mode(), Mode::Degraded, "healthy since 245 s only");
    assert_eq!(node.step(Input::Probed(hangs, Ok(())), before(at(365))), Outputs::default());
    node.heal_until(at(365));
    assert_eq!(node.mode(), Mode::Normal);
}

#[test]
fn p58_a_probe_has_one_result() {
    let mut node = Driven::normal();
    node.fail(at(0));
    let probe = node.poll(at(2)).unwrap();
    for _ in 0..3 {
        node.step(Input::Probed(probe, BAD), at(3));
    }
    assert_eq!(node.machine.failures(), 2, "the request, and the probe once");
    assert_eq!(node.mode(), Mode::Normal);
}

#[test]
fn p58_a_probe_that_was_overtaken_says_nothing() {
    let mut node = Driven::degraded();
    node.heal_until(before(at(100)));
    let overtaken = node.poll(at(100)).unwrap();
    node.heal_until(at(110));
    let before = node.clone();
    for result in [Ok(()), BAD, Err(Failure::Refused)] {
        assert_eq!(node.step(Input::Probed(overtaken, result), at(110)), Outputs::default());
    }
    assert_eq!(node.machine, before.machine);
}
