//! What can be wrong with a policy file, one variant for each thing a reader has to mend.
//!
//! A variant says what is wrong; [`Wrong::advice`] says what to do about it. Where the core refuses
//! numbers it has said both already, and its words are used.

mod advice;
mod words;

use tidegate_core::text::nearest;
use tidegate_core::{
    CalendarError, Cap, Cost, CostError, Dimension, FailureMode, LadderError, MAX_DISTINCT,
    MAX_LIMITS, Name, OutcomesError, OverrideError, PolicyError, PolicySpec, Preset, Protects,
    ShapeError, Span,
};

use self::words::{mixed_outcomes, numbers, outcome, same_counters};
use super::yaml::short;
use super::{MAX_BYTES, MAX_ENVIRONMENTS, MAX_EXACT_OVERRIDES, MAX_TEXT};
use crate::memory::BudgetError;

/// What is wrong with a policy file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// More bytes than any policy file needs.
    #[error("the file has {bytes} bytes; at most {MAX_BYTES} are read")]
    FileTooLarge {
        /// How many bytes the file has.
        bytes: usize,
    },
    /// Not YAML.
    #[error("this is not YAML: {message}")]
    Syntax {
        /// What the parser said.
        message: String,
    },
    /// YAML that unfolds to much more than is written.
    #[error("this YAML is not read: {what}")]
    TooComplex {
        /// Which bound it broke.
        what: &'static str,
    },
    /// More than one document in the file.
    #[error("the file holds more than one YAML document")]
    SeveralDocuments,
    /// A key that is written twice.
    #[error("`{key}` is written twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A list where a text belongs, or the like.
    #[error("this is not {expected}")]
    OtherType {
        /// What belongs here.
        expected: String,
    },
    /// A value its reader does not accept.
    #[error("{message}")]
    BadValue {
        /// What the reader said.
        message: String,
    },
    /// A field that does not exist.
    #[error("there is no field `{field}` here")]
    UnknownField {
        /// The field.
        field: String,
        /// The one that was probably meant.
        suggestion: Option<String>,
        /// The fields that exist here.
        known: Vec<String>,
    },
    /// A required field that is missing.
    #[error("{owner} has no `{field}`")]
    MissingField {
        /// What lacks the field: the file, a policy, a limit or the like.
        owner: String,
        /// The field.
        field: &'static str,
        /// An example of what to write.
        example: &'static str,
    },
    /// A version of the format that this program does not read.
    #[error("this version of the format is not known; version 1 is read")]
    UnknownVersion,
    /// A file without policies.
    #[error("there are no policies, so nothing could be decided")]
    NoPolicies,
    /// A policy that does not say what to do without its store.
    #[error("{policy} does not say what it does while its store fails")]
    NoFailureMode {
        /// The policy.
        policy: String,
    },
    /// An entrance that would not deny when its store fails.
    #[error("{policy} protects `{}` and must not be `{}`", .protects.name(), .failure.name())]
    NotFailClosed {
        /// The policy.
        policy: String,
        /// What the policy guards.
        protects: Protects,
        /// The failure mode it has.
        failure: FailureMode,
    },
    /// An entrance that would admit requests beyond its limits.
    #[error("{policy} protects `{}` and must not `degrade` what is past its limits", .protects.name())]
    DegradedEntrance {
        /// The policy.
        policy: String,
        /// What the policy guards.
        protects: Protects,
    },
    /// A policy for what is paid for, or cannot be undone, that an outage would open.
    #[error("{policy} protects `spend` and must not be `fail_open`")]
    OpenSpend {
        /// The policy.
        policy: String,
    },
    /// A policy that an outage would close, although nothing critical is behind it.
    #[error("{policy} is `fail_closed`, but protects {protects}")]
    NotCritical {
        /// The policy.
        policy: String,
        /// What the policy guards, in words.
        protects: String,
    },
    /// A policy that says it guards something milder than its class stands for.
    #[error(
        "{policy} protects `{}`, but its class `{class}` stands for `{}`, which is stricter in an \
         outage",
        .protects.name(), .than.name()
    )]
    MilderThanClass {
        /// The policy.
        policy: String,
        /// What the policy guards, by its own words or by its preset.
        protects: Protects,
        /// The class of the policy.
        class: String,
        /// What the class stands for.
        than: Protects,
    },
    /// A deadline for the store that is no time at all, or so long that an outage is noticed too late.
    #[error(
        "{policy} gives its store {deadline}; a deadline is at least {} and at most {}",
        PolicySpec::DEADLINES.start(), PolicySpec::DEADLINES.end()
    )]
    BadDeadline {
        /// The policy.
        policy: String,
        /// The deadline it gives.
        deadline: Span,
    },
    /// A policy without limits.
    #[error("{policy} has no limits, so it would admit everything")]
    NoLimits {
        /// The policy.
        policy: String,
    },
    /// More limits than one decision can charge.
    #[error("{policy} has {count} limits; one decision can charge {MAX_LIMITS}")]
    TooManyLimits {
        /// The policy.
        policy: String,
        /// How many limits it has.
        count: usize,
    },
    /// An environment that is not declared.
    #[error("the list `environments` has no `{name}`")]
    UnknownEnvironment {
        /// The name.
        name: String,
        /// The environment that was probably meant.
        suggestion: Option<String>,
    },
    /// An environment declared twice.
    #[error("environment `{name}` is written twice")]
    DuplicateEnvironment {
        /// The name.
        name: Name,
    },
    /// More environments than a file may declare.
    #[error("a file has at most {MAX_ENVIRONMENTS} environments; this is one more")]
    TooManyEnvironments,
    /// A text that cannot be a name.
    #[error("this is not a name")]
    BadName {
        /// A name that resembles it.
        suggestion: Option<String>,
    },
    /// A word that is none of those that may stand here.
    #[error("`{word}` is not {what}")]
    UnknownWord {
        /// What the word should have been: a value of a field, a dimension or the like.
        what: &'static str,
        /// The word.
        word: String,
        /// The word that was probably meant.
        suggestion: Option<&'static str>,
        /// The words that may stand here.
        known: Vec<&'static str>,
    },
    /// `global` beside a dimension.
    #[error("`global` counts everybody together; it cannot stand beside a dimension")]
    GlobalAmongOthers,
    /// A dimension twice in one scope.
    #[error("`{dimension}` is written twice")]
    RepeatedDimension {
        /// The dimension.
        dimension: String,
    },
    /// An empty list of dimensions.
    #[error("the list of dimensions is empty")]
    EmptyScope,
    /// A shared limit that is not defined.
    #[error("there is no shared limit `{name}`")]
    UnknownShared {
        /// The name.
        name: String,
        /// The shared limit that was probably meant.
        suggestion: Option<String>,
    },
    /// A shared limit with fields of its own.
    #[error("`{field}` cannot be combined with `shared`")]
    SharedWithMore {
        /// One of the fields.
        field: &'static str,
    },
    /// A shared limit that names another.
    #[error("a limit of the list `shared` cannot be another shared one")]
    SharedInShared,
    /// A shared limit that no policy uses.
    #[error("no policy uses the shared limit `{name}`, so it never limits anything")]
    UnusedShared {
        /// The limit.
        name: Name,
    },
    /// A limit or override without a shape.
    #[error("{owner} has no shape")]
    NoShape {
        /// The limit or override.
        owner: String,
    },
    /// A limit or override with two shapes.
    #[error("{owner} has two shapes, `{first}` and `{second}`")]
    TwoShapes {
        /// The limit or override.
        owner: String,
        /// One shape.
        first: &'static str,
        /// The other shape.
        second: &'static str,
    },
    /// A scalar that is no whole number.
    #[error("`{field}` is a positive whole number")]
    NotANumber {
        /// The field.
        field: &'static str,
    },
    /// A whole number beyond every range.
    #[error("this number is beyond what is counted exactly")]
    NumberTooLarge,
    /// A text that is no duration.
    #[error("`{text}` is not a duration")]
    BadDuration {
        /// The text.
        text: String,
        /// What to write instead.
        advice: String,
    },
    /// A text that is no rate.
    #[error("`{text}` is not a rate")]
    BadRate {
        /// The text.
        text: String,
        /// What to write instead.
        advice: String,
    },
    /// Numbers that no shape can have.
    #[error("{}", numbers(*.0))]
    BadNumbers(#[from] ShapeError),
    /// A number that is no cost.
    #[error(transparent)]
    BadCost(#[from] CostError),
    /// A cost by both rules or by none.
    #[error("a cost is either per request or per unit of weight")]
    CostRules,
    /// A cost that is more than ever fits at once.
    #[error(
        "a request costs {cost}, but at most {capacity} fit at once, so it would never be admitted"
    )]
    CostAboveCapacity {
        /// What a request that weighs one costs.
        cost: Cost,
        /// The most that fits at once.
        capacity: u64,
    },
    /// A time zone that does not exist.
    #[error(transparent)]
    UnknownZone(#[from] CalendarError),
    /// A day that no month has.
    #[error("no month has such a day")]
    BadBillingDay,
    /// A field that belongs to the other kind of period.
    #[error("`{field}` goes with {with}, but the period is `{period}`")]
    OtherPeriod {
        /// The field.
        field: &'static str,
        /// The kind of period that the field goes with.
        with: &'static str,
        /// The period as written.
        period: String,
    },
    /// A backoff where attempts are not counted.
    #[error("a backoff grows with refused attempts, which are not counted here")]
    BackoffWithoutAttempts,
    /// A backoff that asks for no delay, or that is capped below its base.
    #[error("a backoff {why}")]
    BadBackoff {
        /// What is wrong with it.
        why: &'static str,
    },
    /// Attempts with fields of both manners of blocks: those of a fixed length and those on a
    /// ladder.
    #[error(
        "`{first}` and `{second}` cannot be combined: one is for blocks of fixed length, the other \
         for a ladder"
    )]
    TwoManners {
        /// A field of one manner.
        first: &'static str,
        /// A field of the other manner.
        second: &'static str,
    },
    /// A ladder whose highest level is below its lowest.
    #[error(transparent)]
    BadLadder(#[from] LadderError),
    /// A field that goes with attempts alone, in a limit that does not count them.
    #[error("`{field}` goes with `attempts`, which this limit does not count")]
    NotAttempts {
        /// The field.
        field: &'static str,
    },
    /// A cost of attempts, each of which counts once.
    #[error("an attempt counts once, whatever a request costs")]
    CostOfAttempts,
    /// A count of distinct values of a dimension that the limit counts by: each key has only one
    /// value.
    #[error("each `{dimension}` has one `{dimension}`, so there is nothing to count")]
    DistinctOfItself {
        /// The dimension.
        dimension: &'static str,
    },
    /// A limit for IPv6 addresses only that counts by no address.
    #[error("the limit is for IPv6 addresses only, and counts by none")]
    Ipv6OfNoAddress,
    /// A count by plan, which only selects numbers.
    #[error("a plan selects numbers and is not counted by: all who have it would share a counter")]
    CountsByPlan,
    /// More distinct values than can be told apart.
    #[error("the limit counts too many distinct values; the most is {MAX_DISTINCT}")]
    TooManyDistinct,
    /// A limit that exempts everybody whom it would count.
    #[error(
        "the limit needs `{}` and exempts every request that has `{}`, so it never applies",
        .dimension.name(), .dimension.name()
    )]
    NeverApplies {
        /// The dimension.
        dimension: Dimension,
    },
    /// Status codes that cannot be outcomes.
    #[error("{}", outcome(*.0))]
    BadOutcome(#[from] OutcomesError),
    /// A limit by outcome that settles for another reason as well.
    #[error(
        "`{field}` cannot be combined with `outcome`, which says in another way what is given back"
    )]
    OutcomeSettled {
        /// The field.
        field: &'static str,
    },
    /// A limit by outcome beside one that it cannot share a ticket with.
    #[error("{}", mixed_outcomes(.0))]
    MixedOutcomes(PolicyError),
    /// A policy that would be looser in an outage than without one.
    #[error(
        "limit `{limit}` lets no more than {admits} through in {}; while the store is down, a policy \
         that protects `{}` admits {} for each `{}` already",
        .cap.per, .protects.name(), .cap.count, .cap.by
    )]
    NotAboveCap {
        /// The limit.
        limit: Name,
        /// What its policy guards.
        protects: Protects,
        /// How many requests the limit lets through in the time of the cap.
        admits: u64,
        /// How many requests the limit has to let through in that time at least.
        least: u64,
        /// The locked cap that holds while the store is down.
        cap: Cap,
    },
    /// A preset for something else than what the policy guards.
    #[error(
        "the preset `{}` protects `{}`, but the policy protects `{}`",
        .preset.name(), .preset.protects().name(), .protects.name()
    )]
    OtherPreset {
        /// The preset.
        preset: Preset,
        /// What the policy says it guards.
        protects: Protects,
    },
    /// A preset in two policies, which would count on the same keys.
    #[error("two policies use the preset `{}`, whose limits count on the same keys", .preset.name())]
    PresetTwice {
        /// The preset.
        preset: Preset,
    },
    /// Two policies of one name.
    #[error("two policies are named `{name}`")]
    DuplicatePolicy {
        /// The name.
        name: Name,
    },
    /// Two limits of one name in one policy, or among the shared ones.
    #[error("two limits of {owner} are named `{name}`")]
    DuplicateLimit {
        /// The policy, or the list of shared limits.
        owner: String,
        /// The name.
        name: Name,
    },
    /// An override for no dimension, or for several.
    #[error("an override matches exactly one dimension, not {count}")]
    MatchNotOne {
        /// How many dimensions it matches.
        count: usize,
    },
    /// An override that cannot apply.
    #[error(transparent)]
    BadOverride(#[from] OverrideError),
    /// An override, or numbers of an environment, of another shape than the limit's.
    #[error("the shape of the limit is `{expected}`, but this gives `{found}`")]
    OtherShape {
        /// The limit's shape.
        expected: &'static str,
        /// The shape that stands here.
        found: &'static str,
    },
    /// An override of an empty value, which nobody has.
    #[error("an empty {} counts as unknown, so this override never applies", .dimension.name())]
    EmptyMatch {
        /// The dimension.
        dimension: Dimension,
    },
    /// More exact overrides than a limit has room for.
    #[error(
        "a limit has at most {MAX_EXACT_OVERRIDES} overrides of exact values; this is one more"
    )]
    TooManyOverrides,
    /// A text longer than any that a request can have.
    #[error("this text has {bytes} bytes; at most {MAX_TEXT} are read")]
    TextTooLong {
        /// How many bytes it has.
        bytes: usize,
    },
    /// A limit that another one makes pointless.
    #[error(
        "limit `{limit}` can never bind: whatever it would refuse, `{stricter}` refuses already"
    )]
    NeverBinds {
        /// The limit.
        limit: Name,
        /// The limit that refuses first.
        stricter: Name,
    },
    /// A budget of memory beyond what a store may reserve.
    #[error(transparent)]
    BadBudget(#[from] BudgetError),
    /// Two limits that would share their counters, or another reason why the policies do not make a
    /// set.
    #[error("{}", same_counters(.0))]
    SameCounters(PolicyError),
}

// === impl Wrong ===

impl Wrong {
    pub(super) fn unknown_field<T: AsRef<str>>(field: &str, known: &[T]) -> Self {
        let known: Vec<String> = known.iter().map(|name| name.as_ref().to_owned()).collect();
        let suggestion = nearest(field, known.iter().map(String::as_str)).map(str::to_owned);
        Self::UnknownField { field: short(field), suggestion, known }
    }
}
