//! As many limits as there can be, of every shape: all stores decide alike.

use std::sync::Arc;

use tidegate_core::{Account, Cost, ManualClock, Span, Store, Subject, Verdict};
use tidegate_test::drive::{ChargeOrPeek, PlainDecision, ask};
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::trace::START;
use tidegate_test::twelve::policies;

use crate::{lua, memory};

/// How many requests every limit has room for.
const MOST: u64 = 9;

/// The answers to requests of one organisation, over some hours.
fn answers<S: Store>(
    make: impl Fn(Arc<ManualClock>) -> S,
    is_reversed: bool,
) -> Vec<PlainDecision> {
    let clock = Arc::new(ManualClock::new(START));
    let store = make(Arc::clone(&clock));
    let set = policies(MOST, is_reversed);
    let policy = set.get("twelve").unwrap();
    let mut answers = Vec::new();
    for round in 0..40_u64 {
        let account = format!("a{}", round % 12);
        let account = Account::new(&account);
        let subject = Subject::new().org("acme").account(&account);
        for how in [ChargeOrPeek::Peek, ChargeOrPeek::Charge] {
            answers.extend(ask(&store, policy, &subject, Cost::ONE, how));
        }
        clock.advance(Span::from_secs(if round % 15 == 14 { 9_000 } else { 2 }));
    }
    answers
}

#[test]
fn p96_twelve_limits_of_all_shapes_decide_alike_on_every_store() {
    for is_reversed in [false, true] {
        let expected = answers(ModelStore::born_now, is_reversed);
        assert_eq!(expected.len(), 80);
        assert!(expected.iter().all(|answer| answer.readings.len() == 12));
        let admitted = |answers: &[PlainDecision]| {
            let is_charge = |index: &usize| index % 2 == 1;
            (0..answers.len())
                .filter(is_charge)
                .map(|index| answers[index].verdict == Verdict::Admit)
                .collect::<Vec<bool>>()
        };
        let first: Vec<bool> = admitted(&expected).into_iter().take(12).collect();
        assert_eq!(first, [[true; 9].as_slice(), &[false; 3]].concat());
        assert_eq!(answers(PlainStore::new, is_reversed), expected, "the rules");
        assert_eq!(answers(memory::roomy, is_reversed), expected, "memory");
        assert_eq!(answers(lua::serving, is_reversed), expected, "the scripts");
    }
}
