//! Why policies do not make a set.

use super::plans::{MAX_PLAN, MAX_PLANS};
use super::set::MAX_IDENTITIES;
use super::{FailureMode, MAX_LIMITS, PolicySpec, Protects};
use crate::failover::Cap;
use crate::limit::LimitError;
use crate::name::Name;
use crate::shape::Kind;
use crate::time::Span;

/// Why policies do not make a set. Each message says what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Two policies of one name.
    #[error("two policies are named `{0}`; names select policies, so each needs its own")]
    DuplicatePolicy(Name),
    /// Two limits of one name in one policy, or among the shared ones.
    #[error("two limits of `{policy}` are named `{limit}`; give one of them another name")]
    DuplicateLimit {
        /// The policy, or `shared`.
        policy: String,
        /// The limit.
        limit: Name,
    },
    /// A policy without limits.
    #[error("policy `{0}` has no limits, so it would admit everything; give it one")]
    NoLimits(Name),
    /// More limits than one decision can charge.
    #[error("policy `{0}` has more than {MAX_LIMITS} limits, the most one decision can charge")]
    TooManyLimits(Name),
    /// An entrance that would not deny when its store fails.
    #[error(
        "policy `{policy}` protects `{}` and must not be `{}`: an outage of the store would be a way \
         in; write `fail_closed`",
        .protects.name(), .failure.name()
    )]
    NotFailClosed {
        /// The policy.
        policy: Name,
        /// What it guards.
        protects: Protects,
        /// What it would do.
        failure: FailureMode,
    },
    /// An entrance that would let pass what is past its limits.
    #[error(
        "policy `{policy}` protects `{}` and must not `degrade` what is past its limits: every guess \
         would pass, uncounted; write `reject`",
        .protects.name()
    )]
    DegradedEntrance {
        /// The policy.
        policy: Name,
        /// What it guards.
        protects: Protects,
    },
    /// A policy for what is paid for, or cannot be undone, that an outage would open.
    #[error(
        "policy `{0}` protects `spend` and must not be `fail_open`: an outage of the store would let \
         pass uncounted what is paid for or cannot be undone; write `fail_closed` or `degraded`, or \
         `protects: api_heavy` if that may happen"
    )]
    OpenSpend(Name),
    /// A policy that an outage would close, although nothing critical is behind it.
    #[error(
        "policy `{policy}` is `fail_closed` and protects {}: only an entrance (`login`, `otp`, `auth`, \
         `step_up`, `admin`) or `spend` may be closed by an outage of the store; write `degraded` or \
         `fail_open`, or `protects: spend` if it guards money or what cannot be undone",
        guarded(*.protects)
    )]
    NotCritical {
        /// The policy.
        policy: Name,
        /// What it guards, if it says so.
        protects: Option<Protects>,
    },
    /// A policy that is said to guard something milder than its class, its preset or an earlier call
    /// says.
    #[error(
        "policy `{policy}` cannot protect `{}`: its class, its preset or an earlier call says `{}`, \
         which is stricter in an outage, and may be made stricter only; protect `{}`, or change what \
         says so",
        .protects.name(), .than.name(), .than.name()
    )]
    Milder {
        /// The policy.
        policy: Name,
        /// What it would guard.
        protects: Protects,
        /// The stricter one that was said.
        than: Protects,
    },
    /// A deadline for the store that is no time at all, or so long that an outage is noticed too late.
    #[error(
        "policy `{policy}` gives its store {deadline}, but a deadline is at least {} and at most {}: \
         three failures one after another have to be noticed within 10s; write for example 100ms",
        PolicySpec::DEADLINES.start(), PolicySpec::DEADLINES.end()
    )]
    Deadline {
        /// The policy.
        policy: Name,
        /// What it says.
        deadline: Span,
    },
    /// A policy that would be looser in an outage than without one.
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
        /// What it guards.
        protects: Protects,
        /// How many attempts the limit lets through in the time of the cap.
        admits: u64,
        /// How many it has to let through at least.
        least: u64,
        /// The locked cap.
        cap: Cap,
    },
    /// A shared limit that is not there.
    #[error("policy `{policy}` uses the shared limit `{limit}`, which is not defined")]
    UnknownShared {
        /// The policy.
        policy: Name,
        /// The limit it names.
        limit: Name,
    },
    /// Two limits whose counters would be one.
    #[error(
        "limits `{first}` and `{second}` would share the counters `{key}`; share one limit \
         between the policies if that is meant, or put the limit's name into the key of one"
    )]
    SameKey {
        /// One limit.
        first: String,
        /// The other.
        second: String,
        /// The form of the key: names of dimensions in place of values.
        key: String,
    },
    /// Two limits of one policy that count by different outcomes.
    #[error(
        "limits `{first}` and `{second}` of policy `{policy}` count by different outcomes, but a \
         request is given back to all of them or to none; give them the same status codes, or put \
         one into a policy of its own"
    )]
    OtherOutcomes {
        /// The policy.
        policy: Name,
        /// One limit.
        first: Name,
        /// The other.
        second: Name,
    },
    /// A limit that is settled for another reason than the outcome, beside one that counts by it.
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
    /// A limit by outcome that counts what others refuse, which has no such outcome.
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
    /// A text that no plan can have.
    #[error(
        "a plan has 1 to {MAX_PLAN} bytes, but this one has {bytes}; leave a plan that is not known \
         out of the subject"
    )]
    PlanText {
        /// How many it has.
        bytes: usize,
    },
    /// Numbers of a plan for limits that are not there, or are of another shape.
    #[error(
        "plan `{plan}` has numbers for {}, of which there is no limit; correct their names and \
         shapes, or add such limits",
        named(.limits)
    )]
    UnmatchedNumbers {
        /// The plan.
        plan: String,
        /// The names that were given, and the kinds of shape.
        limits: Vec<(Name, Kind)>,
    },
    /// More plans than a set learns.
    #[error(
        "{MAX_PLANS} plans have been learnt, the most of one set; write those that many have into \
         the policies, and give what differs for each a pattern or an override"
    )]
    TooManyPlans,
    /// More limits than are remembered, those that came and went over all reloads included.
    #[error(
        "there have been {MAX_IDENTITIES} different limits since the start, the most that are \
         told apart; restart to begin anew"
    )]
    TooManyIdentities,
    /// A limit that is wrong by itself.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

fn guarded(protects: Option<Protects>) -> String {
    protects.map_or_else(|| "nothing in particular".into(), |what| format!("`{}`", what.name()))
}

fn named(limits: &[(Name, Kind)]) -> String {
    let named: Vec<String> =
        limits.iter().map(|(name, kind)| format!("the {} `{name}`", kind.name())).collect();
    named.join(" and ")
}
