//! One rule of a policy: who is counted, in which shape, and for whom the numbers differ.

mod error;
mod former;
mod overflow;
mod row;
mod special;
mod trial;

pub use error::LimitError;
pub use former::{MAX_FORMER, Names};
pub use row::MAX_ROW_NUMBERS;

use core::fmt;

use siphasher::sip::SipHasher13;

use crate::cost::{Cost, CostRule};
use crate::name::Name;
use crate::named::names;
use crate::outcome::Outcomes;
use crate::overrides::{Applies, Override, Overrides};
use crate::policy::Overflow;
use crate::shape::Shape;
use crate::subject::{Dimension, Facts, Scope};
use crate::time::Timestamp;
use former::Former;
use row::RowIdentity;
use special::Special;

/// One rule of a policy: who is counted ([`Scope`]), how much and how fast ([`Shape`]).
///
/// ```
/// use tidegate_core::{Bucket, Dimension, Limit, Name, Override, Rate, Scope, Shape};
///
/// let usual = Shape::Bucket(Bucket::try_new(Rate::per_second(10)?, 20)?);
/// let large = Shape::Bucket(Bucket::try_new(Rate::per_second(100)?, 200)?);
/// let limit = Limit::new(Name::try_new("burst")?, Scope::of([Dimension::Org]), usual)
///     .overridden(Override::exact(Dimension::Org, "acme", large)?)?;
/// assert_eq!(limit.shape().capacity(), 20, "for whom no override says otherwise");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limit {
    name: Name,
    scope: Scope,
    /// The dimensions of the scope, as a list that is quicker to walk.
    pub(crate) dimensions: Box<[Dimension]>,
    stage: Stage,
    shadow: bool,
    /// What happens past the limit; `None` until the limit or its policy says so.
    overflow: Option<Overflow>,
    cost: CostRule,
    settles: bool,
    named_key: bool,
    forgives: bool,
    outcomes: Option<Outcomes>,
    pub(crate) special: Option<Special>,
    /// Every shape this limit has had, so that state written under an earlier one can be read; of a row
    /// the later ones. Stored state names its shape by a stamp, and the stamp of a shape never changes.
    pub(crate) shapes: Vec<Shape>,
    /// The stamp of the first shape: above zero only for a row that has forgotten some.
    base: Stamp,
    current: Stamp,
    /// The place of the current shape in the list.
    place: u16,
    overrides: Overrides,
    /// How the names of the limit's counters ended before reloads.
    former: Former,
    id: u64,
    /// What makes the limit a row; `None` for a limit of a policy.
    pub(crate) row: Option<Box<RowIdentity>>,
    /// The node whose probes this limit is for; `None` for every limit of a policy.
    pub(crate) trial: Option<u64>,
}

/// When a limit is asked, relative to the others of its policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Before the limits of the action. If a global limit refuses, those are read but not charged,
    /// even if they count attempts.
    Global,
    /// With the limits of the action.
    #[default]
    Action,
}

/// The numbers that some state was written under: a place in a limit's list of shapes, in the order in
/// which this process has seen them. A store within the process keeps it beside the state, and
/// [`Charge::written_under`](crate::Charge::written_under) says what it means. To other processes it
/// means nothing: a shared store keeps the numbers themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(u16);

// === impl Limit ===

impl Limit {
    /// A limit that counts by `scope` in the given shape: in force, in the stage of the action, and
    /// taking from each request what it weighs.
    #[must_use]
    pub fn new(name: Name, scope: Scope, shape: Shape) -> Self {
        Self {
            name,
            scope,
            dimensions: scope.dimensions().collect(),
            stage: Stage::default(),
            shadow: false,
            overflow: None,
            cost: CostRule::default(),
            settles: false,
            named_key: false,
            forgives: false,
            outcomes: None,
            special: None,
            shapes: vec![shape],
            base: Stamp(0),
            current: Stamp(0),
            place: 0,
            overrides: Overrides::default(),
            former: Former::default(),
            id: 0,
            row: None,
            trial: None,
        }
    }

    /// Sets the stage in which the limit is asked.
    #[must_use]
    pub const fn at_stage(mut self, stage: Stage) -> Self {
        self.stage = stage;
        self
    }

    /// Makes the limit a shadow, which reports what it would say and never refuses. It is charged only
    /// for requests that are admitted and that it has room for.
    #[must_use]
    pub const fn in_shadow(mut self) -> Self {
        self.shadow = true;
        self
    }

    /// Sets what a request takes: a fixed number of units, or a number for each unit of its weight.
    #[must_use]
    pub const fn costing(mut self, cost: CostRule) -> Self {
        self.cost = cost;
        self
    }

    /// Puts what is taken from this limit on a [ticket](crate::Ticket), so that it can be given back,
    /// or more be taken, when it is known what the request really cost.
    #[must_use]
    pub const fn settling(mut self) -> Self {
        self.settles = true;
        self
    }

    /// Puts the limit's name into its keys, to tell it from another limit of the same scope and period.
    /// A set with two limits that cannot be told apart is [refused](crate::PolicyError::SameKey).
    #[must_use]
    pub const fn with_named_key(mut self) -> Self {
        self.named_key = true;
        self
    }

    /// Makes a settlement at zero forget all attempts counted so far, not only the settled one: the
    /// failures of somebody who got in after all. A block stays. For [`Attempts`](crate::Attempts).
    #[must_use]
    pub const fn forgiving(mut self) -> Self {
        self.settles = true;
        self.forgives = true;
        self
    }

    /// Counts requests by their outcome. The limit takes from every request when it begins, so that
    /// many at once cannot slip through, and the host settles the ticket at zero if the answer is none
    /// of `outcomes`. Until then a request counts, and for good if its ticket is never settled. Implies
    /// [`settling`](Self::settling).
    #[must_use]
    pub const fn counting_outcomes(mut self, outcomes: Outcomes) -> Self {
        self.settles = true;
        self.outcomes = Some(outcomes);
        self
    }

    /// Exempts subjects of whom `dimension` is known, such as a device that the host vouches for.
    #[must_use]
    pub fn unless(mut self, dimension: Dimension) -> Self {
        self.special.get_or_insert_default().unless = Some(dimension);
        self
    }

    /// Exempts IPv4: for limits by [`Ip56`](Dimension::Ip56) and [`Ip48`](Dimension::Ip48) that stand
    /// beside a limit by [`Ip`](Dimension::Ip). An IPv4 address is the same in all three dimensions, and
    /// would be counted three times.
    #[must_use]
    pub fn only_ipv6(mut self) -> Self {
        self.special.get_or_insert_default().only_ipv6 = true;
        self
    }

    /// Counts distinct values of `dimension`, each of them once: how many accounts one address tries,
    /// or from how many addresses one account is tried. Subjects without such a value are exempt. For
    /// [`Attempts`](crate::Attempts).
    #[must_use]
    pub fn distinct(mut self, dimension: Dimension) -> Self {
        self.special.get_or_insert_default().distinct = Some(dimension);
        self
    }

    /// Gives some subjects other numbers: exact values come first, then patterns in the order they
    /// were added.
    ///
    /// # Errors
    ///
    /// If the override has another kind of shape, matches a dimension that the limit does not count by
    /// (other than the [plan](Dimension::Plan), which is there to be matched), names a value that an
    /// earlier override names, or if the limit has too many patterns or shapes.
    pub fn overridden(mut self, rule: Override) -> Result<Self, LimitError> {
        let (limit, expected) = (self.name.clone(), self.shape().kind());
        if rule.shape.kind() != expected {
            let (expected, found) = (expected.name(), rule.shape.kind().name());
            return Err(LimitError::OtherShape { limit, expected, found });
        }
        let stamp = self.stamp_of(rule.shape)?;
        self.overrides
            .add(self.scope, rule.selector, stamp)
            .map_err(|error| LimitError::Override { limit, error })?;
        Ok(self)
    }

    /// The name of the limit in configuration, answers and metrics; unique within its policy.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// What the limit counts by. It applies to subjects that [cover](crate::Subject::covers) this scope.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// The stage in which the limit is asked, which a denial by it names as its source.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// Whether the limit only reports, and never refuses.
    #[must_use]
    pub const fn is_shadow(&self) -> bool {
        self.shadow
    }

    /// The rule by which a request takes units, given its weight.
    #[must_use]
    pub const fn cost(&self) -> CostRule {
        self.cost
    }

    /// Whether what was taken from the limit can be settled later.
    #[must_use]
    pub const fn settles(&self) -> bool {
        self.settles
    }

    /// Whether a settlement at zero makes the limit forget all attempts counted so far.
    #[must_use]
    pub const fn forgives(&self) -> bool {
        self.forgives
    }

    /// The answers that the limit counts; `None` if every request counts, whatever its outcome.
    #[must_use]
    #[inline]
    pub const fn outcomes(&self) -> Option<&Outcomes> {
        self.outcomes.as_ref()
    }

    /// The fact that exempts a subject from this limit, such as a vouched device.
    #[must_use]
    pub fn exempt(&self) -> Option<Dimension> {
        self.special.and_then(|special| special.unless)
    }

    /// Whether the limit exempts IPv4.
    #[must_use]
    pub fn is_only_ipv6(&self) -> bool {
        self.special.is_some_and(|special| special.only_ipv6)
    }

    /// The dimension whose distinct values are counted, each once; `None` if every attempt counts.
    #[must_use]
    pub fn counted(&self) -> Option<Dimension> {
        self.special.and_then(|special| special.distinct)
    }

    /// The units that a request takes. An attempt takes one, whatever it weighs.
    #[inline]
    pub(crate) fn units(&self, weight: Cost) -> Cost {
        // All shapes of a limit are of one kind.
        match self.shapes.first() {
            Some(Shape::Attempts(_)) => Cost::ONE,
            _ => self.cost.units(weight),
        }
    }

    /// The usual shape, which holds for subjects without an override.
    #[must_use]
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shapes[usize::from(self.place)]
    }

    #[inline]
    pub(crate) fn shape_at(&self, stamp: Stamp) -> &Shape {
        &self.shapes[usize::from(stamp.since(self.base))]
    }

    /// The shape with this stamp, if it is known.
    pub(crate) fn known_shape(&self, stamp: u16) -> Option<&Shape> {
        self.shapes.get(usize::from(Stamp(stamp).since(self.base)))
    }

    /// The numbers that hold for a subject: exact overrides, then patterns, then the usual ones.
    #[inline]
    pub(crate) fn applies(&self, facts: Facts<'_>) -> (Applies, &Shape) {
        match self.overrides.find(facts) {
            Some(applies) => (applies, self.shape_at(applies.stamp)),
            None => (Applies { stamp: self.current, role: 0 }, self.shape()),
        }
    }

    /// The numbers that hold for a subject whose [role](crate::Charge::role) was found before. If the
    /// override is gone, the usual ones hold.
    pub(crate) fn applies_to(&self, role: u32) -> (Applies, &Shape) {
        let usual = Applies { stamp: self.current, role: 0 };
        let applies = self.overrides.of_role(role).unwrap_or(usual);
        (applies, self.shape_at(applies.stamp))
    }

    /// The identity that tells this limit's counters from all others, made from its policy, name and
    /// kind of shape. Reloads keep it; it is public knowledge, unlike the digests made from it. Zero
    /// until the limit is part of a [`PolicySet`](crate::PolicySet).
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// All shapes now in force: the usual one, and those of overrides.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = &Shape> {
        let stamps = core::iter::once(self.current).chain(self.overrides.stamps());
        stamps.map(|stamp| self.shape_at(stamp))
    }

    /// The plans that overrides of this limit name exactly.
    pub(crate) fn exact_plans(&self) -> impl Iterator<Item = &[u8]> {
        self.overrides.exact_values(Dimension::Plan)
    }

    /// Whether the numbers depend on the [plan](Dimension::Plan), so that they may differ between
    /// requests on one counter.
    #[must_use]
    pub fn varies_by_plan(&self) -> bool {
        self.overrides.dimensions().any(|dimension| dimension == Dimension::Plan)
    }

    /// Sets the identity of the limit: `owner` is the policy, or empty for a limit that policies share.
    pub(crate) fn owned_by(mut self, owner: &str) -> Self {
        let identity = format!("{owner}\0{}\0{}", self.name, self.shape().kind().name());
        self.id = SipHasher13::new().hash(identity.as_bytes()) | 1;
        self
    }

    /// Takes over, at `at`, the list of shapes and the names of the same limit in an earlier policy set.
    pub(crate) fn succeeding(
        mut self,
        earlier: Option<&Self>,
        at: Option<Timestamp>,
    ) -> Result<Self, LimitError> {
        let Some(earlier) = earlier else { return Ok(self) };
        self.former = Former::succeeding(&self, earlier, at);
        let mine = core::mem::replace(&mut self.shapes, earlier.shapes.clone());
        let mut places = Vec::with_capacity(mine.len());
        for shape in mine {
            places.push(self.stamp_of(shape)?);
        }
        self.current = places[usize::from(self.current.0)];
        self.place = self.current.0;
        self.overrides.renumber(|stamp| places[usize::from(stamp.0)]);
        Ok(self)
    }

    pub(crate) fn check(&self) -> Result<(), LimitError> {
        self.check_special()?;
        let cost = self.units(Cost::ONE);
        match self.in_force().map(Shape::capacity).find(|capacity| cost.get() > *capacity) {
            Some(capacity) => {
                Err(LimitError::CostAboveCapacity { limit: self.name.clone(), cost, capacity })
            }
            None => Ok(()),
        }
    }

    /// The family that the limit's keys begin with, such as `rl`.
    pub(crate) fn family(&self) -> &'static str {
        self.shape().kind().family()
    }

    /// The form of the limit's keys, with the names of dimensions in place of values, as
    /// `rl:{org}:user:class:w60s`. In a store that goes by names, limits of the same form and the same
    /// shape have the same counters.
    #[must_use]
    pub fn key_form(&self) -> String {
        self.key_form_of(self.scope, &self.ending())
    }

    /// The form that the limit's keys would have if it counted by `scope` and they ended with `ending`.
    pub(crate) fn key_form_of(&self, scope: Scope, ending: &str) -> String {
        let mut names = scope.dimensions().map(Dimension::name);
        let tag = match &self.row {
            Some(row) => row.tag(),
            None => names.next().unwrap_or("*"),
        };
        let mut form = format!("{}:{{{tag}}}", self.family());
        for name in names {
            form.extend([":", name]);
        }
        form + ending
    }

    /// Writes the part of a key that follows the subject: the id of a row; otherwise the limit's name
    /// where no length tells it from others of its kind, and the length.
    pub(crate) fn write_key_suffix(&self, out: &mut impl fmt::Write) -> fmt::Result {
        if let Some(row) = &self.row {
            return row.write_suffix(out);
        }
        if self.named_key || matches!(self.shape(), Shape::Attempts(_)) {
            write!(out, ":limit:{}", self.name)?;
        }
        self.shape().write_length(out)
    }

    /// The place of `shape` in the list of shapes, which grows if the shape is new.
    fn stamp_of(&mut self, shape: Shape) -> Result<Stamp, LimitError> {
        let place = self.shapes.iter().position(|known| *known == shape);
        let place = place.unwrap_or_else(|| {
            self.shapes.push(shape);
            self.shapes.len() - 1
        });
        match u16::try_from(place) {
            Ok(place) if place <= Stamp::MAX => Ok(Stamp(place)),
            _ => Err(LimitError::TooManyNumbers(self.name.clone())),
        }
    }
}

// === impl Stage ===

names!(Stage { Global: "global", Action: "action" });

// === impl Stamp ===

impl Stamp {
    /// The largest stamp: 14 bits, which is what an entry of the in-memory store has room for.
    pub const MAX: u16 = (1 << 14) - 1;

    /// The number to be stored; at most [`Stamp::MAX`].
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}
