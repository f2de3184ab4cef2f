//! What the host can see: every change once, in order, and the same as what it can ask for.

use tidegate_core::{Mode, Name, Signal, Span, StoreError};
use tidegate_engine::Event;

use crate::world::World;

const HERE: [u8; 4] = [203, 0, 113, 9];

#[test]
fn p79_p80_what_was_told_and_what_can_be_asked_for_agree_at_all_times() {
    let world = World::new();
    let mut told = Mode::FailClosed;
    let (mut epoch, mut suspected) = (0, None);
    let mut random = 7_u64;
    let mut last = None;
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
        let standing = world.engine.standing("login").unwrap();
        for (_, signal) in world.signals().into_iter().filter(|(of, _)| of.as_str() == "login") {
            assert!(last <= Some(signal.at()));
            last = Some(signal.at());
            match signal {
                Signal::Suspected { mode, .. } => suspected = Some(mode),
                Signal::Cleared { .. } => suspected = None,
                Signal::Changed(change) => {
                    assert_eq!(change.from, told, "step {step}");
                    (told, epoch, suspected) = (change.to, change.epoch, None);
                }
                _ => {}
            }
        }
        let mode = suspected.unwrap_or(told);
        assert_eq!((standing.mode, standing.epoch), (mode, epoch), "step {step}");
    }
    assert!(epoch > 3, "it was degraded {epoch} times");
}

/// The gauge of modes says what requests meet, from the first failure to the first answer.
#[test]
fn p80_the_mode_is_true_before_the_trip() {
    for (policy, primary) in
        [("login", Mode::FailClosed), ("api", Mode::FailOpen), ("read", Mode::Degraded)]
    {
        let world = World::proven();
        assert_eq!(world.mode(policy), Mode::Normal);
        world.wire().fail_next([StoreError::Timeout]);
        assert_eq!(world.ask(policy, "ann", HERE).mode, primary);
        assert_eq!(world.mode(policy), primary, "what the last request met");
        assert_eq!(world.ask(policy, "ann", HERE).mode, Mode::Normal);
        assert_eq!(world.mode(policy), Mode::Normal, "it has answered since");
        assert_eq!(world.engine.standing(policy).unwrap().failures, 1, "which clears no failure");
        world.wire().fail_next([StoreError::Timeout]);
        let _ = world.ask(policy, "ann", HERE);
        world.pass(Span::from_secs(2));
        assert_eq!(world.mode(policy), Mode::Normal, "a good probe is an answer, too");
        let of_policy = |(of, signal): (Name, Signal)| (of.as_str() == policy).then_some(signal);
        let told: Vec<_> = world.signals().into_iter().filter_map(of_policy).collect();
        let names: Vec<_> = told.iter().map(Signal::name).collect();
        let pair = ["store_suspected", "store_cleared"];
        assert_eq!(names, [&["store_proven"][..], &pair, &pair].concat(), "{policy}");
    }
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
