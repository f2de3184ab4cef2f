//! Guessing, and what it does to others.

use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const TOKEN: &str = "0123456789abcdef";

fn guard() -> AdminGuard {
    AdminGuard::try_new(AdminToken::try_new(TOKEN).unwrap()).unwrap()
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
        assert_eq!(said(missing), Err(TokenRefusal::Missing), "{missing:?}");
    }
    for wrong in ["Bearer 0123456789abcde", "Bearer 0123456789abcdef,", "Bearer x"] {
        assert_eq!(said(&[wrong]), Err(TokenRefusal::Wrong), "{wrong}");
    }
}

#[test]
fn t43_wrong_tokens_of_an_address_are_counted_for_a_minute() {
    let guard = guard();
    let (right, wrong) = (with(&["Bearer 0123456789abcdef"]), with(&["Bearer wrong"]));
    for second in 0..MOST_WRONG {
        let now = NOW.after(Span::from_secs(second));
        assert_eq!(guard.admit(peer(1), &HeaderMap::new(), now), Err(TokenRefusal::Missing));
        assert_eq!(guard.admit(peer(1), &wrong, now), Err(TokenRefusal::Wrong));
    }
    let now = NOW.after(Span::from_secs(10));
    let refused = guard.admit(peer(1), &wrong, now);
    assert_eq!(refused, Err(TokenRefusal::TooMany(Span::from_secs(50))));
    assert_eq!(guard.admit(peer(1), &right, now), Ok(()), "the right one gets in all the same");
    assert_eq!(guard.admit(peer(1), &HeaderMap::new(), now), Err(TokenRefusal::Missing));
    assert_eq!(
        guard.admit(peer(2), &wrong, now),
        Err(TokenRefusal::Wrong),
        "others have their own count"
    );
    let end = NOW.after(Span::MINUTE);
    let before = Timestamp::from_micros(end.as_micros() - 1);
    assert_ne!(
        guard.admit(peer(1), &wrong, before),
        Err(TokenRefusal::Wrong),
        "not before the told time"
    );
    assert_eq!(guard.admit(peer(1), &wrong, end), Err(TokenRefusal::Wrong), "and at it");
}

#[test]
fn t43_wrong_tokens_are_counted_in_total_and_one_address_cannot_fill_that_count() {
    let guard = guard();
    let (right, wrong) = (with(&["Bearer 0123456789abcdef"]), with(&["Bearer wrong"]));
    for _ in 0..1_000 {
        assert!(guard.admit(peer(0), &wrong, NOW).is_err());
    }
    let others = u32::try_from(MOST_WRONG_IN_TOTAL - MOST_WRONG).unwrap();
    for number in 1..=others {
        assert_eq!(guard.admit(peer(number), &wrong, NOW), Err(TokenRefusal::Wrong), "{number}");
    }
    let refused = guard.admit(peer(others + 1), &wrong, NOW);
    assert_eq!(refused, Err(TokenRefusal::TooMany(Span::MINUTE)));
    assert_eq!(guard.admit(peer(others + 1), &right, NOW), Ok(()));
    let later = NOW.after(Span::MINUTE);
    assert_eq!(guard.admit(peer(others + 1), &wrong, later), Err(TokenRefusal::Wrong));
}

/// Wrong tokens: how many, of which peer, and how many seconds after the ones before.
fn histories() -> impl Strategy<Value = Vec<(u8, u32, u64)>> {
    proptest::collection::vec((1..30_u8, 0..200_u32, 0..40_u64), 0..60)
}

proptest! {
    #[test]
    fn t43_the_right_token_gets_in_after_any_history_of_wrong_ones(
        history in histories(),
        operator in 0..200_u32,
    ) {
        let guard = guard();
        let (right, wrong) = (with(&["Bearer 0123456789abcdef"]), with(&["Bearer 0123456789abcdeg"]));
        let mut now = NOW;
        for (count, number, pause) in history {
            now = now.after(Span::from_secs(pause));
            for _ in 0..count {
                prop_assert!(guard.admit(peer(number), &wrong, now).is_err());
            }
            prop_assert_eq!(guard.admit(peer(operator), &right, now), Ok(()));
            prop_assert_eq!(guard.admit(peer(number), &right, now), Ok(()));
        }
    }

    #[test]
    fn t43_what_is_kept_and_logged_of_wrong_tokens_is_bounded(history in histories()) {
        let guard = guard();
        let wrong = with(&["Bearer wrong"]);
        let (mut now, mut logged) = (NOW, Vec::new());
        for (count, number, pause) in history {
            now = now.after(Span::from_secs(pause));
            let refused = (0..count).map(|_| guard.admit(peer(number), &wrong, now));
            logged.extend(refused.filter(|it| *it == Err(TokenRefusal::Wrong)).map(|_| (number, now)));
            let last_minute = logged.iter().filter(|(_, at)| now.since(*at) < Span::MINUTE);
            let of_this = last_minute.clone().filter(|(other, _)| *other == number).count();
            prop_assert!(last_minute.count() <= usize::try_from(MOST_WRONG_IN_TOTAL).unwrap());
            prop_assert!(of_this <= usize::try_from(MOST_WRONG).unwrap());
            prop_assert!(guard.wrong.lock().unwrap().by_peer.len() <= MOST_PEERS);
        }
    }
}
