//! What the engine asks of a store, as data.
//!
//! A store that has to call back while it holds a counter cannot be a Redis script. So everything
//! is in the [`Charge`]: the key, the shape with its numbers, the cost, and what to do on refusal.
//! A [`Batch`] is one decision's charges; a store looks at all of them first, asks [`plan`] which
//! to write, and writes those, all together.

use arrayvec::ArrayVec;

use crate::address::Prefix;
use crate::amendment::{CounterRef, Naming};
use crate::cost::Cost;
use crate::key::Key;
use crate::limit::{Limit, Names, Stage, Stamp};
use crate::overrides::Applies;
use crate::shape::{Calendar, Periods, Reading, Room, Shape};
use crate::subject::{Dimension, Facts, Subject};
use crate::time::{Span, Timestamp};

/// The most limits one decision can have. A policy with more is
/// [refused](crate::PolicyError::TooManyLimits).
pub const MAX_LIMITS: usize = 12;

/// What is asked of one counter, with everything that a store has to know to do it.
///
/// Small on purpose: a decision makes up to [`MAX_LIMITS`] of them, and nothing is allocated.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    limit: &'a Limit,
    shape: &'a Shape,
    digest: u64,
    cost: Cost,
    applies: Applies,
    member: u64,
}

/// The charges of one decision, in the order of the policy. [`Case::resolve`](crate::Case::resolve)
/// fills it; a [`Store`](crate::Store) executes it as one step.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// The facts that limits count by.
    pub(crate) facts: Facts<'a>,
    pub(crate) deadline: Span,
    pub(crate) charges: ArrayVec<Charge<'a>, MAX_LIMITS>,
}

/// What a store found: one reading per charge, in the same order, all at one instant. The caller
/// keeps the list, and a store [begins](Self::begin) and fills it.
#[derive(Clone, Debug)]
pub struct Readings {
    decided_at: Timestamp,
    list: ArrayVec<Reading, MAX_LIMITS>,
}

/// Which charges of a batch are written, as [`plan`] decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePlan {
    admitted: bool,
    writes: u16,
}

/// Decides a batch from what each of its charges met. Every store follows this rule, in this form or
/// translated; an example is in [chapter 5](crate::book::ch5_several_limits).
///
/// * The batch passes if every [firm](Limit::is_firm) limit has room. Then all of those are written, and
///   of shadows and soft limits those that have room.
/// * Otherwise it is refused. Then only firm limits that count attempts are written, and of these none of
///   the action if a global limit refused. A cost that never fits is never counted.
///   An abuse log on a ladder is written if it refuses itself: that begins the block.
#[must_use]
#[inline]
pub fn plan<'c, 'a: 'c>(met: impl Iterator<Item = (&'c Charge<'a>, Room)> + Clone) -> WritePlan {
    let (mut asked, mut refused, mut global_refused, mut fits) = (false, false, false, 0);
    for (index, (charge, room)) in (0..).zip(met.clone()) {
        asked = true;
        if room.is_now() {
            fits |= 1_u16.wrapping_shl(index);
        } else if charge.limit.is_firm() {
            refused = true;
            global_refused |= charge.limit.stage() == Stage::Global;
        }
    }
    if !refused {
        return WritePlan { admitted: asked, writes: fits };
    }
    WritePlan { admitted: false, writes: attempts(met, global_refused) }
}

/// Decides a part of a batch after another part of it was refused, for stores that cannot look at all
/// charges together. `globally` says whether a global limit refused. Only limits that count attempts
/// are written.
#[must_use]
pub fn plan_after<'c, 'a: 'c>(
    globally: bool,
    met: impl Iterator<Item = (&'c Charge<'a>, Room)> + Clone,
) -> WritePlan {
    let refuses = |(charge, room): (&Charge<'_>, Room)| {
        let limit = charge.limit;
        !room.is_now() && limit.is_firm() && limit.stage() == Stage::Global
    };
    let global_refused = globally || met.clone().any(refuses);
    WritePlan { admitted: false, writes: attempts(met, global_refused) }
}

/// The charges of a refused batch that are written all the same.
fn attempts<'c, 'a: 'c>(
    met: impl Iterator<Item = (&'c Charge<'a>, Room)>,
    global_refused: bool,
) -> u16 {
    let written = |charge: &Charge<'_>, room: Room| {
        let shape = charge.shape();
        (shape.counts_attempts() || shape.counts_own_refusals() && !room.is_now())
            && charge.limit.is_firm()
            && room != Room::Never
            && (charge.limit.stage() == Stage::Global || !global_refused)
    };
    (0..).zip(met).fold(0, |writes, (index, (charge, room))| {
        writes | u16::from(written(charge, room)).wrapping_shl(index)
    })
}

// === impl Charge ===

impl<'a> Charge<'a> {
    #[inline]
    pub(crate) fn new(
        limit: &'a Limit,
        digest: u64,
        cost: Cost,
        (applies, shape): (Applies, &'a Shape),
    ) -> Self {
        Self { limit, shape, digest, cost, applies, member: 0 }
    }

    /// The charge of one probe: a single unit, and always the same member if distinct values are counted.
    pub(crate) fn of_trial(limit: &'a Limit) -> Self {
        let applies = limit.applies_to(0);
        let charge = Self::new(limit, limit.id().max(1), Cost::ONE, applies);
        charge.of_member(u64::from(limit.counted().is_some()))
    }

    /// The same charge of the same counter, under other numbers.
    pub(crate) const fn under<'b>(&self, shape: &'b Shape) -> Charge<'b>
    where
        'a: 'b,
    {
        Charge { shape, ..*self }
    }

    /// Sets the [member](Self::member), for a limit that counts [distinct](Limit::distinct) values.
    #[inline]
    pub(crate) const fn of_member(mut self, member: u64) -> Self {
        self.member = member;
        self
    }

    /// The digest of the value that is counted once, if the limit counts
    /// [distinct](Limit::distinct) values; zero otherwise.
    #[must_use]
    #[inline]
    pub const fn member(&self) -> u64 {
        self.member
    }

    /// The limit whose counter is charged.
    #[must_use]
    #[inline]
    pub const fn limit(&self) -> &'a Limit {
        self.limit
    }

    /// The digest of the counter's key, under the secret of this process; never zero.
    #[must_use]
    #[inline]
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// How many units the request takes from this limit.
    #[must_use]
    #[inline]
    pub const fn cost(&self) -> Cost {
        self.cost
    }

    /// The shape in force for this subject, overrides included.
    #[must_use]
    #[inline]
    pub const fn shape(&self) -> &'a Shape {
        self.shape
    }

    /// The stamp of the [shape](Self::shape) in force, which a store in this process keeps beside the
    /// state.
    #[must_use]
    #[inline]
    pub const fn stamp(&self) -> Stamp {
        self.applies.stamp
    }

    /// Moves the calendar of the quota to the periods around `now`, which a store has asked for with
    /// [`StoreError::Stale`](crate::StoreError::Stale).
    pub fn refresh(&self, now: Timestamp) {
        if let Some(calendar) = self.shape.calendar() {
            calendar.refresh(now);
        }
    }

    /// The role of the subject, which tells whom the numbers are for: zero for the usual numbers,
    /// otherwise one value for each override, which stays the same when a reload changes its numbers.
    #[must_use]
    #[inline]
    pub const fn role(&self) -> u32 {
        self.applies.role
    }

    /// The shape that stored state with this stamp was written under, if it is known. Where it
    /// differs from [`shape`](Self::shape), state is read as
    /// [chapter 8](crate::book::ch8_changing_numbers) says.
    #[must_use]
    pub fn written_under(&self, stamp: u16) -> Option<&'a Shape> {
        self.limit.known_shape(stamp)
    }

    /// The numbers under which stored state is to be read that was written under unknown ones: those of a
    /// row which has forgotten some. `None` for any other limit.
    #[must_use]
    pub fn slowest(&self) -> Option<&'a Shape> {
        self.limit.slowest()
    }

    /// Where the periods of a calendar quota lie; `None` for every other shape. Ask once per
    /// decision: they move on.
    #[must_use]
    #[inline]
    pub fn periods(&self) -> Option<Periods> {
        self.shape.calendar().map(Calendar::periods)
    }
}

// === impl Batch ===

impl<'a> Batch<'a> {
    /// A batch without charges yet.
    #[inline]
    pub(crate) fn new(subject: &'a Subject<'a>, class: Option<&'a [u8]>, deadline: Span) -> Self {
        Self { facts: Facts { subject, class }, deadline, charges: ArrayVec::new() }
    }

    /// The facts with this class, put together from parts: reading back what was just written piecemeal
    /// is slow.
    #[inline]
    pub(crate) const fn facts_under(&self, class: Option<&'a [u8]>) -> Facts<'a> {
        Facts { subject: self.facts.subject, class }
    }

    /// Adds a charge, unless the batch is full. Policies never have more than [`MAX_LIMITS`].
    #[inline]
    pub(crate) fn push(&mut self, charge: Charge<'a>) {
        let _ = self.charges.try_push(charge);
    }

    /// Drops the charges of limits that do not count by outcome.
    #[cold]
    pub(crate) fn keep_outcomes(&mut self) {
        self.charges.retain(|charge| charge.limit.outcomes().is_some());
    }

    /// The charges, one for each limit that applies; empty if no limit does.
    #[must_use]
    #[inline]
    pub fn charges(&self) -> &[Charge<'a>] {
        &self.charges
    }

    /// How long a store may take for the whole batch: the policy's
    /// [deadline](crate::Policy::deadline), less what has passed of it. A store that can be late gives
    /// up by then.
    #[must_use]
    pub const fn deadline(&self) -> Span {
        self.deadline
    }

    /// The network that the request comes from: the IPv4 address, or the /48 around an IPv6 address,
    /// which is as much as a single customer may hold. A store with room for a bounded number of counters
    /// shares it out by networks, so that a flood of made-up keys leaves room for others.
    #[must_use]
    pub fn network(&self) -> Option<Prefix> {
        self.facts.address(Dimension::Ip48)
    }

    /// Whether this dimension gives the client's address a wider prefix than its own: true for IPv6, and
    /// never for IPv4.
    pub(crate) fn widens_to(&self, dimension: Dimension) -> bool {
        let wider = self.facts.address(dimension);
        wider.is_some_and(|prefix| Some(prefix) != self.facts.address(Dimension::Ip))
    }

    /// The names of the counters, one for each charge and in the same order.
    #[must_use]
    pub fn names(&self, naming: &Naming) -> Vec<Names> {
        let counter = |charge: &Charge<'a>| CounterRef::Of(*charge, self.key(charge));
        self.charges.iter().map(|charge| counter(charge).names(naming)).collect()
    }

    /// The key of one charge of the batch, for stores that spell keys out.
    #[must_use]
    pub const fn key(&self, charge: &Charge<'a>) -> Key<'a> {
        Key { limit: charge.limit, facts: self.facts }
    }
}

// === impl Readings ===

impl Readings {
    /// An empty list, with room for the readings of one decision.
    #[must_use]
    pub fn new() -> Self {
        Self { decided_at: Timestamp::ZERO, list: ArrayVec::new() }
    }

    /// Empties the list, and sets the store's time at which all readings will hold.
    #[inline]
    pub fn begin(&mut self, decided_at: Timestamp) {
        self.decided_at = decided_at;
        self.list.clear();
    }

    /// Empties the list.
    #[inline]
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Adds the reading of the next charge. A batch has no more charges than there is room for.
    #[inline]
    pub fn push(&mut self, reading: Reading) {
        let _ = self.list.try_push(reading);
    }

    /// The store's time at which all readings hold.
    #[must_use]
    pub const fn decided_at(&self) -> Timestamp {
        self.decided_at
    }

    /// The readings, one per charge and in the same order; empty until a store has answered.
    #[inline]
    pub fn list(&self) -> &[Reading] {
        &self.list
    }
}

impl Default for Readings {
    fn default() -> Self {
        Self::new()
    }
}

// === impl WritePlan ===

impl WritePlan {
    /// This plan without its writes, for a look without a charge.
    #[must_use]
    #[inline]
    pub const fn unwritten(self) -> Self {
        Self { writes: 0, ..self }
    }

    /// Whether every firm limit has room, so that the request passes.
    #[must_use]
    pub const fn is_admitted(self) -> bool {
        self.admitted
    }

    /// Whether the charge at `index` of the batch is written.
    #[must_use]
    #[inline]
    pub const fn writes(self, index: usize) -> bool {
        index < MAX_LIMITS && self.writes >> index & 1 == 1
    }
}
