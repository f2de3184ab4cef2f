//! Why a limit cannot be built.

use super::Stamp;
use crate::cost::Cost;
use crate::name::Name;
use crate::overrides::OverrideError;
use crate::shape::MAX_DISTINCT;

/// Why a limit cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// A cost that never fits, not even for the lightest request; some override may be the reason.
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
    /// An override of another shape.
    #[error(
        "limit `{limit}` is a {expected}, but an override of it is a {found}; an override changes \
         numbers, not the shape"
    )]
    OtherShape {
        /// The limit.
        limit: Name,
        /// The name of the limit's [`Kind`](crate::Kind).
        expected: &'static str,
        /// The name of the override's.
        found: &'static str,
    },
    /// What only an abuse log can do.
    #[error("limit `{limit}` counts no attempts; only those can be distinct or be forgiven")]
    NotAttempts {
        /// The limit.
        limit: Name,
    },
    /// Distinct values of what a key consists of: there is one.
    #[error(
        "limit `{limit}` counts distinct values of `{dimension}` by `{dimension}`, which is one"
    )]
    DistinctOfItself {
        /// The limit.
        limit: Name,
        /// The dimension.
        dimension: &'static str,
    },
    /// A limit for IPv6 alone that counts by no address.
    #[error("limit `{limit}` is for IPv6 only but counts by no address; count by ip, ip56 or ip48")]
    Ipv6OfNoAddress {
        /// The limit.
        limit: Name,
    },
    /// More distinct values than are kept.
    #[error("limit `{limit}`: up to {MAX_DISTINCT} distinct values are told apart")]
    TooManyDistinct {
        /// The limit.
        limit: Name,
    },
    /// A success that is given back by its outcome, and would clear the failures before it.
    #[error(
        "limit `{limit}` counts by outcome and cannot forgive: most answers are good ones, and each \
         would clear what was counted before; let it give back only the request itself"
    )]
    ForgivesOutcomes {
        /// The limit.
        limit: Name,
    },
    /// A count by plan, which only selects numbers.
    #[error(
        "limit `{limit}` counts by plan, but a plan only selects numbers, and all who have it would \
         share one counter; count by org, user or token, and override its numbers for the plan"
    )]
    CountsByPlan {
        /// The limit.
        limit: Name,
    },
    /// An override that cannot apply.
    #[error("limit `{limit}`: {error}")]
    Override {
        /// The limit.
        limit: Name,
        /// What is wrong.
        error: OverrideError,
    },
    /// The list of shapes, which reloads make longer, is full.
    #[error(
        "limit `{limit}` has had {} different numbers since the start, the most that are told \
         apart; restart to begin a new list",
        Stamp::MAX + 1
    )]
    TooManyNumbers {
        /// The limit.
        limit: Name,
    },
}
