//! The numbers of one decision, kept until there is a response to write them into.

use std::sync::Arc;

use tidegate_core::{
    Cap, Decision, Explanation, Guarded, Name, Retry, ShapeKind, Span, Timestamp, Verdict,
};

use super::listing::{Listing, Listings};
use super::profile::{Profile, RetryAfter};

/// The numbers of one decision, as header fields tell them.
///
/// There are none if the limit that decided is a shadow, or if nothing was counted.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// The numbers of the limit that decided.
    left: Option<Left>,
    /// The wait before a retry, if the request was refused.
    retry: Option<Retry>,
    decided_at: Timestamp,
}

/// The configured numbers of a limit, and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limited {
    /// The name to show; none for a limit that guards identity, and for a local cap.
    pub(super) name: Option<Name>,
    pub(super) capacity: u64,
    /// The length of the window, in whole seconds.
    pub(super) window: u64,
}

/// The state of the limit that decided.
#[derive(Clone, Debug)]
struct Left {
    /// The limits that applied to the request.
    listing: Arc<Listing>,
    /// The index of the limit in `listing`.
    place: usize,
    remaining: u64,
    reset_after: Span,
    is_quota: bool,
}

/// The numbers of the limit that decided, as header fields write them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding<'f> {
    pub(super) listing: &'f Listing,
    pub(super) place: usize,
    pub(super) limit: &'f Limited,
    pub(super) remaining: u64,
    /// The time until the limit starts anew, in whole seconds.
    pub(super) reset_after: u64,
    /// When the limit starts anew, in whole seconds since the Unix epoch.
    pub(super) reset_at: u64,
}

// === impl Figures ===

impl Figures {
    /// The numbers of this decision; `listings` are those kept for its policy, if any.
    pub(crate) fn of(decision: &Decision<'_>, listings: Option<&Listings>) -> Self {
        let retry = match decision.verdict() {
            Verdict::Admit | Verdict::Degrade => None,
            Verdict::Queue(wait) => Some(Retry::After(wait)),
            Verdict::Deny(denial) => Some(denial.retry),
        };
        let mut figures = Self { left: None, retry, decided_at: decision.decided_at() };
        match (decision.binding(), decision.guarded()) {
            (Some(binding), _) if !binding.limit.is_shadow() => {
                figures.left = Some(figures.counted(decision, listings, &binding));
            }
            (None, Some(guarded)) => figures.left = figures.guarded(&guarded),
            _ => {}
        }
        figures
    }

    fn counted(
        &self,
        decision: &Decision<'_>,
        listings: Option<&Listings>,
        binding: &Explanation<'_>,
    ) -> Left {
        let (listing, place) = Listings::find(listings, decision, binding);
        Left {
            listing,
            place,
            remaining: binding.reading.remaining.max(0).unsigned_abs(),
            reset_after: self.reset_after(binding.reading.reset_after, binding.reading.wait),
            is_quota: binding.shape.kind() == ShapeKind::Quota,
        }
    }

    fn guarded(&self, guarded: &Guarded) -> Option<Left> {
        let Cap { count, per, .. } = guarded.cap?;
        let limit = Limited { name: None, capacity: count, window: whole(per) };
        let reset_after = self.reset_after(guarded.reset, guarded.wait);
        let (listing, remaining) = (Arc::new(Listing::of_one(limit)), guarded.remaining);
        Some(Left { listing, place: 0, remaining, reset_after, is_quota: false })
    }

    /// The time until the limit starts anew; for a refused request, no earlier than there is room again.
    fn reset_after(&self, reset: Span, wait: Span) -> Span {
        if self.is_refusal() { reset.max(wait) } else { reset }
    }

    /// Whether less is left here than in `other`: a refusal counts as least, then the smaller share.
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
        let left = self.left.as_ref()?;
        let reset_at = self.decided_at.after(left.reset_after);
        Some(Binding {
            listing: &left.listing,
            place: left.place,
            limit: left.listing.limits.get(left.place)?,
            remaining: left.remaining,
            reset_after: left.reset_after.as_secs_ceil(),
            reset_at: reset_at.since(Timestamp::ZERO).as_secs_ceil(),
        })
    }

    pub(super) const fn is_refusal(&self) -> bool {
        self.retry.is_some()
    }

    /// Whether the request was refused and no wait would help.
    pub(super) fn is_hopeless(&self) -> bool {
        self.retry == Some(Retry::Never)
    }

    /// The wait before a retry, in whole seconds, if this profile tells it.
    pub(super) fn retry_after(&self, profile: &Profile) -> Option<u64> {
        let Some(Retry::After(wait)) = self.retry else { return None };
        let by_quota = self.left.as_ref().is_some_and(|left| left.is_quota);
        let told = !by_quota || profile.retry_after == RetryAfter::Always;
        // At least a second: a refusal never says to come back at once.
        told.then(|| wait.as_secs_ceil().max(1))
    }
}

// === impl Limited ===

impl Limited {
    pub(super) fn of(said: &Explanation<'_>, name: Option<Name>) -> Self {
        Self { name, capacity: said.shape.capacity(), window: whole(said.shape.span()) }
    }
}

/// A span in whole seconds, rounded up, and at least one.
const fn whole(span: Span) -> u64 {
    let seconds = span.as_secs_ceil();
    if seconds == 0 { 1 } else { seconds }
}
