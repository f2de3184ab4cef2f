//! What a cluster says about itself, by value.

use redis::Value;

use super::super::layout::{Layout, Member, Range};
use crate::redis::url::Address;

/// `a: 0-10 b c` is slots 0 to 10 with owner a and replicas b and c.
fn layout(ranges: &[(&str, u16, u16, &str)]) -> Layout {
    let member = |id: &str| Member { id: id.to_owned(), address: Address::new(id, 1) };
    let range = |(owner, first, last, replicas): &(&str, u16, u16, &str)| Range {
        first: *first,
        last: *last,
        owner: member(owner),
        replicas: replicas.split_whitespace().map(member).collect(),
    };
    Layout { ranges: ranges.iter().map(range).collect() }
}

#[test]
fn a_failover_is_told_from_a_move() {
    let before = layout(&[("a", 0, 99, "a1"), ("b", 100, 199, "b1 b2")]);
    for (why, now, expected) in [
        ("nothing", layout(&[("a", 0, 99, "a1"), ("b", 100, 199, "b1 b2")]), 0),
        ("a replica less", layout(&[("a", 0, 99, ""), ("b", 100, 199, "b1")]), 0),
        ("moved", layout(&[("a", 0, 49, "a1"), ("b", 50, 199, "b1 b2")]), 0),
        ("all moved", layout(&[("b", 0, 199, "b1 b2")]), 0),
        (
            "moved to a new one",
            layout(&[("a", 0, 49, ""), ("c", 50, 99, ""), ("b", 100, 199, "")]),
            0,
        ),
        ("its replica", layout(&[("a1", 0, 99, ""), ("b", 100, 199, "b1 b2")]), 1),
        ("exchanged", layout(&[("a1", 0, 99, "a"), ("b", 100, 199, "b1 b2")]), 1),
        ("of an unknown one", layout(&[("x", 0, 99, "a"), ("b", 100, 199, "")]), 1),
        ("by an unknown one", layout(&[("x", 0, 99, ""), ("b", 100, 199, "")]), 1),
        ("both", layout(&[("a1", 0, 99, ""), ("b2", 100, 199, "b1")]), 2),
        (
            "split since",
            layout(&[
                ("a1", 0, 9, ""),
                ("b", 10, 19, "b1"),
                ("a1", 20, 99, ""),
                ("b", 100, 199, ""),
            ]),
            1,
        ),
    ] {
        assert_eq!(now.failovers_since(&before), expected, "{why}");
    }
    assert_eq!(before.failovers_since(&Layout::default()), 0, "the first look");
}

#[test]
fn replies_of_all_versions_are_read() {
    let asked = Address::new("asked", 7);
    let bulk = |text: &str| Value::BulkString(text.as_bytes().to_vec());
    let node = |host: Value, port: i64| Value::Array(vec![host, Value::Int(port), bulk("id")]);
    let range = |node: Value| {
        Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(16383), node])])
    };
    for (reply, host) in [
        (range(node(bulk("10.0.0.1"), 1)), Some("10.0.0.1")),
        (range(node(bulk(""), 1)), Some("asked")),
        (range(node(Value::Nil, 1)), Some("asked")),
        (range(node(bulk("?"), 1)), None),
        (range(node(bulk("h"), 0)), None),
        (range(node(bulk("h"), 65536)), None),
        (range(Value::Int(1)), None),
        (Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(16384)])]), None),
        (Value::Array(vec![]), None),
        (Value::Nil, None),
    ] {
        let layout = Layout::read(&reply, &asked);
        let found = layout.as_ref().map(|layout| layout.ranges[0].owner.address.host.as_str());
        assert_eq!(found, host, "{reply:?}");
    }
}
