//! The numbers of one decision, kept until there is a response to write them into.

use arrayvec::ArrayVec;
use tidegate_core::{
    Cap, Decision, Explanation, Guarded, Kind, MAX_LIMITS, Name, Period, Retry, Shape, Span,
    Timestamp, Unit, Verdict,
};

use super::is_about_identity;
use super::profile::{Profile, RetryAfter};

/// What header fields say about a decision, kept until there is a response to write them into.
///
/// There are numbers only where somebody has counted: not where a limit is a mere shadow, or where
/// nothing could be found out.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// The limits that applied, in the order of the policy.
    pub(super) limits: ArrayVec<Limited, MAX_LIMITS>,
    /// What the one that decided has left.
    left: Option<Left>,
    /// When to come back, of a request that was refused.
    retry: Option<Retry>,
    decided_at: Timestamp,
}

/// A limit in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limited {
    /// None where what it is called is nobody's business: at entrances, and of local caps.
    pub(super) name: Option<Name>,
    pub(super) capacity: u64,
    /// In whole seconds.
    pub(super) window: u64,
}

/// What is left of a limit.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// Its place among the limits.
    place: usize,
    remaining: u64,
    reset_after: Span,
    is_quota: bool,
}

/// The numbers of the limit that decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding<'f> {
    pub(super) limit: &'f Limited,
    pub(super) remaining: u64,
    /// In whole seconds.
    pub(super) reset_after: u64,
    /// In whole seconds since the Unix epoch.
    pub(super) reset_at: u64,
}

// === impl Figures ===

impl Figures {
    /// What there is to say about this decision.
    pub(crate) fn of(decision: &Decision<'_>) -> Self {
        let retry = match decision.verdict() {
            Verdict::Admit | Verdict::Degrade => None,
            Verdict::Queue(wait) => Some(Retry::After(wait)),
            Verdict::Deny(denial) => Some(denial.retry),
        };
        let decided_at = decision.decided_at();
        let mut figures = Self { limits: ArrayVec::new(), left: None, retry, decided_at };
        match (decision.binding(), decision.guarded()) {
            (Some(binding), _) if !binding.limit.is_shadow() => figures.count(decision, &binding),
            (None, Some(guarded)) => figures.guard(&guarded),
            _ => {}
        }
        figures
    }

    fn count(&mut self, decision: &Decision<'_>, binding: &Explanation<'_>) {
        let place = if is_about_identity(decision.policy().protects()) {
            let _ = self.limits.try_push(Limited::of(binding, None));
            0
        } else {
            self.list(decision, binding)
        };
        self.left = Some(Left {
            place,
            remaining: binding.reading.remaining.max(0).unsigned_abs(),
            reset_after: self.reset_after(binding.reading.reset_after, binding.reading.wait),
            is_quota: binding.shape.kind() == Kind::Quota,
        });
    }

    /// Takes down every limit that applied, and says at which place the one is that decided.
    fn list(&mut self, decision: &Decision<'_>, binding: &Explanation<'_>) -> usize {
        let mut place = 0;
        for said in decision.explain().filter(|said| !said.limit.is_shadow()) {
            if core::ptr::eq(said.limit, binding.limit) {
                place = self.limits.len();
            }
            let name = Some(said.limit.name().clone());
            // There is room: this is the most that one decision can ask.
            let _ = self.limits.try_push(Limited::of(&said, name));
        }
        place
    }

    fn guard(&mut self, guarded: &Guarded) {
        let Some(Cap { count, per, .. }) = guarded.cap else { return };
        let _ = self.limits.try_push(Limited { name: None, capacity: count, window: whole(per) });
        let reset_after = self.reset_after(guarded.reset, guarded.wait);
        let remaining = guarded.remaining;
        self.left = Some(Left { place: 0, remaining, reset_after, is_quota: false });
    }

    /// No earlier than there is room again, for one that was refused.
    fn reset_after(&self, reset: Span, wait: Span) -> Span {
        if self.is_refusal() { reset.max(wait) } else { reset }
    }

    /// Whether less is left of this one than of the other: a refusal first, then the smaller share.
    pub(crate) fn is_scarcer_than(&self, other: &Self) -> bool {
        if self.is_refusal() != other.is_refusal() {
            return self.is_refusal();
        }
        match (self.binding(), other.binding()) {
            (Some(mine), Some(theirs)) => {
                let cross = |a: Binding<'_>, b: Binding<'_>| {
                    u128::from(a.remaining) * u128::from(b.limit.capacity)
                };
                cross(mine, theirs) < cross(theirs, mine)
            }
            (mine, theirs) => mine.is_some() && theirs.is_none(),
        }
    }

    /// The numbers of the limit that decided, if there are any.
    pub(super) fn binding(&self) -> Option<Binding<'_>> {
        let left = self.left?;
        let reset_at = self.decided_at.after(left.reset_after);
        Some(Binding {
            limit: self.limits.get(left.place)?,
            remaining: left.remaining,
            reset_after: left.reset_after.as_secs_ceil(),
            reset_at: reset_at.since(Timestamp::ZERO).as_secs_ceil(),
        })
    }

    pub(super) const fn is_refusal(&self) -> bool {
        self.retry.is_some()
    }

    /// Whether no wait helps.
    pub(super) fn is_hopeless(&self) -> bool {
        self.retry == Some(Retry::Never)
    }

    /// When to come back, in whole seconds, if this profile says it.
    pub(super) fn retry_after(&self, profile: &Profile) -> Option<u64> {
        let Some(Retry::After(wait)) = self.retry else { return None };
        let by_quota = self.left.is_some_and(|left| left.is_quota);
        let told = !by_quota || profile.retry_after == RetryAfter::Always;
        // To come back at once is not what a refusal says.
        told.then(|| wait.as_secs_ceil().max(1))
    }
}

// === impl Limited ===

impl Limited {
    fn of(said: &Explanation<'_>, name: Option<Name>) -> Self {
        Self { name, capacity: said.shape.capacity(), window: window(said.shape) }
    }
}

/// The span in which a shape admits its capacity, in whole seconds. Of a calendar that is the usual
/// length, and the longest month: a day may have 23 hours or 25.
fn window(shape: &Shape) -> u64 {
    match shape {
        Shape::Bucket(bucket) => {
            // What an empty one needs to be full.
            let full_at = bucket.fresh_at(bucket.exhausted(Timestamp::ZERO));
            whole(full_at.since(Timestamp::ZERO))
        }
        Shape::Window(window) => whole(window.per()),
        Shape::Quota(quota) => match quota.period() {
            Period::Fixed(length) | Period::FirstUse(length) => whole(*length),
            Period::Calendar(calendar) => match calendar.unit() {
                Unit::Hour => 3_600,
                Unit::Day => 86_400,
                Unit::Week => 7 * 86_400,
                Unit::Month => 31 * 86_400,
            },
        },
        Shape::Attempts(attempts) => {
            whole(attempts.long().map_or(attempts.temp().per, |long| long.per))
        }
    }
}

/// Whole seconds, rounded up, and at least one.
const fn whole(span: Span) -> u64 {
    let seconds = span.as_secs_ceil();
    if seconds == 0 { 1 } else { seconds }
}
