//! Policies and limits, as people and tools see them: `/v1/policies` and `/v1/explain/{policy}`.

use serde::Serialize;
use tidegate_core::{
    CostRule, Decision, Dimension, Level, Limit, Name, Period, Policy, PolicySet, Protects, Scope,
    Shape, Standing, Subject, Threshold,
};
use utoipa::ToSchema;

use super::answers::{
    Displayed, IPV6, ReadingAnswer, dimensions, failures, levels, maybe_dimensions, maybe_ipv6,
    maybe_modes, maybe_verdicts, modes, overflows, protections, stages, units,
};

/// All policies in force.
#[derive(Serialize, ToSchema)]
#[schema(as = Policies)]
pub(crate) struct PoliciesAnswer<'a> {
    /// The policies, sorted by name.
    policies: Vec<PolicyAnswer<'a>>,
}

/// A policy in force.
#[derive(Serialize, ToSchema)]
#[schema(as = Policy)]
pub(crate) struct PolicyAnswer<'a> {
    /// The name by which requests select the policy.
    name: &'a str,
    /// What the policy does while its store fails.
    #[schema(schema_with = failures)]
    failure_mode: &'static str,
    /// What the policy guards; null if its file does not say.
    #[schema(required, schema_with = protections)]
    protects: Option<&'static str>,
    /// How long the store may take, in microseconds.
    deadline_us: u64,
    /// How the policy stands with its store, on this server.
    standing: StandingAnswer,
    /// The endpoint class that the policy is bound to, if to one.
    #[schema(required)]
    class: Option<&'a str>,
    /// What happens to a request past a limit.
    #[schema(schema_with = overflows)]
    overflow: &'static str,
    /// The limits of the policy, in order.
    limits: Vec<LimitAnswer<'a>>,
}

/// How a policy stands with its store, on one server.
#[derive(Serialize, ToSchema)]
#[schema(as = Standing)]
pub(crate) struct StandingAnswer {
    /// The mode of the policy: `normal` while the store decides.
    #[schema(schema_with = modes)]
    mode: &'static str,
    /// How often the degraded mode has been entered since the server started.
    epoch: u64,
    /// The failures of the store in the last ten seconds that count.
    failures: usize,
}

/// A limit of a policy.
#[derive(Serialize, ToSchema)]
#[schema(as = Limit)]
pub(crate) struct LimitAnswer<'a> {
    /// The name of the limit, unique within its policy.
    name: &'a str,
    /// The facts that the limit counts by, joined by `+`; or `global`.
    #[schema(value_type = String, example = "org+user")]
    scope: Displayed<Scope>,
    /// When the limit is asked, relative to the others.
    #[schema(schema_with = stages)]
    stage: &'static str,
    /// Whether the limit only reports, and never refuses.
    shadow: bool,
    /// Whether what was taken can be settled later.
    settles: bool,
    /// Whether a settlement at 0 forgets all attempts counted so far.
    forgives: bool,
    /// The HTTP status codes of the answers that the limit counts; empty where every request counts.
    outcome: &'a [u16],
    /// The fact that exempts a subject from the limit, if it is known; null where nobody is exempt.
    #[schema(required, schema_with = maybe_dimensions)]
    unless: Option<&'static str>,
    /// The one kind of address that the limit is for; null where it is for every request.
    #[schema(required, schema_with = maybe_ipv6)]
    only: Option<&'static str>,
    /// The fact whose distinct values the limit counts, each of them once; null where every request
    /// counts.
    #[schema(required, schema_with = maybe_dimensions)]
    distinct: Option<&'static str>,
    /// What a request takes of the limit.
    cost: CostAnswer,
    /// The shape of the limit, with the numbers for subjects without an override.
    shape: ShapeAnswer<'a>,
}

/// What a request takes of a limit.
#[derive(Serialize, ToSchema)]
#[schema(as = CostRule)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CostAnswer {
    /// This many units for each request.
    PerRequest(u64),
    /// This many units for each unit of the request's cost.
    PerUnit(u64),
}

/// A shape with its numbers.
#[derive(Serialize, ToSchema)]
#[schema(as = Shape)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(crate) enum ShapeAnswer<'a> {
    /// A smooth rate with a burst.
    Bucket {
        /// How many units come back in each `per_us`.
        units: u64,
        /// The time in which `units` come back, in microseconds.
        per_us: u64,
        /// How many units may be taken at once.
        burst: u64,
    },
    /// A count in any span of a certain length.
    Window {
        /// How many units are admitted in any `per_us`.
        count: u64,
        /// The length of the window, in microseconds.
        per_us: u64,
        /// Whether refused attempts are counted too.
        counts_attempts: bool,
    },
    /// A budget per period.
    Quota {
        /// How many units are admitted in each period.
        count: u64,
        /// The period of the quota.
        period: PeriodAnswer<'a>,
        /// Whether refused attempts are counted too.
        counts_attempts: bool,
    },
    /// Attempts in one or two windows, and a block when they are too many.
    Attempts {
        /// The short window.
        temp: ThresholdAnswer,
        /// The long window, if there is one.
        #[schema(required)]
        long: Option<ThresholdAnswer>,
        /// The levels on which blocks grow longer; null where their length is fixed.
        #[schema(required)]
        ladder: Option<LadderAnswer>,
        /// Whether refused attempts are counted too.
        counts_attempts: bool,
    },
}

/// When attempts become too many, and how long they are blocked then.
#[derive(Serialize, ToSchema)]
#[schema(as = Threshold)]
pub(crate) struct ThresholdAnswer {
    /// The attempt in any `per_us` that is refused and begins the block.
    block_at: u16,
    /// The length of the window, in microseconds.
    per_us: u64,
    /// How long the block lasts, in microseconds; on a ladder, the first one.
    block_us: u64,
}

/// The levels on which blocks grow longer.
#[derive(Serialize, ToSchema)]
#[schema(as = Ladder)]
pub(crate) struct LadderAnswer {
    /// The level of the first block.
    #[schema(schema_with = levels)]
    from: Displayed<Level>,
    /// The highest level.
    #[schema(schema_with = levels)]
    to: Displayed<Level>,
}

/// The period of a quota.
#[derive(Serialize, ToSchema)]
#[schema(as = Period)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(crate) enum PeriodAnswer<'a> {
    /// Periods of a fixed length, counted from the Unix epoch.
    Fixed {
        /// The length of a period, in microseconds.
        per_us: u64,
    },
    /// A period that begins with the first use.
    FirstUse {
        /// The length of the period, in microseconds.
        per_us: u64,
    },
    /// Periods of the calendar of a time zone.
    Calendar {
        /// The length of a period: one of this unit.
        #[schema(schema_with = units)]
        unit: &'static str,
        /// The time zone.
        zone: &'a str,
        /// The day of the month on which months start.
        #[schema(minimum = 1, maximum = 31)]
        anchor_day: u8,
    },
}

/// What the limits of a policy say about one subject now; nothing was charged.
#[derive(Serialize, ToSchema)]
#[schema(as = Explanation)]
pub(crate) struct ExplainAnswer<'a> {
    /// The name of the policy.
    policy: &'a str,
    /// The account as it is counted, whatever its spelling in the query; there if the query names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    account: Option<&'a str>,
    /// The verdict that a request would get; null if no limit applies, so that it would not be decided.
    #[schema(required, schema_with = maybe_verdicts)]
    verdict: Option<&'static str>,
    /// The mode in which the verdict was found: `normal` if the store answered; null if no limit applies.
    #[schema(required, schema_with = maybe_modes)]
    mode: Option<&'static str>,
    /// Every limit of the policy, in order.
    limits: Vec<ExplainedLimit<'a>>,
}

/// One limit, and what it says about the subject.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExplainedLimit<'a> {
    /// The limit, with the numbers in force for this subject.
    limit: LimitAnswer<'a>,
    /// Whether the limit applies to the subject.
    applies: bool,
    /// The facts that the limit counts by and that were not given.
    #[schema(schema_with = dimensions)]
    missing: Vec<&'static str>,
    /// What the limit says now; null if it does not apply, or if the store did not answer.
    #[schema(required)]
    reading: Option<ReadingAnswer<'a>>,
}

// === impl PoliciesAnswer ===

impl<'a> PoliciesAnswer<'a> {
    /// The policies of a set; `standing` gives how the policy of a name stands with its store.
    pub(crate) fn new(set: &'a PolicySet, standing: impl Fn(&str) -> Option<Standing>) -> Self {
        let answer = |policy: &'a Policy| {
            let standing = standing(policy.name().as_str()).unwrap_or(Standing::NORMAL);
            PolicyAnswer::new(policy, &standing)
        };
        Self { policies: set.policies().iter().map(answer).collect() }
    }
}

impl<'a> PolicyAnswer<'a> {
    fn new(policy: &'a Policy, standing: &Standing) -> Self {
        let limits = policy.limits().iter();
        Self {
            name: policy.name().as_str(),
            failure_mode: policy.failure().name(),
            protects: policy.protects().map(Protects::name),
            deadline_us: policy.deadline().as_micros(),
            standing: StandingAnswer {
                mode: standing.mode.name(),
                epoch: standing.epoch,
                failures: standing.failures,
            },
            class: policy.class().map(Name::as_str),
            overflow: policy.overflow().name(),
            limits: limits.map(|limit| LimitAnswer::new(limit, limit.shape())).collect(),
        }
    }
}

impl<'a> LimitAnswer<'a> {
    fn new(limit: &'a Limit, shape: &'a Shape) -> Self {
        Self {
            name: limit.name().as_str(),
            scope: Displayed(limit.scope()),
            stage: limit.stage().name(),
            shadow: limit.is_shadow(),
            settles: limit.settles(),
            forgives: limit.forgives(),
            outcome: limit.outcomes().map_or(&[], |outcomes| outcomes.codes()),
            unless: limit.exempt().map(Dimension::name),
            only: limit.is_only_ipv6().then_some(IPV6),
            distinct: limit.counted().map(Dimension::name),
            cost: match limit.cost() {
                CostRule::PerRequest(cost) => CostAnswer::PerRequest(cost.get()),
                CostRule::PerUnit(cost) => CostAnswer::PerUnit(cost.get()),
            },
            shape: ShapeAnswer::new(shape),
        }
    }
}

impl<'a> ShapeAnswer<'a> {
    fn new(shape: &'a Shape) -> Self {
        let counts_attempts = shape.counts_attempts();
        match shape {
            Shape::Bucket(bucket) => Self::Bucket {
                units: bucket.rate().tokens(),
                per_us: bucket.rate().per().as_micros(),
                burst: bucket.burst(),
            },
            Shape::Window(window) => Self::Window {
                count: window.count(),
                per_us: window.per().as_micros(),
                counts_attempts,
            },
            Shape::Quota(quota) => Self::Quota {
                count: quota.count(),
                period: PeriodAnswer::new(quota.period()),
                counts_attempts,
            },
            Shape::Attempts(attempts) => Self::Attempts {
                temp: ThresholdAnswer::new(attempts.temp()),
                long: attempts.long().map(ThresholdAnswer::new),
                ladder: attempts.ladder().map(|ladder| LadderAnswer {
                    from: Displayed(ladder.from()),
                    to: Displayed(ladder.to()),
                }),
                counts_attempts,
            },
        }
    }
}

impl ThresholdAnswer {
    fn new(threshold: &Threshold) -> Self {
        Self {
            block_at: threshold.block_at,
            per_us: threshold.per.as_micros(),
            block_us: threshold.block.as_micros(),
        }
    }
}

impl<'a> PeriodAnswer<'a> {
    fn new(period: &'a Period) -> Self {
        match period {
            Period::Fixed(length) => Self::Fixed { per_us: length.as_micros() },
            Period::FirstUse(length) => Self::FirstUse { per_us: length.as_micros() },
            Period::Calendar(calendar) => Self::Calendar {
                unit: calendar.unit().name(),
                zone: calendar.zone(),
                anchor_day: calendar.anchor_day(),
            },
        }
    }
}

// === impl ExplainAnswer ===

impl<'a> ExplainAnswer<'a> {
    /// The answer about a subject; `decision` is the decision that was peeked at, `None` if no limit
    /// applies.
    pub(crate) fn new(
        policy: &'a Policy,
        subject: &Subject<'_>,
        account: Option<&'a str>,
        decision: Option<Decision<'a>>,
    ) -> Self {
        let known = |dimension: &Dimension| {
            let bound = *dimension == Dimension::Class && policy.class().is_some();
            bound || subject.get(*dimension).is_some()
        };
        let limits = policy.limits().iter().map(|limit| {
            let mut said = decision.iter().flat_map(Decision::explain);
            let said = said.find(|said| std::ptr::eq(said.limit, &raw const **limit));
            let reading = said.zip(decision).map(|(said, decision)| {
                ReadingAnswer::new(said, decision.verdict().passes(), decision.decided_at())
            });
            // Without the store there is no reading, but the limit applies all the same.
            let mut charges = decision.iter().flat_map(|it| it.case().batch().charges());
            let needed = limit.scope().dimensions().chain(limit.counted());
            ExplainedLimit {
                limit: LimitAnswer::new(limit, said.map_or(limit.shape(), |said| said.shape)),
                applies: charges.any(|charge| charge.limit().id() == limit.id()),
                missing: needed.filter(|it| !known(it)).map(Dimension::name).collect(),
                reading,
            }
        });
        Self {
            policy: policy.name().as_str(),
            account,
            verdict: decision.map(|decision| decision.verdict().name()),
            mode: decision.map(|decision| decision.mode().name()),
            limits: limits.collect(),
        }
    }
}
