//! G2, G4, T26: the rule of agreement against a history that forgets nothing.

mod history;

use proptest::collection::vec;
use proptest::prelude::*;

use self::history::History;
use super::*;
use crate::breaker::CallOutcome;
use crate::time::MAX_EXACT;

const WINDOW: Span = Span::from_secs(10);
const LEASE: Span = Span::from_secs(8);

fn at(micros: u64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn secs(secs: u64) -> Timestamp {
    at(secs * 1_000_000)
}

fn holder(node: u64, number: u64) -> Holder {
    Holder { node, number }
}

fn trip(seen: u64) -> FleetStep {
    FleetStep { seen, motion: Motion::Trip { window: WINDOW } }
}

fn ask(seen: u64, holder: Holder) -> FleetStep {
    FleetStep { seen, motion: Motion::Lease { holder, lease: LEASE, window: WINDOW } }
}

fn report(seen: u64, holder: Holder, outcome: CallOutcome, successes: u32) -> FleetStep {
    FleetStep { seen, motion: Motion::Report { holder, outcome, window: WINDOW, successes } }
}

/// The record after a trip at 100 s and a lease of node 1 at 110 s.
fn leased() -> Accord {
    let open = agree(None, &trip(0), secs(100)).accord;
    agree(Some(&open), &ask(open.generation, holder(1, 1)), secs(110)).accord
}

fn goldens() -> [(Accord, Vec<u8>); 6] {
    let bytes = |letter: u8, numbers: [u64; 6]| {
        let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
        b"f1".iter().copied().chain([letter]).chain(numbers).collect()
    };
    let of = |state| Accord { generation: 9, state };
    let lease = Some(Lease { holder: holder(u64::MAX, 3), until: at(77) });
    [
        (of(AccordState::Closed), bytes(b'c', [9, 0, 0, 0, 0, 0])),
        (of(AccordState::Open { until: at(5) }), bytes(b'o', [9, 5, 0, 0, 0, 0])),
        (of(AccordState::HalfOpen { successes: 2, lease: None }), bytes(b'h', [9, 0, 2, 0, 0, 0])),
        (
            of(AccordState::HalfOpen { successes: 2, lease }),
            bytes(b'l', [9, 0, 2, u64::MAX, 3, 77]),
        ),
        (of(AccordState::ForcedOpen), bytes(b'O', [9, 0, 0, 0, 0, 0])),
        (of(AccordState::ForcedClosed), bytes(b'C', [9, 0, 0, 0, 0, 0])),
    ]
}

#[test]
fn the_bytes_of_every_state_are_these() {
    for (accord, bytes) in goldens() {
        assert_eq!(accord.encode(), bytes, "{accord:?}");
        assert_eq!(Accord::decode(&bytes), Ok(accord));
    }
}

#[test]
fn what_is_no_record_is_corrupt_and_what_is_newer_is_told_apart() {
    for (accord, bytes) in goldens() {
        for end in 0..bytes.len() {
            assert_eq!(
                Accord::decode(&bytes[..end]),
                Err(FleetError::Corrupt),
                "{end}: {accord:?}"
            );
        }
        let more = [bytes.clone(), vec![0]].concat();
        assert_eq!(Accord::decode(&more), Err(FleetError::Corrupt));
        for digit in b'2'..=b'9' {
            let later = [&b"f"[..], &[digit], b"anything"].concat();
            assert_eq!(Accord::decode(&later), Err(FleetError::Version));
        }
        for letters in [b"f0", b"b1", b"f:"] {
            let other = [&letters[..], &bytes[2..]].concat();
            assert_eq!(Accord::decode(&other), Err(FleetError::Corrupt));
        }
    }
    // An end of the window where there is none, and a generation beyond what Lua can count.
    let [closed, open, ..] = goldens();
    let stray = [&closed.1[..11], &open.1[11..]].concat();
    assert_eq!(Accord::decode(&stray), Err(FleetError::Corrupt));
    let huge = [&b"f1c"[..], &(MAX_EXACT + 1).to_le_bytes(), &[0; 40]].concat();
    assert_eq!(Accord::decode(&huge), Err(FleetError::Corrupt));
}

#[test]
fn g2_a_step_that_is_sent_again_hands_out_no_second_lease() {
    let open = agree(None, &trip(0), secs(100)).accord;
    let step = ask(open.generation, holder(1, 1));
    let first = agree(Some(&open), &step, secs(110)).accord;
    let again = agree(Some(&first), &step, secs(111)).accord;
    assert_eq!(again, first, "the answer got lost: the same lease, and no longer than before");
    // Nor when the lease has been given back meanwhile: the copy was late.
    let back = report(first.generation, holder(1, 1), CallOutcome::Neutral, 1);
    let free = agree(Some(&first), &back, secs(112)).accord;
    assert_eq!(free.state, AccordState::HalfOpen { successes: 0, lease: None });
    assert_eq!(agree(Some(&free), &step, secs(113)).accord, free);
}

#[test]
fn g4_a_late_holder_changes_nothing() {
    let leased = leased();
    let late = report(leased.generation, holder(1, 1), CallOutcome::Success, 1);
    let in_time = agree(Some(&leased), &late, at(secs(118).as_micros() - 1)).accord;
    assert_eq!(in_time.state, AccordState::Closed);
    assert_eq!(agree(Some(&leased), &late, secs(118)).accord, leased, "its lease is over");
    let next = agree(Some(&leased), &ask(leased.generation, holder(2, 1)), secs(118)).accord;
    assert!(next.generation > leased.generation);
    assert_eq!(agree(Some(&next), &late, secs(119)).accord, next, "it is somebody else's turn");
    let stranger = report(next.generation, holder(1, 1), CallOutcome::Failure, 1);
    assert_eq!(agree(Some(&next), &stranger, secs(119)).accord, next, "it has no lease");
}

#[test]
fn g3_every_end_of_a_lease_is_a_new_generation() {
    let leased = leased();
    let free = |successes| AccordState::HalfOpen { successes, lease: None };
    for (outcome, wanted, state) in [
        (CallOutcome::Neutral, 1, free(0)),
        (CallOutcome::Success, 2, free(1)),
        (CallOutcome::Success, 1, AccordState::Closed),
        (CallOutcome::Failure, 1, AccordState::Open { until: secs(121) }),
    ] {
        let ended = report(leased.generation, holder(1, 1), outcome, wanted);
        let ended = agree(Some(&leased), &ended, secs(111)).accord;
        assert_eq!(ended.state, state);
        assert!(ended.generation > leased.generation);
    }
    // Successes below the threshold outlast a neutral probe and a lease that ended by itself.
    let after =
        |before: Accord, step: FleetStep, now| agree(Some(&before), &step, secs(now)).accord;
    let one = after(leased, report(leased.generation, holder(1, 1), CallOutcome::Success, 2), 111);
    let second = after(one, ask(one.generation, holder(1, 2)), 112);
    let neutral = report(second.generation, holder(1, 2), CallOutcome::Neutral, 2);
    let still = after(second, neutral, 113);
    assert_eq!(still.state, free(1));
    let lost = after(still, ask(still.generation, holder(1, 3)), 114);
    let fourth = after(lost, ask(lost.generation, holder(2, 1)), 122);
    let success = report(fourth.generation, holder(2, 1), CallOutcome::Success, 2);
    assert_eq!(after(fourth, success, 123).state, AccordState::Closed);
}

#[test]
fn a_forced_state_stays_until_it_is_lifted() {
    let leased = leased();
    for (forced, state, lifted) in [
        (
            Forced::Open,
            AccordState::ForcedOpen,
            AccordState::HalfOpen { successes: 0, lease: None },
        ),
        (Forced::Closed, AccordState::ForcedClosed, AccordState::Closed),
    ] {
        let step = FleetStep { seen: leased.generation, motion: Motion::Force(forced) };
        let forced = agree(Some(&leased), &step, secs(111)).accord;
        assert_eq!(forced.state, state);
        let seen = forced.generation;
        let result = report(seen, holder(1, 1), CallOutcome::Success, 1);
        for step in [trip(seen), ask(seen, holder(2, 1)), result, FleetStep { seen, ..step }] {
            assert_eq!(agree(Some(&forced), &step, secs(1_000)).accord, forced, "{step:?}");
        }
        let lift = FleetStep { seen, motion: Motion::Lift };
        let free = agree(Some(&forced), &lift, secs(1_000)).accord;
        assert_eq!(free.state, lifted);
        let seen = free.generation;
        assert_eq!(agree(Some(&free), &FleetStep { seen, ..lift }, secs(1_001)).accord, free);
    }
}

#[test]
fn a_record_that_was_lost_is_followed_by_a_higher_generation() {
    let leased = leased();
    let step = ask(leased.generation, holder(2, 7));
    let agreed = agree(None, &step, secs(120));
    assert!(agreed.lost && agreed.accord.generation > leased.generation);
    // Also if the node that comes first has never heard of it.
    let other = agree(None, &trip(0), secs(120));
    assert!(!other.lost && other.accord.generation > leased.generation);
    // A state that an operator has forced can be lifted, too.
    let lift = FleetStep { seen: leased.generation, motion: Motion::Lift };
    let lifted = agree(None, &lift, secs(50)).accord;
    assert_eq!(lifted.state, AccordState::HalfOpen { successes: 0, lease: None });
    assert!(lifted.generation > leased.generation);
    let restored = Accord { generation: 3, ..lifted };
    assert!(agree(Some(&restored), &lift, secs(50)).accord.generation > leased.generation);
    // The result of a probe of before says nothing about a record that does not know it.
    let result = report(leased.generation, holder(1, 1), CallOutcome::Success, 1);
    let old = Accord { generation: leased.generation - 1, ..leased };
    assert_eq!(agree(Some(&old), &result, secs(111)).accord, old);
}

#[test]
fn a_clock_that_was_an_hour_ahead_keeps_nobody_waiting_for_an_hour() {
    let open = agree(None, &trip(0), secs(3_700)).accord;
    let step = ask(open.generation, holder(1, 1));
    let waiting = agree(Some(&open), &step, secs(100)).accord;
    assert_eq!(waiting.state, AccordState::Open { until: secs(110) });
    let leased = agree(Some(&waiting), &step, secs(110)).accord;
    assert_eq!(leased.lease(secs(110)).map(|lease| lease.until), Some(secs(118)));
    let step = ask(leased.generation, holder(2, 1));
    let shorter = agree(Some(&leased), &step, secs(50)).accord;
    assert_eq!(shorter.lease(secs(50)), Some(Lease { holder: holder(1, 1), until: secs(58) }));
    assert_eq!(shorter.generation, leased.generation, "it is the same lease");
}

/// One move of a trace: who moves, what it wants, how much time has passed, and whether the answer is lost.
#[derive(Clone, Copy, Debug)]
struct Moved {
    node: u64,
    wants: u8,
    passes: u64,
    lost: bool,
}

fn moves(farthest: u64) -> impl Strategy<Value = Vec<Moved>> {
    let passes = prop_oneof![
        Just(0),
        Just(1),
        0..3_000_000_u64,
        Just(LEASE.as_micros()),
        Just(WINDOW.as_micros() - 1),
        Just(WINDOW.as_micros()),
        0..farthest,
    ];
    let one = (0..3_u64, 0..40_u8, passes, any::<bool>());
    vec(one.prop_map(|(node, wants, passes, lost)| Moved { node, wants, passes, lost }), 1..60)
}

/// A node of a trace: what it has seen, the lease it believes to have, and the last step it sent.
#[derive(Clone, Copy, Debug)]
struct Mover {
    seen: u64,
    lease: Option<(u64, Holder)>,
    last: FleetStep,
}

impl Mover {
    fn step(&self, moved: Moved, number: u64) -> FleetStep {
        let motion = |motion| FleetStep { seen: self.seen, motion };
        let (generation, held) = self.lease.unwrap_or((self.seen, holder(moved.node, 0)));
        match moved.wants {
            0..=3 => trip(self.seen),
            4..=14 => ask(self.seen, holder(moved.node, number)),
            15..=22 => report(generation, held, CallOutcome::Success, 2),
            23 | 24 => report(generation, held, CallOutcome::Failure, 2),
            25..=28 => report(generation, held, CallOutcome::Neutral, 2),
            29 => motion(Motion::Force(Forced::Open)),
            30 => motion(Motion::Force(Forced::Closed)),
            31..=33 => motion(Motion::Lift),
            _ => self.last,
        }
    }

    fn hear(&mut self, accord: Accord, now: Timestamp, node: u64) {
        self.seen = self.seen.max(accord.generation);
        if let Some(lease) = accord.lease(now).filter(|lease| lease.holder.node == node) {
            self.lease = Some((accord.generation, lease.holder));
        }
    }
}

/// Plays a trace, and shows each step with its time, the record before it and the one after it.
fn play(moves: &[Moved], mut each: impl FnMut(FleetStep, Timestamp, Option<Accord>, Accord)) {
    let mut movers = [Mover { seen: 0, lease: None, last: trip(0) }; 3];
    let (mut record, mut now) = (None, secs(1_000));
    for (number, moved) in (1..).zip(moves) {
        now = now.after(Span::from_micros(moved.passes));
        let mover = &mut movers[usize::try_from(moved.node).unwrap()];
        let step = mover.step(*moved, number);
        mover.last = step;
        let after = agree(record.as_ref(), &step, now).accord;
        each(step, now, record, after);
        record = Some(after);
        if !moved.lost {
            mover.hear(after, now, moved.node);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn g2_every_step_leaves_what_the_whole_history_says(moves in moves(40_000_000)) {
        let mut history = History::default();
        play(&moves, |step, now, _, after| {
            history.add(step, now);
            assert_eq!(after, history.accord(), "{step:?} at {now:?}");
        });
    }

    #[test]
    fn g2_t26_no_lease_begins_before_the_one_before_it_has_ended(moves in moves(40_000_000)) {
        let mut held: Option<(u64, Lease)> = None;
        play(&moves, |step, now, before, after| {
            let lease = after.lease(now).map(|lease| (after.generation, lease));
            if let (Some((generation, old)), Some((new, _))) = (held, lease)
                && generation != new
            {
                assert!(now >= old.until, "{new} begins while {generation} is valid");
            }
            // It ended early: by its own holder, or by an operator.
            if held.is_some_and(|(_, old)| now < old.until) && lease.is_none() {
                let (generation, old) = held.unwrap();
                match step.motion {
                    Motion::Report { holder, .. } => {
                        assert_eq!((holder, step.seen), (old.holder, generation));
                    }
                    Motion::Force(_) => {}
                    _ => panic!("{step:?} has ended {old:?}"),
                }
                held = None;
            }
            held = lease.or(held);
            if before.is_some_and(|before| before != after) {
                assert!(after.generation > before.unwrap().generation, "every change is a generation");
            }
        });
    }

    #[test]
    fn every_record_of_a_trace_can_be_read_again(moves in moves(40_000_000)) {
        play(&moves, |_, _, _, after| assert_eq!(Accord::decode(&after.encode()), Ok(after)));
    }

    #[test]
    fn bytes_are_a_record_or_a_typed_error(
        which in 0..6_usize, place in 0..51_usize, byte in any::<u8>(), rest in vec(any::<u8>(), 0..60),
    ) {
        let mut bytes = goldens()[which].1.clone();
        bytes[place] = byte;
        if let Ok(accord) = Accord::decode(&bytes) {
            prop_assert_eq!(accord.encode(), bytes);
        }
        prop_assert!(Accord::decode(&rest).is_err() || rest.len() == 51);
    }
}
