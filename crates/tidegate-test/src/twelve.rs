//! A policy with as many limits as there can be, of every shape and form.

use tidegate_core::{
    Attempts, Backoff, Bucket, Calendar, Counts, Dimension, FailureMode, Ladder, Limit, Name,
    Period, PolicySet, PolicySpec, Quota, Rate, Scope, Shape, ShapeError, Span, Threshold, Unit,
    Window,
};

/// A policy of twelve limits by organisation, the last four of which (the first four if reversed)
/// are abuse logs. Every limit but the one in shadow has room for `most` requests.
///
/// # Panics
///
/// If a number is out of range.
#[must_use]
pub fn policies(most: u64, is_reversed: bool) -> PolicySet {
    let mut limits = limits(most).expect("the numbers are in range");
    if is_reversed {
        limits.reverse();
    }
    let name = Name::try_new("twelve").expect("a name");
    let spec = PolicySpec::new(name, FailureMode::FailOpen);
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    PolicySet::builder().policy(spec).build(None).expect("twelve limits are a policy")
}

fn limits(most: u64) -> Result<Vec<Limit>, ShapeError> {
    let block_at = u16::try_from(most).unwrap_or(u16::MAX).saturating_add(1);
    let threshold = |per| Threshold { block_at, per, block: Span::MINUTE };
    let long = Threshold { block_at: block_at + 20, per: Span::DAY, block: Span::HOUR };
    let two_windows = || Attempts::try_new(threshold(Span::MINUTE), Some(long));
    let backoff = Some(Backoff::exponential(Span::SECOND, 2, Span::MINUTE));
    let day = Calendar::try_new(Unit::Day, "UTC", None).expect("UTC is known");
    let quota = |period| Quota::try_new(most, period, Counts::Admitted).map(Shape::Quota);
    let window = |count, counts| Window::try_new(count, Span::HOUR, counts).map(Shape::Window);
    let bucket = |burst| Bucket::try_new(Rate::try_new(1, Span::HOUR)?, burst).map(Shape::Bucket);
    let by_org = |name: &str, shape: Shape| {
        let name = Name::try_new(name).expect("a name");
        Limit::new(name, Scope::of([Dimension::Org]), shape).with_named_key()
    };
    Ok(vec![
        by_org("bucket", bucket(most)?),
        by_org("ring", window(most, Counts::Admitted)?),
        by_org("grid", window(most + 100, Counts::Admitted)?),
        by_org("backoff", window(most + 100, Counts::Attempts(backoff))?),
        by_org("fixed", quota(Period::Fixed(Span::DAY))?),
        by_org("first-use", quota(Period::FirstUse(Span::DAY))?),
        by_org("calendar", quota(Period::Calendar(day))?),
        by_org("shadow", bucket(1)?).in_shadow(),
        by_org("temp", Shape::Attempts(Attempts::try_new(threshold(Span::MINUTE), None)?)),
        by_org("dual", Shape::Attempts(two_windows()?)),
        by_org("distinct", Shape::Attempts(two_windows()?)).distinct(Dimension::Account),
        by_org(
            "ladder",
            Shape::Attempts(Attempts::climbing(block_at, Span::MINUTE, Ladder::default())?),
        ),
    ])
}
