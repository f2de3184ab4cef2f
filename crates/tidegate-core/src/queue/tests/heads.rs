//! The head: who asks the store, when, and what it is told.

use super::*;

#[test]
fn the_first_arrival_sleeps_what_it_was_told_and_then_asks() {
    let mut queue = queue(10);
    let (seat, after) = queue.arrive(Arrival::new(1, Cost::ONE).told(told(300, 10)), at(0));
    let seat = seat.expect("a seat");
    assert_eq!(after.armed, Some(Armed { seat, due: Some(at(300)) }));
    assert_eq!(queue.ask(at(299)).0, None);
    let (asks, after) = queue.ask(at(300));
    assert_eq!(asks, Some(seat));
    assert_eq!(after.armed, Some(Armed { seat, due: None }), "nobody else waits");
    assert_eq!(queue.ask(at(300)).0, None, "it asks only once");
    assert_eq!(queue.admitted(seat, at(301)), Aftermath::default());
    assert!(queue.is_empty());
}

#[test]
fn a_head_whose_token_was_taken_by_another_node_sleeps_again() {
    let mut queue = queue(10);
    let seat = sit(&mut queue, 1, at(0));
    assert_eq!(queue.ask(at(0)).0, Some(seat));
    let after = queue.refused(seat, Some(told(700, 10)), at(5));
    assert_eq!(after.armed, Some(Armed { seat, due: Some(at(705)) }));
}

#[test]
fn the_next_head_asks_at_once_whatever_the_one_before_was_told() {
    let mut queue = queue(10);
    let (first, _) = queue.arrive(Arrival::new(1, Cost::ONE).told(told(900, 10)), at(0));
    let (second, third) = (sit(&mut queue, 2, at(1)), sit(&mut queue, 3, at(2)));
    let after = queue.cancel(first.expect("a seat"), at(10));
    assert_eq!(after.armed, Some(Armed { seat: second, due: Some(at(10)) }));
    assert_eq!(go(&mut queue, at(20)), Some(second));
    assert_eq!(queue.armed(), Some(Armed { seat: third, due: Some(at(20)) }));
}

#[test]
fn news_wake_the_head_early() {
    let mut queue = queue(10);
    let (seat, _) = queue.arrive(Arrival::new(1, Cost::ONE).told(told(900, 10)), at(0));
    assert_eq!(
        queue.wake(at(10)).armed,
        Some(Armed { seat: seat.expect("a seat"), due: Some(at(10)) })
    );
}

#[test]
fn news_that_come_while_the_head_asks_are_not_lost() {
    let mut queue = queue(10);
    let seat = sit(&mut queue, 1, at(0));
    assert_eq!(queue.ask(at(0)).0, Some(seat));
    let _ = queue.wake(at(1));
    let after = queue.refused(seat, Some(told(900, 10)), at(2));
    assert_eq!(after.armed, Some(Armed { seat, due: Some(at(2)) }), "the answer was made before");
    assert_eq!(queue.ask(at(2)).0, Some(seat));
    let after = queue.refused(seat, Some(told(900, 10)), at(3));
    assert_eq!(after.armed, Some(Armed { seat, due: Some(at(903)) }), "once more, not for ever");
}

#[test]
fn news_do_not_outlast_the_head_that_they_came_for() {
    let mut queue = queue(10);
    let (first, second) = (sit(&mut queue, 1, at(0)), sit(&mut queue, 1, at(0)));
    assert_eq!(queue.ask(at(0)).0, Some(first));
    let _ = queue.wake(at(1));
    let _ = queue.admitted(first, at(2));
    assert_eq!(queue.ask(at(2)).0, Some(second));
    let after = queue.refused(second, Some(told(100, 10)), at(3));
    assert_eq!(after.armed, Some(Armed { seat: second, due: Some(at(103)) }));
}

#[test]
fn a_head_without_a_told_wait_sleeps_until_something_changes_or_it_is_too_old() {
    let mut queue = queue(10);
    let seat = sit(&mut queue, 1, at(0));
    assert_eq!(queue.ask(at(0)).0, Some(seat));
    assert_eq!(queue.refused(seat, None, at(1)).armed, Some(Armed { seat, due: Some(at(5_000)) }));
    assert_eq!(queue.ask(at(4_000)).0, None);
    assert_eq!(queue.wake(at(4_000)).armed, Some(Armed { seat, due: Some(at(4_000)) }));
    assert_eq!(queue.ask(at(4_000)).0, Some(seat));
}

#[test]
fn answers_for_anybody_but_the_head_say_nothing() {
    let mut queue = queue(10);
    let (first, second) = (sit(&mut queue, 1, at(0)), sit(&mut queue, 2, at(0)));
    let before = queue.clone();
    let _ = queue.admitted(second, at(0));
    let _ = queue.refused(second, Some(told(9_000, 1)), at(0));
    assert_eq!(queue, before);
    assert_eq!(go(&mut queue, at(0)), Some(first));
    let before = queue.clone();
    let _ = queue.admitted(first, at(0));
    let _ = queue.refused(first, Some(told(9_000, 1)), at(0));
    assert_eq!(queue, before, "its seat is worthless now");
}

#[test]
fn time_does_not_go_back() {
    let mut queue = queue(10);
    let seat = sit(&mut queue, 1, at(1_000));
    assert_eq!(queue.ask(at(0)).0, Some(seat));
    let after = queue.refused(seat, Some(told(100, 10)), at(0));
    assert_eq!(after.armed, Some(Armed { seat, due: Some(at(1_100)) }));
}
