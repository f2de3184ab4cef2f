//! Nobody can invent, alter or read a ticket.

use proptest::prelude::*;

use super::*;

fn seal() -> Seal {
    Seal::new(&[7; 32])
}

fn claim(number: u64, holds: usize) -> Claim {
    let hold = |place: usize| Hold {
        limit: 11 + place as u64,
        digest: 0x0123_4567_89ab_cdef ^ place as u64,
        role: 5,
        period: 3,
        taken: Cost::try_new(1 + place as u64).unwrap(),
        key: (place % 2 == 1).then(|| "rl:{acme}:w60s".into()),
    };
    Claim {
        id: TicketId { maker: 3, number },
        decided_at: Timestamp::from_micros(1_800_000_000_000_000),
        mode: Mode::Normal,
        network: (number % 2 == 1)
            .then(|| Prefix::rolled_up("2001:db8:7::9".parse().unwrap(), PrefixLength::P48)),
        holds: (0..holds).map(hold).collect(),
    }
}

#[test]
fn p91_what_is_sealed_is_what_is_opened() {
    for holds in 0..=MAX_LIMITS {
        let claim = claim(9, holds);
        let ticket = seal().seal(&claim);
        assert!(ticket.as_str().len() <= Ticket::MAX_TEXT);
        assert_eq!(seal().open(ticket.as_str()), Ok(claim));
    }
}

#[test]
fn p91_a_ticket_of_another_secret_is_refused() {
    let ticket = Seal::new(&[8; 32]).seal(&claim(1, 1));
    assert_eq!(seal().open(ticket.as_str()), Err(TicketError::Altered));
}

/// Made under this secret by the release before tickets were encrypted.
const FORMER_TICKET: &str = "AgAAAAAAAAADAAAAAAAAAAIABmUXKJiAAAACAAAAAAAAAAsrojLIRWh0PgAAAAAAAAABAAAAAAAAAAMAAAAFA\
    AAAAAAAAAAADB2XKDtznqqLAAAAAAAAAAIAAAAAAAAAAwAAAAUADnJsOnthY21lfTp3NjBzEaQN_OrxFZeLmR\
    caW0RwBQ";

#[test]
fn p91_a_ticket_of_the_form_before_is_still_opened() {
    let mut expected = claim(2, 2);
    expected.network = None;
    assert_eq!(seal().open(FORMER_TICKET), Ok(expected));
    let mut bytes = URL_SAFE_NO_PAD.decode(FORMER_TICKET).unwrap();
    bytes[40] ^= 1;
    let altered = URL_SAFE_NO_PAD.encode(bytes);
    assert_eq!(seal().open(&altered), Err(TicketError::Altered));
}

#[test]
fn a_ticket_shows_neither_names_nor_digests_nor_who_asked() {
    let digest = 0x0123_4567_89ab_cdef_u64.to_be_bytes();
    let limit = 11_u64.to_be_bytes();
    for number in [1, 2] {
        let ticket = seal().seal(&claim(number, 2));
        let bytes = URL_SAFE_NO_PAD.decode(ticket.as_str()).unwrap();
        let shows = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        assert!(!shows(b"acme") && !shows(&digest) && !shows(&limit), "{bytes:?}");
        assert!(!shows(&[0x20, 0x01, 0x0d, 0xb8]), "{bytes:?}");
    }
    let [one, other] = [1, 2].map(|number| seal().seal(&claim(number, 2)));
    assert_ne!(one.as_str()[..20], other.as_str()[..20], "each has a nonce of its own");
    assert_eq!(one, seal().seal(&claim(1, 2)), "the same claim is the same ticket");
}

#[test]
fn a_ticket_is_not_logged() {
    let ticket = seal().seal(&claim(1, 1));
    assert_eq!(format!("{ticket:?} {:?}", seal()), "Ticket(sealed) Seal(secret)");
}

proptest! {
    #[test]
    fn p91_a_ticket_with_one_bit_changed_is_refused(place: prop::sample::Index, bit in 0_u8..8) {
        let ticket = seal().seal(&claim(4, 3));
        let mut bytes = URL_SAFE_NO_PAD.decode(ticket.as_str()).unwrap();
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        prop_assert!(seal().open(&text).is_err());
    }

    #[test]
    fn p91_any_text_is_refused(text in ".{0,400}") {
        prop_assert!(seal().open(&text).is_err());
    }

    #[test]
    fn p91_any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(seal().open(&URL_SAFE_NO_PAD.encode(bytes)).is_err());
    }
}
