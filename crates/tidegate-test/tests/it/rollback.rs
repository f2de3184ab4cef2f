//! P90: a clock that goes back admits nothing more, and delays by no more than it went back.

use proptest::prelude::*;
use tidegate_core::{Room, Span, Store};
use tidegate_test::plain::PlainStore;
use tidegate_test::trace::{Trace, traces, walk_new};

use crate::{cases, memory};

/// As far as a trace goes back: less than an hour, the shortest calendar period.
const FURTHEST: u64 = 3_000_000_000;

fn holds<S: Store>(
    trace: &Trace,
    back: u64,
    store: impl FnOnce(std::sync::Arc<tidegate_core::ManualClock>) -> S,
) {
    let start = tidegate_test::trace::START.as_micros();
    walk_new(trace, store, |moment| {
        let back = back.min(moment.answer.decided_at - start);
        let now = moment.after(Span::ZERO);
        let then = moment.before(Span::from_micros(back));
        for ((name, now), (_, then)) in now.readings.iter().zip(&then.readings) {
            // Nothing unblocks early, and there is never more left than there was.
            assert!(then.room >= now.room, "{name}: {now:?}, set back {then:?}");
            assert!(then.remaining <= now.remaining, "{name}: {now:?}, set back {then:?}");
            // There is room when there would have been: the wait is longer by the step.
            match (now.room, then.room) {
                (Room::After(now), Room::After(then)) => {
                    assert_eq!(
                        then.as_micros(),
                        now.as_micros() + back,
                        "{name}: {now:?}, {then:?}"
                    );
                }
                // What had just ended had not yet.
                (Room::Now, Room::After(then)) => {
                    assert!(then.as_micros() <= back, "{name}: {then:?}");
                }
                _ => {}
            }
        }
        assert!(!then.is_admitted() || now.is_admitted());
    });
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn t22_p90_a_rollback_admits_nothing_more_in_memory(
        trace in traces(40), back in 1..FURTHEST,
    ) {
        holds(&trace, back, memory::roomy);
    }

    #[test]
    fn t22_p90_a_rollback_admits_nothing_more_by_the_rules(
        trace in traces(40), back in 1..FURTHEST,
    ) {
        holds(&trace, back, PlainStore::new);
    }
}
