//! Policies as plain data, which shrink and print well, and their conversion to the core's
//! policies.

use core::mem::discriminant;

use tidegate_core::{
    Backoff, Bucket, Calendar, Cost, CostRule, Counts, Dimension, FailureMode, Limit, MAX_BLOCK_AT,
    MAX_DISTINCT, Name, Overflow, Override, Period, PolicySet, PolicySpec, Quota, Rate, Scope,
    Shape, ShapeError, Span, Stage, Subject, Unit, Window,
};

use super::Who;
use super::attempts::{MannerPlan, WindowPlan};

/// A policy as plain data.
#[derive(Clone, Debug)]
pub struct PolicyPlan {
    /// The limits; those with the same `name` are the same limit before and after a reload.
    pub limits: Vec<LimitPlan>,
}

/// A limit as plain data.
#[derive(Clone, Debug)]
pub struct LimitPlan {
    /// The number of the limit, from which its name is made.
    pub name: u8,
    /// Which requests are counted together.
    pub scope: ScopePlan,
    /// The stage at which the limit is asked.
    pub stage: StagePlan,
    /// Whether the limit is in shadow, so that it only reports.
    pub shadow: bool,
    /// What happens past the limit.
    pub overflow: Overflow,
    /// The units that a request takes: a fixed number per request if true, or else a multiple of
    /// its weight.
    pub cost: (bool, u64),
    /// The shape of the limit, with its numbers.
    pub shape: ShapePlan,
    /// Whether attempts of one user count once; has no effect where each user is counted alone.
    pub distinct: bool,
    /// Other numbers for one value of the scope, if there are any.
    pub other: Option<OverridePlan>,
    /// Whether the keys of this limit leave out its name. Only the limit numbered 0 may do that, so
    /// that no other limit ever has counters of the same name.
    pub nameless: bool,
}

/// Other numbers for some values of a limit's scope.
#[derive(Clone, Debug)]
pub struct OverridePlan {
    /// The index of the value that gets other numbers.
    pub value: u8,
    /// The other numbers; used if they are of the same shape as the limit.
    pub shape: ShapePlan,
}

/// Which requests are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopePlan {
    /// All requests are counted together.
    Global,
    /// The requests of each organisation are counted together.
    Org,
    /// The requests of each user of each organisation are counted together.
    OrgUser,
    /// The requests of each address are counted together.
    Ip,
}

/// The stage at which a limit is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagePlan {
    /// The limit is asked before those of the action.
    Global,
    /// The limit is asked together with the others of the action.
    Action,
}

/// A shape with its numbers. Those out of range are brought into range when the shape is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapePlan {
    /// A bucket: tokens, per this many microseconds, burst.
    Bucket(u64, u64, u64),
    /// A window: count, per this many microseconds, what is counted.
    Window(u64, u64, CountsPlan),
    /// A quota: count, period, what is counted.
    Quota(u64, PeriodPlan, CountsPlan),
    /// An abuse log: its short window, and how it blocks.
    Attempts(WindowPlan, MannerPlan),
}

/// `None` counts admitted requests, `Some` attempts, with the base of their backoff in microseconds
/// if any.
pub type CountsPlan = Option<Option<u64>>;

/// When a quota begins anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeriodPlan {
    /// The quota begins anew every time this many microseconds have passed on the clock.
    Fixed(u64),
    /// The quota begins anew this many microseconds after its first use.
    FirstUse(u64),
    /// The quota begins anew with each hour in Kathmandu.
    Hour,
    /// The quota begins anew with each day in Berlin.
    Day,
    /// The quota begins anew on this day of each month in UTC.
    Month(u8),
}

// === impl LimitPlan ===

impl LimitPlan {
    /// The shape of the limit, and that of its override.
    pub(super) fn shapes(&self) -> impl Iterator<Item = &ShapePlan> {
        core::iter::once(&self.shape).chain(self.other.as_ref().map(|other| &other.shape))
    }
}

// === impl PolicyPlan ===

impl PolicyPlan {
    /// The policy set with this one policy, which replaces `earlier`.
    ///
    /// # Panics
    ///
    /// If the core refuses the policy: plans are made to be accepted.
    #[must_use]
    pub fn build(&self, earlier: Option<&PolicySet>) -> PolicySet {
        // The longest deadline: the speed of a busy machine is not under test.
        let spec = PolicySpec::new(name("policy"), FailureMode::FailOpen)
            .deadline(*PolicySpec::DEADLINES.end());
        let spec = self.limits.iter().fold(spec, |spec, limit| spec.limit(limit.build()));
        PolicySet::builder().policy(spec).build(earlier).expect("plans make valid policies")
    }

    /// Gives each limit the first of `shapes` that is of its own kind.
    pub fn renumber(&mut self, shapes: &[ShapePlan]) {
        for limit in &mut self.limits {
            let kind = discriminant(&limit.shape);
            if let Some(shape) = shapes.iter().find(|shape| discriminant(*shape) == kind) {
                limit.shape = shape.clone();
            }
        }
    }
}

// === impl LimitPlan ===

impl LimitPlan {
    /// A limit of the action stage, on all requests together, that takes the weight of a request.
    #[must_use]
    pub const fn plain(name: u8, shape: ShapePlan) -> Self {
        let (scope, stage) = (ScopePlan::Global, StagePlan::Action);
        Self {
            name,
            scope,
            stage,
            shadow: false,
            overflow: Overflow::Reject,
            cost: (false, 1),
            shape,
            distinct: false,
            other: None,
            nameless: false,
        }
    }

    /// The name of the limit.
    #[must_use]
    pub fn name(&self) -> String {
        format!("l{}", self.name)
    }

    /// The counter that a request of `who` is counted on; `None` if the limit does not apply to it.
    #[must_use]
    pub fn counter(&self, who: &Who) -> Option<(u8, u8)> {
        if self.is_distinct() && who.user.is_none() {
            return None;
        }
        match self.scope {
            ScopePlan::Global => Some((0, 0)),
            ScopePlan::Org => Some((who.org, 0)),
            ScopePlan::OrgUser => who.user.map(|user| (who.org, user)),
            ScopePlan::Ip => Some((who.address, 0)),
        }
    }

    /// The units that a request of this weight takes, if there are no overrides.
    #[must_use]
    pub fn units(&self, weight: Cost) -> u64 {
        if self.is_attempts() {
            return 1;
        }
        let units = self.cost.1.clamp(1, self.shape.build().capacity());
        if self.cost.0 { units } else { units.saturating_mul(weight.get()) }
    }

    /// Whether refused attempts are counted, if there are no overrides.
    #[must_use]
    pub const fn counts_attempts(&self) -> bool {
        match self.shape {
            ShapePlan::Window(.., counts) | ShapePlan::Quota(.., counts) => counts.is_some(),
            ShapePlan::Attempts(_, manner) => !matches!(manner, MannerPlan::Ladder(..)),
            ShapePlan::Bucket(..) => false,
        }
    }

    /// Whether the limit is an abuse log.
    #[must_use]
    pub const fn is_attempts(&self) -> bool {
        self.shape.is_attempts()
    }

    /// Whether attempts of one user count once.
    #[must_use]
    pub fn is_distinct(&self) -> bool {
        self.distinct && self.is_attempts() && self.scope != ScopePlan::OrgUser
    }

    /// The shape of the limit where no override applies.
    #[must_use]
    pub fn built(&self) -> Shape {
        self.shape_of(&self.shape)
    }

    fn shape_of(&self, plan: &ShapePlan) -> Shape {
        match plan {
            ShapePlan::Attempts(window, manner) if self.is_distinct() => {
                window.shape(*manner, MAX_DISTINCT)
            }
            plan => plan.build(),
        }
    }

    /// The limit of this plan.
    pub(super) fn build(&self) -> Limit {
        let stage = match self.stage {
            StagePlan::Global => Stage::Global,
            StagePlan::Action => Stage::Action,
        };
        let shape = self.built();
        let other = self.other.as_ref().and_then(|other| self.other_numbers(other, &shape));
        let mut capacity = shape.capacity();
        let mut limit = Limit::new(name(&self.name()), self.scope.build(), shape).at_stage(stage);
        if !self.nameless || self.name > 0 {
            limit = limit.with_named_key();
        }
        if self.is_distinct() {
            limit = limit.distinct(Dimension::User);
        }
        if let Some(other) = other {
            capacity = capacity.min(other.1);
            limit = limit.overridden(other.0).expect("the override is of the limit's shape");
        }
        // A cost that never fits would be refused when the policy is loaded.
        let units = Cost::try_new(self.cost.1.clamp(1, capacity)).expect("at least one");
        let rule = if self.cost.0 { CostRule::PerRequest(units) } else { CostRule::PerUnit(units) };
        let limit = limit.costing(rule);
        // An abuse log cannot degrade.
        let is_soft = self.overflow == Overflow::Degrade && self.shape.is_attempts();
        let overflow = if is_soft { Overflow::Reject } else { self.overflow };
        let limit = limit.on_overflow(overflow);
        if self.shadow { limit.in_shadow() } else { limit }
    }

    fn other_numbers(&self, other: &OverridePlan, usual: &Shape) -> Option<(Override, u64)> {
        let shape = self.shape_of(&other.shape);
        let capacity = shape.capacity();
        if shape.kind() != usual.kind() {
            return None;
        }
        let matching = match self.scope {
            ScopePlan::Global => return None,
            ScopePlan::Org => Override::exact(Dimension::Org, org(other.value), shape),
            ScopePlan::OrgUser if other.value.is_multiple_of(2) => {
                Override::exact(Dimension::User, user(other.value), shape)
            }
            ScopePlan::OrgUser => Override::pattern(Dimension::Org, "a*", shape),
            ScopePlan::Ip => Override::exact(Dimension::Ip, address(other.value), shape),
        };
        Some((matching.expect("these values are valid"), capacity))
    }
}

// === impl ScopePlan ===

impl ScopePlan {
    fn build(self) -> Scope {
        match self {
            Self::Global => Scope::GLOBAL,
            Self::Org => Scope::of([Dimension::Org]),
            Self::OrgUser => Scope::of([Dimension::Org, Dimension::User]),
            Self::Ip => Scope::of([Dimension::Ip]),
        }
    }
}

// === impl ShapePlan ===

impl ShapePlan {
    /// Whether the shape is an abuse log, from which every request takes one unit.
    #[must_use]
    pub const fn is_attempts(&self) -> bool {
        matches!(self, Self::Attempts(..))
    }

    /// Builds the core's shape.
    ///
    /// # Panics
    ///
    /// If a number is out of range in a way that cannot be corrected.
    #[must_use]
    pub fn build(&self) -> Shape {
        match self {
            Self::Bucket(tokens, per, burst) => Shape::Bucket(bucket(*tokens, *per, *burst)),
            Self::Window(count, per, plan) => {
                let counts = counts(*plan);
                let window = Window::try_new(*count, Span::from_micros(*per), counts);
                Shape::Window(window.expect("planned windows are within range"))
            }
            Self::Quota(count, period, plan) => {
                let quota = Quota::try_new(*count, period.build(), counts(*plan));
                Shape::Quota(quota.expect("planned quotas are within range"))
            }
            Self::Attempts(window, manner) => window.shape(*manner, MAX_BLOCK_AT),
        }
    }
}

// === impl PeriodPlan ===

impl PeriodPlan {
    fn build(&self) -> Period {
        let calendar = |unit, zone, anchor| {
            let calendar = Calendar::try_new(unit, zone, anchor);
            Period::Calendar(calendar.expect("the zones are in the database"))
        };
        match self {
            Self::Fixed(length) => Period::Fixed(Span::from_micros(*length)),
            Self::FirstUse(length) => Period::FirstUse(Span::from_micros(*length)),
            Self::Hour => calendar(Unit::Hour, "Asia/Kathmandu", None),
            Self::Day => calendar(Unit::Day, "Europe/Berlin", None),
            Self::Month(day) => calendar(Unit::Month, "UTC", Some(*day)),
        }
    }
}

/// Builds a bucket. A burst that is not exact at this rate becomes the largest that is.
fn bucket(tokens: u64, per: u64, burst: u64) -> Bucket {
    let rate = Rate::try_new(tokens.min(per.saturating_mul(1_000)), Span::from_micros(per));
    let rate = rate.expect("planned rates are within range");
    match Bucket::try_new(rate, burst) {
        Err(ShapeError::TooLarge { largest_burst }) => Bucket::try_new(rate, largest_burst),
        other => other,
    }
    .expect("planned buckets are within range")
}

fn counts(plan: CountsPlan) -> Counts {
    match plan {
        None => Counts::Admitted,
        Some(None) => Counts::Attempts(None),
        Some(Some(base)) => {
            let (base, cap) = (Span::from_micros(base), Span::HOUR);
            Counts::Attempts(Some(Backoff::exponential(base, 2, cap)))
        }
    }
}

fn name(text: &str) -> Name {
    Name::try_new(text).expect("the name is valid")
}

const fn org(index: u8) -> &'static str {
    ["acme", "a:user:b", "zeta"][index as usize % 3]
}

const fn user(index: u8) -> &'static str {
    ["u0", "u1", "\u{e9}}"][index as usize % 3]
}

const fn address(index: u8) -> &'static str {
    ["203.0.113.9", "2001:db8:1:2::1"][index as usize % 2]
}

/// The subject that a [`Who`] stands for.
pub(super) fn subject(who: &Who) -> Subject<'static> {
    let subject = Subject::new()
        .org(org(who.org))
        .ip(address(who.address).parse().expect("the addresses are valid"));
    match who.user {
        Some(index) => subject.user(user(index)),
        None => subject,
    }
}
