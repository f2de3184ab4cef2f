//! From the readings of the limits to the answer.
//!
//! Every limit is asked, even when the first already refuses: the caller is told the longest wait
//! of all, so that one retry is enough, and every limit's reading comes along, so that nobody has
//! to guess which one it was.

use core::cmp::Reverse;

use crate::block::Block;
use crate::case::Case;
use crate::charge::Charge;
use crate::failover::{Alarm, Failsafe, Guarded};
use crate::limit::{Limit, Stage};
use crate::policy::{Mode, Overflow, Policy};
use crate::shape::{Reading, Room, Shape};
use crate::store::StoreError;
use crate::time::{Span, Timestamp};

/// The whole answer to one request: a [`Case`] that has been decided by [`fold`].
///
/// Branch on the [`verdict`](Self::verdict); the rest is for headers, logs and explanations.
#[must_use = "a decision that nobody looks at has limited nothing"]
#[derive(Clone, Copy, Debug)]
pub struct Decision<'d>(pub(crate) &'d Case<'d>);

/// What to do with the request. If it exceeds a limit, the [`Overflow`] of that limit chooses one of the
/// last three; if it exceeds several, the strictest: deny over queue over degrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let the request pass; it has been counted.
    Admit,
    /// Let the request wait: after this long there is room for it, if nobody else takes it.
    Queue(Span),
    /// Let the request pass with a lower quality of service: only soft limits have no room for it. All
    /// other limits have counted it.
    Degrade,
    /// Refuse the request, and say when to come back.
    Deny(Denial),
}

/// Which stage refused a request, and when the request may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denial {
    /// When to come back: the longest wait of all limits, in whichever stage they are.
    pub retry: Retry,
    /// The first stage in which a limit refused.
    pub source: Stage,
}

/// When a denied caller may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Retry {
    /// After this long every limit has room again, if nobody else takes it; one tick earlier not
    /// all do.
    After(Span),
    /// Never: the request costs more than a limit ever holds.
    Never,
}

/// A decision in the words most callers and clients know: the numbers of the limit that decided,
/// and when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The most the deciding limit admits at once.
    pub limit: u64,
    /// The units that the deciding limit has left; below zero only where refused attempts are counted.
    /// Branch on `blocked` instead.
    pub remaining: i64,
    /// How long until the deciding limit is fresh again: nothing counted so far counts any more.
    pub reset_after: Span,
    /// When a request that must not pass now may come back; `None` for one that may pass.
    pub retry: Option<Retry>,
    /// Whether the request must not pass now.
    pub blocked: bool,
    /// The longest delay that the backoff of any limit asked for; zero if none did.
    pub backoff: Span,
    /// The first instant at which the same request may pass; `None` if it never may.
    pub next_allowed_at: Option<Timestamp>,
    /// The stage of the limit that decided.
    pub source: Stage,
}

/// A request that must not pass now: the [`Status`] as an error, for callers that like `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many requests")]
pub struct TooManyRequests(pub Status);

/// One limit and what it said: an item of [`Decision::explain`].
#[derive(Clone, Copy, Debug)]
pub struct Explanation<'d> {
    /// The limit that was asked; a [shadow](Limit::is_shadow) has not affected the verdict.
    pub limit: &'d Limit,
    /// The shape of the limit with the numbers in force for this subject, overrides included.
    pub shape: &'d Shape,
    /// What the limit has left, and when it has room.
    pub reading: &'d Reading,
}

/// Folds the readings of a case into the answer. A case without a reading for each charge is denied.
///
/// A request passes if every [firm](Limit::is_firm) limit has room for it. An example in which two
/// limits refuse is in [chapter 5](crate::book::ch5_several_limits).
#[inline(always)]
pub fn fold<'d>(case: &'d mut Case<'_>) -> Decision<'d> {
    // Most decisions are like this: one limit, with room. The others need not be inlined everywhere.
    match (case.batch().charges(), case.readings().list()) {
        ([_], [reading]) if reading.room.is_now() => {
            case.verdict = Verdict::Admit;
            case.binding = 0;
        }
        _ => fold_rest(case),
    }
    Decision(case)
}

#[inline(never)]
fn fold_rest(case: &mut Case<'_>) {
    (case.verdict, case.binding) = match (case.batch().charges(), case.readings().list()) {
        ([charge], [reading]) if !charge.limit().is_shadow() => (fold_one(charge, reading), 0),
        _ => fold_all(case),
    };
}

/// The verdict of the only limit, which has no room.
fn fold_one(charge: &Charge<'_>, reading: &Reading) -> Verdict {
    let (overflow, stage) = (charge.limit().overflow(), charge.limit().stage());
    verdict(overflow, left_with(reading), stage)
}

fn fold_all(case: &Case<'_>) -> (Verdict, u8) {
    let (charges, readings) = (case.batch().charges(), case.readings().list());
    if charges.is_empty() || charges.len() != readings.len() {
        return (Verdict::UNDECIDED, 0);
    }
    let mut refusal = Refusal::default();
    let mut scarcest = Scarcest::default();
    let refused = readings.iter().any(|reading| !reading.room.is_now());
    for (index, (charge, reading)) in (0..).zip(charges.iter().zip(readings)) {
        if !charge.limit().is_shadow() {
            if refused {
                refusal.consider(index, charge.limit(), reading);
            }
            scarcest.consider(index, charge.shape().capacity(), reading);
        }
    }
    match refusal.by {
        None => (Verdict::Admit, scarcest.index),
        Some(by) => (refusal.verdict(by), by.index),
    }
}

/// The limits without room among the readings: which one binds, and the longest wait.
#[derive(Default)]
struct Refusal {
    by: Option<RefusedLimit>,
    /// The first stage in which a limit had no room.
    source: Option<Stage>,
    /// The longest wait of all firm limits, including those that had room: a refused attempt may have
    /// taken that room.
    longest: Option<Room>,
}

/// A limit without room. Of several, the one that sorts first binds: the strictest overflow, then the
/// first stage, then the longest wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RefusedLimit {
    overflow: Overflow,
    stage: Stage,
    wait: Reverse<Room>,
    index: u8,
}

/// The limit with the smallest share of its capacity left.
#[derive(Default)]
struct Scarcest {
    index: u8,
    /// The units that the limit has left, and its capacity.
    left: Option<(u64, u64)>,
}

// === impl Verdict ===

impl Verdict {
    /// The verdict until a decision has been made: a denial.
    pub(crate) const UNDECIDED: Self =
        Self::Deny(Denial { retry: Retry::Never, source: Stage::Global });

    /// The names of all verdicts.
    pub const NAMES: [&'static str; 4] = ["admit", "queue", "degrade", "deny"];

    /// Whether the request may pass, perhaps with a lower quality of service.
    #[must_use]
    #[inline]
    pub const fn passes(self) -> bool {
        matches!(self, Self::Admit | Self::Degrade)
    }

    /// The name used in answers and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[match self {
            Self::Admit => 0,
            Self::Queue(_) => 1,
            Self::Degrade => 2,
            Self::Deny(_) => 3,
        }]
    }
}

// === impl TooManyRequests ===

impl TooManyRequests {
    /// How long to wait, if waiting helps.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Span> {
        match self.0.retry {
            Some(Retry::After(wait)) => Some(wait),
            Some(Retry::Never) | None => None,
        }
    }

    /// The first instant, by the clock of the store, at which the same request may pass; `None` if it
    /// never may.
    #[must_use]
    pub const fn next_allowed_at(&self) -> Option<Timestamp> {
        self.0.next_allowed_at
    }
}

// === impl Refusal ===

impl Refusal {
    #[inline]
    fn consider(&mut self, index: u8, limit: &Limit, reading: &Reading) {
        let (wait, overflow, stage) = (left_with(reading), limit.overflow(), limit.stage());
        let is_firm = overflow != Overflow::Degrade;
        if is_firm {
            self.longest = self.longest.max(Some(wait));
        }
        if reading.room.is_now() {
            return;
        }
        if is_firm {
            self.source = Some(self.source.map_or(stage, |source| source.min(stage)));
        }
        let refused = RefusedLimit { overflow, stage, wait: Reverse(wait), index };
        self.by = Some(self.by.map_or(refused, |by| by.min(refused)));
    }

    fn verdict(&self, by: RefusedLimit) -> Verdict {
        // A limit refused, so this is not `Now`; if it were, `Never` would still admit nothing.
        let longest = self.longest.unwrap_or(Room::Never);
        verdict(by.overflow, longest, self.source.unwrap_or(by.stage))
    }
}

/// The verdict on a request that limits have no room for: `overflow` is the strictest of theirs, `longest`
/// the longest wait, and `source` the first stage that refused.
fn verdict(overflow: Overflow, longest: Room, source: Stage) -> Verdict {
    match (overflow, longest) {
        (Overflow::Degrade, _) => Verdict::Degrade,
        (Overflow::Queue, Room::After(wait)) => Verdict::Queue(wait),
        (_, Room::After(wait)) => Verdict::Deny(Denial { retry: Retry::After(wait), source }),
        (_, Room::Never | Room::Now) => Verdict::Deny(Denial { retry: Retry::Never, source }),
    }
}

// === impl Scarcest ===

impl Scarcest {
    #[inline]
    fn consider(&mut self, index: u8, capacity: u64, reading: &Reading) {
        let left = reading.remaining.max(0).unsigned_abs();
        let scarcer = self.left.is_none_or(|(least, of)| {
            u128::from(left) * u128::from(of) < u128::from(least) * u128::from(capacity)
        });
        if scarcer {
            (self.index, self.left) = (index, Some((left, capacity)));
        }
    }
}

/// When one limit has room for a refused request again. That may be later than `room` says, because the
/// refused attempt itself may have been counted.
#[inline]
fn left_with(reading: &Reading) -> Room {
    match reading.room {
        Room::Never => Room::Never,
        Room::Now | Room::After(_) if reading.wait.is_zero() => Room::Now,
        Room::Now | Room::After(_) => Room::After(reading.wait),
    }
}

// === impl Decision ===

impl<'d> Decision<'d> {
    /// What to do with the request.
    #[must_use]
    #[inline]
    pub const fn verdict(&self) -> Verdict {
        self.0.verdict
    }

    /// Whether the request may pass and every limit has counted it.
    #[must_use]
    #[inline]
    pub const fn is_admitted(&self) -> bool {
        matches!(self.0.verdict, Verdict::Admit)
    }

    /// The policy whose limits were asked.
    #[must_use]
    pub const fn policy(&self) -> &'d Policy {
        self.0.policy()
    }

    /// The limit that decided. If limits have no room, that is the one with the strictest
    /// [`Overflow`], and of several the one with the longest wait in the first stage; otherwise the one
    /// with the smallest share left. It is a shadow only if all limits are.
    ///
    /// The wait of a [`Denial`] may be longer than that of this limit: it is the longest of all.
    ///
    /// `None` if no limit decided: the store was not asked or did not answer, and
    /// [`failsafe`](Self::failsafe) says what decided instead.
    #[must_use]
    #[inline]
    pub fn binding(&self) -> Option<Explanation<'d>> {
        self.explanation(usize::from(self.0.binding))
    }

    /// Every limit that was asked, with what it said, in the order of the policy, shadows included.
    pub fn explain(&self) -> impl Iterator<Item = Explanation<'d>> + use<'d> {
        let decision = *self;
        (0..self.0.readings().list().len()).filter_map(move |index| decision.explanation(index))
    }

    /// The mode in which the request was decided: normal if the store answered.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        match &self.0.failsafe {
            None => Mode::Normal,
            Some(failsafe) => failsafe.mode,
        }
    }

    /// How the request was decided without the store; `None` if the store decided.
    #[must_use]
    pub const fn failsafe(&self) -> Option<&'d Failsafe> {
        self.0.failsafe.as_ref()
    }

    /// What the local cap said, if one decided in place of the store.
    #[must_use]
    pub fn guarded(&self) -> Option<Guarded> {
        self.failsafe()?.guarded
    }

    /// The critical condition that an operator has to act on, if there is one: every decision made under
    /// it says so.
    #[must_use]
    pub fn alarm(&self) -> Option<Alarm> {
        self.failsafe()?.alarm
    }

    /// The error of the store, if this request met one. For the host, not for the client that is
    /// refused.
    #[must_use]
    pub fn trouble(&self) -> Option<&'d StoreError> {
        self.failsafe()?.error.as_ref()
    }

    /// The stage of the limit that decided.
    #[must_use]
    pub fn source(&self) -> Stage {
        match (self.0.verdict, self.binding()) {
            (Verdict::Deny(denial), _) => denial.source,
            (_, Some(binding)) => binding.limit.stage(),
            (_, None) => Stage::Global,
        }
    }

    /// The decision in the few numbers that most callers need.
    #[must_use]
    pub fn status(&self) -> Status {
        let retry = match self.0.verdict {
            Verdict::Admit | Verdict::Degrade => None,
            Verdict::Queue(wait) => Some(Retry::After(wait)),
            Verdict::Deny(denial) => Some(denial.retry),
        };
        let next_allowed_at = match retry {
            None => Some(self.decided_at()),
            Some(Retry::After(wait)) => Some(self.decided_at().after(wait)),
            Some(Retry::Never) => None,
        };
        let backoff = self.explain().filter(|said| !said.limit.is_shadow());
        let (limit, reading) = match (self.binding(), self.guarded()) {
            (Some(binding), _) => (binding.shape.capacity(), *binding.reading),
            (None, Some(guarded)) => (guarded.cap.map_or(0, |cap| cap.count), guarded.reading()),
            (None, None) => (0, Reading::NOTHING),
        };
        Status {
            limit,
            remaining: reading.remaining,
            reset_after: reading.reset_after,
            retry,
            blocked: retry.is_some(),
            backoff: backoff.map(|said| said.reading.backoff).max().unwrap_or(Span::ZERO),
            next_allowed_at,
            source: self.source(),
        }
    }

    /// The decision as a result: `Ok` if the request may pass, even if only with a lower quality of
    /// service.
    ///
    /// # Errors
    ///
    /// If the request has to wait or is denied.
    pub fn passed(&self) -> Result<(), TooManyRequests> {
        match self.status() {
            status if status.blocked => Err(TooManyRequests(status)),
            _ => Ok(()),
        }
    }

    /// The block that keeps the request out, if one does; of several, the one that ends last.
    #[must_use]
    pub fn block(&self) -> Option<Block> {
        if let Some(failsafe) = self.failsafe() {
            return failsafe.block;
        }
        if self.is_admitted() || !self.policy().counts_attempts() {
            return None;
        }
        let blocks = self.explain().filter(|said| !said.limit.is_shadow());
        blocks.filter_map(|said| said.reading.attempts?.block).max_by_key(|block| block.until)
    }

    /// The case that was decided.
    #[must_use]
    pub const fn case(&self) -> &'d Case<'d> {
        self.0
    }

    /// The time of the decision, from which all waits are counted: by the clock of the store, or by that
    /// of this node if the request was decided without the store.
    #[must_use]
    pub const fn decided_at(&self) -> Timestamp {
        self.0.readings().decided_at()
    }

    #[inline]
    fn explanation(&self, index: usize) -> Option<Explanation<'d>> {
        let charge = self.0.batch().charges().get(index)?;
        let reading = self.0.readings().list().get(index)?;
        Some(Explanation { limit: charge.limit(), shape: charge.shape(), reading })
    }
}
