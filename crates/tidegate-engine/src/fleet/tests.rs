//! The fleet in memory: bounded, and forgetful only of what is closed and old.

use tidegate_core::{CallOutcome, Forced, Holder, ManualClock, Motion, Span};

use super::*;
use crate::ready;

const WINDOW: Span = Span::from_secs(10);

fn secs(secs: u64) -> Timestamp {
    Timestamp::from_micros(secs * 1_000_000)
}

fn fleet(places: usize) -> MemoryFleet<Arc<ManualClock>> {
    MemoryFleet::new(places, Arc::new(ManualClock::new(secs(1_000))))
}

fn sent(
    fleet: &MemoryFleet<Arc<ManualClock>>,
    name: &str,
    seen: u64,
    motion: Motion,
) -> Result<Agreed, FleetError> {
    ready(fleet.agree(name, FleetStep { seen, motion })).unwrap()
}

fn trip(fleet: &MemoryFleet<Arc<ManualClock>>, name: &str) -> Result<Agreed, FleetError> {
    sent(fleet, name, 0, Motion::Trip { window: WINDOW })
}

/// Opens a breaker, probes it and closes it again, which takes ten seconds.
fn recover(fleet: &MemoryFleet<Arc<ManualClock>>, name: &str) -> Accord {
    let seen = trip(fleet, name).unwrap().accord.generation;
    fleet.clock.advance(WINDOW);
    let (holder, window) = (Holder { node: 1, number: 1 }, WINDOW);
    let lease = Motion::Lease { holder, lease: WINDOW, window };
    let seen = sent(fleet, name, seen, lease).unwrap().accord.generation;
    let outcome = CallOutcome::Success;
    let report = Motion::Report { holder, outcome, window, successes: 1 };
    sent(fleet, name, seen, report).unwrap().accord
}

fn changed(fleet: &MemoryFleet<Arc<ManualClock>>, cursor: Cursor) -> Changed {
    ready(fleet.changed_since(cursor)).unwrap().unwrap()
}

#[test]
fn there_are_no_more_records_than_places() {
    let fleet = fleet(2);
    for (name, is_kept) in [("a", true), ("b", true), ("c", false), ("a", true)] {
        assert_eq!(trip(&fleet, name).is_ok(), is_kept, "{name}");
    }
    assert_eq!(trip(&fleet, "c"), Err(FleetError::Full));
    assert_eq!(fleet.len(), 2);
}

#[test]
fn only_what_is_closed_and_old_is_forgotten() {
    let fleet = fleet(3);
    trip(&fleet, "open").unwrap();
    sent(&fleet, "forced", 0, Motion::Force(Forced::Closed)).unwrap();
    let closed = recover(&fleet, "closed");
    let closed_at = fleet.clock.now();
    fleet.clock.set(closed_at.after(Span::from_micros(CLOSED_KEPT.as_micros() - 1)));
    assert_eq!(trip(&fleet, "new"), Err(FleetError::Full));
    fleet.clock.set(closed_at.after(CLOSED_KEPT));
    let new = trip(&fleet, "new").expect("there is a place now").accord;
    assert!(new.generation > closed.generation);
    let names: Vec<_> = changed(&fleet, Cursor::START).accords.into_iter().map(|it| it.0).collect();
    assert_eq!(names, ["open", "forced", "new"]);
}

#[test]
fn changes_come_in_pages_each_record_once_and_as_it_is() {
    let fleet = fleet(MAX_CHANGED + 10);
    for number in 0..MAX_CHANGED + 1 {
        trip(&fleet, &format!("u{number}")).unwrap();
    }
    let forced = sent(&fleet, "u0", u64::from(u32::MAX), Motion::Force(Forced::Open)).unwrap();
    let first = changed(&fleet, Cursor::START);
    assert_eq!((first.accords.len(), first.more), (MAX_CHANGED, true));
    assert!(first.accords.iter().all(|(name, _)| name != "u0"), "it has changed since");
    let second = changed(&fleet, first.cursor);
    assert_eq!(
        (second.accords.as_slice(), second.more),
        (&[("u0".to_owned(), forced.accord)][..], false)
    );
    let third = changed(&fleet, second.cursor);
    assert_eq!((third.accords.len(), third.cursor, third.more), (0, second.cursor, false));
    let foreign = Cursor { life: 7, change: u64::MAX };
    assert_eq!(changed(&fleet, foreign), first);
}

#[test]
fn names_that_could_not_stand_in_a_key_are_refused() {
    let fleet = fleet(9);
    let long = "x".repeat(129);
    for name in ["", "a b", "{a}", "ä", "a\n", &long] {
        assert_eq!(trip(&fleet, name), Err(FleetError::Refused), "{name}");
    }
    assert!(trip(&fleet, &long[1..]).is_ok() && fleet.len() == 1);
}
