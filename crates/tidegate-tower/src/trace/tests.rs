//! The forms of W3C's own test suite, and that what is written is read.

use proptest::prelude::*;

use super::*;

const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn headers(parents: &[&str], states: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, values) in [(TRACEPARENT, parents), (TRACESTATE, states)] {
        for value in values {
            headers.append(&name, HeaderValue::from_str(value).unwrap());
        }
    }
    headers
}

#[test]
fn the_fields_are_where_they_belong() {
    let context = TraceContext::parse(VALID.as_bytes()).unwrap();
    assert_eq!(context.trace_id(), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
    assert_eq!(context.trace_id_hex(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(context.parent_id(), 0x00f0_67aa_0ba9_02b7);
    assert!(context.is_sampled());
    assert_eq!(context.to_string(), VALID);
}

#[test]
fn valid_forms_are_read() {
    for valid in [
        "00-12345678901234567890123456789012-1234567890123456-00",
        "00-12345678901234567890123456789012-1234567890123456-01",
        "00-12345678901234567890123456789012-1234567890123456-02",
        "00-12345678901234567890123456789012-1234567890123456-ff",
        "00-00000000000000000000000000000001-0000000000000001-00",
        "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01",
        "01-12345678901234567890123456789012-1234567890123456-01",
        "cc-12345678901234567890123456789012-1234567890123456-01",
        "cc-12345678901234567890123456789012-1234567890123456-01-what-the-future-will-be-like",
        "fe-12345678901234567890123456789012-1234567890123456-01-",
    ] {
        assert!(TraceContext::parse(valid.as_bytes()).is_some(), "{valid}");
    }
}

#[test]
fn invalid_forms_are_not_read() {
    for invalid in [
        "",
        "00",
        "00-12345678901234567890123456789012-1234567890123456",
        "00-12345678901234567890123456789012-1234567890123456-",
        // More than there is in this version.
        "00-12345678901234567890123456789012-1234567890123456-01.",
        "00-12345678901234567890123456789012-1234567890123456-01-what-the-future-will-be-like",
        "00-12345678901234567890123456789012-1234567890123456-01-",
        // What follows in a later one begins with a dash.
        "cc-12345678901234567890123456789012-1234567890123456-01.what-the-future-will-be-like",
        "cc-12345678901234567890123456789012-1234567890123456-011",
        // The version.
        "ff-12345678901234567890123456789012-1234567890123456-01",
        ".0-12345678901234567890123456789012-1234567890123456-01",
        "0.-12345678901234567890123456789012-1234567890123456-01",
        "0-12345678901234567890123456789012-1234567890123456-01",
        "000-12345678901234567890123456789012-1234567890123456-01",
        "0000-12345678901234567890123456789012-1234567890123456-01",
        "FE-12345678901234567890123456789012-1234567890123456-01",
        // The trace.
        "00-00000000000000000000000000000000-1234567890123456-01",
        "00-.2345678901234567890123456789012-1234567890123456-01",
        "00-1234567890123456789012345678901.-1234567890123456-01",
        "00-1234567890123456789012345678901-1234567890123456-01",
        "00-123456789012345678901234567890123-1234567890123456-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        // The span.
        "00-12345678901234567890123456789012-0000000000000000-01",
        "00-12345678901234567890123456789012-.234567890123456-01",
        "00-12345678901234567890123456789012-123456789012345.-01",
        "00-12345678901234567890123456789012-123456789012345-01",
        "00-12345678901234567890123456789012-12345678901234567-01",
        "00-12345678901234567890123456789012-12345678ABCDEF12-01",
        // The flags.
        "00-12345678901234567890123456789012-1234567890123456-.0",
        "00-12345678901234567890123456789012-1234567890123456-0.",
        "00-12345678901234567890123456789012-1234567890123456-1",
        "00-12345678901234567890123456789012-1234567890123456-001",
        "00-12345678901234567890123456789012-1234567890123456-0A",
        // What divides them.
        "00_12345678901234567890123456789012-1234567890123456-01",
        "00-12345678901234567890123456789012_1234567890123456-01",
        "00-12345678901234567890123456789012-1234567890123456_01",
        " 00-12345678901234567890123456789012-1234567890123456-01",
        "00-12345678901234567890123456789012-1234567890123456-01 ",
    ] {
        assert_eq!(TraceContext::parse(invalid.as_bytes()), None, "{invalid}");
    }
}

#[test]
fn a_valid_context_goes_on_unchanged() {
    let later = "cc-12345678901234567890123456789012-1234567890123456-01-more";
    for parent in [VALID, later] {
        let mut sent = headers(&[parent], &["foo=1", "bar=2"]);
        let before = sent.clone();
        let adopted = TraceContext::adopt(&mut sent);
        assert_eq!(adopted, TraceContext::parse(parent.as_bytes()));
        assert_eq!(sent, before);
    }
}

#[test]
fn what_cannot_be_read_is_taken_away_with_its_state() {
    for parents in [&["00-x"][..], &[VALID, VALID], &[VALID, "x"], &[""]] {
        let mut sent = headers(parents, &["foo=1", "bar=2"]);
        assert_eq!(TraceContext::adopt(&mut sent), None);
        assert!(sent.is_empty(), "{parents:?}");
    }
    assert_eq!(TraceContext::adopt(&mut headers(&[], &[])), None, "nobody traces");
}

proptest! {
    #[test]
    fn what_is_written_is_read(trace_id in 1_u128.., parent_id in 1_u64.., flags: u8) {
        let context = TraceContext { trace_id, parent_id, flags };
        prop_assert_eq!(TraceContext::parse(context.header_value().as_bytes()), Some(context));
        prop_assert_eq!(context.to_string().into_bytes(), context.text());
    }

    #[test]
    fn t30_any_bytes_are_read_as_they_are_written_or_not_at_all(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        place in 0..LEN,
        byte: u8,
    ) {
        let mut changed = VALID.as_bytes().to_vec();
        changed[place] = byte;
        for bytes in [bytes, changed] {
            if let Some(context) = TraceContext::parse(&bytes) {
                prop_assert_eq!(&bytes[2..LEN], &context.text()[2..]);
            }
        }
    }
}
