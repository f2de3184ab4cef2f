//! The rule once more, from the definitions: every row there is, is asked whether it is charged.

use super::*;

/// What the model says of one charged row: its id, the part of the rule, merged numbers and counter.
pub(super) type Says = (RowId, ChargedAs, Option<Numbers>, Pinned);

/// Merged numbers: tokens, period, burst, cost; and the rows behind rate, burst and cost.
pub(super) type Numbers = (u64, Span, u64, CostRule, [RowId; 3]);

/// A row with how far away it is: 0 for the row itself, and more the less specific it is.
type Near<'a> = (usize, &'a LimitRow);

impl Flat {
    fn parent(&self, tenant: RowId) -> Option<RowId> {
        self.tenants.iter().find(|it| it.id == tenant).and_then(|it| it.parent)
    }

    /// How many steps `above` is above `tenant`; `None` if it is not above it, 0 for itself.
    pub(super) fn steps(&self, above: RowId, tenant: RowId) -> Option<usize> {
        match self.parent(tenant) {
            _ if above == tenant => Some(0),
            Some(parent) => Some(self.steps(above, parent)? + 1),
            None => None,
        }
    }

    pub(super) fn is_above(&self, above: RowId, tenant: RowId) -> bool {
        self.steps(above, tenant).is_some_and(|steps| steps > 0)
    }

    pub(super) fn depth(&self, tenant: RowId) -> usize {
        self.parent(tenant).map_or(0, |parent| self.depth(parent) + 1)
    }

    /// Whether a tenant that says an alias means this upstream.
    pub(super) fn reaches(&self, caller: RowId, upstream: &FlatUpstream) -> bool {
        let mine = self.steps(upstream.owner, caller);
        let nearest = self.upstreams.iter().filter(|it| it.alias == upstream.alias);
        mine.is_some() && nearest.filter_map(|it| self.steps(it.owner, caller)).min() == mine
    }

    /// All that is charged, in the order of ids.
    pub(super) fn says(&self, caller: RowId, route: &FlatRoute) -> Option<Vec<Says>> {
        let upstream = self.upstreams.iter().find(|it| it.id == route.upstream)?;
        if !self.reaches(caller, upstream) {
            return None;
        }
        let all = self.tenants.iter().flat_map(|it| it.rows.iter().map(move |row| (it.id, row)));
        let tenants = all.filter_map(|(tenant, row)| {
            let charged_as = self.as_tenants(caller, tenant, row)?;
            Some((row, charged_as, self.above(tenant, row, 1, None)))
        });
        let all = self.upstreams.iter().flat_map(|it| it.rows.iter().map(move |row| (it, row)));
        let upstreams = all.filter_map(|(other, row)| {
            let is_shadowed = other.alias == upstream.alias
                && self.is_above(other.owner, upstream.owner)
                && row.sharing == Sharing::Enforce;
            let charged_as = match is_shadowed {
                _ if other.id == upstream.id => ChargedAs::Upstream,
                true => ChargedAs::Shadowed,
                false => return None,
            };
            Some((row, charged_as, self.above(other.owner, row, 0, None)))
        });
        let routes = route
            .rows
            .iter()
            .map(|row| (row, ChargedAs::Route, self.above(upstream.owner, row, 0, Some(upstream))));
        let met: Vec<_> = tenants.chain(upstreams).chain(routes).collect();
        let nobody = met.iter().all(|(row, ..)| row.kind() == RowKind::Shadow);
        let default = (&self.default, ChargedAs::Default, vec![(0, &self.default)]);
        let met = met.into_iter().chain(nobody.then_some(default));
        let mut said: Vec<Says> = met
            .filter_map(|(row, charged_as, near)| {
                let numbers = match row.kind() {
                    RowKind::Rate => Some(strictest(&near)?),
                    _ => None,
                };
                Some((row.id, charged_as, numbers, pinned(row, charged_as, caller)))
            })
            .collect();
        said.sort_by_key(|(row, ..)| *row);
        Some(said)
    }

    fn as_tenants(&self, caller: RowId, tenant: RowId, row: &LimitRow) -> Option<ChargedAs> {
        let others = self.tenants.iter().filter(|it| self.steps(it.id, caller).is_some());
        let nearer = others.filter(|it| self.is_above(tenant, it.id));
        let mut nearer = nearer.flat_map(|it| it.rows.iter().map(move |row| (it.id, row)));
        let is_taken = nearer.any(|(id, other)| {
            other.kind() == row.kind() && (id == caller || other.sharing == Sharing::Inherit)
        });
        match row.sharing {
            _ if tenant == caller => Some(ChargedAs::Own),
            _ if !self.is_above(tenant, caller) => None,
            Sharing::Enforce => Some(ChargedAs::Enforced),
            Sharing::Inherit if !is_taken => Some(ChargedAs::Inherited),
            Sharing::Inherit | Sharing::Private => None,
        }
    }

    /// The row, and all rows that have a say in its numbers: of tenants at least `least` steps up.
    fn above<'a>(
        &'a self,
        tenant: RowId,
        row: &'a LimitRow,
        least: usize,
        upstream: Option<&'a FlatUpstream>,
    ) -> Vec<Near<'a>> {
        let upstream = upstream.into_iter().flat_map(|it| it.rows.iter().map(|row| (1, row)));
        let tenants = self.tenants.iter().filter_map(|it| Some((self.steps(it.id, tenant)?, it)));
        let shared = tenants.filter(|(steps, _)| *steps >= least).flat_map(|(steps, it)| {
            let rows = it.rows.iter().filter(|row| row.sharing != Sharing::Private);
            rows.map(move |row| (steps + 2, row))
        });
        [(0, row)].into_iter().chain(upstream).chain(shared).collect()
    }
}

fn strictest(near: &[Near<'_>]) -> Option<Numbers> {
    let mut rows: Vec<(usize, RowId, Allowance)> = near
        .iter()
        .filter_map(|(far, row)| match row.terms {
            Terms::Rate(allowance) => Some((*far, row.id, allowance)),
            _ => None,
        })
        .collect();
    rows.sort_by_key(|(far, ..)| *far);
    // All rates as tokens per the same, very long time.
    let long: u128 = rows.iter().map(|(_, _, it)| per(it)).product();
    let speed = |it: &Allowance| u128::from(it.bucket.rate().tokens()) * (long / per(it));
    let (_, rate_row, slowest) = rows.iter().min_by_key(|(far, _, it)| (speed(it), *far))?;
    let (_, burst_row, least) = rows.iter().min_by_key(|(far, _, it)| (it.bucket.burst(), *far))?;
    let units = rows.iter().map(|(_, _, it)| parts(it.cost).1).max()?;
    let by_weight = rows.iter().any(|(_, _, it)| parts(it.cost).0);
    let same = |it: &&(usize, RowId, Allowance)| parts(it.2.cost) == (by_weight, units);
    let alike = |it: &&(usize, RowId, Allowance)| parts(it.2.cost).1 == units;
    let (_, cost_row, _) = rows.iter().find(same).or_else(|| rows.iter().find(alike))?;
    let units = Cost::try_new(units).ok()?;
    let cost = if by_weight { CostRule::PerUnit(units) } else { CostRule::PerRequest(units) };
    let rate = slowest.bucket.rate();
    let rows = [*rate_row, *burst_row, *cost_row];
    Some((rate.tokens(), rate.per(), least.bucket.burst(), cost, rows))
}

fn per(allowance: &Allowance) -> u128 {
    u128::from(allowance.bucket.rate().per().as_micros() / 1_000_000)
}

/// Whether a cost goes by weight, and its number of units.
fn parts(cost: CostRule) -> (bool, u64) {
    match cost {
        CostRule::PerRequest(units) => (false, units.get()),
        CostRule::PerUnit(units) => (true, units.get()),
    }
}

fn pinned(row: &LimitRow, charged_as: ChargedAs, caller: RowId) -> Pinned {
    use crate::subject::Dimension;
    let per_tenant = matches!(row.scope, RowScope::Tenant | RowScope::User);
    let tenant = (per_tenant || charged_as == ChargedAs::Inherited).then_some(caller);
    let by = match row.scope {
        RowScope::User => Some(Dimension::User),
        RowScope::Ip => Some(Dimension::Ip),
        _ => None,
    };
    Pinned { tenant, by }
}
