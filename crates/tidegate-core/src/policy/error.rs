//! Why a set of policies is refused.

use super::plans::{MAX_PLAN, MAX_PLANS};
use super::set::MAX_IDENTITIES;
use super::{FailureMode, MAX_LIMITS, PolicySpec, Protects};
use crate::failover::Cap;
use crate::limit::LimitError;
use crate::name::Name;
use crate::shape::ShapeKind;
use crate::time::Span;

/// Why a set of policies is refused. Each message says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Two policies have the same name.
    #[error("two policies are named `{0}`; names select policies, so each needs its own")]
    DuplicatePolicy(Name),
    /// Two limits of one policy, or two shared limits, have the same name.
    #[error("two limits of `{policy}` are named `{limit}`; give one of them another name")]
    DuplicateLimit {
        /// The name of the policy, or `shared`.
        policy: String,
        /// The limit.
        limit: Name,
    },
    /// A policy has no limits.
    #[error("policy `{0}` has no limits, so it would admit everything; give it one")]
    NoLimits(Name),
    /// A policy was made without limits of its own, and has some.
    #[error("policy `{0}` is a stance, whose limits are rows; give it no limits of its own")]
    StanceWithLimits(Name),
    /// A policy has more limits than one decision can charge.
    #[error("policy `{0}` has more than {MAX_LIMITS} limits, the most one decision can charge")]
    TooManyLimits(Name),
    /// A policy guards an entrance, and would not deny when its store fails.
    #[error(
        "policy `{policy}` protects `{}` and must not be `{}`: an outage of the store would be a way \
         in; write `fail_closed`",
        .protects.name(), .failure.name()
    )]
    NotFailClosed {
        /// The policy.
        policy: Name,
        /// What the policy guards.
        protects: Protects,
        /// The failure mode of the policy.
        failure: FailureMode,
    },
    /// A policy guards an entrance, and would let requests pass that exceed its limits.
    #[error(
        "policy `{policy}` protects `{}` and must not `degrade` what is past its limits: every guess \
         would pass, uncounted; write `reject`",
        .protects.name()
    )]
    DegradedEntrance {
        /// The policy.
        policy: Name,
        /// What the policy guards.
        protects: Protects,
    },
    /// A policy guards what is paid for or cannot be undone, and an outage would open it.
    #[error(
        "policy `{0}` protects `spend` and must not be `fail_open`: an outage of the store would let \
         pass uncounted what is paid for or cannot be undone; write `fail_closed` or `degraded`, or \
         `protects: api_heavy` if that may happen"
    )]
    OpenSpend(Name),
    /// A policy guards calls to other services, and is not to be decided by local ceilings.
    #[error(
        "policy `{0}` protects `outbound` and must be `degraded`: other services limit our calls, so an \
         outage of the store must neither let all of them pass nor none; write `protects: spend` if they \
         are paid for and may be closed"
    )]
    NotDegraded(Name),
    /// An outage would close a policy, although nothing critical is behind it.
    #[error(
        "policy `{policy}` is `fail_closed` and protects {}: only an entrance (`login`, `otp`, `auth`, \
         `step_up`, `admin`) or `spend` may be closed by an outage of the store; write `degraded` or \
         `fail_open`, or `protects: spend` if it guards money or what cannot be undone",
        guarded(*.protects)
    )]
    NotCritical {
        /// The policy.
        policy: Name,
        /// What the policy guards, if it says so.
        protects: Option<Protects>,
    },
    /// A policy is said to guard something milder than its class, its preset or an earlier call says.
    #[error(
        "policy `{policy}` cannot protect `{}`: its class, its preset or an earlier call says `{}`, \
         which is stricter in an outage, and may be made stricter only; protect `{}`, or change what \
         says so",
        .protects.name(), .than.name(), .than.name()
    )]
    Milder {
        /// The policy.
        policy: Name,
        /// What the policy is said to guard.
        protects: Protects,
        /// What its class, its preset or an earlier call says it guards, which is stricter.
        than: Protects,
    },
    /// The deadline for the store is too short for any answer, or so long that an outage is noticed too
    /// late.
    #[error(
        "policy `{policy}` gives its store {deadline}, but a deadline is at least {} and at most {}: \
         three failures one after another have to be noticed within 10s; write for example 100ms",
        PolicySpec::DEADLINES.start(), PolicySpec::DEADLINES.end()
    )]
    Deadline {
        /// The policy.
        policy: Name,
        /// The deadline that the policy gives.
        deadline: Span,
    },
    /// A limit is below a locked cap, so the policy would be looser in an outage than without one.
    #[error(
        "limit `{limit}` of policy `{policy}` lets {admits} attempts in {} through, but while the \
         store is down a policy that protects `{}` admits {} for each `{}`, and an outage must not be \
         the better time to guess; let the limit admit at least {least}",
        .cap.per, .protects.name(), .cap.count, .cap.by
    )]
    NotAboveCap {
        /// The policy.
        policy: Name,
        /// The limit.
        limit: Name,
        /// What the policy guards.
        protects: Protects,
        /// How many attempts the limit lets through in the time of the cap.
        admits: u64,
        /// How many attempts the limit has to let through at least.
        least: u64,
        /// The locked cap.
        cap: Cap,
    },
    /// A policy uses a shared limit that is not defined.
    #[error("policy `{policy}` uses the shared limit `{limit}`, which is not defined")]
    UnknownShared {
        /// The policy.
        policy: Name,
        /// The name of the limit.
        limit: Name,
    },
    /// Two limits would use the same counters.
    #[error(
        "limits `{first}` and `{second}` would share the counters `{key}`; share one limit \
         between the policies if that is meant, or put the limit's name into the key of one"
    )]
    SameKey {
        /// One of the two limits.
        first: String,
        /// The other of the two limits.
        second: String,
        /// The form of the key: names of dimensions in place of values.
        key: String,
    },
    /// Two limits of one policy count by different outcomes.
    #[error(
        "limits `{first}` and `{second}` of policy `{policy}` count by different outcomes, but a \
         request is given back to all of them or to none; give them the same status codes, or put \
         one into a policy of its own"
    )]
    OtherOutcomes {
        /// The policy.
        policy: Name,
        /// One of the two limits.
        first: Name,
        /// The other of the two limits.
        second: Name,
    },
    /// A limit that settles for another reason is in one policy with a limit that counts by outcome.
    #[error(
        "limit `{limit}` of policy `{policy}` settles, and `{counting}` counts by outcome, but a \
         ticket settles both by one weight; put one into a policy of its own"
    )]
    SettlesBesideOutcomes {
        /// The policy.
        policy: Name,
        /// The limit that settles.
        limit: Name,
        /// The limit that counts by outcome.
        counting: Name,
    },
    /// A limit by outcome would count requests that other limits refuse, which have no such outcome.
    #[error(
        "limit `{counting}` of policy `{policy}` counts by outcome, but refused attempts too, so \
         that each refusal by `{limit}` would count and never be given back; let it count admitted \
         requests or climb a ladder, or put it into a policy of its own"
    )]
    RefusalsAsOutcomes {
        /// The policy.
        policy: Name,
        /// The limit that counts by outcome.
        counting: Name,
        /// The other limit.
        limit: Name,
    },
    /// A text is empty, or too long to be the name of a plan.
    #[error(
        "a plan has 1 to {MAX_PLAN} bytes, but this one has {bytes}; leave a plan that is not known \
         out of the subject"
    )]
    PlanText {
        /// The length of the text in bytes.
        bytes: usize,
    },
    /// A plan has numbers for limits that do not exist, or are of another shape.
    #[error(
        "plan `{plan}` has numbers for {}, but no limit has that name and shape; correct their names \
         and shapes, or add such limits",
        named(.limits)
    )]
    UnmatchedNumbers {
        /// The plan.
        plan: String,
        /// The names and the kinds of shape for which there is no limit.
        limits: Vec<(Name, ShapeKind)>,
    },
    /// The set has learnt as many plans as it can.
    #[error(
        "{MAX_PLANS} plans have been learnt, the most of one set; write those that many have into \
         the policies, and give what differs for each a pattern or an override"
    )]
    TooManyPlans,
    /// There are more limits than a set remembers, including those that came and went over all reloads.
    #[error(
        "there have been {MAX_IDENTITIES} different limits since the start, the most that are \
         told apart; restart the process to clear the list"
    )]
    TooManyIdentities,
    /// A limit is wrong by itself.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

fn guarded(protects: Option<Protects>) -> String {
    protects.map_or_else(|| "nothing in particular".into(), |what| format!("`{}`", what.name()))
}

fn named(limits: &[(Name, ShapeKind)]) -> String {
    let named: Vec<String> =
        limits.iter().map(|(name, kind)| format!("the {} `{name}`", kind.name())).collect();
    named.join(" and ")
}
