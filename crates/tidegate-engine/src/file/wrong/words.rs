//! The core's reasons in the words of a file, and what to do about them.
//!
//! Where the core says what to do in code, or gives a number in units that nobody writes, a reader of a
//! file would not recognise it. These functions say the same in terms of the file.

use tidegate_core::{
    Outcomes, OutcomesError, OverrideError, PolicyError, Protects, ShapeError, Span, Values,
};

/// What is wrong with counters, and what to do about it. The core's own advice does not know how a
/// file says it.
pub(super) fn same_counters(error: &PolicyError) -> (String, String) {
    let (said, is_named) = match error {
        PolicyError::SameKey { first, second, key } => (
            format!("limits `{first}` and `{second}` would share the counters `{key}`"),
            // The key of a counter of attempts always has the name of its limit.
            key.starts_with("abuse_limiter:"),
        ),
        other => (other.to_string(), false),
    };
    let otherwise = match is_named {
        true => "rename one",
        false => "add `named_key: true` to one whose name the other does not have",
    };
    let together = "if they are to count together, make one limit of the list `shared` of them";
    (said, format!("{together}; otherwise {otherwise}"))
}

/// What is wrong with limits by outcome, and what to do about it. The core's own advice names no
/// fields of a file.
pub(super) fn mixed_outcomes(error: &PolicyError) -> (String, &'static str) {
    let apart = "put one of them into a policy of its own";
    match error {
        PolicyError::OtherOutcomes { first, second, .. } => (
            format!(
                "limits `{first}` and `{second}` count by different outcomes, but a request is \
                 given back to all limits of its policy or to none"
            ),
            "give both the same status codes, or put one into a policy of its own",
        ),
        PolicyError::SettlesBesideOutcomes { limit, counting, .. } => (
            format!(
                "limit `{counting}` counts by outcome, and `{limit}` settles, but a ticket settles \
                 both by one weight"
            ),
            apart,
        ),
        PolicyError::RefusalsAsOutcomes { counting, limit, .. } => (
            format!(
                "limit `{counting}` counts by outcome, but refused attempts too: each refusal by \
                 `{limit}` would count and never be given back"
            ),
            "count admitted requests, or attempts on a `ladder`; or put it into a policy of its own",
        ),
        other => (other.to_string(), apart),
    }
}

/// What is wrong with outcomes, and what to do about it. The status code is not told: it may be
/// larger than the core ever sees.
pub(super) fn outcome(error: &OutcomesError) -> (String, &'static str) {
    match error {
        OutcomesError::Empty => (
            "the list of outcomes is empty, so nothing would count".into(),
            "write for example `outcome: [401, 403]`, or remove it",
        ),
        OutcomesError::TooMany => (
            format!("a limit counts at most {} different status codes", Outcomes::MAX),
            "keep those that show probing, such as `[401, 403]`",
        ),
        OutcomesError::NotAStatus(_) => (
            "no answer has this HTTP status code".into(),
            "write one from 100 to 599, such as `403`",
        ),
    }
}

/// What is wrong with the numbers of a shape, with the longest period in days: nobody writes
/// microseconds.
pub(super) fn numbers(error: &ShapeError) -> String {
    match error {
        ShapeError::OutOfRange { what, largest } if what.starts_with("period") => {
            let days = largest / Span::DAY.as_micros();
            format!("the longest period that is counted exactly is {days}d")
        }
        other => other.to_string(),
    }
}

/// The advice on the numbers of a shape, where the core has not given any.
pub(super) fn of_numbers(error: &ShapeError) -> Option<&'static str> {
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

/// The advice on overrides, where the core has not given any.
pub(super) const fn of_override(error: &OverrideError) -> Option<&'static str> {
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

/// What a policy guards, in words.
pub(super) fn guarded(protects: Option<Protects>) -> String {
    match protects {
        Some(protects) => format!("`{}`", protects.name()),
        None => "nothing in particular".into(),
    }
}

pub(super) fn did_you_mean(suggestion: Option<&str>, otherwise: &str) -> String {
    match suggestion {
        Some(word) => format!("did you mean `{word}`? Otherwise {otherwise}"),
        None => otherwise.to_owned(),
    }
}

pub(super) fn one_of(suggestion: Option<&str>, known: &[&str]) -> String {
    let known = format!("`{}`", known.join("`, `"));
    match suggestion {
        Some(word) => format!("did you mean `{word}`? Known are {known}"),
        None => format!("use one of {known}"),
    }
}

/// The advice on a field that does not exist here; some exist elsewhere.
pub(super) fn other_field(field: &str, suggestion: Option<&str>, known: &[&str]) -> String {
    let is_bucket = known.contains(&"burst");
    let is_window = known.contains(&"backoff") && known.len() == 4;
    match field {
        "counts" | "backoff" if is_bucket => {
            "a bucket counts what it admits; to count attempts, use a window or a quota".into()
        }
        "zone" | "billing_day" | "starts" if is_window => {
            "a window slides and knows no calendar; for a calendar, use a quota".into()
        }
        "block" if known.contains(&"ladder") => {
            "blocks on a ladder last as long as their level says; for a fixed length write `temp: { \
             block_at: 5, per: 10min, block: 15min }`"
                .into()
        }
        _ if known.is_empty() => "remove it: no fields are allowed here".into(),
        _ => one_of(suggestion, known),
    }
}
