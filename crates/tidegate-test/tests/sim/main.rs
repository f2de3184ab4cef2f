//! The simulator: some hundred seeds in every run of the tests, and that each of its checks can fail.
//! Ten thousand seeds are run by `cargo xtask test`, any number by `cargo xtask sim`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be built fails it"
)]

mod again;
mod bad;
mod breakers;
mod trace;

use tidegate_test::sim::adversary::{AdversaryMove, Goal, play};
use tidegate_test::sim::shrink::{shrink, shrink_by};
use tidegate_test::sim::{
    RunFigures, Schedule, SimStep, Variant, World, logs, run, run_and_compare,
};

/// Runs seeds from one to before another, and says what to do about one that fails.
fn seeds(
    from: u64,
    to: u64,
    how: fn(&Schedule) -> Result<RunFigures, tidegate_test::sim::checks::Broken>,
) -> RunFigures {
    let mut sum = RunFigures::default();
    for seed in from..to {
        let schedule = Schedule::of(seed);
        match how(&schedule) {
            Ok(figures) => sum += figures,
            Err(broken) => {
                let failing = shrink(schedule, broken);
                let steps = &failing.schedule.steps;
                panic!("cargo xtask sim --seed {seed}: {}\n{steps:#?}", failing.broken);
            }
        }
    }
    sum
}

#[test]
fn p01_to_p66_hold_for_some_hundred_seeds() {
    let figures = seeds(0, 150, run);
    assert!(figures.decisions > 10_000, "{figures:?}");
    assert!(figures.changes.iter().all(|count| *count > 0), "every change happens: {figures:?}");
    assert!(figures.reopened > 0, "a35: {figures:?}");
}

#[test]
fn p03_p06_p07_runs_that_must_be_the_same_are() {
    let figures = seeds(1_000, 1_020, run_and_compare);
    println!("{figures:?}");
    assert!(figures.compared > 2 * figures.uncompared, "few policies shed: {figures:?}");
}

/// Seeds that have failed once.
#[test]
fn p79_a_store_that_is_stale_until_the_deadline_has_failed() {
    seeds(1_282, 1_283, run);
}

#[test]
fn p06_the_same_seeds_give_the_same_logs_on_one_two_and_four_threads() {
    let schedules: Vec<Schedule> = (2_000..2_012).map(Schedule::of).collect();
    let alone = logs(&schedules, 1);
    assert!(alone.iter().all(|log| log.lines().count() > 100), "something happens");
    assert!(alone.windows(2).all(|pair| pair[0] != pair[1]), "other seeds, other logs");
    for threads in [2, 4] {
        assert!(logs(&schedules, threads) == alone, "{threads} threads");
    }
}

#[test]
fn p06_another_seed_is_another_run() {
    let steps = |seed| Schedule::of(seed).steps;
    assert_eq!(steps(7), steps(7));
    assert_ne!(steps(7), steps(8));
}

#[test]
fn p44_more_keys_than_are_counted_alone_lose_no_count() {
    use tidegate_test::sim::{Client, Fault, Over, Way};
    let victim = Client { account: Some(1), prefix: Some(2), agent: None, vouched: false };
    let crowd = Client { account: Some(1_000), prefix: Some(1_000), ..victim };
    let mut world = World::new(1, 1, Variant::default());
    let flood = |count, client, over| SimStep::Flood { node: 0, policy: 0, count, over, client };
    for step in [
        SimStep::Break { nodes: 1, policies: 1, fault: Fault::of(Way::Unavailable) },
        SimStep::Wait(20_000_000),
        flood(2, victim, Over::Nothing),
        flood(17_000, crowd, Over::Both),
        // One more for the victim and no other, whoever else there is; and nobody gets four.
        flood(3, victim, Over::Nothing),
        flood(3, crowd, Over::Nothing),
        SimStep::Wait(599_000_000),
        flood(2_000, crowd, Over::Both),
        SimStep::Wait(1_000_001),
        flood(4, victim, Over::Nothing),
    ] {
        world.step(&step).unwrap();
    }
    world.finish().unwrap();
}

#[test]
fn t25_p66_p39_p64_what_brings_a_store_down_most_often_gets_no_more_than_promised() {
    for (moves, goal) in [
        (vec![AdversaryMove { down: 11, up: 300 }; 12], Goal::Harvest),
        (vec![AdversaryMove { down: 310, up: 60 }; 10], Goal::Harvest),
        (vec![AdversaryMove { down: 11, up: 300 }; 12], Goal::Lockout),
        (vec![AdversaryMove { down: 70, up: 590 }; 6], Goal::Lockout),
    ] {
        // A store that is unavailable, and one that stalls.
        for seed in [2, 3] {
            let worth = play(goal, seed, &moves).unwrap();
            assert!(worth.score > 0, "{goal:?} gets something");
            assert!(worth.score <= goal.bound(), "{goal:?} gets {} of {moves:?}", worth.score);
        }
    }
}

#[test]
fn a_failing_schedule_is_cut_down_to_what_fails() {
    use tidegate_test::sim::checks::Broken;
    let (cause, effect) = (SimStep::Wait(12_345), SimStep::Wait(54_321));
    let mut schedule = Schedule::of(3);
    schedule.steps.truncate(40);
    schedule.steps.insert(7, cause);
    schedule.steps.insert(31, effect);
    let broken = |property| Broken { property, why: property.to_owned(), at: None };
    // Fails by the effect after the cause; the effect alone breaks something else.
    let run = |schedule: &Schedule| {
        let place = |step| schedule.steps.iter().position(|other| other == step);
        match (place(&cause), place(&effect)) {
            (Some(first), Some(then)) if first < then => Err(broken("P24")),
            (_, Some(_)) => Err(broken("P25")),
            _ => Ok(RunFigures::default()),
        }
    };
    let failing = shrink_by(run, schedule, Broken { why: "at first".into(), ..broken("P24") });
    assert_eq!(failing.schedule.steps, [cause, effect]);
    assert_eq!((failing.broken.property, failing.broken.why.as_str()), ("P24", "P24"));
}

#[test]
fn what_does_not_fail_is_not_cut_down() {
    use tidegate_test::sim::checks::Broken;
    let schedule = Schedule::of(3);
    let broken = Broken { property: "P00", why: String::new(), at: None };
    let failing = shrink(Schedule { steps: schedule.steps[..20].to_vec(), ..schedule }, broken);
    assert_eq!(failing.schedule.steps.len(), 20);
    assert!(!failing.trace.is_empty());
}
