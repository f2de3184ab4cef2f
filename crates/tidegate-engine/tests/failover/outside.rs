//! What the host can see: every change once, in order, and the same as what it can ask for.

use tidegate_core::{Mode, Signal, Span, StoreError};
use tidegate_engine::Event;

use crate::world::World;

const HERE: [u8; 4] = [203, 0, 113, 9];

#[test]
fn p79_p80_what_was_told_and_what_can_be_asked_for_agree_at_all_times() {
    let world = World::new();
    let mut told = Mode::FailClosed;
    let mut epoch = 0;
    let mut random = 7_u64;
    for step in 0..4_000 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match random >> 60 {
            0 => world.fail(Some(StoreError::Unavailable)),
            1..4 => world.fail(None),
            4..8 => {
                let _ = world.ask("login", "ann", HERE);
            }
            8..14 => world.pass(Span::from_micros(random >> 40)),
            _ => world.pass(Span::from_secs((random >> 50) % 400)),
        }
        let mut last = None;
        for (policy, signal) in world.signals() {
            let Signal::Changed(change) = signal else { continue };
            if policy.as_str() != "login" {
                continue;
            }
            assert_eq!(change.from, told, "step {step}");
            assert!(last <= Some(change.at));
            (told, epoch, last) = (change.to, change.epoch, Some(change.at));
        }
        let standing = world.engine.standing("login").unwrap();
        for (policy, signal) in world.signals() {
            if let (Signal::Changed(change), "login") = (signal, policy.as_str()) {
                (told, epoch) = (change.to, change.epoch);
            }
        }
        assert_eq!((standing.mode, standing.epoch), (told, epoch), "step {step}");
    }
    assert!(epoch > 3, "it was degraded {epoch} times");
}

#[test]
fn p22_that_a_policy_fails_open_is_told_once_and_stands_in_every_decision() {
    let world = World::proven();
    let _ = world.signals();
    world.fail(Some(StoreError::Unavailable));
    for _ in 0..2 {
        assert_eq!(world.ask("api", "ann", HERE).mode, Mode::FailOpen);
    }
    let decided: Vec<Mode> = world
        .events
        .lock()
        .unwrap()
        .iter()
        .filter_map(|event| match event {
            Event::Decided { mode, .. } => Some(*mode),
            _ => None,
        })
        .collect();
    assert_eq!(decided, [Mode::FailOpen; 2]);
    let suspected = world.signals().into_iter().filter_map(|(_, signal)| match signal {
        Signal::Suspected { mode, .. } => Some(mode),
        _ => None,
    });
    assert!(suspected.eq([Mode::FailOpen]));
}

#[test]
fn p79_that_it_goes_on_is_told_every_half_hour() {
    let world = World::proven();
    world.trip("login");
    let _ = world.signals();
    world.pass(Span::from_secs(3 * 3_600 + 60));
    let told = world.signals();
    let prolonged = |(_, signal): &&(_, Signal)| matches!(signal, Signal::Prolonged { .. });
    assert_eq!(told.iter().filter(prolonged).count(), 6);
    assert_eq!(told.len(), 6, "{told:?}");
}
