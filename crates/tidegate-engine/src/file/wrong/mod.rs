//! What can be wrong with a policy file: one row of the table for each thing a reader has to mend.
//!
//! A row gives the code of the problem, what is wrong, and what to do about it. Where the core refuses
//! numbers it has said both already, and its words are used.

mod words;

use tidegate_core::{
    CalendarError, Cap, Cost, CostError, Dimension, FailureMode, LadderError, MAX_DISTINCT,
    MAX_LIMITS, Name, OutcomesError, OverrideError, PolicyError, PolicySpec, Preset, Protects,
    ShapeError, Span,
};

use super::yaml::short;
use super::{MAX_BYTES, MAX_ENVIRONMENTS, MAX_EXACT_OVERRIDES, MAX_TEXT};
use crate::memory::BudgetError;
use words::{did_you_mean, numbers, one_of};

/// What is wrong with a policy file. Shown as text, it says so in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Wrong {
    code: &'static str,
    message: String,
    advice: Option<String>,
}

impl Wrong {
    /// A word for this kind of error that does not change: what to search for, and what a program
    /// can branch on.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.code
    }

    /// What to do about the problem, if its message does not say so itself.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }
}

/// Makes of each row a function that returns the problem, and lists all codes.
macro_rules! wrongs {
    ($(
        $(#[$doc:meta])*
        $code:literal $name:ident($($part:ident: $type:ty),*)
        says $message:literal $(, $shown:expr)*;
        $(advises $advice:expr;)?
        $(may advise $perhaps:expr;)?
    )*) => {
        impl Wrong {
            /// The [codes](Self::code) of everything that can be wrong.
            pub const CODES: &[&str] = &[$($code),*];

            $(
                $(#[$doc])*
                pub(super) fn $name($($part: $type),*) -> Self {
                    let advice = None
                        $(.or(Some(String::from($advice))))?
                        $(.or($perhaps.map(String::from)))?;
                    Self { code: $code, message: format!($message $(, $shown)*), advice }
                }
            )*
        }
    };
}

/// Lets the core's errors be reported as they are.
macro_rules! from_core {
    ($($error:ty => $name:ident,)*) => {
        $(
            impl From<$error> for Wrong {
                fn from(error: $error) -> Self {
                    Self::$name(&error)
                }
            }
        )*
    };
}

from_core! {
    ShapeError => bad_numbers,
    CostError => bad_cost,
    CalendarError => unknown_zone,
    LadderError => bad_ladder,
    OutcomesError => bad_outcome,
    OverrideError => bad_override,
    BudgetError => bad_budget,
}

const _: () = assert!(MAX_BYTES == 1 << 20, "the advice on large files says 1 MiB");

wrongs! {
    "file-too-large" file_too_large(bytes: usize)
        says "the file has {bytes} bytes; at most {MAX_BYTES} are read";
        advises "1 MiB holds thousands of policies; give groups of customers an override by \
                 pattern instead of listing each of them";
    /// Not YAML; `message` is what the parser said.
    "syntax" syntax(message: &str)
        says "this is not YAML: {message}";
        advises "indent with spaces, and look for a quote, a bracket or a space that is missing";
    /// YAML that unfolds to much more than is written; `what` is the bound that it broke.
    "too-complex" too_complex(what: &str)
        says "this YAML is not read: {what}";
        advises "write the policies out; what many have in common can be a limit of the list \
                 `shared`";
    "several-documents" several_documents()
        says "the file holds more than one YAML document";
        advises "keep one of them; remove the line `---` and what follows";
    "duplicate-key" duplicate_key(key: &str)
        says "`{}` is written twice", short(key);
        advises "keep one of them: which would count is anybody's guess";
    "other-type" other_type(expected: &str)
        says "this is not {expected}";
        advises format!("write {expected}");
    /// A value its reader does not accept; `message` is what the reader said.
    "bad-value" bad_value(message: &str)
        says "{message}";
    /// A field that does not exist; `suggestion` was probably meant, and `known` are those that exist.
    "unknown-field" unknown_field(field: &str, suggestion: Option<&str>, known: &[&str])
        says "there is no field `{}` here", short(field);
        advises words::other_field(field, suggestion, known);
    /// A required field that `owner` lacks: the file, a policy, a limit or the like.
    "missing-field" missing_field(owner: &str, field: &str, example: &str)
        says "{owner} has no `{field}`";
        advises format!("add `{example}`");
    "unknown-version" unknown_version()
        says "this version of the format is not known; version 1 is read";
        advises "write `version: 1`";
    "no-policies" no_policies()
        says "there are no policies, so nothing could be decided";
        advises "add `policies:` with at least one policy";
    "no-failure-mode" no_failure_mode(policy: &str)
        says "{policy} does not say what it does while its store fails";
        advises "add `failure_mode:` with `fail_closed` (deny: an outage is no way in), \
                 `fail_open` (admit: an outage of the limiter is nobody else's) or `degraded` \
                 (decide by local guardrails)";
    "not-fail-closed" not_fail_closed(policy: &str, protects: Protects, failure: FailureMode)
        says "{policy} protects `{}` and must not be `{}`", protects.name(), failure.name();
        advises "write `fail_closed`: otherwise an outage of the store is a way in";
    "degraded-entrance" degraded_entrance(policy: &str, protects: Protects)
        says "{policy} protects `{}` and must not `degrade` what is past its limits",
            protects.name();
        advises "write `reject`, or leave `overflow` out: otherwise every guess passes, and what \
                 an operator has blocked does as well";
    "degraded-attempts" degraded_attempts(limit: &Name)
        says "limit `{limit}` counts attempts and cannot `degrade` those past it";
        advises "write `overflow: reject` beside it: otherwise it would never block anybody";
    "not-degraded" not_degraded(policy: &str)
        says "{policy} protects `outbound` and must be `degraded`";
        advises "write `failure_mode: degraded`: other services limit our calls, so an outage of the \
                 store must neither let all of them pass nor none. If they are paid for and may be \
                 closed, write `protects: spend`";
    "bad-fleet-size" bad_fleet_size(policy: &str)
        says "{policy} has a `fleet_size` that is not from 1 to 1000000";
        advises "write the number of nodes that share its limits, for example `fleet_size: 3`";
    "idle-fleet-size" idle_fleet_size(policy: &str)
        says "{policy} has a `fleet_size`, but does not protect `outbound`";
        advises "leave it out: the caps of other policies do not depend on the number of nodes";
    "open-spend" open_spend(policy: &str)
        says "{policy} protects `spend` and must not be `fail_open`";
        advises "write `fail_closed` or `degraded`: otherwise an outage of the store lets pass \
                 uncounted what is paid for or cannot be undone. If that may happen, write \
                 `protects: api_heavy`";
    "not-critical" not_critical(policy: &str, protects: Option<Protects>)
        says "{policy} is `fail_closed`, but protects {}", words::guarded(protects);
        advises "write `degraded` or `fail_open`: only an entrance (`login`, `otp`, `auth`, \
                 `step_up`, `admin`) or `spend` may be closed by an outage of the store. If this \
                 guards money, or what cannot be undone, write `protects: spend`";
    /// A policy that says it guards something milder than `than`, which its class stands for.
    "milder-than-class"
    milder_than_class(policy: &str, protects: Protects, class: &str, than: Protects)
        says "{policy} protects `{}`, but its class `{}` stands for `{}`, which is stricter in an \
              outage",
            protects.name(), short(class), than.name();
        advises "protect something as strict, or name another `class`: a policy may be stricter \
                 than its class, never milder";
    "bad-deadline" bad_deadline(policy: &str, deadline: Span)
        says "{policy} gives its store {deadline}; a deadline is at least {} and at most {}",
            PolicySpec::DEADLINES.start(), PolicySpec::DEADLINES.end();
        advises "write for example `100ms`: in less no store answers, with more an outage would \
                 not be noticed within 10s";
    "no-limits" no_limits(policy: &str)
        says "{policy} has no limits, so it would admit everything";
        advises "add `limits:` with at least one limit, or a `preset`";
    "too-many-limits" too_many_limits(policy: &str, count: usize)
        says "{policy} has {count} limits; one decision can charge {MAX_LIMITS}";
        advises "split the policy, or drop limits that others imply";
    "unknown-environment" unknown_environment(name: &str, suggestion: Option<&str>)
        says "the list `environments` has no `{}`", short(name);
        advises did_you_mean(
            suggestion,
            "declare it at the top, as in `environments: [production, staging]`",
        );
    "duplicate-environment" duplicate_environment(name: &Name)
        says "environment `{name}` is written twice";
        advises "write it once";
    "too-many-environments" too_many_environments()
        says "a file has at most {MAX_ENVIRONMENTS} environments; this is one more";
        advises "let those that have the same numbers be one, or give them files of their own";
    /// A text that cannot be a name; `suggestion` is a name that resembles it.
    "bad-name" bad_name(suggestion: Option<&str>)
        says "this is not a name";
        advises did_you_mean(suggestion, "use 1 to 64 of a-z, 0-9, `_`, `-` and `.`");
    /// A word that is not `what` it should have been: a value of a field, a dimension or the like.
    "unknown-word" unknown_word(what: &str, word: &str, suggestion: Option<&str>, known: &[&str])
        says "`{}` is not {what}", short(word);
        advises one_of(suggestion, known);
    /// `global` beside a dimension.
    "global-among-others" global_among_others()
        says "`global` counts everybody together; it cannot stand beside a dimension";
        advises "write `by: global`, or the dimensions alone";
    "repeated-dimension" repeated_dimension(dimension: Dimension)
        says "`{}` is written twice", dimension.name();
        advises "write it once";
    "empty-scope" empty_scope()
        says "the list of dimensions is empty";
        advises "write `by: global` to count everybody together";
    "unknown-shared" unknown_shared(name: &Name, suggestion: Option<&str>)
        says "there is no shared limit `{name}`";
        advises did_you_mean(
            suggestion,
            "define it in the list `shared`, or use one that is there",
        );
    /// A shared limit with fields of its own; `field` is one of them.
    "shared-with-more" shared_with_more(field: &str)
        says "`{field}` cannot be combined with `shared`";
        advises "write `shared: NAME` alone: its numbers stand in the list `shared`";
    "shared-in-shared" shared_in_shared()
        says "a limit of the list `shared` cannot be another shared one";
        advises "write its `name`, `by` and numbers here";
    "unused-shared" unused_shared(name: &Name)
        says "no policy uses the shared limit `{name}`, so it never limits anything";
        advises format!("add `- shared: {name}` to the limits of a policy, or remove it here");
    "no-shape" no_shape(owner: &str)
        says "{owner} has no shape";
        advises "add one of `bucket: { rate: 10/s, burst: 20 }`, `window: { count: 100, per: 10min \
                 }`, `quota: { count: 1000, per: day }` and `attempts: { block_at: 5, per: 10min, \
                 ladder: all }`";
    "two-shapes" two_shapes(owner: &str, first: &str, second: &str)
        says "{owner} has two shapes, `{first}` and `{second}`";
        advises "make two limits of it: both have to have room";
    "not-a-number" not_a_number(field: &str)
        says "`{field}` is a positive whole number";
        advises "write digits alone, without quotes, sign, point or unit: `1000`";
    "number-too-large" number_too_large()
        says "this number is beyond what is counted exactly";
        advises "write a smaller one; nothing is counted beyond 2⁵³ − 1";
    /// A text that is no duration; `advice` is what to write instead.
    "bad-duration" bad_duration(text: &str, advice: &str)
        says "`{}` is not a duration", short(text);
        advises advice;
    /// A text that is no rate; `advice` is what to write instead.
    "bad-rate" bad_rate(text: &str, advice: &str)
        says "`{}` is not a rate", short(text);
        advises advice;
    "bad-numbers" bad_numbers(error: &ShapeError)
        says "{}", numbers(error);
        may advise words::of_numbers(error);
    "bad-cost" bad_cost(error: &CostError)
        says "{error}";
        may advise matches!(error, CostError::TooLarge).then_some("write a smaller one");
    "cost-rules" cost_rules()
        says "a cost is either per request or per unit of weight";
        advises "write `cost: { per_request: 5 }` or `cost: { per_unit: 2 }`, not both";
    "cost-above-capacity" cost_above_capacity(cost: Cost, capacity: u64)
        says "a request costs {cost}, but at most {capacity} fit at once, so it would never be \
              admitted";
        advises "raise the `burst` or `count`, or lower the `cost`";
    "unknown-zone" unknown_zone(error: &CalendarError)
        says "{error}";
    "bad-billing-day" bad_billing_day()
        says "no month has such a day";
        advises "write a `billing_day` from 1 to 31; short months start on their last day";
    /// A field that goes `with` the other kind of period.
    "other-period" other_period(field: &str, with: &str, period: &str)
        says "`{field}` goes with {with}, but the period is `{}`", short(period);
        advises "a calendar's periods are `per: hour`, `day`, `week` and `month`; any other period \
                 is a duration, such as `per: 12h`";
    "backoff-without-attempts" backoff_without_attempts()
        says "a backoff grows with refused attempts, which are not counted here";
        advises "add `counts: attempts`, or remove the backoff";
    "bad-backoff" bad_backoff(why: &str)
        says "a backoff {why}";
        advises "write for example `backoff: { base: 1s, factor: 2, cap: 5min }`";
    "two-manners" two_manners(first: &str, second: &str)
        says "`{first}` and `{second}` cannot be combined: one is for blocks of fixed length, the \
              other for a ladder";
        advises "for blocks of a fixed length write `temp` and perhaps `long`; for blocks that \
                 grow with their frequency write `block_at`, `per` and `ladder`";
    "bad-ladder" bad_ladder(error: &LadderError)
        says "{error}";
        advises "write the lower level first: `ladder: { from: L1, to: L4 }`";
    "not-attempts" not_attempts(field: &str)
        says "`{field}` goes with `attempts`, which this limit does not count";
        advises "remove it, or count `attempts: { block_at: 5, per: 10min, ladder: all }`";
    "cost-of-attempts" cost_of_attempts()
        says "an attempt counts once, whatever a request costs";
        advises "remove `cost`";
    /// A count of distinct values of a dimension that the limit counts by: each key has only one
    /// value.
    "distinct-of-itself" distinct_of_itself(dimension: &str)
        says "each `{dimension}` has one `{dimension}`, so there is nothing to count";
        advises "count `by` another dimension, such as distinct accounts `by: ip`";
    "ipv6-of-no-address" ipv6_of_no_address()
        says "the limit is for IPv6 addresses only, and counts by none";
        advises "remove `only`, or count by `ip`, `ip56` or `ip48`";
    "counts-by-plan" counts_by_plan()
        says "a plan selects numbers and is not counted by: all who have it would share a counter";
        advises "count by `org`, `user` or `token`, and add an override with `match: { plan: gold \
                 }`";
    "too-many-distinct" too_many_distinct()
        says "the limit counts too many distinct values; the most is {MAX_DISTINCT}";
        advises format!("write a `block_at` of at most {MAX_DISTINCT}");
    "never-applies" never_applies(dimension: Dimension)
        says "the limit needs `{0}` and exempts every request that has `{0}`, so it never applies",
            dimension.name();
        advises "remove `unless`, or name another dimension";
    "bad-outcome" bad_outcome(error: &OutcomesError)
        says "{}", words::outcome(error).0;
        advises words::outcome(error).1;
    "outcome-settled" outcome_settled(field: &str)
        says "`{field}` cannot be combined with `outcome`, which says in another way what is given \
              back";
        advises "remove it: what `outcome` takes is given back by the answer, and by nothing else";
    "mixed-outcomes" mixed_outcomes(error: &PolicyError)
        says "{}", words::mixed_outcomes(error).0;
        advises words::mixed_outcomes(error).1;
    /// A policy that would be looser in an outage, under the locked `cap`, than without one. The limit
    /// lets `admits` requests through in the time of the cap, and has to let `least` through.
    "not-above-cap"
    not_above_cap(limit: &Name, protects: Protects, admits: u64, least: u64, cap: &Cap)
        says "limit `{limit}` lets no more than {admits} through in {}; while the store is down, a \
              policy that protects `{}` admits {} for each `{}` already",
            cap.per, protects.name(), cap.count, cap.by;
        advises format!(
            "let {least} or more through in {}: raise its `count`, `burst` or `block_at`, or let a \
             request cost less; an outage must not be the better time to guess",
            cap.per
        );
    "other-preset" other_preset(preset: Preset, protects: Protects)
        says "the preset `{}` protects `{}`, but the policy protects `{}`",
            preset.name(), preset.protects().name(), protects.name();
        advises "remove `protects`: the preset says it";
    "preset-twice" preset_twice(preset: Preset)
        says "two policies use the preset `{}`, whose limits count on the same keys", preset.name();
        advises "let one policy serve both, or give the other one limits with names of their own";
    "duplicate-policy" duplicate_policy(name: &Name)
        says "two policies are named `{name}`";
        advises "requests select a policy by its name: rename one";
    "duplicate-limit" duplicate_limit(owner: &str, name: &Name)
        says "two limits of {owner} are named `{name}`";
        advises "answers and metrics name the limit: rename one";
    "match-not-one" match_not_one(count: usize)
        says "an override matches exactly one dimension, not {count}";
        advises "write for example `match: { org: acme }`";
    "bad-override" bad_override(error: &OverrideError)
        says "{error}";
        may advise words::of_override(error);
    "other-shape" other_shape(expected: &str, found: &str)
        says "the shape of the limit is `{expected}`, but this gives `{found}`";
        advises "overrides and environments change numbers, not the shape; other shapes are other \
                 limits";
    "empty-match" empty_match(dimension: Dimension)
        says "an empty {} counts as unknown, so this override never applies", dimension.name();
        advises "give a value, or remove the override";
    "too-many-overrides" too_many_overrides()
        says "a limit has at most {MAX_EXACT_OVERRIDES} overrides of exact values; this is one \
              more";
        advises "give groups of values a pattern, such as `match: { org: gold-* }`";
    "text-too-long" text_too_long(bytes: usize)
        says "this text has {bytes} bytes; at most {MAX_TEXT} are read";
        advises "write a shorter one: no request can match it";
    "never-binds" never_binds(limit: &Name, stricter: &Name)
        says "limit `{limit}` can never bind: whatever it would refuse, `{stricter}` refuses \
              already";
        advises "remove it, make it stricter, or put it into `shadow` if it is only there to \
                 report";
    "bad-budget" bad_budget(error: &BudgetError)
        says "{error}";
    /// Two limits that would share their counters, or another reason why the policies do not make a
    /// set.
    "same-counters" same_counters(error: &PolicyError)
        says "{}", words::same_counters(error).0;
        advises words::same_counters(error).1;
}
