//! Waits found by search, not by formula.

/// The first instant from `from` on at which `holds` is true; once true, it stays true.
pub(super) fn first_instant(from: u64, holds: impl Fn(u64) -> bool) -> u64 {
    if holds(from) {
        return from;
    }
    // `holds` is false at `before`; it is true at `then` once the stride is long enough.
    let (mut before, mut stride) = (from, 1);
    let mut then = from + stride;
    while !holds(then) {
        assert!(stride < 1 << 60, "a wait that never ends was not told as one");
        before = then;
        stride *= 2;
        then = from + stride;
    }
    while then - before > 1 {
        let middle = before + (then - before) / 2;
        if holds(middle) { then = middle } else { before = middle }
    }
    then
}
