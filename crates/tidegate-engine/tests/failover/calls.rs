//! What the store is asked for one decision, and that nothing gets in where it failed.

use proptest::prelude::*;
use tidegate_core::{Clock, FailureMode, Mode, PolicySet, Preset, Span, StoreError};

use crate::world::{Op, START, World, name, policies};

const HERE: [u8; 4] = [203, 0, 113, 9];

/// Everything a call can come to but an answer.
const ERRORS: [StoreError; 7] = [
    StoreError::Unavailable,
    StoreError::Timeout,
    StoreError::Contended,
    StoreError::Corrupt { charge: 0 },
    StoreError::Version { charge: 0 },
    StoreError::Refused,
    StoreError::Stale { charge: 0, now: START },
];

/// The calls that a decision of this policy makes, if the store answers its charges like this.
fn calls(policy: &str, errors: &[StoreError]) -> Vec<Op> {
    let world = World::proven();
    world.ops();
    world.wire().fail_next(errors.iter().cloned());
    let _ = world.try_ask(policy, "ann", HERE);
    world.ops().into_iter().map(|(_, op)| op).collect()
}

#[test]
fn p12_a_decision_is_one_call_and_no_failure_is_tried_again() {
    for policy in ["login", "otp", "admin", "api", "read"] {
        assert_eq!(calls(policy, &[]), [Op::Charge], "{policy}");
        for error in ERRORS {
            // Only what certainly changed nothing and can be put right is followed by another call.
            let expected: &[Op] = match error {
                StoreError::Stale { .. } => &[Op::Charge, Op::Charge],
                StoreError::Corrupt { .. } => &[Op::Charge, Op::Amend, Op::Charge],
                _ => &[Op::Charge],
            };
            assert_eq!(calls(policy, std::slice::from_ref(&error)), expected, "{policy}: {error}");
        }
        // What comes of the second call is what counts.
        let stale = || StoreError::Stale { charge: 0, now: START };
        assert_eq!(calls(policy, &[stale(), StoreError::Timeout]), [Op::Charge; 2], "{policy}");
        let corrupt = StoreError::Corrupt { charge: 0 };
        let expected = [Op::Charge, Op::Amend, Op::Charge];
        assert_eq!(calls(policy, &[corrupt.clone(), corrupt]), expected, "{policy}");
    }
    // Periods are sent once for all charges, and once for each: this policy has one.
    let stale = [const { StoreError::Stale { charge: 0, now: START } }; 9];
    assert_eq!(calls("api", &stale), [Op::Charge; 3]);
}

#[test]
fn p13_nothing_is_admitted_where_the_store_has_just_failed() {
    for policy in ["login", "otp", "admin"] {
        for error in ERRORS {
            let world = World::proven();
            // A driver that fills in a reading before it fails is believed no more than others.
            world.wire().lie();
            world.fail(Some(error.clone()));
            let told = world.try_ask(policy, "ann", HERE);
            assert!(told.is_none_or(|told| !told.admits()), "{policy}: {error}");
            // Nor if only the first call fails; but periods that are brought up to date are no failure.
            if error.name() != "stale" {
                let world = World::proven();
                world.wire().fail_next([error.clone()]);
                let told = world.try_ask(policy, "ann", HERE);
                assert!(told.is_none_or(|told| !told.admits()), "{policy}: {error}, once");
            }
        }
    }
}

#[test]
fn p13_nothing_is_admitted_during_the_backoff_however_well_the_store_is() {
    for policy in ["login", "otp"] {
        let world = World::proven();
        for _ in 0..3 {
            world.trip(policy);
            world.fail(None);
            world.pass(Span::from_secs(320));
            assert_eq!(world.mode(policy), Mode::Normal);
        }
        world.wire().fail_next([StoreError::Unavailable, StoreError::Timeout, StoreError::Refused]);
        (0..3).for_each(|_| assert!(!world.ask(policy, "ann", HERE).admits()));
        for second in 1..600 {
            world.pass(Span::SECOND);
            // Nobody has asked for this account, nor from there.
            let place = [198, 18, u8::try_from(second % 256).unwrap(), 1];
            let told = world.ask(policy, &format!("user {second}"), place);
            assert_eq!((told.mode, told.admits()), (Mode::FailClosed, false), "{policy}, {second}");
        }
        world.pass(Span::SECOND);
        assert!(world.ask(policy, "ann", HERE).admits(), "{policy}: and then it ends");
    }
}

/// Something that happens while the store is gone.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Asks { account: usize, place: u8 },
    Passes { seconds: u64 },
    Reloads,
    IsTakenOutAndPutBack,
    Refused,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        8 => (0..9_usize, 1..3_u8).prop_map(|(account, place)| Happens::Asks { account, place }),
        3 => (1..240_u64).prop_map(|seconds| Happens::Passes { seconds }),
        1 => Just(Happens::Reloads),
        1 => Just(Happens::IsTakenOutAndPutBack),
        1 => Just(Happens::Refused),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After everything that happens, each count is what was admitted within its window: so none goes
    /// down but by ageing.
    #[test]
    fn p34_within_a_stay_counts_go_down_by_age_alone(
        crowd in prop::collection::vec(0..9_usize, 0..40),
        story in prop::collection::vec(happens(), 1..60),
    ) {
        const ACCOUNTS: [&str; 9] = ["ann", "bob", "cy", "dee", "eve", "fay", "gus", "hal", "ida"];
        let world = World::proven();
        world.trip("login");
        let epoch = world.engine.standing("login").unwrap().epoch;
        let mut admitted: Vec<(u64, usize, u8)> = Vec::new();
        // All from one place, of which the first twenty are admitted at most.
        let crowd = crowd.into_iter().map(|account| Happens::Asks { account, place: 1 });
        for event in crowd.chain(story) {
            let second = world.clock.now().since(START).as_secs_ceil();
            let of = |admitted: &[(u64, usize, u8)], which: &dyn Fn(usize, u8) -> bool| {
                let counts = |(at, account, place): &&(u64, usize, u8)| {
                    at + 600 > second && which(*account, *place)
                };
                admitted.iter().filter(counts).count()
            };
            match event {
                Happens::Asks { account, place } => {
                    let room = of(&admitted, &|of, _| of == account) < 3
                        && of(&admitted, &|_, from| from == place) < 20;
                    let told = world.ask("login", ACCOUNTS[account], [203, 0, 113, place]);
                    prop_assert_eq!(told.admits(), room, "{:?} after {:?}", event, admitted);
                    admitted.extend(room.then_some((second, account, place)));
                }
                Happens::Passes { seconds } => world.pass(Span::from_secs(seconds)),
                Happens::Reloads => world.engine.reload(&policies()).unwrap(),
                Happens::IsTakenOutAndPutBack => {
                    let otp = Preset::Otp.policy(name("otp"), FailureMode::FailClosed);
                    world.engine.reload(&PolicySet::builder().policy(otp)).unwrap();
                    world.engine.reload(&policies()).unwrap();
                }
                Happens::Refused => {
                    let _ = world.ask("otp", "ann", HERE);
                }
            }
            let second = world.clock.now().since(START).as_secs_ceil();
            for (account, typed) in ACCOUNTS.iter().enumerate() {
                let counts = |(at, of, _): &&(u64, usize, u8)| at + 600 > second && *of == account;
                let used = admitted.iter().filter(counts).count();
                // From where nobody else comes, so that the account is what is scarce.
                let left = world.left("login", typed, [198, 18, 0, 1]);
                prop_assert_eq!(left, 3 - i64::try_from(used).unwrap(), "{} after {:?}", typed, event);
            }
            prop_assert_eq!(world.engine.standing("login").unwrap().epoch, epoch);
        }
    }
}
