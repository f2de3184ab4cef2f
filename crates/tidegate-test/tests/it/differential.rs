//! P95 and P96: every store gives the answers of the slow model, whatever happens.

use proptest::prelude::*;
use tidegate_test::drive::PlainDecision;
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::trace::{Who, answers, traces, with_reloads};

use crate::{cases, memory};

/// The first answer that differs, if any.
pub(crate) fn same(
    left: &[(Who, PlainDecision)],
    right: &[(Who, PlainDecision)],
) -> Result<(), TestCaseError> {
    prop_assert_eq!(left.len(), right.len());
    for (index, (left, right)) in left.iter().zip(right).enumerate() {
        prop_assert_eq!(left, right, "answer {}", index);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn p96_the_rules_agree_with_the_model(trace in traces(40)) {
        same(&answers(&trace, PlainStore::new), &answers(&trace, ModelStore::new))?;
    }

    #[test]
    fn p96_the_rules_agree_with_the_model_across_reloads(trace in with_reloads(50)) {
        same(&answers(&trace, PlainStore::new), &answers(&trace, ModelStore::new))?;
    }

    #[test]
    fn p96_the_memory_agrees_with_the_model(trace in traces(40)) {
        same(&answers(&trace, memory::roomy), &answers(&trace, ModelStore::born_now))?;
    }

    #[test]
    fn p96_the_memory_agrees_with_the_model_across_reloads(trace in with_reloads(50)) {
        same(&answers(&trace, memory::roomy), &answers(&trace, ModelStore::born_now))?;
    }
}
