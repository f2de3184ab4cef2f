//! The breakers of upstreams: a few thousand seeds.

use tidegate_test::breakers::{BreakerTally, run};

#[test]
fn g1_to_g4_and_t26_hold_for_some_thousand_seeds() {
    let (mut sum, mut failed) = (BreakerTally::default(), Vec::new());
    for seed in 0..3_000 {
        match run(seed) {
            Ok(tally) => sum += tally,
            Err(why) => failed.push(why),
        }
    }
    assert!(failed.is_empty(), "{} seeds: {:#?}", failed.len(), &failed[..failed.len().min(9)]);
    let BreakerTally { events, calls, agreed, alone, crashed, changes, lost } = sum;
    for (what, count) in [("events", events), ("calls", calls), ("changes", changes)] {
        assert!(count > 20_000, "{what}: {sum:?}");
    }
    for (what, count) in [("agreed", agreed), ("alone", alone)] {
        assert!(count > 5_000, "{what}: {sum:?}");
    }
    for (what, count) in [("crashed", crashed), ("lost", lost)] {
        assert!(count > 100, "{what}: {sum:?}");
    }
}

#[test]
fn p06_the_same_seed_gives_the_same_run() {
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed));
    }
}
