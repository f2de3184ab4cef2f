//! Leaving: by age, by hopelessness, by cancelling, by closing; and that nothing is left behind.

use super::*;

fn departure(seat: Seat, why: Parting) -> Departure {
    Departure { seat, why }
}

#[test]
fn g7_nobody_waits_longer_than_the_age_to_the_microsecond() {
    let mut queue = queue(10);
    let (first, second) = (sit(&mut queue, 1, at(0)), sit(&mut queue, 2, at(1)));
    assert_eq!(queue.ask(at(0)).0, Some(first));
    let _ = queue.refused(first, None, at(2));
    let just_before = Timestamp::from_micros(at(5_000).as_micros() - 1);
    assert_eq!(queue.ask(just_before).1.departed, []);
    let (asks, after) = queue.ask(at(5_000));
    assert_eq!(after.departed, [departure(first, Parting::Expired)]);
    assert_eq!(asks, Some(second), "the next one asks at once");
}

#[test]
fn g7_a_head_that_asks_does_not_expire_before_it_is_answered() {
    let mut queue = queue(10);
    let (first, second) = (sit(&mut queue, 1, at(0)), sit(&mut queue, 2, at(0)));
    let (asks, after) = queue.ask(at(4_999));
    assert_eq!(
        (asks, after.armed),
        (Some(first), Some(Armed { seat: first, due: Some(at(5_000)) }))
    );
    assert_eq!(queue.ask(at(6_000)).1.departed, [departure(second, Parting::Expired)]);
    let mut admitted = queue.clone();
    assert_eq!(admitted.admitted(first, at(6_000)), Aftermath::default());
    let after = queue.refused(first, Some(told(1, 10)), at(6_000));
    assert_eq!(after.departed, [departure(first, Parting::Expired)]);
    assert!(admitted.is_empty() && queue.is_empty());
}

#[test]
fn g7_a_head_that_is_told_a_wait_beyond_its_age_leaves_at_once() {
    let mut queue = queue(10);
    let (first, second) = (sit(&mut queue, 1, at(0)), sit(&mut queue, 2, at(1_000)));
    assert_eq!(queue.ask(at(1_000)).0, Some(first));
    let after = queue.refused(first, Some(told(4_000, 10)), at(1_000));
    assert_eq!(after.departed, [departure(first, Parting::TooLong)]);
    assert_eq!(after.armed, Some(Armed { seat: second, due: Some(at(1_000)) }));
    assert_eq!(queue.ask(at(1_000)).0, Some(second));
    let after = queue.refused(second, Some(told(4_999, 10)), at(1_000));
    assert_eq!(after.departed, [], "it still fits");
}

#[test]
fn g7_a_late_cancel_hits_nobody_else() {
    let mut queue = queue(1);
    let first = sit(&mut queue, 1, at(0));
    let _ = queue.cancel(first, at(0));
    let second = sit(&mut queue, 1, at(0));
    let before = queue.clone();
    let _ = queue.cancel(first, at(0));
    assert_eq!(queue, before);
    assert!(queue.holds(second) && !queue.holds(first));
}

#[test]
fn g7_a_breaker_that_opens_sends_all_away_and_the_queue_goes_on() {
    let mut queue = queue(10);
    let seats = [1, 2, 1].map(|tenant| sit(&mut queue, tenant, at(0)));
    let _ = queue.ask(at(0));
    let after = queue.close(Closing::CircuitOpen, at(1));
    let closed = |seat| departure(seat, Parting::Closed(Closing::CircuitOpen));
    assert_eq!(after.departed, seats.map(closed), "in the order in which they came");
    assert_eq!((after.armed, queue.len()), (None, 0));
    let seat = sit(&mut queue, 1, at(2));
    assert_eq!(go(&mut queue, at(2)), Some(seat));
}

#[test]
fn g7_a_queue_that_shut_down_takes_nobody_any_more() {
    for why in [Closing::Shutdown, Closing::Removed] {
        let mut queue = queue(10);
        let seat = sit(&mut queue, 1, at(0));
        let after = queue.close(why, at(1));
        assert_eq!(after.departed, [departure(seat, Parting::Closed(why))]);
        let _ = queue.close(Closing::CircuitOpen, at(1));
        let (refused, after) = queue.arrive(Arrival::new(2, Cost::ONE), at(2));
        assert_eq!((refused, after), (Err(TurnedAway::Closed(why)), Aftermath::default()));
    }
}

#[test]
fn g7_a_hundred_thousand_cancels_leave_nothing() {
    let mut queue = queue(100);
    for turn in 0..100_000_u64 {
        let tenant = u8::try_from(turn % 64).expect("small");
        let arrival = Arrival::new(tenant, cost(turn % 7 + 1));
        let seat = queue.arrive(arrival, at(turn / 1_000)).0.expect("a seat");
        // In turn the newest, the head, and one from the middle, with up to a lane each beside them.
        let leaves = match turn % 3 {
            _ if queue.len() < 60 => continue,
            0 => seat,
            1 => head(&queue).expect("somebody waits"),
            _ => Seat(seat.0 - 30),
        };
        let _ = queue.cancel(leaves, at(turn / 1_000));
        assert!(queue.len() <= 100);
    }
    let everybody: Vec<Seat> = queue.waiters.keys().copied().collect();
    for seat in everybody {
        let _ = queue.cancel(seat, at(100));
    }
    let fresh: Lanes = super::queue(100);
    assert_eq!((queue.len(), queue.bytes(), queue.armed()), (0, 0, None));
    assert_eq!(queue.order, fresh.order, "no lane, no turn, no credit");
    assert_eq!((queue.borrower, queue.outlook), (None, None));
    assert!(queue.waiters.is_empty());
}

#[test]
fn g7_nothing_is_left_of_those_who_went_or_expired() {
    let mut queue = queue(100);
    for tenant in 0..50 {
        sit(&mut queue, tenant % 7, at(0));
    }
    for _ in 0..25 {
        assert!(go(&mut queue, at(1)).is_some());
    }
    assert_eq!(queue.ask(at(5_000)).1.departed.len(), 25);
    assert_eq!(queue.order, super::queue(100).order);
    assert!(queue.is_empty() && queue.borrower.is_none());
}
