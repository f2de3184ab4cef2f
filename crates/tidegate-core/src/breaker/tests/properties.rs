//! G1: what holds whatever happens to a breaker.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::fleet::{Holder, Lease};

fn outcomes() -> impl Strategy<Value = Vec<CallOutcome>> {
    use CallOutcome::{Failure, Neutral, Success};
    vec(prop_oneof![1 => Just(Success), 4 => Just(Failure), 1 => Just(Neutral)], 0..20)
}

/// Any input, with tokens that a breaker may have handed out, or not.
fn any_input(breaker: &Breaker, kind: u8, number: u64, now: Timestamp) -> BreakerInput {
    use CallOutcome::{Failure, Neutral, Success};
    let outcome = [Success, Failure, Neutral][usize::try_from(number % 3).unwrap()];
    let lease = Some(Lease {
        holder: Holder { node: number % 3, number: number % 7 },
        until: now.after(LEASE),
    });
    let states = [
        AccordState::Closed,
        AccordState::Open { until: now.after(WINDOW) },
        AccordState::HalfOpen { successes: 0, lease: None },
        AccordState::HalfOpen { successes: 1, lease },
        AccordState::ForcedOpen,
        AccordState::ForcedClosed,
    ];
    let state = states[usize::try_from(number % 6).unwrap()];
    let accord = Accord { generation: breaker.known().generation + number % 3, state };
    match kind {
        0 => BreakerInput::Poll,
        1 | 2 => BreakerInput::Ask,
        3 => BreakerInput::Heard { accord: Some(accord), at: now },
        4 => BreakerInput::Heard { accord: None, at: now },
        5 => BreakerInput::Called(Pass(number % 4), outcome),
        6 | 7 => match breaker.clearance(now) {
            Clearance::Pass(pass) => BreakerInput::Called(pass, Failure),
            _ => BreakerInput::Ask,
        },
        8 | 9 => BreakerInput::Answered {
            number: breaker.numbers,
            answer: Ok(Agreed { accord, lost: number.is_multiple_of(5), at: now }),
        },
        _ => {
            BreakerInput::Answered { number: breaker.numbers, answer: Err(FleetError::Unavailable) }
        }
    }
}

proptest! {
    #[test]
    fn g1_a_breaker_opens_exactly_when_its_last_calls_all_failed(
        outcomes in outcomes(), threshold in 1..5_u32,
    ) {
        let mut nodes = Nodes::new(1, settings(threshold, 1));
        for end in 1..=outcomes.len() {
            nodes.call(0, outcomes[end - 1], 0).unwrap();
            let said = outcomes[..end].iter().filter(|it| **it != CallOutcome::Neutral);
            let last: Vec<_> = said.rev().take(threshold as usize).collect();
            let is_full = last.len() == threshold as usize;
            let opens = is_full && last.iter().all(|it| **it == CallOutcome::Failure);
            let state = if opens { BreakerState::Open } else { BreakerState::Closed };
            prop_assert_eq!(nodes.states()[0], state);
            if opens {
                break;
            }
        }
    }

    #[test]
    fn g1_whatever_happens_an_open_word_lets_nothing_through_and_changes_tell_the_state(
        inputs in vec((0..12_u8, any::<u64>(), 0..4_000_u64), 1..80),
    ) {
        let mut breaker = Breaker::new(settings(2, 2), 1, at(0));
        let (mut millis, mut state, mut probes) = (0, BreakerState::Closed, Vec::new());
        for (kind, number, passes) in inputs {
            millis += passes;
            let input = match probes.pop() {
                Some(pass) if kind % 2 == 0 => BreakerInput::Probed(pass, CallOutcome::Success),
                _ => any_input(&breaker, kind, number, at(millis)),
            };
            let (next, out) = breaker.step(input, at(millis));
            for signal in &out.signals {
                if let BreakerSignal::Changed(change) = signal {
                    prop_assert_eq!(change.from, state, "after {:?}", input);
                    prop_assert_ne!(change.from, change.to);
                    state = change.to;
                }
            }
            prop_assert_eq!(next.state(), state, "after {:?}", input);
            if out.probe.is_some() {
                prop_assert_eq!(state, BreakerState::HalfOpen);
            }
            if state.number() == 2 {
                let is_wait = matches!(next.clearance(at(millis)), Clearance::Wait(wait) if !wait.is_zero());
                prop_assert!(is_wait, "{:?}", next);
                prop_assert_eq!((out.probe, out.call.filter(|it| matches!(it.step.motion, Motion::Lease { .. }))), (None, None));
            }
            // Never wedged: it is due by itself, or calls pass, or the next request may try.
            if next.state() == BreakerState::HalfOpen && next.clearance(at(millis)) != Clearance::Try {
                let due = next.due().expect("something ends");
                prop_assert!(due <= at(millis).after(LEASE), "{:?}", next);
            }
            probes.extend(out.probe);
            breaker = next;
        }
    }
}
