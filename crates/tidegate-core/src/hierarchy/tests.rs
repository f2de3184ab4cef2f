//! G6: the hierarchy against a slow model that goes by the definitions alone.

mod examples;
mod fitting;
mod limits;
mod model;
mod requests;
mod same;
mod trees;

use super::*;
use crate::cost::{Cost, CostRule};
use crate::policy::Overflow;
use crate::shape::{Bucket, Counts, Period, Quota, Rate, Shape};
use crate::time::Span;

/// A hierarchy as flat lists, searched from the start every time.
#[derive(Clone, Debug)]
struct Flat {
    tenants: Vec<FlatTenant>,
    upstreams: Vec<FlatUpstream>,
    routes: Vec<FlatRoute>,
    default: LimitRow,
}

#[derive(Clone, Debug)]
struct FlatTenant {
    id: RowId,
    parent: Option<RowId>,
    rows: Vec<LimitRow>,
}

#[derive(Clone, Debug)]
struct FlatUpstream {
    id: RowId,
    owner: RowId,
    alias: &'static str,
    rows: Vec<LimitRow>,
}

#[derive(Clone, Debug)]
struct FlatRoute {
    id: RowId,
    upstream: RowId,
    rows: Vec<LimitRow>,
}

impl FlatTenant {
    fn view(&self) -> TenantView<'_> {
        TenantView { id: self.id, parent: self.parent, rows: &self.rows }
    }
}

impl FlatUpstream {
    fn view(&self) -> UpstreamView<'_> {
        UpstreamView { id: self.id, owner: self.owner, alias: self.alias, rows: &self.rows }
    }
}

impl FlatRoute {
    fn view(&self) -> RouteView<'_> {
        RouteView { id: self.id, upstream: self.upstream, rows: &self.rows }
    }
}

impl Hierarchy for Flat {
    fn tenant(&self, id: RowId) -> Option<TenantView<'_>> {
        self.tenants.iter().find(|it| it.id == id).map(FlatTenant::view)
    }

    fn upstream(&self, id: RowId) -> Option<UpstreamView<'_>> {
        self.upstreams.iter().find(|it| it.id == id).map(FlatUpstream::view)
    }

    fn route(&self, id: RowId) -> Option<RouteView<'_>> {
        self.routes.iter().find(|it| it.id == id).map(FlatRoute::view)
    }

    fn upstream_of(&self, tenant: RowId, alias: &str) -> Option<UpstreamView<'_>> {
        let mut all = self.upstreams.iter();
        all.find(|it| it.owner == tenant && it.alias == alias).map(FlatUpstream::view)
    }

    fn default_row(&self) -> &LimitRow {
        &self.default
    }
}

impl Branches for Flat {
    fn children(&self, tenant: RowId) -> impl Iterator<Item = TenantView<'_>> {
        self.tenants.iter().filter(move |it| it.parent == Some(tenant)).map(FlatTenant::view)
    }

    fn upstreams(&self, tenant: RowId) -> impl Iterator<Item = UpstreamView<'_>> {
        self.upstreams.iter().filter(move |it| it.owner == tenant).map(FlatUpstream::view)
    }

    fn routes(&self, upstream: RowId) -> impl Iterator<Item = RouteView<'_>> {
        self.routes.iter().filter(move |it| it.upstream == upstream).map(FlatRoute::view)
    }
}

fn id(number: u128) -> RowId {
    RowId::from_u128(number)
}

/// `tokens` per second, a burst, and a cost for each unit of weight.
fn allowance(tokens: u64, burst: u64, cost: u64) -> Allowance {
    let bucket = Bucket::try_new(Rate::per_second(tokens).unwrap(), burst).unwrap();
    Allowance { bucket, cost: CostRule::PerUnit(Cost::try_new(cost).unwrap()) }
}

fn row(number: u128, sharing: Sharing, terms: Terms) -> LimitRow {
    let (scope, overflow) = (RowScope::Global, Overflow::Reject);
    LimitRow { id: id(number), terms, sharing, scope, overflow }
}

fn rate(number: u128, sharing: Sharing, tokens: u64, burst: u64) -> LimitRow {
    row(number, sharing, Terms::Rate(allowance(tokens, burst, 1)))
}

fn budget() -> Terms {
    let quota = Quota::try_new(100, Period::Fixed(Span::DAY), Counts::Admitted).unwrap();
    Terms::Budget { quota, cost: CostRule::default() }
}

fn shadow() -> Terms {
    Terms::Shadow { shape: Shape::Bucket(allowance(1, 1, 1).bucket), cost: CostRule::default() }
}

impl Flat {
    /// A hierarchy with nothing in it, whose default row is 99.
    fn new() -> Self {
        let default = rate(99, Sharing::Private, 5, 5);
        Self { tenants: vec![], upstreams: vec![], routes: vec![], default }
    }

    fn with_tenant(mut self, number: u128, parent: Option<u128>, rows: Vec<LimitRow>) -> Self {
        self.tenants.push(FlatTenant { id: id(number), parent: parent.map(id), rows });
        self
    }

    fn with_upstream(
        mut self,
        number: u128,
        owner: u128,
        alias: &'static str,
        rows: Vec<LimitRow>,
    ) -> Self {
        self.upstreams.push(FlatUpstream { id: id(number), owner: id(owner), alias, rows });
        self
    }

    fn with_route(mut self, number: u128, upstream: u128, rows: Vec<LimitRow>) -> Self {
        self.routes.push(FlatRoute { id: id(number), upstream: id(upstream), rows });
        self
    }

    /// Every record of the hierarchy.
    fn owners(&self) -> Vec<RowOwner> {
        let tenants = self.tenants.iter().map(|it| RowOwner::Tenant(it.id));
        let upstreams = self.upstreams.iter().map(|it| RowOwner::Upstream(it.id));
        let routes = self.routes.iter().map(|it| RowOwner::Route(it.id));
        tenants.chain(upstreams).chain(routes).collect()
    }

    /// The hierarchy before a record was written: without it if nothing needs it, else without its
    /// rows.
    fn without(&self, owner: RowOwner) -> Self {
        let mut left = self.clone();
        match owner {
            RowOwner::Tenant(id) => {
                let is_used = left.tenants.iter().any(|it| it.parent == Some(id))
                    || left.upstreams.iter().any(|it| it.owner == id);
                left.tenants.retain(|it| it.id != id || is_used);
                left.tenants.iter_mut().filter(|it| it.id == id).for_each(|it| it.rows.clear());
            }
            RowOwner::Upstream(id) => {
                left.upstreams.retain(|it| it.id != id);
                left.routes.retain(|it| it.upstream != id);
            }
            RowOwner::Route(id) => left.routes.retain(|it| it.id != id),
        }
        left
    }
}
