//! The limits that rows of a hierarchy are charged as.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use proptest::prelude::*;

use super::trees::{Bias, trees};
use super::*;
use crate::{
    Bundle, Case, Digests, FailureMode, KeyNames, Name, PolicySet, PolicySpec, Protects, Subject,
};

fn stance() -> PolicySet {
    let name = Name::try_new("calls").unwrap();
    let stance = PolicySpec::stance(name, FailureMode::Degraded).protecting(Protects::Outbound);
    PolicySet::builder().policy(stance).build(None).unwrap()
}

/// The names of the counters that a request of this tenant is charged on, in the order of the rows.
fn keys(charged: &Charged<'_>, caller: RowId, user: &str, ip: [u8; 4]) -> Vec<String> {
    let tag: Arc<str> = charged.top.to_string().into();
    let limits = charged.rows.iter().map(|row| Arc::new(row.limit(&tag).unwrap()));
    let bundle = Bundle::try_new(limits.collect()).unwrap();
    let (set, tenant) = (stance(), caller.to_string());
    let subject = Subject::new().org(&tenant).user(user).ip(IpAddr::from(ip));
    let mut case = Case::over(set.get("calls").unwrap(), &bundle, &subject);
    case.resolve(&Digests::new([1, 2]));
    let (batch, names) = (case.batch(), KeyNames::new(&[7; 32]));
    batch.charges().iter().map(|charge| names.text(&batch.key(charge))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Two requests meet on a counter of a row exactly if the rule says so; and the limit of a row is the
    /// same whoever calls, so that those who share a counter agree on its size.
    #[test]
    fn g6_a_counter_is_shared_by_those_who_are_to_share_it(tree in trees(Bias::Any)) {
        let (mut counters, mut limits) = (HashMap::new(), HashMap::new());
        for (tenant, route) in tree.tenants.iter().flat_map(|tenant| {
            tree.routes.iter().map(move |route| (tenant, route))
        }) {
            let Ok(charged) = charges(&tree, tenant.id, route.id) else { continue };
            if charged.rows.is_empty() {
                continue;
            }
            for (user, ip) in [("ann", [10, 0, 0, 1]), ("bob", [10, 0, 0, 2])] {
                let keys = keys(&charged, tenant.id, user, ip);
                prop_assert_eq!(keys.len(), charged.rows.len(), "every row applies");
                for (key, row) in keys.into_iter().zip(&charged.rows) {
                    let by = row.counter.by.map(|by| (by, user));
                    let whose = (row.row.id, row.counter.tenant, by);
                    let first = *counters.entry(key.clone()).or_insert(whose);
                    prop_assert_eq!(first.0, whose.0, "a key belongs to one row: {}", key);
                    // The owner of a row that others inherit has it alone, whether or not it is pinned.
                    let is_own = row.charged_as == ChargedAs::Own;
                    prop_assert!(is_own || first == whose, "{:?} and {:?}: {}", first, whose, key);
                    let other = limits.entry(row.row.id).or_insert_with(|| shown(row));
                    prop_assert_eq!(&shown(row), other);
                }
            }
        }
    }
}

/// What a row's limit looks like to whoever is charged on it.
fn shown(row: &ChargedRow<'_>) -> String {
    let limit = row.limit(&"top".into()).unwrap();
    format!("{} {:?} {:?} {:?}", limit.key_form(), limit.shape(), limit.cost(), limit.overflow())
}

#[test]
fn the_limit_of_a_row_has_its_numbers_its_scope_and_what_happens_past_it() {
    let mut tenant = rate(1, Sharing::Inherit, 10, 20);
    tenant.overflow = Overflow::Queue;
    let route = rate(3, Sharing::Private, 50, 5);
    let tree = Flat::new()
        .with_tenant(10, None, vec![tenant, row(2, Sharing::Private, shadow())])
        .with_tenant(11, Some(10), vec![])
        .with_upstream(20, 10, "api", vec![row(4, Sharing::Private, budget())])
        .with_route(30, 20, vec![route]);
    let charged = charges(&tree, id(11), id(30)).unwrap();
    let limits: Vec<_> = charged.rows.iter().map(|it| it.limit(&"top".into()).unwrap()).collect();
    let told: Vec<_> = limits
        .iter()
        .map(|it| {
            let form = it.key_form();
            let form = form.split(":row:").next().unwrap().to_owned();
            (it.name().to_string(), form, it.shape().capacity(), it.overflow(), it.is_shadow())
        })
        .collect();
    let told: Vec<_> = told
        .iter()
        .map(|(name, form, capacity, overflow, shadow)| {
            (name.as_str(), form.as_str(), *capacity, *overflow, *shadow)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("route", "rl:{top}", 5, Overflow::Reject, false),
            ("tenant", "rl:{top}:org", 20, Overflow::Queue, false),
            ("upstream", "rq:{top}", 100, Overflow::Reject, false),
        ],
        "the shadow of the parent is private, and an inherited row counts each tenant by itself"
    );
    assert!(limits.iter().all(crate::Limit::settles), "what is not used can be given back");
}
