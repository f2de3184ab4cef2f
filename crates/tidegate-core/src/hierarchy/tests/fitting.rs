//! What does not fit one decision is refused when it is written, and nothing else is.

use proptest::prelude::*;

use super::trees::{Bias, trees};
use super::*;
use crate::charge::MAX_LIMITS;

impl Flat {
    /// Whether any request could meet too many rows: of every tenant, to every upstream that it or a
    /// tenant above it owns, hidden or not, on every route and on none.
    fn is_overfull(&self) -> bool {
        let callers = self.tenants.iter().filter(|it| self.depth(it.id) <= MAX_DEPTH);
        let mut pairs = callers.flat_map(|caller| {
            let above = |it: &&FlatUpstream| self.steps(it.owner, caller.id).is_some();
            self.upstreams.iter().filter(above).map(move |upstream| (caller, upstream))
        });
        pairs.any(|(caller, upstream)| {
            let routes = self.routes.iter().filter(|it| it.upstream == upstream.id);
            let mut routes: Vec<&[LimitRow]> = routes.map(|it| it.rows.as_slice()).collect();
            routes.push(&[]);
            routes.iter().any(|route| {
                let met = |kind| self.count(caller, upstream, route, kind);
                met(RowKind::Rate) > 6 || met(RowKind::Budget) > 2 || met(RowKind::Shadow) > 2
            })
        })
    }

    fn count(
        &self,
        caller: &FlatTenant,
        upstream: &FlatUpstream,
        route: &[LimitRow],
        kind: RowKind,
    ) -> usize {
        let of = |rows: &[LimitRow], sharing: Option<Sharing>| {
            let is = |row: &&LimitRow| sharing.is_none_or(|sharing| row.sharing == sharing);
            rows.iter().filter(|row| row.kind() == kind).filter(is).count()
        };
        let above: Vec<_> =
            self.tenants.iter().filter(|it| self.is_above(it.id, caller.id)).collect();
        let enforced: usize = above.iter().map(|it| of(&it.rows, Some(Sharing::Enforce))).sum();
        let inherits = above.iter().any(|it| of(&it.rows, Some(Sharing::Inherit)) > 0);
        let own = usize::from(of(&caller.rows, None) > 0 || inherits);
        let hidden = |it: &&FlatUpstream| {
            it.alias == upstream.alias && self.is_above(it.owner, upstream.owner)
        };
        let hidden = self.upstreams.iter().filter(hidden);
        let shadowed: usize = hidden.map(|it| of(&it.rows, Some(Sharing::Enforce))).sum();
        let beside =
            if kind == RowKind::Rate { 0 } else { of(&upstream.rows, None) + of(route, None) };
        own + enforced + shadowed + beside
    }

    fn is_shallow(&self) -> bool {
        self.tenants.iter().all(|it| self.depth(it.id) <= MAX_DEPTH)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, max_global_rejects: 60_000, ..ProptestConfig::default() })]

    /// A hierarchy that fits, and one more record: the check refuses it if and only if it is too much.
    #[test]
    fn a_write_is_refused_exactly_if_some_request_could_meet_too_much(
        tree in trees(Bias::Full), pick: proptest::sample::Index,
    ) {
        let written = *pick.get(&tree.owners());
        prop_assume!(tree.is_shallow() && !tree.without(written).is_overfull());
        let checked = check_fit(&tree, written);
        prop_assert_eq!(checked.is_err(), tree.is_overfull(), "{:?}", checked);
        if let Err(Misfit::TooManyRows { most, rows, .. }) = checked {
            prop_assert!(rows.len() > most);
        }
    }

    /// What fits is never too much for a request, and still fits when any record of it is deleted.
    #[test]
    fn what_was_accepted_has_an_answer_for_every_request_and_every_deletion(
        tree in trees(Bias::Full),
    ) {
        let fits = tree.owners().into_iter().all(|owner| check_fit(&tree, owner).is_ok());
        prop_assert_eq!(fits, tree.is_shallow() && !tree.is_overfull());
        prop_assume!(fits);
        for (tenant, route) in
            tree.tenants.iter().flat_map(|it| tree.routes.iter().map(move |route| (it, route)))
        {
            match charges(&tree, tenant.id, route.id) {
                Ok(charged) => prop_assert!(charged.rows.len() <= MAX_LIMITS),
                Err(error) => {
                    let is_far = matches!(error, HierarchyError::OutOfReach { .. });
                    prop_assert!(is_far, "{}", error);
                }
            }
        }
        for owner in tree.owners() {
            prop_assert!(!tree.without(owner).is_overfull(), "{:?}", owner);
        }
    }

    /// A tenant deeper than the bound is refused, and no other is.
    #[test]
    fn what_is_too_deep_is_refused(tree in trees(Bias::Full)) {
        for tenant in &tree.tenants {
            let found = check_fit(&tree, RowOwner::Tenant(tenant.id));
            let is_deep =
                matches!(found, Err(Misfit::Broken(HierarchyError::TooDeep(_))));
            let deepest = tree.tenants.iter().filter(|it| tree.steps(tenant.id, it.id).is_some());
            let is_over = deepest.map(|it| tree.depth(it.id)).any(|depth| depth > MAX_DEPTH);
            prop_assert!(is_deep == is_over || (is_over && found.is_err()), "{:?}", found);
        }
    }
}

/// Six tenants in a line that all enforce, and an upstream at the bottom.
fn line() -> Flat {
    (0..6_u128).fold(Flat::new(), |tree, number| {
        let parent = number.checked_sub(1);
        tree.with_tenant(number, parent, vec![rate(10 + number, Sharing::Enforce, 9, 9)])
    })
}

#[test]
fn six_tenants_that_enforce_fit_and_a_shadowed_upstream_beside_them_does_not() {
    let tree = line().with_upstream(20, 5, "search", vec![rate(21, Sharing::Private, 1, 1)]);
    let tree = tree.with_route(30, 20, vec![rate(31, Sharing::Private, 1, 1)]);
    for owner in tree.owners() {
        assert_eq!(check_fit(&tree, owner), Ok(()));
    }
    assert_eq!(charges(&tree, id(5), id(30)).unwrap().rows.len(), 8);

    let tree = tree.with_upstream(22, 0, "search", vec![rate(23, Sharing::Enforce, 1, 1)]);
    let rows: Vec<RowId> = [15, 14, 13, 12, 11, 10, 23].map(id).into();
    let refused = Misfit::TooManyRows { kind: RowKind::Rate, most: 6, caller: id(5), rows };
    assert_eq!(check_fit(&tree, RowOwner::Upstream(id(22))), Err(refused.clone()));
    assert_eq!(check_fit(&tree, RowOwner::Tenant(id(5))), Err(refused.clone()));
    let text = refused.to_string();
    assert!(text.contains("could meet 7 rows of tenants and of upstreams above, of which 6 fit"));
    assert!(text.contains(&id(23).to_string()), "{text}");
}

#[test]
fn a_seventh_level_is_refused() {
    let tree = line().with_tenant(6, Some(5), vec![]);
    let too_deep = HierarchyError::TooDeep(id(6));
    assert_eq!(check_fit(&tree, RowOwner::Tenant(id(6))), Err(too_deep.into()));
    let cycle = Flat::new().with_tenant(1, Some(2), vec![]).with_tenant(2, Some(1), vec![]);
    let too_deep = HierarchyError::TooDeep(id(1));
    assert_eq!(check_fit(&cycle, RowOwner::Tenant(id(1))), Err(too_deep.into()));
    assert_eq!(never_passing(&cycle, RowOwner::Tenant(id(1))), Err(too_deep));
}

#[test]
fn a_third_budget_is_refused_wherever_it_is_written() {
    let of = |number, sharing| row(number, sharing, budget());
    let tree = Flat::new()
        .with_tenant(1, None, vec![of(11, Sharing::Enforce)])
        .with_tenant(2, Some(1), vec![])
        .with_upstream(20, 1, "search", vec![of(21, Sharing::Private)])
        .with_route(30, 20, vec![]);
    assert!(tree.owners().into_iter().all(|owner| check_fit(&tree, owner).is_ok()));

    let mut by_route = tree.clone();
    by_route.routes[0].rows.push(of(31, Sharing::Private));
    let mut by_tenant = tree;
    by_tenant.tenants[1].rows.push(of(12, Sharing::Private));
    let cases = [
        (by_route, RowOwner::Route(id(30)), id(1), [11, 21, 31]),
        (by_tenant, RowOwner::Tenant(id(2)), id(2), [12, 11, 21]),
    ];
    for (tree, written, caller, rows) in cases {
        let rows = rows.map(id).into();
        let refused = Misfit::TooManyRows { kind: RowKind::Budget, most: 2, caller, rows };
        assert_eq!(check_fit(&tree, written), Err(refused));
    }
}

#[test]
fn two_rows_of_one_kind_on_one_record_are_refused() {
    let twice = vec![rate(11, Sharing::Private, 1, 1), row(12, Sharing::Private, Terms::Unlimited)];
    let tree = Flat::new().with_tenant(1, None, twice.clone());
    let tree = tree.with_upstream(20, 1, "search", twice.clone()).with_route(30, 20, twice);
    for owner in tree.owners() {
        let doubled = Misfit::Doubled { first: id(11), second: id(12) };
        assert_eq!(check_fit(&tree, owner), Err(doubled));
    }
}
