//! Whom an override is for.

use super::{matches, matches_in};

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, value, expected) in [
        ("acme", "acme", true),
        ("acme", "acme2", false),
        ("acme*", "acme", true),
        ("acme*", "acme-eu", true),
        ("*-eu", "acme-eu", true),
        ("*-eu", "acme-eu-2", false),
        ("a*b*c", "a1b2b3c", true),
        ("a*b*c", "a1c2b", false),
        ("*", "", true),
        ("", "", true),
        ("", "a", false),
        ("**a", "ba", true),
        ("a*", "b", false),
    ] {
        assert_eq!(matches(pattern.as_bytes(), value.as_bytes()), expected, "{pattern} ~ {value}");
    }
}

#[test]
fn t12_a_hostile_value_costs_at_most_pattern_times_value() {
    for (pattern, value) in [
        // As many stars as there are, and the end never fits.
        ([b"*a".repeat(60), b"b".to_vec()].concat(), b"a".repeat(20_000)),
        // What stands behind the star fits nearly everywhere, but for its end.
        ([b"*".to_vec(), b"a".repeat(120), b"b".to_vec()].concat(), b"a".repeat(20_000)),
        ([b"*".to_vec(), b"ab".repeat(60), b"c*".to_vec()].concat(), b"ab".repeat(10_000)),
    ] {
        let mut steps = 0;
        assert!(!matches_in(&pattern, &value, || steps += 1));
        let (most, least) = (pattern.len() * value.len(), value.len());
        assert!((least..=most).contains(&steps), "{steps} steps, {most} at most");
    }
}
