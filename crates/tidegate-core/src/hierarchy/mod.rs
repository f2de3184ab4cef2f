//! Tenants above tenants, and which limits a request meets there.
//!
//! Which rows are charged is a pure function of the hierarchy, the tenant that calls and the route. The
//! hierarchy itself is a trait of look-ups over borrowed views and no map of its own: a gateway keeps
//! its records in shards that are swapped one by one, a test in a flat list, and both are asked alike.
//! Nothing here searches: a request costs two look-ups for each tenant from its own to the top, and two
//! more, however many routes there are.

mod charges;
mod effective;
mod error;
mod fits;
mod limit_row;
mod limits;
mod numbers;
mod tighten;

use arrayvec::ArrayVec;

pub use self::charges::{Charged, ChargedAs, ChargedRow, charges, upstream_for};
pub use self::effective::{Effective, Provenance};
pub use self::error::{HierarchyError, Misfit};
pub use self::fits::check_fit;
pub use self::limit_row::{LimitRow, Pinned, RowKind, RowScope, Terms};
pub use self::numbers::{NeverPasses, effective_for, never_passing};
pub use self::tighten::{Allowance, Sharing, effective, tighten};
use crate::row::RowId;

/// The depth of the deepest tenant; a tenant without a parent has depth 0.
pub const MAX_DEPTH: usize = 5;

/// Tenants from the deepest one to the top.
pub(crate) const MAX_CHAIN: usize = MAX_DEPTH + 1;

/// A tenant and those above it, the nearest first.
pub(crate) type Chain<'a> = ArrayVec<TenantView<'a>, MAX_CHAIN>;

/// The tenants, upstreams and routes that are configured, by look-ups. All that a request needs.
pub trait Hierarchy {
    /// The tenant with this id.
    fn tenant(&self, id: RowId) -> Option<TenantView<'_>>;

    /// The upstream with this id.
    fn upstream(&self, id: RowId) -> Option<UpstreamView<'_>>;

    /// The route with this id.
    fn route(&self, id: RowId) -> Option<RouteView<'_>>;

    /// The upstream that this very tenant has under an alias; those of tenants above do not count.
    fn upstream_of(&self, tenant: RowId, alias: &str) -> Option<UpstreamView<'_>>;

    /// The row that is charged where no other row limits a request.
    fn default_row(&self) -> &LimitRow;
}

/// The way down a hierarchy, for checks of what is written. No request takes it.
pub trait Branches: Hierarchy {
    /// The tenants right below a tenant.
    fn children(&self, tenant: RowId) -> impl Iterator<Item = TenantView<'_>>;

    /// The upstreams that a tenant owns.
    fn upstreams(&self, tenant: RowId) -> impl Iterator<Item = UpstreamView<'_>>;

    /// The routes of an upstream.
    fn routes(&self, upstream: RowId) -> impl Iterator<Item = RouteView<'_>>;
}

/// A tenant, as a hierarchy shows it.
#[derive(Clone, Copy, Debug)]
pub struct TenantView<'a> {
    /// The id of the tenant.
    pub id: RowId,
    /// The tenant right above; `None` at the top.
    pub parent: Option<RowId>,
    /// The rows of the tenant, at most one of each kind.
    pub rows: &'a [LimitRow],
}

/// An upstream, as a hierarchy shows it.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamView<'a> {
    /// The id of the upstream.
    pub id: RowId,
    /// The tenant that owns the upstream.
    pub owner: RowId,
    /// The name by which the owner and the tenants below it call the upstream.
    pub alias: &'a str,
    /// The rows of the upstream, at most one of each kind.
    pub rows: &'a [LimitRow],
}

/// A route, as a hierarchy shows it.
#[derive(Clone, Copy, Debug)]
pub struct RouteView<'a> {
    /// The id of the route.
    pub id: RowId,
    /// The upstream that the route leads to.
    pub upstream: RowId,
    /// The rows of the route, at most one of each kind.
    pub rows: &'a [LimitRow],
}

/// A tenant, an upstream or a route: a record that carries rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowOwner {
    /// The tenant with this id.
    Tenant(RowId),
    /// The upstream with this id.
    Upstream(RowId),
    /// The route with this id.
    Route(RowId),
}

/// The tenant with this id and all above it.
pub(crate) fn chain<H: Hierarchy + ?Sized>(
    tree: &H,
    tenant: RowId,
) -> Result<Chain<'_>, HierarchyError> {
    let mut chain = Chain::new();
    let mut next = Some(tenant);
    while let Some(id) = next {
        let view = tree.tenant(id).ok_or(HierarchyError::NoTenant(id))?;
        chain.try_push(view).map_err(|_| HierarchyError::TooDeep(tenant))?;
        next = view.parent;
    }
    Ok(chain)
}

#[cfg(test)]
mod tests;
