//! The row of a limit: what a tenant, an upstream or a route carries.

use super::tighten::{Allowance, Sharing};
use crate::cost::CostRule;
use crate::policy::Overflow;
use crate::row::RowId;
use crate::shape::{Quota, Shape};
use crate::subject::Dimension;

/// A limit that a tenant, an upstream or a route carries. Each of them has at most one row of each
/// [kind](RowKind).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitRow {
    /// The id of the row, which no other row of the hierarchy has.
    pub id: RowId,
    /// The numbers of the row, as they were written.
    pub terms: Terms,
    /// How far the row reaches down. Below an upstream are those of descendants with the same alias,
    /// and only [`Sharing::Enforce`] reaches them; below a route there is nothing.
    pub sharing: Sharing,
    /// The requests that share a counter of the row. Rows are never merged in this.
    pub scope: RowScope,
    /// What happens to a request for which the row has no room.
    pub overflow: Overflow,
}

/// The numbers of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terms {
    /// A rate, a burst and a cost. These are merged with the rows above.
    Rate(Allowance),
    /// No limit, said in so many words: where nothing else limits a request, the default row stays
    /// away. It loosens nothing, since merged with other numbers it leaves them as they are.
    Unlimited,
    /// A budget: units per period, beside the rate. Budgets are not merged.
    Budget {
        /// The units per period.
        quota: Quota,
        /// What a request takes from the budget.
        cost: CostRule,
    },
    /// A limit that is only tried out: it counts and refuses nobody. Shadows are not merged.
    Shadow {
        /// The limit that is tried out.
        shape: Shape,
        /// What a request takes from the shadow.
        cost: CostRule,
    },
}

/// The kind of a row. The rules for what is charged hold for each kind by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// The kind of [`Terms::Rate`] and [`Terms::Unlimited`].
    Rate,
    /// The kind of [`Terms::Budget`].
    Budget,
    /// The kind of [`Terms::Shadow`].
    Shadow,
}

/// The requests that share one counter of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowScope {
    /// All requests share the counter.
    Global,
    /// Each tenant that calls has a counter.
    Tenant,
    /// Each user of each tenant that calls has a counter.
    User,
    /// Each client address has a counter, whichever tenant it calls for.
    Ip,
}

/// What tells one counter of a row from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pinned {
    /// The tenant that the counter belongs to; `None` if tenants share it.
    pub tenant: Option<RowId>,
    /// The dimension with a counter for each of its values: the user, the address or none. A request
    /// that lacks the fact has to be refused, never left uncounted.
    pub by: Option<Dimension>,
}

// === impl LimitRow ===

impl LimitRow {
    /// The kind of the row.
    #[must_use]
    pub const fn kind(&self) -> RowKind {
        match self.terms {
            Terms::Rate(_) | Terms::Unlimited => RowKind::Rate,
            Terms::Budget { .. } => RowKind::Budget,
            Terms::Shadow { .. } => RowKind::Shadow,
        }
    }

    /// The numbers that are merged with those of other rows; `None` for every row but a rate.
    #[must_use]
    pub const fn allowance(&self) -> Option<Allowance> {
        match self.terms {
            Terms::Rate(allowance) => Some(allowance),
            Terms::Unlimited | Terms::Budget { .. } | Terms::Shadow { .. } => None,
        }
    }

    /// Whether the row counts for what is below its tenant.
    pub(super) fn is_shared(&self) -> bool {
        self.sharing != Sharing::Private
    }
}

// === impl RowKind ===

impl RowKind {
    /// Every kind of row.
    pub const ALL: [Self; 3] = [Self::Rate, Self::Budget, Self::Shadow];

    /// The row of this kind among the rows of one tenant, upstream or route.
    pub(super) fn of(self, rows: &[LimitRow]) -> Option<&LimitRow> {
        rows.iter().find(|row| row.kind() == self)
    }
}

// === impl RowScope ===

impl RowScope {
    /// The counter that a request of this tenant is counted on.
    #[must_use]
    pub const fn pinned(self, caller: RowId) -> Pinned {
        match self {
            Self::Global => Pinned { tenant: None, by: None },
            Self::Tenant => Pinned { tenant: Some(caller), by: None },
            Self::User => Pinned { tenant: Some(caller), by: Some(Dimension::User) },
            Self::Ip => Pinned { tenant: None, by: Some(Dimension::Ip) },
        }
    }
}
