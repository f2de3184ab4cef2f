//! The rule and the slow model say the same of every request.

use proptest::prelude::*;

use super::model::Says;
use super::trees::{Bias, allowances, trees};
use super::*;

fn said(charged: &Charged<'_>) -> Vec<Says> {
    let row = |it: &ChargedRow<'_>| {
        let numbers = it.numbers.map(|Effective { allowance, provenance }| {
            let Allowance { bucket, cost } = allowance;
            let rows = [provenance.rate, provenance.burst, provenance.cost];
            (bucket.rate().tokens(), bucket.rate().per(), bucket.burst(), cost, rows)
        });
        (it.row.id, it.charged_as, numbers, it.counter)
    };
    let mut rows: Vec<Says> = charged.rows.iter().map(row).collect();
    rows.sort_by_key(|(row, ..)| *row);
    rows
}

fn compare(tree: &Flat) -> Result<(), TestCaseError> {
    for tenant in &tree.tenants {
        for route in &tree.routes {
            let found = charges(tree, tenant.id, route.id);
            if tree.depth(tenant.id) > MAX_DEPTH {
                prop_assert_eq!(found, Err(HierarchyError::TooDeep(tenant.id)));
                continue;
            }
            match tree.says(tenant.id, route) {
                None => {
                    let (caller, route) = (tenant.id, route.id);
                    prop_assert_eq!(found, Err(HierarchyError::OutOfReach { caller, route }));
                }
                Some(expected) if expected.len() > crate::charge::MAX_LIMITS => {
                    let (caller, route) = (tenant.id, route.id);
                    prop_assert_eq!(found, Err(HierarchyError::TooManyRows { caller, route }));
                }
                Some(expected) => prop_assert_eq!(said(&found.unwrap()), expected),
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn g6_what_is_charged_is_what_the_slow_model_charges(tree in trees(Bias::Any)) {
        compare(&tree)?;
    }

    #[test]
    fn g6_in_full_hierarchies_too_the_model_agrees(tree in trees(Bias::Full)) {
        compare(&tree)?;
    }

    /// A row has the same numbers whoever calls, and those are what the record is told.
    #[test]
    fn g6_the_numbers_of_a_row_do_not_depend_on_who_calls(tree in trees(Bias::Any)) {
        let mut seen = std::collections::HashMap::new();
        for (tenant, route) in tree.tenants.iter().flat_map(|tenant| {
            tree.routes.iter().map(move |route| (tenant, route))
        }) {
            let Ok(charged) = charges(&tree, tenant.id, route.id) else { continue };
            for it in &charged.rows {
                let first = *seen.entry(it.row.id).or_insert(it.numbers);
                prop_assert_eq!(first, it.numbers);
            }
        }
        let has = |rows: &[LimitRow], numbers: Option<Effective>| {
            let row = rows.iter().find(|row| row.kind() == RowKind::Rate);
            row.is_none_or(|row| seen.get(&row.id).is_none_or(|seen| *seen == numbers))
        };
        for owner in tree.owners() {
            let Ok(numbers) = effective_for(&tree, owner) else { continue };
            let rows = match owner {
                RowOwner::Tenant(id) => tree.tenant(id).unwrap().rows,
                RowOwner::Upstream(id) => tree.upstream(id).unwrap().rows,
                RowOwner::Route(id) => tree.route(id).unwrap().rows,
            };
            prop_assert!(has(rows, numbers), "{:?}", owner);
        }
    }

    /// Merged numbers are those of `tighten`, and each named row really says what it is named for.
    #[test]
    fn provenance_names_rows_that_say_so(
        numbers in proptest::collection::vec(allowances(), 1..8),
    ) {
        let rows: Vec<_> = (0..).map(id).zip(numbers.clone()).collect();
        let merged = Effective::merge(&rows).unwrap();
        prop_assert_eq!(Some(merged.allowance), numbers.iter().copied().reduce(tighten));
        let of = |row: RowId| rows.iter().find(|it| it.0 == row).unwrap().1;
        prop_assert_eq!(of(merged.provenance.rate).bucket.rate(), merged.allowance.bucket.rate());
        prop_assert_eq!(of(merged.provenance.burst).bucket.burst(), merged.allowance.bucket.burst());
        prop_assert_eq!(of(merged.provenance.cost).cost.factor(), merged.allowance.cost.factor());
    }
}
