//! Who has a place.

use std::num::NonZeroUsize;

use proptest::prelude::*;

use crate::report::metrics::busiest::{Busiest, OrgPlace};

fn places(count: usize) -> Busiest {
    Busiest::new(NonZeroUsize::new(count).unwrap())
}

#[test]
fn a_place_is_taken_once_and_kept() {
    let mut orgs = places(2);
    assert_eq!(orgs.place("a"), OrgPlace::Taken(0));
    assert_eq!(orgs.place("b"), OrgPlace::Taken(1));
    assert_eq!(orgs.place("a"), OrgPlace::Kept(0));
    assert_eq!(orgs.place("c"), OrgPlace::Other, "nobody gives way at once");
    assert_eq!(orgs.place("c"), OrgPlace::Taken(1), "but whoever asks less does");
    assert_eq!((orgs.id(0), orgs.id(1)), (Some("a"), Some("c")));
    assert_eq!(orgs.place("b"), OrgPlace::Other);
}

#[test]
fn those_who_come_once_push_nobody_out() {
    let mut orgs = places(4);
    for round in 0..100_000 {
        for busy in ["a", "b", "c"] {
            let place = orgs.place(busy);
            assert!(round == 0 || matches!(place, OrgPlace::Kept(_)), "{busy} in round {round}");
        }
        orgs.place(&format!("once-{round}"));
    }
}

#[test]
fn who_was_busy_long_ago_gives_way() {
    let mut orgs = places(1);
    for _ in 0..3 << 20 {
        orgs.place("old");
    }
    let waited = (0..3_u64 << 20).take_while(|_| orgs.place("new") == OrgPlace::Other).count();
    assert!(waited <= 2 << 20, "{waited}");
}

#[test]
fn what_could_look_like_another_has_no_place() {
    let mut orgs = places(10);
    for id in ["", "other", "a\n", "\u{202e}a", &"a".repeat(129)] {
        assert_eq!(orgs.place(id), OrgPlace::Other);
    }
}

proptest! {
    #[test]
    fn who_sends_more_than_a_fair_share_has_a_place(
        sent in prop::collection::vec(0_usize..12, 1..400),
        most in 1_usize..6,
    ) {
        let mut orgs = places(most);
        for org in &sent {
            orgs.place(&org.to_string());
        }
        for org in 0..12 {
            let share = sent.iter().filter(|sender| **sender == org).count();
            let id = org.to_string();
            let shown = (0..most).any(|place| orgs.id(place) == Some(&id));
            prop_assert!(shown || share * (most + 1) <= sent.len(), "{} of {:?}", org, sent);
        }
    }
}
