//! What can be wrong with a hierarchy: met by a request, or refused when it is written.

use super::limit_row::RowKind;
use super::{MAX_DEPTH, RowOwner};
use crate::row::RowId;

/// Why a hierarchy has no answer for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HierarchyError {
    /// There is no tenant with this id.
    #[error("there is no tenant {0}")]
    NoTenant(RowId),
    /// There is no upstream with this id.
    #[error("there is no upstream {0}")]
    NoUpstream(RowId),
    /// There is no route with this id.
    #[error("there is no route {0}")]
    NoRoute(RowId),
    /// The tenant has more tenants above it than a hierarchy allows, or is above itself.
    #[error("tenant {0} is deeper than {MAX_DEPTH} levels below the top")]
    TooDeep(RowId),
    /// The tenant does not get to the route: the upstream belongs to a tenant that is not above it, or
    /// a nearer upstream has the same alias.
    #[error("tenant {caller} does not reach route {route} by the alias of its upstream")]
    OutOfReach {
        /// The tenant that calls.
        caller: RowId,
        /// The route it asked for.
        route: RowId,
    },
    /// More rows would be charged than fit one decision. [`check_fit`](super::check_fit) refuses
    /// whatever leads to this when it is written.
    #[error(
        "a request of tenant {caller} on route {route} meets more rows than one decision charges"
    )]
    TooManyRows {
        /// The tenant that calls.
        caller: RowId,
        /// The route it asked for.
        route: RowId,
    },
}

/// Why a change of a hierarchy is refused when it is written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// Some request could meet more rows of one kind than fit one decision.
    #[error("a request of tenant {caller} could meet {}, of which {most} fit: {}",
        counted(*.kind, .rows.len()), list(.rows))]
    TooManyRows {
        /// The kind of which there are too many.
        kind: RowKind,
        /// How many rows of the kind fit.
        most: usize,
        /// A tenant that could meet them.
        caller: RowId,
        /// All rows of the kind that a request of this tenant could meet.
        rows: Vec<RowId>,
    },
    /// A tenant, an upstream or a route has two rows of one kind.
    #[error("rows {first} and {second} are of one kind and belong to one record; leave one out")]
    Doubled {
        /// The row that was found first.
        first: RowId,
        /// The row that was found after it.
        second: RowId,
    },
    /// The tree above what was written is broken or too deep.
    #[error(transparent)]
    Broken(#[from] HierarchyError),
}

// === impl RowOwner ===

impl RowOwner {
    /// The id of the record.
    #[must_use]
    pub const fn id(self) -> RowId {
        match self {
            Self::Tenant(id) | Self::Upstream(id) | Self::Route(id) => id,
        }
    }
}

fn counted(kind: RowKind, number: usize) -> String {
    match kind {
        RowKind::Rate => format!("{number} rows of tenants and of upstreams above"),
        RowKind::Budget => format!("{number} budgets"),
        RowKind::Shadow => format!("{number} shadows"),
    }
}

fn list(rows: &[RowId]) -> String {
    rows.iter().map(RowId::to_string).collect::<Vec<_>>().join(", ")
}
