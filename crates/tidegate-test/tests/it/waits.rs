//! P88: a wait that is told is true, to the tick, also where the clock was set back before.

use proptest::prelude::*;
use tidegate_core::{Room, Span, Store, Verdict};
use tidegate_test::drive::ChargeOrPeek;
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::trace::{Moment, Trace, told_wait, traces, walk_new, with_reloads};

use crate::{cases, memory};

const TICK: u64 = 1;

/// A wait longer than this may end beyond the 35 years a store in memory can tell apart.
const LONG: Span = Span::from_secs(20 * 365 * 24 * 3_600);

/// The request of this moment was refused: it is admitted after the told wait, and not a tick
/// earlier.
fn told_truly<S: Store>(moment: &Moment<'_, S>) {
    if moment.how == ChargeOrPeek::Peek || moment.answer.is_admitted() {
        return;
    }
    let enforced = moment.policy.limits.iter().filter(|limit| !limit.shadow);
    let asked = enforced.filter(|limit| limit.counter(&moment.who).is_some());
    let readings: Vec<_> = asked.map(|limit| *moment.answer.of(&limit.name())).collect();
    let Some(told) = told_wait(moment.answer) else {
        assert!(readings.iter().any(|reading| reading.room == Room::Never), "no wait, no reason");
        return;
    };
    assert!(!told.is_zero(), "refused, and told to come back at once: {:?}", moment.answer);
    let longest = readings.iter().map(|reading| reading.wait).max();
    assert_eq!(Some(told), longest, "not the longest of all: {:?}", moment.answer);
    if told > LONG {
        return;
    }
    let early = moment.after(Span::from_micros(told.as_micros() - TICK));
    assert!(!early.is_admitted(), "admitted a tick early: {:?}, {early:?}", moment.answer);
    let then = moment.after(told);
    assert!(then.is_admitted(), "not admitted when told: {:?}, {then:?}", moment.answer);
}

/// Also with what each limit says by itself: there is room after its wait, and not a tick earlier.
fn each_truly<S: Store>(moment: &Moment<'_, S>) {
    for (name, reading) in &moment.answer.readings {
        if moment.how == ChargeOrPeek::Charge || reading.wait.is_zero() || reading.wait > LONG {
            continue;
        }
        let early = moment.after(Span::from_micros(reading.wait.as_micros() - TICK));
        assert_ne!(early.of(name).room, Room::Now, "{name}: {reading:?}");
        assert_eq!(moment.after(reading.wait).of(name).room, Room::Now, "{name}: {reading:?}");
    }
}

/// And when a limit is said to be as if unused, it has its whole capacity again.
fn reset_truly<S: Store>(moment: &Moment<'_, S>) {
    for (name, reading) in &moment.answer.readings {
        if reading.reset_after > LONG {
            continue;
        }
        let limit = moment.policy.limits.iter().find(|limit| limit.name() == *name).unwrap();
        if limit.other.is_some() {
            continue;
        }
        let capacity = i64::try_from(limit.built().capacity()).unwrap();
        let then = moment.after(reading.reset_after);
        assert_eq!(then.of(name).remaining, capacity, "{name}: {reading:?}");
    }
}

fn holds<S: Store>(
    trace: &Trace,
    store: impl FnOnce(std::sync::Arc<tidegate_core::ManualClock>) -> S,
) {
    walk_new(trace, store, |moment| {
        told_truly(moment);
        each_truly(moment);
        reset_truly(moment);
    });
}

proptest! {
    #![proptest_config(cases(1_200))]

    #[test]
    fn p88_told_waits_are_true_in_memory(trace in traces(60)) {
        holds(&trace, memory::roomy);
    }

    #[test]
    fn p88_told_waits_are_true_in_memory_across_reloads(trace in with_reloads(60)) {
        holds(&trace, memory::roomy);
    }

    #[test]
    fn p88_told_waits_are_true_by_the_rules_across_reloads(trace in with_reloads(60)) {
        holds(&trace, PlainStore::new);
    }

    /// Who judges must be right too.
    #[test]
    fn p88_told_waits_are_true_in_the_model(trace in with_reloads(30)) {
        holds(&trace, ModelStore::new);
    }

    #[test]
    fn pitfall_n_a_wait_in_seconds_is_never_shorter_than_the_wait(micros in any::<u64>()) {
        let secs = u128::from(Span::from_micros(micros).as_secs_ceil());
        prop_assert!(secs * 1_000_000 >= u128::from(micros));
        prop_assert!(secs == 0 || (secs - 1) * 1_000_000 < u128::from(micros));
    }

    /// Nothing is added by chance: the same trace is told the same, in another process too.
    #[test]
    fn pitfall_n_waits_have_no_jitter(trace in traces(30)) {
        let waits = || {
            let mut waits = Vec::new();
            walk_new(&trace, memory::roomy, |moment| waits.push(told_wait(moment.answer)));
            waits
        };
        prop_assert_eq!(waits(), waits());
    }

    #[test]
    fn pitfall_n_an_impossible_cost_is_told_no_wait(trace in traces(30)) {
        walk_new(&trace, memory::roomy, |moment| {
            let never = moment.policy.limits.iter().any(|limit| {
                let said = moment.answer.readings.iter().find(|(name, _)| *name == limit.name());
                !limit.shadow && said.is_some_and(|(_, reading)| reading.room == Room::Never)
            });
            let denied = matches!(moment.answer.verdict, Verdict::Deny(_));
            assert!(!never || (denied && told_wait(moment.answer).is_none()));
        });
    }
}
