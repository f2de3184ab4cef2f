//! Whom an override is for.

use super::matches;

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
    let pattern = [b"*a".repeat(60), b"b".to_vec()].concat();
    assert!(!matches(&pattern, &b"a".repeat(20_000)));
}
