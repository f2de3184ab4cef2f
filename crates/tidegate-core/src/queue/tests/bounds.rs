//! Bounds: how many, how long, whose; and that a refused arrival is as good as none.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn refusal(queue: &mut Lanes, tenant: u8, now: Timestamp) -> Option<TurnedAway> {
    queue.arrive(Arrival::new(tenant, Cost::ONE), now).0.err()
}

#[test]
fn the_usual_bounds_are_a_hundred_requests_of_64_kib_for_five_seconds() {
    let usual = QueueBounds::default();
    assert_eq!(Ok(usual), QueueBounds::try_new(100, 100 * 65_536, Span::from_secs(5)));
    assert_eq!((usual.places(), usual.share(), usual.age()), (100, 50, Span::from_secs(5)));
}

#[test]
fn bounds_within_which_nobody_could_wait_are_refused() {
    let (bytes, age) = (QueueBounds::EACH, QueueBounds::AGE);
    let refused = |length, bytes, age| QueueBounds::try_new(length, bytes, age).err();
    assert_eq!(refused(0, bytes, age), Some(QueueBoundsError::NoLength));
    assert_eq!(refused(65_537, bytes, age), Some(QueueBoundsError::TooLong));
    assert_eq!(refused(1, bytes - 1, age), Some(QueueBoundsError::TooFewBytes));
    assert_eq!(refused(1, bytes, Span::ZERO), Some(QueueBoundsError::NoAge));
    assert_eq!(refused(65_536, bytes, Span::from_micros(1)), None);
}

#[test]
fn g7_memory_bounds_the_queue_as_its_length_does() {
    let bounds = QueueBounds::try_new(100, 3 * QueueBounds::EACH + 9, QueueBounds::AGE);
    let mut queue: Lanes = FairQueue::new(bounds.expect("bounds"), Cost::ONE);
    sit_down(&mut queue, 3, 1);
    assert_eq!(queue.bytes(), 3 * 65_536);
    assert_eq!(refusal(&mut queue, 1, at(0)), Some(TurnedAway::Full));
}

#[test]
fn g7_a_tenant_has_half_of_the_queue_while_others_wait_and_all_of_it_alone() {
    let mut queue = queue(10);
    let other = sit(&mut queue, 2, at(0));
    sit_down(&mut queue, 5, 1);
    assert_eq!(refusal(&mut queue, 1, at(0)), Some(TurnedAway::Share));
    let _ = queue.cancel(other, at(0));
    sit_down(&mut queue, 5, 1);
    assert_eq!(refusal(&mut queue, 1, at(0)), Some(TurnedAway::Full));
}

#[test]
fn g7_a_tenant_that_filled_the_queue_gives_its_newest_places_to_others_down_to_half() {
    let mut queue = queue(10);
    let seats: Vec<Seat> = (0..10).map(|_| sit(&mut queue, 1, at(0))).collect();
    for newest in seats[5..].iter().rev() {
        let (seat, after) = queue.arrive(Arrival::new(2, Cost::ONE), at(0));
        assert!(seat.is_ok_and(|seat| queue.holds(seat)));
        assert_eq!(after.departed, [Departure { seat: *newest, why: Parting::Yielded }]);
    }
    assert_eq!(queue.len(), 10);
    assert_eq!(refusal(&mut queue, 3, at(0)), Some(TurnedAway::Full), "nobody has more than half");
    assert_eq!(refusal(&mut queue, 2, at(0)), Some(TurnedAway::Share));
}

#[test]
fn g7_an_arrival_that_cannot_go_in_time_is_refused_at_once_with_its_wait() {
    let mut queue = queue(100);
    // One unit a second: the head goes after one, and those behind it after two, three, four.
    let (head, _) = queue.arrive(Arrival::new(1, Cost::ONE).told(told(1_000, 1)), at(0));
    assert!(head.is_ok());
    sit_down(&mut queue, 3, 1);
    let wait = Span::from_secs(5);
    assert_eq!(refusal(&mut queue, 1, at(0)), Some(TurnedAway::TooLong { wait }));
    assert_eq!(refusal(&mut queue, 1, at(1)), None, "a millisecond later it goes just in time");
}

#[test]
fn g7_the_place_of_a_tenant_with_nobody_in_line_is_not_the_end() {
    let mut queue = queue(100);
    let (_, _) = queue.arrive(Arrival::new(1, Cost::ONE).told(told(1_000, 1)), at(0));
    sit_down(&mut queue, 3, 1);
    assert!(matches!(refusal(&mut queue, 1, at(0)), Some(TurnedAway::TooLong { .. })));
    assert_eq!(refusal(&mut queue, 2, at(0)), None, "it goes after the head");
}

#[test]
fn g7_a_told_wait_that_does_not_fit_the_age_is_refused_in_an_empty_queue_too() {
    let mut queue = queue(10);
    let arrive = |queue: &mut Lanes, millis| {
        queue.arrive(Arrival::new(1, Cost::ONE).told(told(millis, 1)), at(0)).0
    };
    let wait = Span::from_secs(5);
    assert_eq!(arrive(&mut queue, 5_000), Err(TurnedAway::TooLong { wait }));
    assert!(queue.is_empty());
    assert!(arrive(&mut queue, 4_999).is_ok());
}

#[test]
fn g7_without_a_pace_nobody_is_refused_for_its_place() {
    let mut queue = queue(10);
    let paceless = Forecast { pace: None, ..told(4_000, 1) };
    let (seat, _) = queue.arrive(Arrival::new(1, Cost::ONE).told(paceless), at(0));
    assert!(seat.is_ok());
    sit_down(&mut queue, 4, 1);
    assert_eq!(queue.len(), 5, "nobody knows how soon they go after the head");
}

#[test]
fn g7_what_is_foretold_outlasts_the_head_that_was_told_but_no_news() {
    let mut queue = queue(10);
    let (first, _) = queue.arrive(Arrival::new(1, Cost::ONE).told(told(1_000, 1)), at(0));
    sit_down(&mut queue, 3, 1);
    assert_eq!(queue.ask(at(1_000)).0, first.ok());
    let _ = queue.admitted(first.expect("a seat"), at(1_000));
    // Three wait, and the bucket is empty: they go at two, three and four seconds.
    sit(&mut queue, 1, at(1_000));
    let wait = Span::from_secs(5);
    assert_eq!(refusal(&mut queue, 1, at(1_000)), Some(TurnedAway::TooLong { wait }));
    let _ = queue.wake(at(1_000));
    assert_eq!(refusal(&mut queue, 1, at(1_000)), None, "nobody knows how much there is now");
}

/// Arrivals, with the milliseconds that pass before each and how many go then.
fn arrivals() -> impl Strategy<Value = Vec<(u64, usize, u8, u64)>> {
    proptest::collection::vec((0..300_u64, 0..3_usize, 0..4_u8, 1..9_u64), 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn g7_bounds_hold_whoever_comes_and_whoever_is_refused_was_never_there(
        places in 1..15_usize, told_wait in 0..7_000_u64, arrivals in arrivals(),
    ) {
        let mut queue = FairQueue::new(bounds(places, 2_000), cost(2));
        let mut came: BTreeMap<Seat, (u8, Timestamp)> = BTreeMap::new();
        let mut now = at(0);
        for (gap, goes, tenant, units) in arrivals {
            now = now.after(Span::from_millis(gap));
            for _ in 0..goes {
                go(&mut queue, now);
            }
            if let Some(seat) = queue.ask(now).0 {
                let _ = queue.refused(seat, Some(told(told_wait, 5)), now);
            }
            let before = queue.clone();
            let (seat, after) = queue.arrive(Arrival::new(tenant, cost(units)), now);
            let waits = |queue: &Lanes, of: u8| {
                came.iter().filter(|(seat, (it, _))| *it == of && queue.holds(**seat)).count()
            };
            match seat {
                Ok(seat) => {
                    let alone = (0..4).all(|of| of == tenant || waits(&queue, of) == 0);
                    prop_assert!(alone || waits(&before, tenant) < (places / 2).max(1));
                    prop_assert!(came.insert(seat, (tenant, now)).is_none(), "no seat is given twice");
                }
                Err(why) => {
                    prop_assert_eq!(&queue, &before, "{}", why);
                    prop_assert_eq!(after.departed, []);
                    let borrower = (0..4).find(|of| waits(&queue, *of) > (places / 2).max(1));
                    let kept_out = why == TurnedAway::Full && borrower.is_some_and(|of| of != tenant);
                    prop_assert!(!kept_out, "a place was lent, and not given back");
                }
            }
            let held = came.iter().filter(|(seat, _)| queue.holds(**seat));
            let held: Vec<Timestamp> = held.map(|(_, (_, at))| *at).collect();
            prop_assert_eq!(held.len(), queue.len());
            prop_assert!(held.len() <= places);
            prop_assert!(queue.bytes() <= u64::try_from(places).unwrap() * 65_536);
            prop_assert!(held.iter().all(|at| now.since(*at) < Span::from_millis(2_000)));
        }
    }
}
