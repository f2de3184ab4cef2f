//! What to do about each thing that can be wrong with a policy file.

use tidegate_core::{
    CostError, MAX_DISTINCT, OutcomesError, OverrideError, PolicyError, ShapeError, Values,
};

use super::Wrong;
use crate::file::{MAX_BYTES, MAX_EXACT_OVERRIDES};

/// Gives every variant a word that does not change, and lists all of them.
macro_rules! codes {
    ($($variant:ident => $code:literal,)*) => {
        impl Wrong {
            /// The [codes](Self::code) of everything that can be wrong.
            pub const CODES: &[&str] = &[$($code),*];

            /// A word for this kind of error that does not change: what to search for, and what a
            /// program can branch on.
            #[must_use]
            pub const fn code(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $code,)*
                }
            }
        }
    };
}

codes! {
    FileTooLarge => "file-too-large",
    Syntax => "syntax",
    TooComplex => "too-complex",
    SeveralDocuments => "several-documents",
    DuplicateKey => "duplicate-key",
    OtherType => "other-type",
    BadValue => "bad-value",
    UnknownField => "unknown-field",
    MissingField => "missing-field",
    UnknownVersion => "unknown-version",
    NoPolicies => "no-policies",
    NoFailureMode => "no-failure-mode",
    NotFailClosed => "not-fail-closed",
    DegradedEntrance => "degraded-entrance",
    OpenSpend => "open-spend",
    NotCritical => "not-critical",
    MilderThanClass => "milder-than-class",
    BadDeadline => "bad-deadline",
    NoLimits => "no-limits",
    TooManyLimits => "too-many-limits",
    UnknownEnvironment => "unknown-environment",
    DuplicateEnvironment => "duplicate-environment",
    TooManyEnvironments => "too-many-environments",
    BadName => "bad-name",
    UnknownWord => "unknown-word",
    GlobalAmongOthers => "global-among-others",
    RepeatedDimension => "repeated-dimension",
    EmptyScope => "empty-scope",
    UnknownShared => "unknown-shared",
    SharedWithMore => "shared-with-more",
    SharedInShared => "shared-in-shared",
    UnusedShared => "unused-shared",
    NoShape => "no-shape",
    TwoShapes => "two-shapes",
    NotANumber => "not-a-number",
    NumberTooLarge => "number-too-large",
    BadDuration => "bad-duration",
    BadRate => "bad-rate",
    BadNumbers => "bad-numbers",
    BadCost => "bad-cost",
    CostRules => "cost-rules",
    CostAboveCapacity => "cost-above-capacity",
    UnknownZone => "unknown-zone",
    BadBillingDay => "bad-billing-day",
    OtherPeriod => "other-period",
    BackoffWithoutAttempts => "backoff-without-attempts",
    BadBackoff => "bad-backoff",
    TwoManners => "two-manners",
    BadLadder => "bad-ladder",
    NotAttempts => "not-attempts",
    CostOfAttempts => "cost-of-attempts",
    DistinctOfItself => "distinct-of-itself",
    Ipv6OfNoAddress => "ipv6-of-no-address",
    CountsByPlan => "counts-by-plan",
    TooManyDistinct => "too-many-distinct",
    NeverApplies => "never-applies",
    BadOutcome => "bad-outcome",
    OutcomeSettled => "outcome-settled",
    MixedOutcomes => "mixed-outcomes",
    NotAboveCap => "not-above-cap",
    OtherPreset => "other-preset",
    PresetTwice => "preset-twice",
    DuplicatePolicy => "duplicate-policy",
    DuplicateLimit => "duplicate-limit",
    MatchNotOne => "match-not-one",
    BadOverride => "bad-override",
    OtherShape => "other-shape",
    EmptyMatch => "empty-match",
    TooManyOverrides => "too-many-overrides",
    TextTooLong => "text-too-long",
    NeverBinds => "never-binds",
    BadBudget => "bad-budget",
    SameCounters => "same-counters",
}

impl Wrong {
    /// What to do about the problem, if its message does not say so itself.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let said = match self {
            Self::UnknownField { field, suggestion, known } => {
                return Some(other_field(field, suggestion.as_deref(), known));
            }
            Self::UnknownWord { suggestion, known, .. } => return Some(one_of(*suggestion, known)),
            Self::UnknownShared { suggestion, .. } => {
                let advice = "define it in the list `shared`, or use one that is there";
                return Some(did_you_mean(suggestion.as_deref(), advice));
            }
            Self::UnknownEnvironment { suggestion, .. } => {
                let advice = "declare it at the top, as in `environments: [production, staging]`";
                return Some(did_you_mean(suggestion.as_deref(), advice));
            }
            Self::BadName { suggestion } => {
                let advice = "use 1 to 64 of a-z, 0-9, `_`, `-` and `.`";
                return Some(did_you_mean(suggestion.as_deref(), advice));
            }
            Self::MissingField { example, .. } => return Some(format!("add `{example}`")),
            Self::OtherType { expected } => return Some(format!("write {expected}")),
            Self::UnusedShared { name } => {
                let advice = "to the limits of a policy, or remove it here";
                return Some(format!("add `- shared: {name}` {advice}"));
            }
            Self::NotAboveCap { least, cap, .. } => {
                let advice = "raise its `count`, `burst` or `block_at`, or let a request cost less";
                let why = "an outage must not be the better time to guess";
                let per = cap.per;
                return Some(format!("let {least} or more through in {per}: {advice}; {why}"));
            }
            Self::BadNumbers(error) => of_numbers(*error)?,
            Self::BadOverride(error) => of_override(error)?,
            Self::BadOutcome(error) => of_outcome(*error),
            Self::MixedOutcomes(error) => of_mixed_outcomes(error),
            Self::BadDuration { advice, .. } | Self::BadRate { advice, .. } => advice.as_str(),
            other => {
                let advice = other.of_policies().or(other.of_limits()).or(other.of_attempts());
                return advice.map(str::to_owned);
            }
        };
        Some(said.to_owned())
    }

    /// The fixed advice on problems of the file and its policies.
    const fn of_policies(&self) -> Option<&'static str> {
        Some(match self {
            Self::FileTooLarge { .. } => {
                const { assert!(MAX_BYTES == 1 << 20) };
                "1 MiB holds thousands of policies; give groups of customers an override by pattern \
                 instead of listing each of them"
            }
            Self::Syntax { .. } => {
                "indent with spaces, and look for a quote, a bracket or a space that is missing"
            }
            Self::TooComplex { .. } => {
                "write the policies out; what many have in common can be a limit of the list `shared`"
            }
            Self::SeveralDocuments => "keep one of them; remove the line `---` and what follows",
            Self::DuplicateKey { .. } => "keep one of them: which would count is anybody's guess",
            Self::UnknownVersion => "write `version: 1`",
            Self::NoPolicies => "add `policies:` with at least one policy",
            Self::NoFailureMode { .. } => {
                "add `failure_mode:` with `fail_closed` (deny: an outage is no way in), `fail_open` \
                 (admit: an outage of the limiter is nobody else's) or `degraded` (decide by local \
                 guardrails)"
            }
            Self::NotFailClosed { .. } => {
                "write `fail_closed`: otherwise an outage of the store is a way in"
            }
            Self::DegradedEntrance { .. } => {
                "write `reject`, or leave `overflow` out: otherwise every guess passes, and what an \
                 operator has blocked does as well"
            }
            Self::OpenSpend { .. } => {
                "write `fail_closed` or `degraded`: otherwise an outage of the store lets pass uncounted \
                 what is paid for or cannot be undone. If that may happen, write `protects: api_heavy`"
            }
            Self::NotCritical { .. } => {
                "write `degraded` or `fail_open`: only an entrance (`login`, `otp`, `auth`, `step_up`, \
                 `admin`) or `spend` may be closed by an outage of the store. If this guards money, or \
                 what cannot be undone, write `protects: spend`"
            }
            Self::MilderThanClass { .. } => {
                "protect something as strict, or name another `class`: a policy may be stricter than \
                 its class, never milder"
            }
            Self::BadDeadline { .. } => {
                "write for example `100ms`: in less no store answers, with more an outage would not be \
                 noticed within 10s"
            }
            Self::NoLimits { .. } => "add `limits:` with at least one limit, or a `preset`",
            Self::TooManyLimits { .. } => "split the policy, or drop limits that others imply",
            Self::DuplicateEnvironment { .. } => "write it once",
            Self::TooManyEnvironments => {
                "let those that have the same numbers be one, or give them files of their own"
            }
            Self::GlobalAmongOthers => "write `by: global`, or the dimensions alone",
            Self::RepeatedDimension { .. } => "write it once",
            Self::EmptyScope => "write `by: global` to count everybody together",
            Self::SharedWithMore { .. } => {
                "write `shared: NAME` alone: its numbers stand in the list `shared`"
            }
            Self::SharedInShared => "write its `name`, `by` and numbers here",
            Self::DuplicatePolicy { .. } => "requests select a policy by its name: rename one",
            _ => return None,
        })
    }

    /// The fixed advice on problems of limits.
    fn of_limits(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoShape { .. } => {
                "add one of `bucket: { rate: 10/s, burst: 20 }`, `window: { count: 100, per: 10min }`, \
                 `quota: { count: 1000, per: day }` and `attempts: { block_at: 5, per: 10min, ladder: \
                 all }`"
            }
            Self::TwoShapes { .. } => "make two limits of it: both have to have room",
            Self::NotANumber { .. } => {
                "write digits alone, without quotes, sign, point or unit: `1000`"
            }
            Self::NumberTooLarge => "write a smaller one; nothing is counted beyond 2⁵³ − 1",
            Self::CostRules => {
                "write `cost: { per_request: 5 }` or `cost: { per_unit: 2 }`, not both"
            }
            Self::BadBillingDay => {
                "write a `billing_day` from 1 to 31; short months start on their last day"
            }
            Self::BadCost(CostError::TooLarge) => "write a smaller one",
            Self::OtherPeriod { .. } => {
                "a calendar's periods are `per: hour`, `day`, `week` and `month`; any other period \
                 is a duration, such as `per: 12h`"
            }
            Self::BackoffWithoutAttempts => "add `counts: attempts`, or remove the backoff",
            Self::BadBackoff { .. } => {
                "write for example `backoff: { base: 1s, factor: 2, cap: 5min }`"
            }
            Self::DuplicateLimit { .. } => "answers and metrics name the limit: rename one",
            Self::CostAboveCapacity { .. } => "raise the `burst` or `count`, or lower the `cost`",
            Self::OtherShape { .. } => {
                "overrides and environments change numbers, not the shape; other shapes are other limits"
            }
            Self::SameCounters(PolicyError::SameKey { key, .. }) if is_log(key) => {
                "if they are to count together, make one limit of the list `shared` of them; \
                 otherwise rename one"
            }
            Self::SameCounters(_) => {
                "if they are to count together, make one limit of the list `shared` of them; \
                 otherwise add `named_key: true` to one whose name the other does not have"
            }
            Self::MatchNotOne { .. } => "write for example `match: { org: acme }`",
            Self::EmptyMatch { .. } => "give a value, or remove the override",
            Self::TooManyOverrides => {
                const { assert!(MAX_EXACT_OVERRIDES == 1_000) };
                "give groups of values a pattern, such as `match: { org: gold-* }`"
            }
            Self::TextTooLong { .. } => "write a shorter one: no request can match it",
            Self::NeverBinds { .. } => {
                "remove it, make it stricter, or put it into `shadow` if it is only there to report"
            }
            _ => return None,
        })
    }
}

impl Wrong {
    /// The fixed advice on problems of attempts and blocks.
    const fn of_attempts(&self) -> Option<&'static str> {
        Some(match self {
            Self::TwoManners { .. } => {
                "for blocks of a fixed length write `temp` and perhaps `long`; for blocks that grow \
                 with their frequency write `block_at`, `per` and `ladder`"
            }
            Self::BadLadder(_) => "write the lower level first: `ladder: { from: L1, to: L4 }`",
            Self::NotAttempts { .. } => {
                "remove it, or count `attempts: { block_at: 5, per: 10min, ladder: all }`"
            }
            Self::CostOfAttempts => "remove `cost`",
            Self::DistinctOfItself { .. } => {
                "count `by` another dimension, such as distinct accounts `by: ip`"
            }
            Self::CountsByPlan => {
                "count by `org`, `user` or `token`, and add an override with `match: { plan: gold }`"
            }
            Self::TooManyDistinct => {
                const { assert!(MAX_DISTINCT == 50) };
                "write a `block_at` of at most 50"
            }
            Self::OutcomeSettled { .. } => {
                "remove it: what `outcome` takes is given back by the answer, and by nothing else"
            }
            Self::Ipv6OfNoAddress => "remove `only`, or count by `ip`, `ip56` or `ip48`",
            Self::NeverApplies { .. } => "remove `unless`, or name another dimension",
            Self::OtherPreset { .. } => "remove `protects`: the preset says it",
            Self::PresetTwice { .. } => {
                "let one policy serve both, or give the other one limits with names of their own"
            }
            _ => return None,
        })
    }
}

/// Whether the key of a counter is one of attempts, which always has the name of its limit.
fn is_log(key: &str) -> bool {
    key.starts_with("abuse_limiter:")
}

/// The advice on the numbers of a shape, where the core has not given any.
fn of_numbers(error: ShapeError) -> Option<&'static str> {
    Some(match error {
        ShapeError::ZeroPeriod => "write a longer one, such as `1s`",
        ShapeError::TooFast => "write a slower one, or count in larger units",
        ShapeError::TooLarge { .. } => {
            "write a smaller burst, or the rate with a shorter period: `10/min` instead of `600/h`"
        }
        ShapeError::OutOfRange { what: "block_at", .. } => {
            "write a smaller one; a window counts more, but blocks nobody"
        }
        ShapeError::OutOfRange { .. } => "write a smaller one, or count in larger units",
        ShapeError::LongNotLonger => "give `long` a longer `per` and a larger `block_at`",
        ShapeError::ZeroRate
        | ShapeError::ZeroBurst
        | ShapeError::ZeroCount
        | ShapeError::BlocksEverything => return None,
    })
}

/// The advice on outcomes.
const fn of_outcome(error: OutcomesError) -> &'static str {
    match error {
        OutcomesError::Empty => "write for example `outcome: [401, 403]`, or remove it",
        OutcomesError::TooMany => "keep those that show probing, such as `[401, 403]`",
        OutcomesError::NotAStatus(_) => "write one from 100 to 599, such as `403`",
    }
}

/// The advice on limits that cannot stand beside a limit by outcome.
const fn of_mixed_outcomes(error: &PolicyError) -> &'static str {
    match error {
        PolicyError::OtherOutcomes { .. } => {
            "give both the same status codes, or put one into a policy of its own"
        }
        PolicyError::RefusalsAsOutcomes { .. } => {
            "count admitted requests, or attempts on a `ladder`; or put it into a policy of its own"
        }
        _ => "put one of them into a policy of its own",
    }
}

/// The advice on overrides, where the core has not given any.
const fn of_override(error: &OverrideError) -> Option<&'static str> {
    Some(match error {
        OverrideError::OutsideScope(_) => {
            "match a dimension that the limit counts `by`, or `plan`; or let it count by this one"
        }
        OverrideError::Duplicate(dimension) => match dimension.values() {
            Values::Text | Values::Private => "keep one of them",
            Values::Accounts => "keep one of them: all spellings of a login name are one account",
            Values::Addresses(_) => {
                "keep one of them: all addresses of an IPv6 prefix are one value"
            }
        },
        OverrideError::NotAnAddress(_) => "write one address, such as `203.0.113.7`",
        OverrideError::NoPattern(_) => return None,
        OverrideError::TooManyPatterns => {
            "name exact values, or let one pattern cover more of them"
        }
    })
}

fn did_you_mean(suggestion: Option<&str>, otherwise: &str) -> String {
    match suggestion {
        Some(word) => format!("did you mean `{word}`? Otherwise {otherwise}"),
        None => otherwise.to_owned(),
    }
}

fn one_of<T: AsRef<str>>(suggestion: Option<&str>, known: &[T]) -> String {
    let known: Vec<String> = known.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    match suggestion {
        Some(word) => format!("did you mean `{word}`? Known are {}", known.join(", ")),
        None => format!("use one of {}", known.join(", ")),
    }
}

/// The advice on a field that does not exist here; some exist elsewhere.
fn other_field(field: &str, suggestion: Option<&str>, known: &[String]) -> String {
    let is_bucket = known.iter().any(|name| name == "burst");
    let is_window = known.iter().any(|name| name == "backoff") && known.len() == 4;
    match field {
        "counts" | "backoff" if is_bucket => {
            "a bucket counts what it admits; to count attempts, use a window or a quota".into()
        }
        "zone" | "billing_day" | "starts" if is_window => {
            "a window slides and knows no calendar; for a calendar, use a quota".into()
        }
        "block" if known.iter().any(|name| name == "ladder") => {
            "blocks on a ladder last as long as their level says; for a fixed length write `temp: { \
             block_at: 5, per: 10min, block: 15min }`"
                .into()
        }
        _ if known.is_empty() => "remove it: no fields are allowed here".into(),
        _ => one_of(suggestion, known),
    }
}
