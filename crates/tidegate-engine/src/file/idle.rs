//! Limits that can never bind: another limit of the policy refuses whatever they would.
//!
//! Such a limit is a mistake: somebody believes in it. Limit B is idle beside limit A of the same
//! policy if, whatever requests come, A refuses every request that B refuses. That is claimed only
//! where it can be proven, which takes two steps.
//!
//! **A is charged whenever B is** ([`is_charged_with`]). A request that B applies to has all the
//! facts of A's scope too, and those of B decide A's, so that all requests on one counter of B are
//! on one counter of A. Every admitted one is charged to both ([`plan`](tidegate_core::plan)), at
//! one instant and for the same units (same cost rule, nothing settled afterwards). B is charged for
//! nothing else: it does not count attempts, and no policy charges it without A. What else A is
//! charged for only makes it stricter.
//!
//! **A's numbers leave no more room** ([`implies`]), for all numbers in force: a counter's numbers
//! are those of the override for the values in its key, the same for every request on it (where a plan
//! selects them they are not, and nothing is claimed). Let
//! `used(t)` be the most units that A admits in any `t` microseconds in a row.
//!
//! | A | `used(t)` is at most | because |
//! |---|---|---|
//! | bucket | `burst + rate · t` | that is all it holds and gets |
//! | window | `count · ⌈t / per⌉` | `t` is covered by so many spans of `per`, each with `count` |
//! | quota | `count · (⌈t / shortest⌉ + 1)` | `t` touches at most so many periods |
//!
//! A request that A admits is part of what A admits. So B has room for it, and is idle, if
//!
//! | B | condition | because |
//! |---|---|---|
//! | window, exact | `used(per) ≤ count` | it counts the last `per` |
//! | window, other | `used(per · 61/60) ≤ count` | a unit counts no longer than that |
//! | quota | `used(longest period) ≤ count` | a period is no longer |
//! | bucket | see [`fills`] | it lacks the most that was taken beyond the refill in any time up to now |
//!
//! Where A and B move alike, less is enough. Two buckets: with a rate and a burst no larger, at any
//! time no less is missing in A than in B. Two windows of one length and of one kind, or two quotas
//! of one period, forget together, and A remembers no less.
//!
//! Three exceptions are left aside, in each of which a store is stricter: counters that share a
//! cell because memory is full, counters written under other numbers before a reload, and a clock
//! that went back.

use tidegate_core::{
    Bucket, Calendar, Dimension, Limit, Period, Quota, Scope, Shape, Span, Unit, Window,
};

/// How much longer or shorter a calendar period can be than its name says, in microseconds: no zone
/// moves its clocks by more.
const SHIFT: u64 = 2 * Span::HOUR.as_micros();

/// The most units that a limit lets through in `t` microseconds.
#[derive(Clone, Copy)]
enum Through {
    /// `burst + tokens · t / per`.
    Smooth { burst: u64, tokens: u64, per: u64 },
    /// `count · (⌈t / every⌉ + more)`.
    Stepped { count: u64, every: u64, more: u64 },
}

/// A limit with all numbers in force: the usual ones and those of its overrides.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuledLimit<'l> {
    pub(super) limit: &'l Limit,
    pub(super) shapes: &'l [Shape],
}

/// The most pairs of numbers that are compared; beyond that nothing is claimed.
const MOST_PAIRS: usize = 1 << 12;

/// Whether `idle` never refuses what `other` does not refuse too. Both are limits of one policy, which
/// fixes the values of the dimensions `given`, and no policy charges `idle` without `other`.
pub(super) fn is_idle_beside(idle: RuledLimit<'_>, other: RuledLimit<'_>, given: Scope) -> bool {
    idle.shapes.len().saturating_mul(other.shapes.len()) <= MOST_PAIRS
        && is_charged_with(other, idle, given)
        && other.shapes.iter().all(|a| idle.shapes.iter().all(|b| implies(a, b)))
}

/// Whether all that is charged to `b` is charged to `a` as well, on counters that are no finer.
///
/// If B is asked before the action's limits, A has to be too: otherwise B's refusal would keep A from
/// counting an attempt.
fn is_charged_with(a: RuledLimit<'_>, b: RuledLimit<'_>, given: Scope) -> bool {
    let counts_attempts = b.shapes.iter().any(Shape::counts_attempts);
    let (a, b) = (a.limit, b.limit);
    // An address determines the wider prefixes around it.
    let is_within =
        |fine: Dimension, wide: Dimension| match (fine.prefix_length(), wide.prefix_length()) {
            (Some(fine), Some(wide)) => fine <= wide,
            _ => fine == wide,
        };
    let follows = |dimension: Dimension| {
        given.contains(dimension) || b.scope().dimensions().any(|finer| is_within(finer, dimension))
    };
    let enforced = !a.is_shadow() && !b.is_shadow();
    // Whatever A exempts, B must exempt too. (Limits that count distinct values are abuse logs,
    // about which nothing is claimed.)
    let as_many = (a.exempt().is_none() || a.exempt() == b.exempt())
        && (!a.is_only_ipv6() || b.is_only_ipv6());
    let in_time = a.stage() <= b.stage();
    let alike = in_time && a.cost() == b.cost() && !a.settles() && !b.settles();
    // Numbers that differ between requests on one counter are not compared.
    let fixed = !a.varies_by_plan() && !b.varies_by_plan();
    enforced && fixed && as_many && alike && !counts_attempts && a.scope().dimensions().all(follows)
}

/// Whether a counter of shape `b` has room for whatever one of shape `a` admits.
fn implies(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Bucket(a), Shape::Bucket(b)) if !b.rate().is_slower_than(a.rate()) => {
            a.burst() <= b.burst()
        }
        (Shape::Window(a), Shape::Window(b)) if forgets_like(a, b) => a.count() <= b.count(),
        (Shape::Quota(a), Shape::Quota(b)) if renews_like(a, b) => a.count() <= b.count(),
        (a, Shape::Bucket(b)) => Through::of(a).is_some_and(|through| through.fills(b)),
        (a, Shape::Window(b)) => {
            let per = u128::from(b.per().as_micros());
            let (units, of) = if b.is_exact() { (per, 1) } else { (61 * per, 60) };
            Through::of(a).is_some_and(|through| through.is_at_most(b.count(), units, of))
        }
        (Shape::Quota(a), Shape::Quota(b)) if let Some(times) = nested(a, b) => {
            a.count().checked_mul(times).is_some_and(|most| most <= b.count())
        }
        (a, Shape::Quota(b)) => {
            let (_, longest) = lengths(b.period());
            let longest = longest.into();
            Through::of(a).is_some_and(|through| through.is_at_most(b.count(), longest, 1))
        }
        // What an abuse log does depends on blocks that no other limit knows of. Nothing is claimed
        // about a shape that is not compared here.
        _ => false,
    }
}

/// Whether a unit that one window has forgotten is forgotten by the other as well.
fn forgets_like(a: &Window, b: &Window) -> bool {
    a.per() == b.per() && (b.is_exact() || !a.is_exact())
}

/// Whether two quotas start anew at the same instants. Those that start with their first use do so
/// only if nothing but the same requests is charged, which is not known here.
fn renews_like(a: &Quota, b: &Quota) -> bool {
    a.period() == b.period() && !matches!(a.period(), Period::FirstUse(_))
}

/// How many periods of `a` one of `b` consists of, if it consists of whole ones.
fn nested(a: &Quota, b: &Quota) -> Option<u64> {
    match (a.period(), b.period()) {
        (Period::Fixed(a), Period::Fixed(b)) => {
            let (a, b) = (a.as_micros(), b.as_micros());
            b.is_multiple_of(a).then(|| b / a)
        }
        // Weeks and months begin with a day of their zone.
        (Period::Calendar(a), Period::Calendar(b)) if a.zone() == b.zone() => {
            match (a.unit(), b.unit()) {
                (Unit::Day, Unit::Week) => Some(7),
                (Unit::Day, Unit::Month) => Some(31),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The shortest and the longest a period can be, in microseconds.
fn lengths(period: &Period) -> (u64, u64) {
    const DAY: u64 = Span::DAY.as_micros();
    let calendar = |of: &Calendar, shortest: u64, longest: u64| match of.zone() {
        "UTC" => (shortest, longest),
        _ => (shortest - SHIFT, longest + SHIFT),
    };
    match period {
        Period::Fixed(length) | Period::FirstUse(length) => {
            (length.as_micros(), length.as_micros())
        }
        Period::Calendar(of) => match of.unit() {
            // Hours are never shorter, and at most twice as long.
            Unit::Hour => (Span::HOUR.as_micros(), 2 * Span::HOUR.as_micros()),
            Unit::Day => calendar(of, DAY, DAY),
            Unit::Week => calendar(of, 7 * DAY, 7 * DAY),
            Unit::Month => calendar(of, 28 * DAY, 31 * DAY),
        },
    }
}

// === impl Through ===

impl Through {
    /// What a limit of this shape lets through; `None` where nothing is claimed about that.
    fn of(shape: &Shape) -> Option<Self> {
        Some(match shape {
            Shape::Bucket(bucket) => Self::Smooth {
                burst: bucket.burst(),
                tokens: bucket.rate().tokens(),
                per: bucket.rate().per().as_micros(),
            },
            Shape::Window(window) => {
                Self::Stepped { count: window.count(), every: window.per().as_micros(), more: 0 }
            }
            Shape::Quota(quota) => {
                let (every, _) = lengths(quota.period());
                Self::Stepped { count: quota.count(), every, more: 1 }
            }
            _ => return None,
        })
    }

    /// Whether at most `count` units come through in `time / of` microseconds.
    fn is_at_most(self, count: u64, time: u128, of: u128) -> bool {
        let count = u128::from(count);
        let most = match self {
            // burst + tokens · time / (per · of), all times per · of.
            Self::Smooth { burst, tokens, per } => {
                let scale = u128::from(per) * of;
                let held = u128::from(burst).checked_mul(scale);
                let given = u128::from(tokens).checked_mul(time);
                let most = held.zip(given).and_then(|(held, given)| held.checked_add(given));
                return most.zip(count.checked_mul(scale)).is_some_and(|(most, room)| most <= room);
            }
            Self::Stepped { count, every, more } => {
                let steps = time.div_ceil(u128::from(every) * of) + u128::from(more);
                u128::from(count).checked_mul(steps)
            }
        };
        most.is_some_and(|most| most <= count)
    }

    /// Whether `bucket` always has room for what comes through.
    ///
    /// What is missing in it, the request included, is what was taken in some time `t` up to now,
    /// less what was refilled in that time: at most `used(t + 1 tick) − rate · t`. Stepped, with
    /// `k · every` ticks gone there have been at most `k + 1 + more` steps:
    /// `count · (k + 1 + more) − rate · k · every`. That is at most `count · (1 + more)` if the
    /// bucket gets `count` in `every`. A smooth limit is only compared with a bucket of a slower
    /// rate, which it empties in some long time.
    fn fills(self, bucket: &Bucket) -> bool {
        match self {
            Self::Smooth { .. } => false,
            Self::Stepped { count, every, more } => {
                let rate = bucket.rate();
                let given = u128::from(rate.tokens()) * u128::from(every);
                let needed = u128::from(count) * u128::from(rate.per().as_micros());
                let at_once = count.checked_mul(1 + more);
                given >= needed && at_once.is_some_and(|at_once| at_once <= bucket.burst())
            }
        }
    }
}

#[cfg(test)]
mod tests;
