//! The two manners, step by step.

use super::*;
use crate::block::Level;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_micros(secs * 1_000_000)
}

fn secs(secs: u64) -> Span {
    Span::from_secs(secs)
}

fn windows() -> Attempts {
    let temp = Threshold { block_at: 3, per: secs(60), block: secs(30) };
    let long = Threshold { block_at: 6, per: secs(600), block: secs(3600) };
    Attempts::try_new(temp, Some(long)).unwrap()
}

fn ladder() -> Attempts {
    Attempts::climbing(3, secs(600), Ladder::default()).unwrap()
}

/// Attempts at these seconds, and what the last one met.
fn made(attempts: &Attempts, times: &[u64]) -> (AttemptsState, Reading) {
    let mut state = None;
    let mut reading = Reading::NOTHING;
    for time in times {
        let (next, said) = attempts.take(state.as_ref(), 0, at(*time));
        (state, reading) = (Some(next), said);
    }
    (state.unwrap(), reading)
}

#[test]
fn the_attempt_that_reaches_the_threshold_is_refused_and_begins_the_block() {
    let (_, second) = made(&windows(), &[0, 1]);
    assert!(second.room.is_now());
    let (_, third) = made(&windows(), &[0, 1, 2]);
    let tally = third.attempts.unwrap();
    assert!(!third.room.is_now() && tally.begins);
    assert_eq!((tally.temp, tally.long), (3, 3));
    assert_eq!(tally.block.unwrap().until, at(32));
    assert_eq!(third.wait, secs(59), "one more stays below 3 in a minute from 61 s on");
}

#[test]
fn p88_an_attempt_counts_until_just_before_its_window_is_over() {
    for attempts in [windows(), Attempts::climbing(3, secs(60), Ladder::default()).unwrap()] {
        let (state, _) = made(&attempts, &[0, 30]);
        let edge = at(60);
        let before = Timestamp::from_micros(edge.as_micros() - 1);
        assert_eq!(attempts.look(Some(&state), 0, before).wait, Span::from_micros(1));
        assert!(attempts.take(Some(&state), 0, edge).1.room.is_now());
    }
}

#[test]
fn p92_a_block_is_upgraded_once_and_never_longer_after_that() {
    let (_, sixth) = made(&windows(), &[0, 1, 2, 3, 4, 5]);
    let block = sixth.attempts.unwrap().block.unwrap();
    assert_eq!((block.scope, block.until), (BlockScope::Long, at(3605)));
    let (_, later) = made(&windows(), &[0, 1, 2, 3, 4, 5, 6, 7, 100, 3604]);
    assert_eq!(later.attempts.unwrap().block, Some(block));
}

#[test]
fn on_a_ladder_refused_attempts_leave_no_trace() {
    let attempts = ladder();
    let (blocked, reading) = made(&attempts, &[0, 0, 0]);
    let block = reading.attempts.unwrap().block.unwrap();
    assert_eq!((block.level, block.until), (Some(Level::L1), at(15)));
    assert_eq!(reading.wait, secs(15));
    for time in 1..15 {
        let (state, refused) = attempts.take(Some(&blocked), 0, at(time));
        assert_eq!(state, blocked);
        assert_eq!(refused.wait, secs(15 - time));
    }
    assert!(attempts.room(Some(&blocked), 0, at(15)).is_now());
}

#[test]
fn on_a_ladder_each_block_is_a_level_higher_until_there_is_peace() {
    let (_, reading) = made(&ladder(), &[0, 0, 0, 15, 15, 15]);
    assert_eq!(reading.attempts.unwrap().block.unwrap().level, Some(Level::L2));
    let hour = 75 + 3600;
    let (_, reading) = made(&ladder(), &[0, 0, 0, 15, 15, 15, hour, hour, hour]);
    assert_eq!(reading.attempts.unwrap().block.unwrap().level, Some(Level::L2), "one level off");
}

#[test]
fn distinct_members_count_once() {
    let attempts = Attempts::climbing(3, secs(600), Ladder::default()).unwrap();
    let mut state = None;
    for (time, member, admitted) in [(0, 7, true), (1, 7, true), (2, 8, true), (3, 8, true)] {
        let (next, reading) = attempts.take(state.as_ref(), member, at(time));
        assert_eq!(reading.room.is_now(), admitted);
        state = Some(next);
    }
    let (_, third) = attempts.take(state.as_ref(), 9, at(4));
    assert!(third.attempts.unwrap().begins, "the third distinct one");
}

#[test]
fn what_is_given_back_was_recorded() {
    let (state, _) = made(&windows(), &[0, 1]);
    let (state, units) = state.given_back(0, at(1));
    assert_eq!((units, state.attempts().len()), (1, 1));
    let (state, units) = state.given_back(0, at(1));
    assert_eq!((units, state.attempts().len()), (0, 1), "what was made before stays");
    assert_eq!(state.forgiven().1, 1);
}

#[test]
fn p92_no_operator_shortens_a_block_by_blocking() {
    let (state, _) = made(&ladder(), &[0, 0, 0]);
    let scope = BlockScope::Operator;
    let shorter = Block { until: at(10), scope, level: None };
    assert_eq!(state.clone().blocked(shorter), state);
    let longer = Block { until: at(100), scope, level: Some(Level::L3) };
    assert_eq!(state.clone().blocked(longer).block(), Some(longer));
    let lifted = state.unblocked(at(5));
    assert!(ladder().room(Some(&lifted), 0, at(5)).is_now());
    assert_eq!(lifted.block().unwrap().level, Some(Level::L1), "the level stands");
}

#[test]
fn a_clock_at_the_end_of_time_admits_no_more_than_any_other() {
    for attempts in [windows(), ladder()] {
        let mut state = None;
        let mut admitted = 0;
        for _ in 0..20 {
            let (next, reading) = attempts.take(state.as_ref(), 0, Timestamp::MAX);
            admitted += u32::from(reading.room.is_now());
            state = Some(next);
        }
        assert_eq!(admitted, 2);
    }
}

#[test]
fn p91_what_has_left_the_window_is_not_given_back_from_what_came_later() {
    let (state, _) = made(&windows(), &[0, 601]);
    let last = at(599);
    assert_eq!(windows().give_back(&state, 0, at(0), at(601)), (state.clone(), 0));
    assert_eq!(windows().give_back(&state, 0, last, at(601)).1, 1);
}

#[test]
fn pitfall_s_of_members_only_ones_own_attempt_is_given_back() {
    let attempts = ladder();
    let (state, _) = attempts.take(None, 7, at(0));
    let (state, _) = attempts.take(Some(&state), 8, at(0));
    let (state, units) = state.given_back(8, at(0));
    assert_eq!((units, state.attempts()[0].member), (1, 7));
}
