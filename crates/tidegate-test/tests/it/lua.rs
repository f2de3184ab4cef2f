//! P96: the production scripts, told the time, give the answers of the model and of the rules.

use std::sync::Arc;

use proptest::prelude::*;
use tidegate_core::ManualClock;
use tidegate_stores::redis::RedisStore;
use tidegate_test::lua::{Expired, secret, store};
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::trace::{answers, traces, with_reloads};

use crate::cases;
use crate::differential::same;

/// On a server, whose keys are gone when their time is over.
pub(crate) fn serving(clock: Arc<ManualClock>) -> RedisStore {
    store(clock, Expired::Gone, false)
}

/// On a server that forgets nothing: for clocks that are set back.
fn remembering(clock: Arc<ManualClock>) -> RedisStore {
    store(clock, Expired::Stays, false)
}

/// The rules, by the names of counters.
fn by_name(clock: Arc<ManualClock>) -> PlainStore<Arc<ManualClock>> {
    PlainStore::by_name(clock, secret().names())
}

proptest! {
    #![proptest_config(cases(25_000))]

    #[test]
    fn p96_the_scripts_agree_with_the_model(trace in traces(12)) {
        let trace = trace.forward();
        same(&answers(&trace, serving), &answers(&trace, ModelStore::new))?;
    }

    #[test]
    fn p96_the_scripts_agree_with_the_rules_over_longer_traces(trace in traces(30)) {
        let trace = trace.forward();
        same(&answers(&trace, serving), &answers(&trace, by_name))?;
    }

    #[test]
    fn p59_p96_the_scripts_agree_with_the_rules_when_clocks_are_set_back(trace in traces(16)) {
        same(&answers(&trace, remembering), &answers(&trace, by_name))?;
    }

    #[test]
    fn p96_the_scripts_agree_with_the_rules_across_reloads(trace in with_reloads(20)) {
        same(&answers(&trace, remembering), &answers(&trace, by_name))?;
    }
}

#[test]
fn vectors_of_limits_hold_by_the_scripts() {
    crate::vectors::holds(serving);
}
