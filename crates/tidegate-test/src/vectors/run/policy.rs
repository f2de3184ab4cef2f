//! Builds policies from the text of vectors.

use std::collections::BTreeMap;

use tidegate_core::{
    Attempts, Backoff, Bucket, Calendar, Counts, Dimension, FailureMode, Limit, Name, Period,
    PolicySet, PolicySpec, Quota, Rate, Scope, Shape, Span, Stage, Threshold, Unit, Window,
};

use super::super::time::VectorSpan;
use super::super::written::{
    AttemptsText, BlockText, BucketText, CountsText, FromText, LimitText, QuotaText, StageText,
    Vector,
};

/// The policy that a vector begins with. A guardrail is a window of admitted requests.
pub(super) fn of_vector(vector: &Vector) -> Result<PolicySet, String> {
    if let Some(attempts) = &vector.attempts {
        return of_shape(Shape::Attempts(attempts_of(attempts)?));
    }
    match (&vector.bucket, &vector.guardrail, &vector.limits) {
        (Some(bucket), None, None) => of_shape(Shape::Bucket(bucket_of(bucket)?)),
        (None, Some(guardrail), None) => {
            let window = Window::try_new(guardrail.cap, guardrail.per.0, Counts::Admitted);
            of_shape(Shape::Window(window.map_err(text)?))
        }
        (None, None, Some(limits)) => of_limits(limits, None),
        _ => Err("a vector has a bucket, a guardrail or limits".to_owned()),
    }
}

pub(super) fn of_limits(
    limits: &BTreeMap<String, LimitText>,
    earlier: Option<&PolicySet>,
) -> Result<PolicySet, String> {
    let limits: Result<Vec<Limit>, String> =
        limits.iter().map(|(name, limit)| limit_of(name, limit)).collect();
    set_of(limits?, earlier)
}

fn of_shape(shape: Shape) -> Result<PolicySet, String> {
    set_of(vec![Limit::new(name("only")?, Scope::GLOBAL, shape)], None)
}

fn set_of(limits: Vec<Limit>, earlier: Option<&PolicySet>) -> Result<PolicySet, String> {
    // The longest deadline: the speed of a busy machine is not under test.
    let spec = PolicySpec::new(name("policy")?, FailureMode::FailOpen)
        .deadline(*PolicySpec::DEADLINES.end());
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    PolicySet::builder().policy(spec).build(earlier).map_err(text)
}

/// Builds a limit. It counts by user if its name is `user`, and by organisation otherwise.
fn limit_of(title: &str, limit: &LimitText) -> Result<Limit, String> {
    let LimitText { bucket, window, quota, shadow, stage, counts, backoff } = limit;
    let counts = match (counts, backoff) {
        (None, None) => Counts::Admitted,
        (None, Some(_)) => return Err("a backoff needs attempts to be counted".to_owned()),
        (Some(CountsText::Attempts), None) => Counts::Attempts(None),
        (Some(CountsText::Attempts), Some(backoff)) => {
            // Vectors state no cap, because the time to reset is one.
            let cap = Span::from_micros(u64::MAX);
            let table = Backoff::exponential(backoff.base.0, backoff.factor, cap);
            Counts::Attempts(Some(table))
        }
    };
    let shape = match (bucket, window, quota) {
        (Some(bucket), None, None) if counts == Counts::Admitted => {
            Shape::Bucket(bucket_of(bucket)?)
        }
        (None, Some(window), None) => {
            Shape::Window(Window::try_new(window.count, window.per.0, counts).map_err(text)?)
        }
        (None, None, Some(quota)) => {
            Shape::Quota(Quota::try_new(quota.count, period_of(quota)?, counts).map_err(text)?)
        }
        _ => return Err(format!("limit `{title}` has one shape")),
    };
    let scope = match title {
        "user" => Scope::of([Dimension::Org, Dimension::User]),
        _ => Scope::of([Dimension::Org]),
    };
    let stage = match stage {
        Some(StageText::Global) => Stage::Global,
        Some(StageText::Action) | None => Stage::Action,
    };
    let limit = Limit::new(name(title)?, scope, shape).at_stage(stage).with_named_key();
    Ok(if *shadow { limit.in_shadow() } else { limit })
}

fn bucket_of(bucket: &BucketText) -> Result<Bucket, String> {
    let rate = Rate::try_new(bucket.rate, bucket.per.0).map_err(text)?;
    Bucket::try_new(rate, bucket.burst).map_err(text)
}

fn attempts_of(attempts: &AttemptsText) -> Result<Attempts, String> {
    let threshold = |text: &BlockText| Threshold {
        block_at: text.block_at,
        per: text.per.0,
        block: text.block.0,
    };
    Attempts::try_new(threshold(&attempts.temp), Some(threshold(&attempts.long))).map_err(text)
}

fn period_of(quota: &QuotaText) -> Result<Period, String> {
    let QuotaText { count: _, per, zone, anchor_day, from } = quota;
    let unit = match per.as_str() {
        "hour" => Unit::Hour,
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        _ => {
            let VectorSpan(length) = VectorSpan::try_from(per.clone())?;
            return match (from, zone, anchor_day) {
                (Some(FromText::FirstUse), None, None) => Ok(Period::FirstUse(length)),
                (None, None, None) => Ok(Period::Fixed(length)),
                _ => Err("only calendar periods have a zone".to_owned()),
            };
        }
    };
    match (zone, from) {
        (Some(zone), None) => {
            Calendar::try_new(unit, zone, *anchor_day).map(Period::Calendar).map_err(text)
        }
        _ => Err("a calendar period has a zone, and starts with it".to_owned()),
    }
}

fn name(title: &str) -> Result<Name, String> {
    Name::try_new(title).map_err(text)
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}
