//! The numbers of one row: merged with those above it, whoever calls.

use arrayvec::ArrayVec;

use super::effective::Effective;
use super::limit_row::{LimitRow, RowKind};
use super::tighten::Allowance;
use super::{Branches, Hierarchy, HierarchyError, MAX_CHAIN, RowOwner, TenantView, chain};
use crate::row::RowId;

/// A rate row that refuses every request, because its merged cost is above its merged burst. Such a row
/// is written all the same: the one below may have been there before the one above. So this is a
/// warning, for whoever wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row} refuses every request: the cost of row {} is above the burst of row {}",
    .numbers.provenance.cost, .numbers.provenance.burst)]
pub struct NeverPasses {
    /// The row that refuses every request.
    pub row: RowId,
    /// The merged numbers of the row.
    pub numbers: Effective,
}

/// The merged numbers of a tenant, an upstream or a route, with the row behind each field; `None` if
/// neither it nor anything above it has a rate. If it has no row of its own, nothing is charged at these
/// numbers, but a row that it got could not be looser.
///
/// # Errors
///
/// If there is no such record, or the hierarchy above it is broken.
pub fn effective_for<H: Hierarchy + ?Sized>(
    tree: &H,
    owner: RowOwner,
) -> Result<Option<Effective>, HierarchyError> {
    let (rows, tenants) = match owner {
        RowOwner::Tenant(id) => {
            let tenants = chain(tree, id)?;
            let own = tenants.first().and_then(|tenant| RowKind::Rate.of(tenant.rows));
            return Ok(merged(own, None, tenants.get(1..).unwrap_or_default()));
        }
        RowOwner::Upstream(id) => {
            let upstream = tree.upstream(id).ok_or(HierarchyError::NoUpstream(id))?;
            ([None, Some(upstream.rows)], chain(tree, upstream.owner)?)
        }
        RowOwner::Route(id) => {
            let route = tree.route(id).ok_or(HierarchyError::NoRoute(id))?;
            let id = route.upstream;
            let upstream = tree.upstream(id).ok_or(HierarchyError::NoUpstream(id))?;
            ([Some(route.rows), Some(upstream.rows)], chain(tree, upstream.owner)?)
        }
    };
    let [route, upstream] = rows.map(|rows| rows.and_then(|rows| RowKind::Rate.of(rows)));
    Ok(merged(route, upstream, &tenants))
}

/// The rate rows that refuse every request, among those whose numbers a change of this record's rows can
/// change: its own and all below it.
///
/// # Errors
///
/// If there is no such record, or the hierarchy above or below it is broken.
pub fn never_passing<B: Branches>(
    tree: &B,
    changed: RowOwner,
) -> Result<Vec<NeverPasses>, HierarchyError> {
    let mut found = Vec::new();
    let mut rest = vec![changed];
    while let Some(owner) = rest.pop() {
        let own = match owner {
            RowOwner::Tenant(id) => {
                rest.extend(tree.children(id).map(|tenant| RowOwner::Tenant(tenant.id)));
                rest.extend(tree.upstreams(id).map(|upstream| RowOwner::Upstream(upstream.id)));
                tree.tenant(id).and_then(|tenant| RowKind::Rate.of(tenant.rows))
            }
            RowOwner::Upstream(id) => {
                rest.extend(tree.routes(id).map(|route| RowOwner::Route(route.id)));
                tree.upstream(id).and_then(|upstream| RowKind::Rate.of(upstream.rows))
            }
            RowOwner::Route(id) => tree.route(id).and_then(|route| RowKind::Rate.of(route.rows)),
        };
        let numbers = effective_for(tree, owner)?.filter(Effective::never_passes);
        found.extend(own.zip(numbers).map(|(own, numbers)| NeverPasses { row: own.id, numbers }));
    }
    Ok(found)
}

/// The numbers of a row, tightened by the upstream's and by those of the tenants above that are not
/// private; `None` if none of them has any.
pub(super) fn merged(
    own: Option<&LimitRow>,
    upstream: Option<&LimitRow>,
    above: &[TenantView<'_>],
) -> Option<Effective> {
    let tenants = above.iter().filter_map(|tenant| RowKind::Rate.of(tenant.rows));
    let shared = tenants.filter(|row| row.is_shared());
    let rows = own.into_iter().chain(upstream).chain(shared);
    let numbers = rows.filter_map(|row| Some((row.id, row.allowance()?)));
    // A route, an upstream and a whole chain: that many fit.
    let numbers: ArrayVec<(RowId, Allowance), { MAX_CHAIN + 2 }> = numbers.collect();
    Effective::merge(&numbers)
}
