//! Ticks in place of time.

use super::*;

fn watches() -> Watches {
    let seconds = Duration::from_secs;
    Watches::new(&Bounds {
        header_timeout: seconds(1),
        idle_timeout: seconds(4),
        write_timeout: seconds(2),
        ..Bounds::default()
    })
}

/// The ticks after which a connection is in this state.
fn ticks(watches: &Watches, is: impl Fn() -> bool) -> Option<u64> {
    (1..200).find(|_| {
        watches.tick();
        is()
    })
}

fn lasts(wait: Wait) -> Option<u64> {
    let watches = watches();
    let watch = watches.begin();
    watch.end(Wait::Head);
    watch.begin(wait);
    ticks(&watches, || watch.task.is_over())
}

#[test]
fn every_wait_ends() {
    assert_eq!(lasts(Wait::Head), Some(18), "16, one that may come at once, and the next");
    assert_eq!(lasts(Wait::Stuck), Some(34));
    assert_eq!(lasts(Wait::Linger), Some(18));
    assert_eq!(lasts(Wait::Idle), Some(66 + 17), "told to go, with time for a last head");
}

#[test]
fn who_is_idle_is_told_to_go_first() {
    let watches = watches();
    let watch = watches.begin();
    watch.end(Wait::Head);
    drop(watch.open());
    assert_eq!(ticks(&watches, || watch.is_leaving()), Some(66));
    assert!(!watch.task.is_over());
    let open = watch.open();
    assert_eq!(ticks(&watches, || watch.task.is_over()), None, "a request came at the last moment");
    drop(open);
}

/// The ticks after which a connection that has answered a request frees its buffers, if it does.
fn parks(between: bool, wait: Option<Wait>) -> Option<u64> {
    let watches = watches();
    let watch = watches.begin();
    watch.within_head(false);
    watch.between_requests(between);
    drop(watch.open());
    watch.flushed();
    if let Some(wait) = wait {
        watch.begin(wait);
    }
    ticks(&watches, || watch.is_parking())
}

#[test]
fn t12_an_idle_connection_frees_its_buffers_after_a_second_unless_they_hold_anything() {
    assert_eq!(parks(true, None), Some(17));
    assert_eq!(parks(false, None), None, "a part of the next request has come");
    assert_eq!(parks(true, Some(Wait::Head)), None);
    assert_eq!(parks(true, Some(Wait::Stuck)), None);
}

#[test]
fn t34_a_head_behind_a_request_has_its_time_from_the_answer_on() {
    let watches = watches();
    let watch = watches.begin();
    watch.within_head(false);
    let open = watch.open();
    watch.within_head(true);
    assert_eq!(ticks(&watches, || watch.task.is_over()), None, "the service takes its time");
    drop(open);
    assert_eq!(ticks(&watches, || watch.task.is_over()), Some(18));
}

#[test]
fn t34_a_stream_whose_window_stays_shut_ends_alone() {
    let watches = watches();
    let watch = watches.begin();
    watch.within_head(false);
    let stuck = watch.open_stream();
    let stream = watch.opened().unwrap();
    assert!(watch.opened().is_none(), "taken once");
    let patient = watch.open_stream();
    let other = watch.opened().unwrap();
    stuck.hands_over();
    patient.hands_over();
    patient.is_asked();
    assert_eq!(ticks(&watches, || stream.task.is_over()), Some(34));
    assert!(!watch.task.is_over() && !other.task.is_over());
    drop((stuck, patient));
    assert!(lock(&watch.streams).open.is_empty(), "what is answered is forgotten");
}

#[test]
fn a_wait_that_goes_on_keeps_its_beginning() {
    let watches = watches();
    let watch = watches.begin();
    for _ in 0..10 {
        watches.tick();
        watch.within_head(true);
    }
    assert_eq!(ticks(&watches, || watch.task.is_over()), Some(8), "t34: bytes that trickle in");
}

#[test]
fn connections_that_are_gone_are_forgotten() {
    let watches = watches();
    drop(watches.begin());
    watches.tick();
    assert!(lock(&watches.list).is_empty());
}
