//! Which rows a request is charged on: the one rule of the hierarchy.
//!
//! | row | charged | at |
//! |---|---|---|
//! | of the route | always | its numbers, tightened by the upstream and the owner's chain |
//! | of the upstream | always | its numbers, tightened by the owner's chain |
//! | of the caller's tenant | always | its numbers, tightened by the tenants above |
//! | of the nearest tenant above that lets inherit | if the caller's has none | its numbers, on a counter of the caller's tenant |
//! | of every tenant above that enforces | always | its numbers, tightened by the tenants above |
//! | of every upstream with this alias above that enforces | always | its numbers, as if it were called itself |
//! | the default row | if nothing else can refuse | its numbers |
//!
//! The owner's chain is the tenant that owns the upstream and all above it, but for private rows. None
//! of these numbers depends on who calls, so all who share a counter agree on its size.

use arrayvec::ArrayVec;

use super::effective::Effective;
use super::limit_row::{LimitRow, Pinned, RowKind};
use super::numbers::merged;
use super::tighten::Sharing;
use super::{Hierarchy, HierarchyError, MAX_CHAIN, RouteView, TenantView, UpstreamView, chain};
use crate::charge::MAX_LIMITS;
use crate::row::RowId;

/// The rows that one request is charged on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged<'a> {
    /// The rows, the most specific first: route, upstream, tenant, those that enforce.
    pub rows: ArrayVec<ChargedRow<'a>, MAX_LIMITS>,
    /// The tenant at the top, which all counters of the request are filed under.
    pub top: RowId,
}

/// One row that a request is charged on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChargedRow<'a> {
    /// The row, as it was written.
    pub row: &'a LimitRow,
    /// The part of the rule by which the row is charged.
    pub charged_as: ChargedAs,
    /// The merged numbers of a rate; `None` for budgets and shadows, which keep their own.
    pub numbers: Option<Effective>,
    /// The counter of the row.
    pub counter: Pinned,
}

/// The part of the rule by which a row is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChargedAs {
    /// The row belongs to the route.
    Route,
    /// The row belongs to the upstream.
    Upstream,
    /// The row belongs to the tenant that calls.
    Own,
    /// The row belongs to a tenant above, and the one that calls has none.
    Inherited,
    /// The row belongs to a tenant above, and it enforces.
    Enforced,
    /// The row belongs to an upstream of a tenant above, which has the same alias, and it enforces.
    Shadowed,
    /// The row is the default.
    Default,
}

/// What each tenant of a chain has under one alias.
pub(super) type Named<'a> = ArrayVec<Option<UpstreamView<'a>>, MAX_CHAIN>;

/// A row that a request meets.
#[derive(Clone, Copy)]
pub(super) struct MetRow<'a, 'c> {
    pub(super) row: &'a LimitRow,
    pub(super) charged_as: ChargedAs,
    /// The tenants whose numbers tighten those of the row, the nearest first.
    above: &'c [TenantView<'a>],
}

/// The rows that a request of the tenant `caller` on `route` is charged on.
///
/// # Errors
///
/// If there is no such tenant or route, if the tenant does not reach the route, or if the hierarchy is
/// broken in a way that [`check_fit`](super::check_fit) would have refused.
pub fn charges<H: Hierarchy + ?Sized>(
    tree: &H,
    caller: RowId,
    route: RowId,
) -> Result<Charged<'_>, HierarchyError> {
    let view = tree.route(route).ok_or(HierarchyError::NoRoute(route))?;
    let upstream = tree.upstream(view.upstream).ok_or(HierarchyError::NoUpstream(view.upstream))?;
    let tenants = chain(tree, caller)?;
    let named = named(tree, &tenants, upstream.alias);
    let nearest = named.iter().position(Option::is_some);
    let owners = nearest.and_then(|place| tenants.get(place..).zip(named.get(place..)));
    let (owners, named) = owners
        .filter(|(_, named)| named.iter().flatten().next().is_some_and(|it| it.id == upstream.id))
        .ok_or(HierarchyError::OutOfReach { caller, route })?;
    let way = Way { caller, tenants: &tenants, owners, named, upstream, route: view };
    let top = tenants.last().map_or(caller, |tenant| tenant.id);
    let mut charged = Charged { rows: ArrayVec::new(), top };
    let default = MetRow { row: tree.default_row(), charged_as: ChargedAs::Default, above: &[] };
    let default = (!way.is_limited()).then_some(default).and_then(|met| way.charge(met));
    let written = RowKind::ALL.into_iter().flat_map(|kind| way.charged(kind));
    for row in written.chain(default) {
        let too_many = HierarchyError::TooManyRows { caller, route };
        charged.rows.try_push(row).map_err(|_| too_many)?;
    }
    Ok(charged)
}

/// The upstream that a tenant means by an alias: its own, or that of the nearest tenant above which has
/// one.
///
/// # Errors
///
/// If there is no such tenant, or the hierarchy above it is broken.
pub fn upstream_for<'a, H: Hierarchy + ?Sized>(
    tree: &'a H,
    caller: RowId,
    alias: &str,
) -> Result<Option<UpstreamView<'a>>, HierarchyError> {
    let tenants = chain(tree, caller)?;
    Ok(tenants.iter().find_map(|tenant| tree.upstream_of(tenant.id, alias)))
}

/// What each tenant of a chain has under an alias.
pub(super) fn named<'a, H: Hierarchy + ?Sized>(
    tree: &'a H,
    tenants: &[TenantView<'a>],
    alias: &str,
) -> Named<'a> {
    // A chain is never longer than this list.
    tenants.iter().take(MAX_CHAIN).map(|tenant| tree.upstream_of(tenant.id, alias)).collect()
}

/// The rows of one kind that a request meets because of who calls. `tenants` is the chain of the caller.
pub(super) fn of_tenants<'a, 'c>(
    tenants: &'c [TenantView<'a>],
    kind: RowKind,
) -> impl Iterator<Item = MetRow<'a, 'c>> {
    let met = move |place: usize, charged_as| {
        let row = kind.of(tenants.get(place)?.rows)?;
        Some(MetRow { row, charged_as, above: tenants.get(place + 1..)? })
    };
    let above = move |sharing, charged_as| {
        let all = (1..tenants.len()).filter_map(move |place| met(place, charged_as));
        all.filter(move |met| met.row.sharing == sharing)
    };
    let inherited = || above(Sharing::Inherit, ChargedAs::Inherited).next();
    let first = met(0, ChargedAs::Own).or_else(inherited);
    first.into_iter().chain(above(Sharing::Enforce, ChargedAs::Enforced))
}

/// The rows of one kind that a request meets because of what it calls, but for the route. `owners` is
/// the chain of the upstream's owner, and `named` is what each of them has under the alias.
pub(super) fn of_upstream<'a, 'c>(
    owners: &'c [TenantView<'a>],
    named: &'c [Option<UpstreamView<'a>>],
    kind: RowKind,
) -> impl Iterator<Item = MetRow<'a, 'c>> {
    named.iter().enumerate().filter_map(move |(place, upstream)| {
        let row = kind.of(upstream.as_ref()?.rows)?;
        let charged_as = match place {
            0 => ChargedAs::Upstream,
            _ if row.sharing == Sharing::Enforce => ChargedAs::Shadowed,
            _ => return None,
        };
        Some(MetRow { row, charged_as, above: owners.get(place..)? })
    })
}

/// The way of one request through a hierarchy.
struct Way<'a, 'c> {
    caller: RowId,
    /// The chain of the caller.
    tenants: &'c [TenantView<'a>],
    /// The chain of the upstream's owner, which is the end of the caller's.
    owners: &'c [TenantView<'a>],
    /// What each tenant of the owner's chain has under the alias; the first is the upstream.
    named: &'c [Option<UpstreamView<'a>>],
    upstream: UpstreamView<'a>,
    route: RouteView<'a>,
}

// === impl Way ===

impl<'a, 'c> Way<'a, 'c> {
    fn met(&self, kind: RowKind) -> impl Iterator<Item = MetRow<'a, 'c>> + use<'a, 'c> {
        let route = kind.of(self.route.rows);
        let above = self.owners;
        let route = route.map(|row| MetRow { row, charged_as: ChargedAs::Route, above });
        let upstream = of_upstream(self.owners, self.named, kind);
        route.into_iter().chain(upstream).chain(of_tenants(self.tenants, kind))
    }

    fn charged(&self, kind: RowKind) -> impl Iterator<Item = ChargedRow<'a>> {
        self.met(kind).filter_map(|met| self.charge(met))
    }

    /// The row as it is charged; `None` if neither it nor any row above it has a limit.
    fn charge(&self, met: MetRow<'a, '_>) -> Option<ChargedRow<'a>> {
        let MetRow { row, charged_as, above } = met;
        let numbers = match row.kind() {
            RowKind::Rate => {
                let upstream = (charged_as == ChargedAs::Route).then_some(self.upstream.rows);
                let upstream = upstream.and_then(|rows| RowKind::Rate.of(rows));
                Some(merged(Some(row), upstream, above)?)
            }
            RowKind::Budget | RowKind::Shadow => None,
        };
        let mut counter = row.scope.pinned(self.caller);
        if charged_as == ChargedAs::Inherited {
            counter.tenant = Some(self.caller);
        }
        Some(ChargedRow { row, charged_as, numbers, counter })
    }

    /// Whether anybody on the way has written a limit that can refuse, or that there is none.
    fn is_limited(&self) -> bool {
        let has = |kind| self.met(kind).next().is_some();
        has(RowKind::Rate) || has(RowKind::Budget)
    }
}
