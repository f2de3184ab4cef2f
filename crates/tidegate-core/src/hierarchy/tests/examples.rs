//! Small hierarchies with what is charged in them, written out.

use core::cell::Cell;

use super::*;
use crate::subject::Dimension;

/// Rows charged: id, part of the rule, tokens per second, burst, tenant of the counter.
type Table = Vec<(u128, ChargedAs, u64, u64, Option<u128>)>;

fn table(tree: &Flat, caller: u128, route: u128) -> Table {
    let charged = charges(tree, id(caller), id(route)).unwrap();
    let row = |it: &ChargedRow<'_>| {
        let bucket = it.numbers.unwrap().allowance.bucket;
        let tenant = it.counter.tenant.map(RowId::to_u128);
        (it.row.id.to_u128(), it.charged_as, bucket.rate().tokens(), bucket.burst(), tenant)
    };
    charged.rows.iter().map(row).collect()
}

/// Tenant 1 above 2 and 3; tenant 1 has an upstream with a route, and neither has a row.
fn family(top: Vec<LimitRow>, second: Vec<LimitRow>) -> Flat {
    Flat::new()
        .with_tenant(1, None, top)
        .with_tenant(2, Some(1), second)
        .with_tenant(3, Some(1), vec![])
        .with_upstream(20, 1, "search", vec![])
        .with_route(30, 20, vec![])
}

#[test]
fn g6_sharing_decides_what_is_charged_below() {
    use ChargedAs::{Default, Enforced, Inherited, Own};
    use Sharing::{Enforce, Inherit, Private};
    // (sharing of tenant 1 at 10/s and 100, whether tenant 2 has a row of 50/s and 50) → charged for 2.
    let cases: [(Sharing, bool, Table); 6] = [
        (Private, false, vec![(99, Default, 5, 5, None)]),
        (Private, true, vec![(12, Own, 50, 50, None)]),
        (Inherit, false, vec![(11, Inherited, 10, 100, Some(2))]),
        (Inherit, true, vec![(12, Own, 10, 50, None)]),
        (Enforce, false, vec![(11, Enforced, 10, 100, None)]),
        (Enforce, true, vec![(12, Own, 10, 50, None), (11, Enforced, 10, 100, None)]),
    ];
    for (sharing, has_own, expected) in cases {
        let own = has_own.then(|| rate(12, Private, 50, 50));
        let tree = family(vec![rate(11, sharing, 10, 100)], own.into_iter().collect());
        assert_eq!(table(&tree, 2, 30), expected, "{sharing:?}, own row: {has_own}");
        // The tenant itself meets its row, whatever its sharing.
        assert_eq!(table(&tree, 1, 30), [(11, Own, 10, 100, None)], "{sharing:?}");
    }
}

#[test]
fn g6_route_upstream_and_tenants_are_merged_downwards_only() {
    use ChargedAs::{Enforced, Route, Upstream};
    let mut tree = family(vec![rate(11, Sharing::Enforce, 100, 20)], vec![]);
    tree.upstreams[0].rows = vec![rate(21, Sharing::Private, 50, 30)];
    tree.routes[0].rows = vec![rate(31, Sharing::Private, 80, 40)];
    let expected: Table = vec![
        (31, Route, 50, 20, None),
        (21, Upstream, 50, 20, None),
        (11, Enforced, 100, 20, None),
    ];
    assert_eq!(table(&tree, 3, 30), expected);

    let charged = charges(&tree, id(3), id(30)).unwrap();
    let provenance: Vec<Provenance> =
        charged.rows.iter().filter_map(|it| Some(it.numbers?.provenance)).collect();
    let of = |rate, burst, cost| Provenance { rate: id(rate), burst: id(burst), cost: id(cost) };
    // All cost the same, so the most specific row is named for that.
    assert_eq!(provenance, [of(21, 11, 31), of(21, 11, 21), of(11, 11, 11)]);
    assert_eq!(charged.top, id(1));
}

#[test]
fn g6_an_inherited_row_has_a_counter_for_each_tenant() {
    let scopes = [
        (RowScope::Global, Some(3), None),
        (RowScope::Tenant, Some(3), None),
        (RowScope::User, Some(3), Some(Dimension::User)),
        (RowScope::Ip, Some(3), Some(Dimension::Ip)),
    ];
    for (scope, tenant, by) in scopes {
        let row = LimitRow { scope, ..rate(11, Sharing::Inherit, 10, 10) };
        let tree = family(vec![row], vec![]);
        let charged = charges(&tree, id(3), id(30)).unwrap();
        assert_eq!(charged.rows[0].counter, Pinned { tenant: tenant.map(id), by }, "{scope:?}");
    }
    // The owner of the row, and a row that enforces, are counted as it is written.
    let row = LimitRow { scope: RowScope::Ip, ..rate(11, Sharing::Enforce, 10, 10) };
    let tree = family(vec![row], vec![]);
    let charged = charges(&tree, id(3), id(30)).unwrap();
    assert_eq!(charged.rows[0].counter, Pinned { tenant: None, by: Some(Dimension::Ip) });
}

#[test]
fn g6_an_alias_that_is_shadowed_still_enforces() {
    use ChargedAs::{Shadowed, Upstream};
    for (sharing, enforces) in
        [(Sharing::Private, false), (Sharing::Inherit, false), (Sharing::Enforce, true)]
    {
        let mut tree = family(vec![], vec![])
            .with_upstream(22, 2, "search", vec![rate(23, Sharing::Private, 900, 900)])
            .with_route(32, 22, vec![])
            .with_upstream(24, 2, "other", vec![rate(25, Sharing::Private, 7, 7)])
            .with_route(34, 24, vec![]);
        tree.upstreams[0].rows = vec![rate(21, sharing, 10, 10)];
        let mut expected: Table = vec![(23, Upstream, 900, 900, None)];
        expected.extend(enforces.then_some((21, Shadowed, 10, 10, None)));
        assert_eq!(table(&tree, 2, 32), expected, "{sharing:?}");
        assert_eq!(table(&tree, 2, 34), [(25, Upstream, 7, 7, None)], "another alias");
        assert_eq!(table(&tree, 3, 30), [(21, Upstream, 10, 10, None)], "not shadowed");

        // By its alias tenant 2 means its own upstream, and does not get to the one above.
        let meant = |tenant| upstream_for(&tree, id(tenant), "search").unwrap().unwrap().id;
        assert_eq!([meant(1), meant(2), meant(3)], [20, 22, 20].map(id));
        let out_of_reach = HierarchyError::OutOfReach { caller: id(2), route: id(30) };
        assert_eq!(charges(&tree, id(2), id(30)), Err(out_of_reach));
    }
}

#[test]
fn g6_the_nearest_row_to_inherit_counts_and_all_that_enforce() {
    use ChargedAs::{Enforced, Inherited};
    let tree = Flat::new()
        .with_tenant(1, None, vec![rate(11, Sharing::Enforce, 1_000, 10)])
        .with_tenant(2, Some(1), vec![rate(12, Sharing::Inherit, 30, 300)])
        .with_tenant(3, Some(2), vec![rate(13, Sharing::Inherit, 40, 400)])
        .with_tenant(4, Some(3), vec![rate(14, Sharing::Enforce, 50, 500)])
        .with_tenant(5, Some(4), vec![rate(15, Sharing::Private, 1, 1)])
        .with_tenant(6, Some(5), vec![])
        .with_upstream(20, 1, "search", vec![])
        .with_route(30, 20, vec![]);
    let expected: Table = vec![
        (13, Inherited, 30, 10, Some(6)),
        (14, Enforced, 30, 10, None),
        (11, Enforced, 1_000, 10, None),
    ];
    assert_eq!(table(&tree, 6, 30), expected);
}

#[test]
fn the_default_row_stays_away_only_if_somebody_says_unlimited() {
    use ChargedAs::{Default, Own};
    let unlimited = || vec![row(12, Sharing::Private, Terms::Unlimited)];
    assert_eq!(table(&family(vec![], vec![]), 2, 30), [(99, Default, 5, 5, None)]);
    assert_eq!(table(&family(vec![], unlimited()), 2, 30), []);
    assert_eq!(table(&family(vec![], unlimited()), 3, 30), [(99, Default, 5, 5, None)]);

    // Unlimited loosens nothing: below numbers that are shared it runs at these.
    let tree = family(vec![rate(11, Sharing::Inherit, 10, 10)], unlimited());
    assert_eq!(table(&tree, 2, 30), [(12, Own, 10, 10, None)]);

    // A shadow limits nobody; a budget is a limit.
    let kinds = |terms: Terms| {
        let tree = family(vec![], vec![row(12, Sharing::Private, terms)]);
        let charged = charges(&tree, id(2), id(30)).unwrap();
        charged.rows.iter().map(|it| it.charged_as).collect::<Vec<_>>()
    };
    assert_eq!(kinds(shadow()), [Own, Default]);
    assert_eq!(kinds(budget()), [Own]);
}

#[test]
fn budgets_and_shadows_go_by_the_same_rule_and_are_not_merged() {
    let top = vec![
        rate(11, Sharing::Private, 1, 1),
        row(12, Sharing::Inherit, budget()),
        row(13, Sharing::Enforce, shadow()),
    ];
    let tree = family(top, vec![rate(14, Sharing::Private, 8, 8)]);
    let charged = charges(&tree, id(2), id(30)).unwrap();
    let rows: Vec<_> = charged
        .rows
        .iter()
        .map(|it| (it.row.id.to_u128(), it.charged_as, it.numbers.is_some(), it.counter.tenant))
        .collect();
    let expected = [
        (14, ChargedAs::Own, true, None),
        (12, ChargedAs::Inherited, false, Some(id(2))),
        (13, ChargedAs::Enforced, false, None),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_merged_cost_above_the_merged_burst_is_a_warning_that_names_both_rows() {
    let cheap = rate(11, Sharing::Enforce, 10, 3);
    let dear = row(31, Sharing::Private, Terms::Rate(allowance(10, 100, 4)));
    let mut tree = family(vec![cheap], vec![]);
    tree.routes[0].rows = vec![dear];
    assert_eq!(check_fit(&tree, RowOwner::Tenant(id(1))), Ok(()));
    for changed in tree.owners() {
        let warned = never_passing(&tree, changed).unwrap();
        let touches_route = !matches!(changed, RowOwner::Tenant(tenant) if tenant != id(1));
        assert_eq!(warned.len(), usize::from(touches_route), "{changed:?}");
        for warning in warned {
            let provenance = warning.numbers.provenance;
            assert_eq!((warning.row, provenance.cost), (id(31), id(31)));
            assert_eq!(provenance.burst, id(11));
        }
    }
    // A cost of just the burst passes.
    tree.routes[0].rows = vec![row(31, Sharing::Private, Terms::Rate(allowance(10, 100, 3)))];
    assert_eq!(never_passing(&tree, RowOwner::Route(id(30))), Ok(vec![]));
}

#[test]
fn the_row_behind_the_cost_is_the_one_that_says_it_or_has_its_units() {
    let cost = |rule: fn(Cost) -> CostRule, units| Allowance {
        cost: rule(Cost::try_new(units).unwrap()),
        ..allowance(1, 1, 1)
    };
    let (request, unit) = (CostRule::PerRequest, CostRule::PerUnit);
    let cases = [
        ([cost(request, 5), cost(request, 5)], 0),
        ([cost(request, 5), cost(unit, 5)], 1),
        ([cost(request, 5), cost(unit, 1)], 0),
        ([cost(unit, 1), cost(request, 5)], 1),
        ([cost(unit, 1), cost(request, 1)], 0),
    ];
    for ([a, b], expected) in cases {
        let merged = Effective::merge(&[(id(0), a), (id(1), b)]).unwrap();
        assert_eq!(merged.provenance.cost, id(expected), "{a:?} {b:?}");
    }
    assert_eq!(Effective::merge(&[]), None);
}

#[test]
fn what_is_not_there_is_named() {
    let tree = family(vec![], vec![]).with_route(31, 29, vec![]).with_tenant(4, Some(9), vec![]);
    let cases = [
        (2, 39, HierarchyError::NoRoute(id(39))),
        (2, 31, HierarchyError::NoUpstream(id(29))),
        (8, 30, HierarchyError::NoTenant(id(8))),
        (4, 30, HierarchyError::NoTenant(id(9))),
    ];
    for (caller, route, error) in cases {
        assert_eq!(charges(&tree, id(caller), id(route)), Err(error));
    }
}

/// A hierarchy that counts how often it is asked.
struct Asked(Flat, Cell<usize>);

impl Asked {
    fn flat(&self) -> &Flat {
        self.1.set(self.1.get() + 1);
        &self.0
    }
}

impl Hierarchy for Asked {
    fn tenant(&self, id: RowId) -> Option<TenantView<'_>> {
        self.flat().tenant(id)
    }

    fn upstream(&self, id: RowId) -> Option<UpstreamView<'_>> {
        self.flat().upstream(id)
    }

    fn route(&self, id: RowId) -> Option<RouteView<'_>> {
        self.flat().route(id)
    }

    fn upstream_of(&self, tenant: RowId, alias: &str) -> Option<UpstreamView<'_>> {
        self.flat().upstream_of(tenant, alias)
    }

    fn default_row(&self) -> &LimitRow {
        &self.0.default
    }
}

#[test]
fn a_request_asks_twice_for_each_tenant_however_many_routes_there_are() {
    let asked = |levels: u128, routes: u128| {
        let tree = (0..levels).fold(Flat::new(), |tree, number| {
            let rows = vec![rate(10 + number, Sharing::Enforce, 9, 9)];
            tree.with_tenant(number, number.checked_sub(1), rows)
        });
        let tree = tree.with_upstream(20, 0, "search", vec![]);
        let tree =
            (0..routes).fold(tree, |tree, number| tree.with_route(1_000 + number, 20, vec![]));
        let tree = Asked(tree, Cell::new(0));
        charges(&tree, id(levels - 1), id(1_000)).unwrap();
        tree.1.get()
    };
    assert_eq!([asked(1, 1), asked(3, 1), asked(6, 1)], [4, 8, 14]);
    assert_eq!(asked(6, 100_000), 14);
}
