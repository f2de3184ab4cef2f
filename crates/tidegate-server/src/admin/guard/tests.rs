//! Guessing, and what it does to others.

use super::*;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const TOKEN: &str = "0123456789abcdef";

fn guard() -> Guard {
    Guard::try_new(AdminToken::try_new(TOKEN).unwrap()).unwrap()
}

fn with(fields: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for field in fields {
        headers.append(AUTHORIZATION, HeaderValue::from_str(field).unwrap());
    }
    headers
}

fn peer(number: u32) -> IpAddr {
    IpAddr::from(number.to_be_bytes())
}

#[test]
fn t43_only_the_token_opens() {
    let guard = guard();
    let said = |fields: &[&str]| guard.admit(peer(1), &with(fields), NOW);
    assert_eq!(said(&["Bearer 0123456789abcdef"]), Ok(()));
    assert_eq!(said(&["bEARER   0123456789abcdef "]), Ok(()), "the scheme has no case");
    for missing in [
        &[][..],
        &[""],
        &["Bearer"],
        &["Bearer "],
        &[TOKEN],
        &["Basic 0123456789abcdef"],
        &["Bearer 0123456789abcdef", "Bearer 0123456789abcdef"],
    ] {
        assert_eq!(said(missing), Err(Refusal::Missing), "{missing:?}");
    }
    for wrong in ["Bearer 0123456789abcde", "Bearer 0123456789abcdef,", "Bearer x"] {
        assert_eq!(said(&[wrong]), Err(Refusal::Wrong), "{wrong}");
    }
}

#[test]
fn t43_who_guesses_is_not_listened_to_for_a_minute() {
    let guard = guard();
    let (right, wrong) = (with(&["Bearer 0123456789abcdef"]), with(&["Bearer wrong"]));
    for second in 0..10 {
        let now = NOW.after(Span::from_secs(second));
        assert_eq!(guard.admit(peer(1), &HeaderMap::new(), now), Err(Refusal::Missing));
        assert_eq!(guard.admit(peer(1), &right, now), Ok(()));
        assert_eq!(guard.admit(peer(1), &wrong, now), Err(Refusal::Wrong));
    }
    let now = NOW.after(Span::from_secs(10));
    for headers in [&wrong, &right, &HeaderMap::new()] {
        let refused = guard.admit(peer(1), headers, now);
        assert_eq!(refused, Err(Refusal::TooMany(Span::from_secs(50))));
    }
    assert_eq!(guard.admit(peer(2), &right, now), Ok(()), "others are not kept out");
    let end = NOW.after(Span::MINUTE);
    assert_eq!(guard.admit(peer(1), &right, end), Ok(()), "at the told time");
    let before = Timestamp::from_micros(end.as_micros() - 1);
    assert!(guard.admit(peer(1), &right, before).is_err(), "and not before");
}

#[test]
fn t43_addresses_are_bounded_and_those_without_a_place_are_counted_together() {
    let guard = guard();
    let wrong = with(&["Bearer wrong"]);
    let peers = u32::try_from(MOST_PEERS).unwrap();
    for number in 0..peers {
        assert_eq!(guard.admit(peer(number), &wrong, NOW), Err(Refusal::Wrong));
    }
    for number in 0..10 {
        assert_eq!(guard.admit(peer(peers + number), &wrong, NOW), Err(Refusal::Wrong));
    }
    let refused = guard.admit(peer(peers + 10), &wrong, NOW);
    assert_eq!(refused, Err(Refusal::TooMany(Span::MINUTE)));
    assert_eq!(guard.wrong.lock().unwrap().by_peer.len(), MOST_PEERS);
    let right = with(&["Bearer 0123456789abcdef"]);
    assert_eq!(guard.admit(peer(1), &right, NOW), Ok(()), "those with a place have their own");
    let later = NOW.after(Span::MINUTE);
    assert_eq!(guard.admit(peer(peers), &wrong, later), Err(Refusal::Wrong));
    assert_eq!(guard.wrong.lock().unwrap().by_peer.len(), 1, "what does not count takes no place");
}
