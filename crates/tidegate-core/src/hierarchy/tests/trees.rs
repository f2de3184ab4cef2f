//! Hierarchies made at random, small and with many ties.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// How many of the rows and tenants enforce and stand in one line.
#[derive(Clone, Copy)]
pub(super) enum Bias {
    /// Trees of all forms.
    Any,
    /// Long chains in which most rows enforce, so that decisions get full.
    Full,
}

/// The rows of one record, before they have ids.
type Written = Vec<(Terms, Sharing, RowScope, Overflow)>;

pub(super) fn allowances() -> impl Strategy<Value = Allowance> {
    let per = prop_oneof![Just(Span::SECOND), Just(Span::from_secs(2)), Just(Span::MINUTE)];
    let rate = (prop_oneof![1..4_u64, Just(60_u64)], per);
    // Mostly cheap and roomy: of many rows merged, the dearest and the smallest count.
    let cost = (any::<bool>(), prop_oneof![6 => Just(1_u64), 1 => 1..4_u64]);
    let burst = prop_oneof![1 => 1..7_u64, 3 => 4..12_u64];
    (rate, burst, cost).prop_map(|((tokens, per), burst, (by_weight, units))| {
        let bucket = Bucket::try_new(Rate::try_new(tokens, per).unwrap(), burst).unwrap();
        let units = Cost::try_new(units).unwrap();
        let cost = if by_weight { CostRule::PerUnit(units) } else { CostRule::PerRequest(units) };
        Allowance { bucket, cost }
    })
}

fn written(bias: Bias) -> impl Strategy<Value = Written> {
    let (often, enforce) = match bias {
        Bias::Any => (0.5, 1),
        Bias::Full => (0.8, 8),
    };
    let rest = move || {
        let sharing = prop_oneof![
            1 => Just(Sharing::Private),
            1 => Just(Sharing::Inherit),
            enforce => Just(Sharing::Enforce),
        ];
        let scope = prop_oneof![
            Just(RowScope::Global),
            Just(RowScope::Tenant),
            Just(RowScope::User),
            Just(RowScope::Ip),
        ];
        let overflow =
            prop_oneof![Just(Overflow::Reject), Just(Overflow::Queue), Just(Overflow::Degrade)];
        (sharing, scope, overflow)
    };
    let rate = prop_oneof![8 => allowances().prop_map(Terms::Rate), 1 => Just(Terms::Unlimited)];
    let rate = proptest::option::weighted(often, (rate, rest()));
    let budget = proptest::option::weighted(0.15, (Just(budget()), rest()));
    let shadow = proptest::option::weighted(0.15, (Just(shadow()), rest()));
    (shadow, rate, budget).prop_map(|(shadow, rate, budget)| {
        let rows = [shadow, rate, budget].into_iter().flatten();
        rows.map(|(terms, (sharing, scope, overflow))| (terms, sharing, scope, overflow)).collect()
    })
}

/// A hierarchy in which no id occurs twice and no tenant has an alias twice. It may be too deep.
pub(super) fn trees(bias: Bias) -> impl Strategy<Value = Flat> {
    let in_line = match bias {
        Bias::Any => 0.5,
        Bias::Full => 0.95,
    };
    let parent = (proptest::bool::weighted(in_line), proptest::option::weighted(0.9, 0..7_usize));
    let tenants = vec((parent, written(bias)), 1..9);
    let upstreams = vec((0..9_usize, prop_oneof![Just("a"), Just("b")], written(bias)), 1..7);
    let routes = vec((0..7_usize, written(bias)), 1..5);
    let default = prop_oneof![
        4 => allowances().prop_map(Terms::Rate),
        1 => Just(Terms::Unlimited),
    ];
    (tenants, upstreams, routes, default).prop_map(|(tenants, upstreams, routes, default)| {
        let mut numbers = 10_000_u128..;
        let mut rows = |written: Written| -> Vec<LimitRow> {
            let row = |(terms, sharing, scope, overflow)| {
                let id = id(numbers.next().unwrap());
                LimitRow { id, terms, sharing, scope, overflow }
            };
            written.into_iter().map(row).collect()
        };
        let mut tree = Flat { default: row(99, Sharing::Private, default), ..Flat::new() };
        for (number, ((in_line, parent), written)) in tenants.into_iter().enumerate() {
            let parent = if in_line { number.checked_sub(1) } else { parent };
            let parent = parent.filter(|it| *it < number).map(|it| 100 + it as u128);
            tree = tree.with_tenant(100 + number as u128, parent, rows(written));
        }
        for (number, (owner, alias, written)) in upstreams.into_iter().enumerate() {
            let owner = 100 + (owner % tree.tenants.len()) as u128;
            if tree.upstream_of(id(owner), alias).is_none() {
                tree = tree.with_upstream(200 + number as u128, owner, alias, rows(written));
            }
        }
        for (number, (upstream, written)) in routes.into_iter().enumerate() {
            let upstream = tree.upstreams[upstream % tree.upstreams.len()].id.to_u128();
            tree = tree.with_route(300 + number as u128, upstream, rows(written));
        }
        tree
    })
}
