//! The policies Tidegate is measured under.

use tidegate_core::{Calendar, Counts, Dimension, Limit, Period, Shape, Span, Unit, Window};
use tidegate_engine::memory::Budget;

use super::BenchNumbers;
use crate::Fallible;
use crate::policy::{bucket, limit, quota};

/// The limits of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shapes {
    /// One bucket, by organisation.
    Bucket,
    /// Five buckets: by organisation, user, token, route, and organisation with class.
    FiveBuckets,
    /// A bucket and a quota for each day, both by organisation.
    BucketAndQuota,
    /// A quota for each day of 24 hours.
    FixedQuota,
    /// A quota for each calendar month.
    CalendarQuota,
    /// A window that keeps the time of each request.
    ExactWindow,
    /// A window of sub-counts.
    CountedWindow,
}

/// A count that no run reaches.
const PLENTY: u64 = 1 << 30;

// === impl Shapes ===

impl Shapes {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bucket => "tidegate",
            Self::FiveBuckets => "tidegate, five limits (atomic)",
            Self::BucketAndQuota => "tidegate, bucket and 24 h quota (atomic)",
            Self::FixedQuota => "tidegate, quota of 24 h",
            Self::CalendarQuota => "tidegate, quota of a calendar month",
            Self::ExactWindow => "tidegate, exact window, 64 in 25 µs",
            Self::CountedWindow => "tidegate, window of sub-counts, 1 min",
        }
    }

    /// The limits of the policy; `numbers` are those of its buckets.
    pub(crate) fn limits(self, numbers: BenchNumbers) -> Fallible<Vec<Limit>> {
        const ORG: &[Dimension] = &[Dimension::Org];
        let bucket = || bucket(numbers.per_second.into(), Span::SECOND, numbers.burst.into());
        let daily = || quota(PLENTY, Period::Fixed(Span::DAY));
        Ok(match self {
            Self::Bucket => vec![limit("burst", ORG, bucket()?)?],
            Self::FiveBuckets => vec![
                limit("org", ORG, bucket()?)?,
                limit("user", &[Dimension::User], bucket()?)?,
                limit("token", &[Dimension::Token], bucket()?)?,
                limit("route", &[Dimension::Route], bucket()?)?,
                limit("class", &[Dimension::Org, Dimension::Class], bucket()?)?,
            ],
            Self::BucketAndQuota => {
                vec![limit("burst", ORG, bucket()?)?, limit("daily", ORG, daily()?)?]
            }
            Self::FixedQuota => vec![limit("daily", ORG, daily()?)?],
            Self::CalendarQuota => {
                let month = Calendar::try_new(Unit::Month, "UTC", None)?;
                vec![limit("monthly", ORG, quota(PLENTY, Period::Calendar(month))?)?]
            }
            // The window is so short that much of the load from one thread is admitted.
            Self::ExactWindow => vec![limit("window", ORG, window(64, Span::from_micros(25))?)?],
            Self::CountedWindow => vec![limit("window", ORG, window(PLENTY, Span::MINUTE)?)?],
        })
    }

    /// The memory budget that `keys` keys need under these limits.
    pub(crate) const fn budget(self, keys: usize) -> Budget {
        let none = Budget { buckets: 0, quotas: 0, windows: 0, attempts: 0 };
        match self {
            Self::Bucket => Budget { buckets: keys, ..none },
            // All keys share the one route.
            Self::FiveBuckets => Budget { buckets: 4 * keys + 1, ..none },
            Self::BucketAndQuota => Budget { buckets: keys, quotas: keys, ..none },
            Self::FixedQuota | Self::CalendarQuota => Budget { quotas: keys, ..none },
            Self::ExactWindow | Self::CountedWindow => Budget { windows: keys, ..none },
        }
    }
}

fn window(count: u64, per: Span) -> Fallible<Shape> {
    Ok(Shape::Window(Window::try_new(count, per, Counts::Admitted)?))
}
