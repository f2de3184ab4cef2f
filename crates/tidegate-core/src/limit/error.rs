//! Why a limit cannot be built.

use super::Stamp;
use crate::cost::Cost;
use crate::name::Name;
use crate::overrides::OverrideError;
use crate::shape::MAX_DISTINCT;
use crate::time::Timestamp;

/// Why a limit cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Even the lightest request costs more than ever fits; some override may be the reason.
    #[error(
        "limit `{limit}`: a request costs {cost}, but at most {capacity} fit at once, so it would \
         never be admitted; raise the burst or count, or lower the cost"
    )]
    CostAboveCapacity {
        /// The limit.
        limit: Name,
        /// What a request that weighs one costs.
        cost: Cost,
        /// The most that fits at once.
        capacity: u64,
    },
    /// An override has another kind of shape than its limit.
    #[error(
        "limit `{limit}` is a {expected}, but an override of it is a {found}; an override changes \
         numbers, not the shape"
    )]
    OtherShape {
        /// The limit.
        limit: Name,
        /// The name of the limit's [`ShapeKind`](crate::ShapeKind).
        expected: &'static str,
        /// The name of the override's [`ShapeKind`](crate::ShapeKind).
        found: &'static str,
    },
    /// The limit counts distinct values or forgives, which only an abuse log can do, and is none.
    #[error("limit `{0}`: only an abuse log (`attempts`) can count distinct values or forgive")]
    NotAttempts(Name),
    /// The limit is an abuse log and degrades, so that it would never begin a block.
    #[error(
        "limit `{0}` counts attempts and cannot `degrade` those past it: it would never block anybody; \
         write `overflow: reject`"
    )]
    DegradedAttempts(Name),
    /// The limit cannot be a row, or is none.
    #[error(
        "limit `{0}` cannot be a row: a row is a bucket, window or quota without overrides, and does not \
         count by outcome"
    )]
    NoRow(Name),
    /// The hash tag of a row is not allowed.
    #[error(
        "row `{0}`: its hash tag must be 1 to 128 printable characters without spaces and braces"
    )]
    RowTag(Name),
    /// A row would succeed another row, or itself under another hash tag.
    #[error("row `{0}` cannot succeed a row with another id or hash tag")]
    OtherRow(Name),
    /// A row would succeed itself with another kind of shape.
    #[error(
        "row `{limit}` is a {expected} and cannot become a {found}, because its counters could not be \
         carried over; create another row"
    )]
    OtherKind {
        /// The row.
        limit: Name,
        /// The name of the [`ShapeKind`](crate::ShapeKind) that it has.
        expected: &'static str,
        /// The name of the [`ShapeKind`](crate::ShapeKind) that it would get.
        found: &'static str,
    },
    /// The numbers of a row were changed so often that no stamp is left for new ones.
    #[error(
        "row `{limit}` was changed too often while earlier counters still count; its numbers stay as \
         they are until {}",
        .until.rfc3339()
    )]
    TooManyChanges {
        /// The row.
        limit: Name,
        /// When the change can be made.
        until: Timestamp,
    },
    /// The limit counts distinct values of a dimension that is in its keys, so each key has only one.
    #[error(
        "limit `{limit}` counts distinct values of `{dimension}` but also counts by `{dimension}`, so \
         each counter sees only one value; count by something else"
    )]
    DistinctOfItself {
        /// The limit.
        limit: Name,
        /// The dimension.
        dimension: &'static str,
    },
    /// The limit is for IPv6 only, and counts by no address.
    #[error("limit `{0}` is for IPv6 only but counts by no address; count by ip, ip56 or ip48")]
    Ipv6OfNoAddress(Name),
    /// The limit counts more distinct values than are kept.
    #[error("limit `{0}` counts too many distinct values; the most is {MAX_DISTINCT}")]
    TooManyDistinct(Name),
    /// The limit counts by outcome and forgives, so that each good answer would clear the failures before
    /// it.
    #[error(
        "limit `{0}` counts by outcome and cannot forgive: most answers are good ones, and each \
         would clear what was counted before; let it give back only the request itself"
    )]
    ForgivesOutcomes(Name),
    /// The limit counts by plan, which only selects numbers.
    #[error(
        "limit `{0}` counts by plan, but a plan only selects numbers, and all who have it would \
         share one counter; count by org, user or token, and override its numbers for the plan"
    )]
    CountsByPlan(Name),
    /// An override of the limit is refused.
    #[error("limit `{limit}`: {error}")]
    Override {
        /// The limit.
        limit: Name,
        /// Why the override is refused.
        error: OverrideError,
    },
    /// The limit's list of shapes, which reloads make longer, is full.
    #[error(
        "limit `{0}` has had {most} different numbers since the start, the most that are told \
         apart; restart the process to clear the list",
        most = Stamp::MAX + 1
    )]
    TooManyNumbers(Name),
}
