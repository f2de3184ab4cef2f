//! Whether all that a request could meet fits one decision, found out when a row is written.
//!
//! A decision charges at most [`MAX_LIMITS`] limits. Were more found by a request, it could only be
//! refused, and the tenant that suffers is not the one that wrote the row too many. So each part of the
//! rule has a share of the places, and a write that could exceed one is refused with the rows that take
//! it up.
//!
//! The check looks at every upstream that stands above a tenant, also at those that a nearer alias hides
//! from it. So no deletion has to be refused: whatever it uncovers was counted before.

use super::charges::{ChargedAs, named, of_tenants, of_upstream};
use super::error::{HierarchyError, Misfit};
use super::limit_row::{LimitRow, RowKind};
use super::{Branches, Chain, RowOwner, TenantView, UpstreamView, chain};
use crate::charge::MAX_LIMITS;
use crate::row::RowId;

/// Rates of tenants, and of upstreams that an alias shadows, in one decision.
const MOST_RATES: usize = 6;

/// Budgets in one decision.
const MOST_BUDGETS: usize = 2;

/// Shadows in one decision.
const MOST_SHADOWS: usize = 2;

// The rates of the route and of its upstream have a place each.
const _: () = assert!(2 + MOST_RATES + MOST_BUDGETS + MOST_SHADOWS <= MAX_LIMITS);

/// Checks a change of the rows of a tenant, an upstream or a route, and of where it stands. `tree` is the
/// hierarchy as it would be afterwards.
///
/// # Errors
///
/// If some request could meet more rows than fit one decision, if the record has two rows of one kind, or
/// if the hierarchy above or below is broken or too deep.
pub fn check_fit<B: Branches>(tree: &B, changed: RowOwner) -> Result<(), Misfit> {
    match changed {
        RowOwner::Tenant(id) => {
            let tenants = chain(tree, id)?;
            single(tenants.first().map_or(&[], |tenant| tenant.rows))?;
            let heaviest = visit(tree, &tenants, Which::All)?;
            let above = (1..tenants.len()).filter_map(|place| tenants.get(place..));
            above
                .flat_map(|owners| of_owner(tree, owners))
                .try_for_each(|(owners, upstream)| heaviest.with_upstream(tree, owners, upstream))
        }
        RowOwner::Upstream(id) => {
            let upstream = tree.upstream(id).ok_or(HierarchyError::NoUpstream(id))?;
            single(upstream.rows)?;
            let owners = chain(tree, upstream.owner)?;
            visit(tree, &owners, Which::Called(upstream.alias)).map(|_| ())
        }
        RowOwner::Route(id) => {
            let route = tree.route(id).ok_or(HierarchyError::NoRoute(id))?;
            single(route.rows)?;
            let id = route.upstream;
            let upstream = tree.upstream(id).ok_or(HierarchyError::NoUpstream(id))?;
            let owners = chain(tree, upstream.owner)?;
            let heaviest = visit(tree, &owners, Which::None)?;
            let named = named(tree, &owners, upstream.alias);
            RowKind::ALL.into_iter().try_for_each(|kind| {
                let met = met_beside(&owners, &named, kind);
                heaviest.with(kind, met.chain(kind.beside(route.rows)))
            })
        }
    }
}

/// The upstreams that a [`visit`] holds against the tenants that can call them.
#[derive(Clone, Copy)]
enum Which<'a> {
    /// All upstreams of the tenants that are visited.
    All,
    /// The upstreams with this alias.
    Called(&'a str),
    /// No upstream; only the tenants themselves are looked at.
    None,
}

/// For each kind of row, the tenant that meets the most of them whatever it calls, and these rows.
struct Heaviest([(RowId, Vec<RowId>); 3]);

/// Visits the first tenant of a chain and all below it, and holds the upstreams of each against the
/// heaviest tenant that can call them: the owner or one below it.
fn visit<'a, B: Branches>(
    tree: &'a B,
    tenants: &Chain<'a>,
    which: Which<'_>,
) -> Result<Heaviest, Misfit> {
    let Some(tenant) = tenants.first() else { return Ok(Heaviest::none()) };
    let mut heaviest = Heaviest::of(tenant.id, tenants);
    for child in tree.children(tenant.id) {
        let mut below = Chain::from_iter([child]);
        below.try_extend_from_slice(tenants).map_err(|_| HierarchyError::TooDeep(child.id))?;
        heaviest.raise(visit(tree, &below, which)?);
    }
    match which {
        Which::All => of_owner(tree, tenants)
            .try_for_each(|(owners, upstream)| heaviest.with_upstream(tree, owners, upstream))?,
        Which::Called(alias) => tree
            .upstream_of(tenant.id, alias)
            .map_or(Ok(()), |upstream| heaviest.with_upstream(tree, tenants, upstream))?,
        Which::None => {}
    }
    Ok(heaviest)
}

/// The upstreams of the first tenant of a chain, with the chain.
fn of_owner<'a, 'c, B: Branches>(
    tree: &'a B,
    owners: &'c [TenantView<'a>],
) -> impl Iterator<Item = (&'c [TenantView<'a>], UpstreamView<'a>)> {
    let owner = owners.first().map(|tenant| tenant.id);
    let upstreams = owner.into_iter().flat_map(|owner| tree.upstreams(owner));
    upstreams.map(move |upstream| (owners, upstream))
}

/// The rows of an upstream, and of those that it shadows, that take up a share. The upstream's own rate
/// has a place for itself.
fn met_beside<'a, 'c>(
    owners: &'c [TenantView<'a>],
    named: &'c [Option<UpstreamView<'a>>],
    kind: RowKind,
) -> impl Iterator<Item = &'a LimitRow> {
    of_upstream(owners, named, kind)
        .filter(move |met| kind != RowKind::Rate || met.charged_as == ChargedAs::Shadowed)
        .map(|met| met.row)
}

fn single(rows: &[LimitRow]) -> Result<(), Misfit> {
    RowKind::ALL.into_iter().try_for_each(|kind| {
        let mut same = rows.iter().filter(|row| row.kind() == kind);
        match (same.next(), same.next()) {
            (Some(first), Some(second)) => {
                Err(Misfit::Doubled { first: first.id, second: second.id })
            }
            _ => Ok(()),
        }
    })
}

// === impl Heaviest ===

impl Heaviest {
    fn none() -> Self {
        Self(RowKind::ALL.map(|_| (RowId::from_u128(0), Vec::new())))
    }

    fn of(caller: RowId, tenants: &[TenantView<'_>]) -> Self {
        let rows = |kind| of_tenants(tenants, kind).map(|met| met.row.id).collect();
        Self(RowKind::ALL.map(|kind| (caller, rows(kind))))
    }

    fn raise(&mut self, other: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            if theirs.1.len() > mine.1.len() {
                *mine = theirs;
            }
        }
    }

    /// Checks the tenant together with an upstream and each of its routes.
    fn with_upstream<'a, B: Branches>(
        &self,
        tree: &'a B,
        owners: &[TenantView<'a>],
        upstream: UpstreamView<'a>,
    ) -> Result<(), Misfit> {
        let named = named(tree, owners, upstream.alias);
        RowKind::ALL.into_iter().try_for_each(|kind| {
            let met = || met_beside(owners, &named, kind);
            self.with(kind, met())?;
            let of_routes = tree.routes(upstream.id).filter_map(|route| kind.beside(route.rows));
            of_routes.into_iter().try_for_each(|row| self.with(kind, met().chain([row])))
        })
    }

    /// Checks the tenant together with the rows that it meets by what it calls.
    fn with<'a>(
        &self,
        kind: RowKind,
        met: impl Iterator<Item = &'a LimitRow>,
    ) -> Result<(), Misfit> {
        let [rate, budget, shadow] = &self.0;
        let (most, (caller, own)) = match kind {
            RowKind::Rate => (MOST_RATES, rate),
            RowKind::Budget => (MOST_BUDGETS, budget),
            RowKind::Shadow => (MOST_SHADOWS, shadow),
        };
        let rows: Vec<RowId> = own.iter().copied().chain(met.map(|row| row.id)).collect();
        match rows.len() > most {
            true => Err(Misfit::TooManyRows { kind, most, caller: *caller, rows }),
            false => Ok(()),
        }
    }
}

// === impl RowKind ===

impl RowKind {
    /// The row of a route that takes up a share: of this kind, unless that is the rate.
    fn beside(self, rows: &[LimitRow]) -> Option<&LimitRow> {
        self.of(rows).filter(|_| self != Self::Rate)
    }
}
