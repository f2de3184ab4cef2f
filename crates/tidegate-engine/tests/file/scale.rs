//! A file that is eight times as long takes about eight times as long to read, whatever is in it.

use std::fmt::Write as _;

use tidegate_core::{Clock as _, Span};
use tidegate_engine::SystemClock;
use tidegate_engine::file::{File, NoDoor};

/// How much more time eight times the text may take. Quadratic work takes 64 times as much.
const MOST: u64 = 24;

/// One policy with this many limits: far more than it may have, which is an error like any other.
fn one_policy(limits: usize) -> String {
    let mut text =
        "version: 1\npolicies:\n  - name: p\n    failure_mode: fail_open\n    limits:\n".to_owned();
    for n in 0..limits {
        let bucket = format!("{{ rate: {}/s, burst: {} }}", n + 1, limits - n);
        let _ =
            writeln!(text, "      - {{ name: l{n}, by: org, named_key: true, bucket: {bucket} }}");
    }
    text
}

/// This many policies, each with a class, a limit of its own and a shared one.
fn many_policies(count: usize) -> String {
    let bucket = "bucket: { rate: 9/s, burst: 9 }";
    let mut text = format!("version: 1\nshared: [{{ name: s, by: ip, {bucket} }}]\npolicies:\n");
    for n in 0..count {
        let limits = format!("[{{ shared: s }}, {{ name: l, by: [org, class], {bucket} }}]");
        let _ = writeln!(
            text,
            "  - {{ name: p{n}, class: c{n}, failure_mode: fail_open, limits: {limits} }}"
        );
    }
    text
}

/// This many sections that nobody knows.
fn strangers(count: usize) -> String {
    (0..count).map(|n| format!("section-{n}: {n}\n")).collect()
}

/// The least time that reading a text has taken, of several tries.
fn least(text: &str) -> Span {
    let clock = SystemClock::new();
    let times = (0..4).map(|_| {
        let start = clock.now();
        drop(File::<NoDoor>::parse("f.yaml", text));
        clock.now().since(start)
    });
    times.min().unwrap()
}

#[test]
fn eight_times_the_limits_take_about_eight_times_as_long() {
    for (short, long) in [
        (one_policy(1_000), one_policy(8_000)),
        (many_policies(1_000), many_policies(8_000)),
        (strangers(4_000), strangers(32_000)),
    ] {
        let (one, eight) = (least(&short).as_micros(), least(&long).as_micros());
        let told = format!("{} bytes in {one} µs, {} in {eight} µs", short.len(), long.len());
        assert!(eight <= MOST * one, "{told}");
    }
}
