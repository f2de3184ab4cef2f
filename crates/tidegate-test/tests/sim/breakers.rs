//! The breakers of upstreams: ten thousand seeds.

use tidegate_test::breakers::{BreakerTally, run};

const SEEDS: u64 = 10_000;

#[test]
fn g1_to_g4_and_t26_hold_for_ten_thousand_seeds() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut sum, mut failed) = (BreakerTally::default(), Vec::new());
    std::thread::scope(|scope| {
        let of = |first: usize| move || (0..SEEDS).skip(first).step_by(threads).map(run).collect();
        let runs: Vec<_> = (0..threads).map(|first| scope.spawn(of(first))).collect();
        for thread in runs {
            let outcomes: Vec<Result<BreakerTally, String>> = thread.join().unwrap();
            for outcome in outcomes {
                match outcome {
                    Ok(tally) => sum += tally,
                    Err(why) => failed.push(why),
                }
            }
        }
    });
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
