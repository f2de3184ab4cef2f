//! Policies as plain data, which shrink and print well, and how they become the core's.

use core::mem::discriminant;

use tidegate_core::{
    Backoff, Bucket, Calendar, Cost, CostRule, Counts, Dimension, FailureMode, Limit, MAX_BLOCK_AT,
    MAX_DISTINCT, Name, Override, Period, PolicySet, PolicySpec, Quota, Rate, Scope, Shape,
    ShapeError, Span, Stage, Subject, Unit, Window,
};

use super::Who;
use super::attempts::{MannerPlan, WindowPlan};

/// A policy: its limits, by name.
#[derive(Clone, Debug)]
pub struct PolicyPlan {
    /// The limits; those of the same `name` are the same limit before and after a reload.
    pub limits: Vec<LimitPlan>,
}

/// One limit.
#[derive(Clone, Debug)]
pub struct LimitPlan {
    /// Its number, which makes its name.
    pub name: u8,
    /// Who is counted together.
    pub scope: ScopePlan,
    /// When it is asked.
    pub stage: StagePlan,
    /// Whether it only reports.
    pub shadow: bool,
    /// What a request takes: so many per request, or so many times its weight.
    pub cost: (bool, u64),
    /// What it counts.
    pub shape: ShapePlan,
    /// Whether attempts of one user count once; not where each user is counted alone.
    pub distinct: bool,
    /// Other numbers for one value of the scope, if it has any.
    pub other: Option<OverridePlan>,
    /// Whether its keys go without its name. Of the limits of a policy the first alone may: no other
    /// has ever the name of its counters then.
    pub nameless: bool,
}

/// Other numbers for some.
#[derive(Clone, Debug)]
pub struct OverridePlan {
    /// For which of the values.
    pub value: u8,
    /// The numbers; used if they are of the same shape as the limit.
    pub shape: ShapePlan,
}

/// Who is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopePlan {
    /// Everybody.
    Global,
    /// Each organisation.
    Org,
    /// Each user of each organisation.
    OrgUser,
    /// Each address.
    Ip,
}

/// When a limit is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagePlan {
    /// First.
    Global,
    /// With the others.
    Action,
}

/// What a limit counts. Numbers out of range are brought into it when the shape is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapePlan {
    /// Tokens, per microseconds, burst.
    Bucket(u64, u64, u64),
    /// Count, per microseconds, what is counted.
    Window(u64, u64, CountsPlan),
    /// Count, period, what is counted.
    Quota(u64, PeriodPlan, CountsPlan),
    /// The short window, and what happens when it is full.
    Attempts(WindowPlan, MannerPlan),
}

/// Whether attempts are counted, and the base of their backoff in microseconds.
pub type CountsPlan = Option<Option<u64>>;

/// When a quota starts anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeriodPlan {
    /// Every so many microseconds.
    Fixed(u64),
    /// So many microseconds after the first use.
    FirstUse(u64),
    /// With the hours in Kathmandu.
    Hour,
    /// With the days in Berlin.
    Day,
    /// With the months in UTC, from this day on.
    Month(u8),
}

// === impl LimitPlan ===

impl LimitPlan {
    /// Its shape, and that of its override.
    pub(super) fn shapes(&self) -> impl Iterator<Item = &ShapePlan> {
        core::iter::once(&self.shape).chain(self.other.as_ref().map(|other| &other.shape))
    }
}

// === impl PolicyPlan ===

impl PolicyPlan {
    /// The set with this one policy, replacing `earlier`.
    ///
    /// # Panics
    ///
    /// If the core refuses it: plans are made to be accepted.
    #[must_use]
    pub fn build(&self, earlier: Option<&PolicySet>) -> PolicySet {
        // Whether a busy machine is quick is not what is judged.
        let spec = PolicySpec::new(name("policy"), FailureMode::FailOpen)
            .deadline(*PolicySpec::DEADLINES.end());
        let spec = self.limits.iter().fold(spec, |spec, limit| spec.limit(limit.build()));
        PolicySet::builder().policy(spec).build(earlier).expect("plans make valid policies")
    }

    /// Gives each limit the first of `shapes` that is of its shape.
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
    /// A limit of the action, on everybody, that takes what a request weighs.
    #[must_use]
    pub const fn plain(name: u8, shape: ShapePlan) -> Self {
        let (scope, stage) = (ScopePlan::Global, StagePlan::Action);
        Self {
            name,
            scope,
            stage,
            shadow: false,
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

    /// Whose counter a request of `who` is on; `None` if the limit does not apply to it.
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

    /// The units a request of this weight takes, if there are no overrides.
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

    /// Whether it is an abuse log.
    #[must_use]
    pub const fn is_attempts(&self) -> bool {
        self.shape.is_attempts()
    }

    /// Whether attempts of one user count once.
    #[must_use]
    pub fn is_distinct(&self) -> bool {
        self.distinct && self.is_attempts() && self.scope != ScopePlan::OrgUser
    }

    /// The shape it has for those whom no override concerns.
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

    fn build(&self) -> Limit {
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
        // A cost that never fits would be refused at load.
        let units = Cost::try_new(self.cost.1.clamp(1, capacity)).expect("at least one");
        let rule = if self.cost.0 { CostRule::PerRequest(units) } else { CostRule::PerUnit(units) };
        let limit = limit.costing(rule);
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
    /// Whether it is an abuse log, of which every request takes one.
    #[must_use]
    pub const fn is_attempts(&self) -> bool {
        matches!(self, Self::Attempts(..))
    }

    /// The shape.
    ///
    /// # Panics
    ///
    /// If the numbers are out of range in a way that cannot be mended.
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

/// A burst beyond what is exact at the rate becomes the largest that is.
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

/// The subject of one who asks.
pub(super) fn subject(who: &Who) -> Subject<'static> {
    let subject = Subject::new()
        .org(org(who.org))
        .ip(address(who.address).parse().expect("the addresses are valid"));
    match who.user {
        Some(index) => subject.user(user(index)),
        None => subject,
    }
}
