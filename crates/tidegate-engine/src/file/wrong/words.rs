//! The core's reasons in the words of a file.
//!
//! Where the core says what to do in code, or gives a number in units that nobody writes, a reader of a
//! file would not recognise it. These functions say the same in terms of the file.

use tidegate_core::{Outcomes, OutcomesError, PolicyError, ShapeError, Span};

/// What is wrong with counters, without the core's advice, which does not know how a file says it.
pub(super) fn same_counters(error: &PolicyError) -> String {
    match error {
        PolicyError::SameKey { first, second, key } => {
            format!("limits `{first}` and `{second}` would share the counters `{key}`")
        }
        other => other.to_string(),
    }
}

/// What is wrong with limits by outcome, without the core's advice, which names no fields of a
/// file.
pub(super) fn mixed_outcomes(error: &PolicyError) -> String {
    match error {
        PolicyError::OtherOutcomes { first, second, .. } => format!(
            "limits `{first}` and `{second}` count by different outcomes, but a request is given \
             back to all limits of its policy or to none"
        ),
        PolicyError::SettlesBesideOutcomes { limit, counting, .. } => format!(
            "limit `{counting}` counts by outcome, and `{limit}` settles, but a ticket settles both \
             by one weight"
        ),
        PolicyError::RefusalsAsOutcomes { counting, limit, .. } => format!(
            "limit `{counting}` counts by outcome, but refused attempts too: each refusal by \
             `{limit}` would count and never be given back"
        ),
        other => other.to_string(),
    }
}

/// What is wrong with outcomes, without the status code: it may be larger than the core ever sees.
pub(super) fn outcome(error: OutcomesError) -> String {
    match error {
        OutcomesError::Empty => "the list of outcomes is empty, so nothing would count".into(),
        OutcomesError::TooMany => {
            format!("a limit counts at most {} different status codes", Outcomes::MAX)
        }
        OutcomesError::NotAStatus(_) => "no answer has this HTTP status code".into(),
    }
}

/// What is wrong with the numbers of a shape, with the longest period in days: nobody writes
/// microseconds.
pub(super) fn numbers(error: ShapeError) -> String {
    match error {
        ShapeError::OutOfRange { what, largest } if what.starts_with("period") => {
            let days = largest / Span::DAY.as_micros();
            format!("the longest period that is counted exactly is {days}d")
        }
        other => other.to_string(),
    }
}
