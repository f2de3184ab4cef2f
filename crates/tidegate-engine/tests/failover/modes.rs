//! Which mode decides, and when that changes.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tidegate_core::{
    Account, Alarm, Case, Cause, Clock as _, Denial, FailureMode, Mode, PolicySet, Preset, Retry,
    Signal, Span, Stage, StoreError, Subject, Verdict,
};

use crate::world::{Op, START, World, name, policies};

const HERE: [u8; 4] = [203, 0, 113, 9];

fn denied(secs: u64) -> Verdict {
    Verdict::Deny(Denial { retry: Retry::After(Span::from_secs(secs)), source: Stage::Global })
}

fn changes(world: &World) -> Vec<(String, Mode, Mode, Cause)> {
    let changed = |(policy, signal)| match signal {
        Signal::Changed(it) => Some((format!("{policy}"), it.from, it.to, it.cause)),
        _ => None,
    };
    world.signals().into_iter().filter_map(changed).collect()
}

#[test]
fn p10_at_the_start_with_a_dead_store_logins_are_refused_and_interfaces_guarded() {
    let world = World::new();
    world.fail(Some(StoreError::Unavailable));
    for (policy, mode) in [
        ("login", Mode::FailClosed),
        ("otp", Mode::FailClosed),
        ("admin", Mode::FailClosed),
        ("api", Mode::FailOpen),
        ("read", Mode::Degraded),
    ] {
        let told = world.ask(policy, "ann", HERE);
        assert_eq!((told.mode, told.admits()), (mode, mode != Mode::FailClosed), "{policy}");
        assert_eq!(world.mode(policy), mode, "unproven");
    }
    world.pass(Span::from_secs(10));
    for policy in ["login", "otp", "api", "read"] {
        assert_eq!(world.mode(policy), Mode::Degraded, "{policy}: within ten seconds");
    }
    assert_eq!(world.mode("admin"), Mode::FailClosed, "closed for its first half hour");
}

#[test]
fn p10_the_first_answer_proves_the_store_without_any_probe() {
    let world = World::new();
    let told = world.ask("login", "ann", HERE);
    assert_eq!((told.mode, told.admits()), (Mode::Normal, true));
    assert_eq!(world.mode("login"), Mode::Normal);
    let proven = ("login".to_owned(), Mode::FailClosed, Mode::Normal, Cause::Proven);
    assert_eq!(changes(&world), [proven]);
}

#[test]
fn p11_a_failure_is_a_typed_denial_and_no_error() {
    let world = World::proven();
    world.fail(Some(StoreError::Timeout));
    let told = world.ask("login", "ann", HERE);
    assert_eq!((told.verdict, told.mode), (denied(10), Mode::FailClosed));
    assert_eq!(world.mode("login"), Mode::FailClosed, "that is what requests meet");
    world.fail(None);
    assert_eq!(world.ask("login", "ann", HERE).mode, Mode::Normal, "it is asked all the same");
    assert_eq!(world.mode("login"), Mode::Normal);
}

/// What a decision about this account says of itself: its policy, its mode, and what decided.
fn says(world: &World, policy: &str, account: &str) -> (String, Mode, String) {
    let (set, account) = (world.engine.policies(), Account::new(account));
    let subject = Subject::new().org("acme").agent("agent").account(&account).ip(HERE.into());
    let mut case = Case::new(set.get(policy).unwrap(), &subject);
    let decision = tidegate_engine::ready(world.engine.decide(&mut case)).unwrap().unwrap();
    let reason =
        match (decision.binding(), decision.trouble(), decision.block(), decision.guarded()) {
            (Some(binding), ..) => format!("limit {}", binding.limit.name()),
            (_, Some(error), ..) => error.name().to_owned(),
            (_, _, Some(block), _) => format!("block {:?}", block.level),
            (_, _, _, Some(guarded)) => format!("cap of {:?}", guarded.cap.map(|cap| cap.count)),
            _ => format!("{:?}", decision.alarm()),
        };
    (decision.policy().name().to_string(), decision.mode(), reason)
}

#[test]
fn p02_every_decision_says_its_policy_its_mode_and_its_reason() {
    let world = World::proven();
    let told =
        |policy: &str, mode: Mode, reason: &str| (policy.to_owned(), mode, reason.to_owned());
    assert_eq!(says(&world, "read", "ann"), told("read", Mode::Normal, "limit read"));
    world.fail(Some(StoreError::Timeout));
    assert_eq!(says(&world, "api", "ann"), told("api", Mode::FailOpen, "timeout"));
    assert_eq!(says(&world, "admin", "ann"), told("admin", Mode::FailClosed, "timeout"));
    world.trip("login");
    assert_eq!(says(&world, "login", "ann"), told("login", Mode::Degraded, "cap of Some(3)"));
    let _ = world.admitted("login", "ann", HERE, 3);
    assert_eq!(says(&world, "login", "ann"), told("login", Mode::Degraded, "block Some(L2)"));
    for _ in 0..3 {
        world.fail(None);
        world.pass(Span::from_secs(320));
        world.fail(Some(StoreError::Unavailable));
        let _ = world.admitted("login", "bob", HERE, 3);
    }
    let flapped = told("login", Mode::FailClosed, "Some(Flapped)");
    assert_eq!(says(&world, "login", "cy"), flapped);
}

/// Says of a type whether it has a default: the method of the type itself goes before the trait's.
struct Probe<T>(std::marker::PhantomData<T>);

trait Otherwise {
    const HAS_DEFAULT: bool = false;
}

impl<T> Otherwise for Probe<T> {}

impl<T: Default> Probe<T> {
    const HAS_DEFAULT: bool = true;
}

#[test]
fn p02_neither_a_decision_nor_a_mode_comes_about_by_default() {
    use tidegate_core::{Decision, Failsafe, FailureMode, Status, Verdict};
    let found = [
        Probe::<Decision<'static>>::HAS_DEFAULT,
        Probe::<Verdict>::HAS_DEFAULT,
        Probe::<Status>::HAS_DEFAULT,
        Probe::<Failsafe>::HAS_DEFAULT,
        Probe::<Mode>::HAS_DEFAULT,
        Probe::<FailureMode>::HAS_DEFAULT,
    ];
    assert_eq!(found, [false; 6]);
    assert!(
        [Probe::<Span>::HAS_DEFAULT, Probe::<u8>::HAS_DEFAULT].contains(&true),
        "it would tell"
    );
}

#[test]
fn p03_p51_what_happens_to_one_policy_concerns_no_other() {
    let world = World::proven();
    for _ in 0..3 {
        world.wire().fail_next([StoreError::Unavailable]);
        assert!(!world.ask("login", "ann", HERE).admits());
    }
    assert_eq!(world.mode("login"), Mode::Degraded);
    for policy in ["otp", "admin", "api", "read"] {
        let told = world.ask(policy, "ann", HERE);
        assert_eq!((told.mode, told.admits()), (Mode::Normal, true), "{policy}");
        assert_eq!(world.mode(policy), Mode::Normal);
        assert_eq!(world.engine.standing(policy).unwrap().failures, 0);
    }
}

#[test]
fn p03_decisions_of_a_policy_are_the_same_however_another_one_fares() {
    // The same requests twice; in one of the worlds the store is gone for logins, again and again.
    let (usual, other) = (World::proven(), World::proven());
    let mut modes = std::collections::BTreeSet::new();
    for second in 0..2_000 {
        for (world, login_fails) in [(&usual, false), (&other, second % 700 < 400)] {
            world.pass(Span::SECOND);
            world.fail(login_fails.then_some(StoreError::Unavailable));
            let _ = world.ask("login", "ann", HERE);
            world.fail(None);
        }
        modes.insert(other.mode("login").name());
        let account = format!("user {}", second % 3);
        for policy in ["otp", "admin", "api", "read"] {
            let asked = |world: &World| world.ask_for(policy, &account, HERE, "agent").0;
            assert_eq!(asked(&usual), asked(&other), "{policy} after {second} s");
            assert_eq!(usual.engine.standing(policy), other.engine.standing(policy), "{policy}");
        }
    }
    assert_eq!(usual.mode("login"), Mode::Normal);
    assert_eq!(modes.into_iter().collect::<Vec<_>>(), ["degraded", "fail_closed", "normal"]);
}

#[test]
fn p08_p58_a_request_that_was_under_way_is_decided_in_the_mode_it_began_in_and_counts_for_nothing_later()
 {
    let world = World::proven();
    let (set, account) = (std::sync::Arc::clone(&world.engine.policies()), Account::new("ann"));
    let subject = Subject::new().account(&account).ip(HERE.into());
    let mut case = Case::new(set.get("login").unwrap(), &subject);
    let mut late = pin!(world.engine.decide(&mut case));
    world.wire().hold(true);
    let mut context = Context::from_waker(Waker::noop());
    assert!(late.as_mut().poll(&mut context).is_pending());
    world.wire().hold(false);
    world.trip("login");
    world.fail(None);
    world.pass(Span::from_secs(400));
    assert_eq!(world.mode("login"), Mode::Normal);
    world.fail(Some(StoreError::Timeout));
    let Poll::Ready(Ok(decision)) = late.as_mut().poll(&mut context) else { panic!("not decided") };
    assert_eq!((decision.mode(), decision.is_admitted()), (Mode::FailClosed, false));
    assert_eq!(world.engine.standing("login").unwrap().failures, 0, "of an older generation");
}

#[test]
fn p52_p19_between_trip_and_exit_the_store_sees_probes_and_nothing_else() {
    let world = World::proven();
    world.trip("login");
    world.trip("api");
    world.ops();
    let start = world.clock.now();
    world.fail(None);
    for second in 0..290 {
        world.pass(Span::SECOND);
        let _ = world.ask("login", "ann", HERE);
        let _ = world.ask("api", "ann", HERE);
        let (set, account) = (world.engine.policies(), Account::new("ann"));
        let subject = Subject::new().account(&account).ip(HERE.into());
        let mut case = Case::new(set.get("login").unwrap(), &subject);
        let _ = tidegate_engine::ready(world.engine.peek(&mut case)).unwrap().unwrap();
        assert!(tidegate_engine::ready(world.engine.unblock(&mut case, None)).unwrap().is_err());
        assert!(tidegate_engine::ready(world.engine.blocks(<_>::default())).unwrap().is_err());
        assert_eq!(world.mode("login"), Mode::Degraded, "after {second} s");
    }
    let ops = world.ops();
    assert!(ops.iter().all(|(_, op)| *op == Op::Probe), "{ops:?}");
    // Both policies tripped at the same time, so their probes begin together.
    let mut times: Vec<_> = ops.iter().map(|(at, _)| at.since(start).as_micros()).collect();
    times.dedup();
    assert_eq!((times.len(), ops.len()), (58, 116), "one every five seconds, of each");
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 5_000_000), "{times:?}");
}

#[test]
fn p55_with_no_traffic_at_all_a_healed_store_is_trusted_after_five_minutes() {
    let world = World::proven();
    world.trip("login");
    let _ = world.signals();
    world.fail(None);
    world.pass(Span::from_secs(299));
    assert_eq!(world.mode("login"), Mode::Degraded);
    world.pass(Span::from_secs(11));
    assert_eq!(world.mode("login"), Mode::Normal);
    let left = ("login".to_owned(), Mode::Degraded, Mode::Normal, Cause::Recovered);
    assert_eq!(changes(&world), [left]);
}

#[test]
fn p57_one_request_and_a_dead_store_degrade_within_ten_seconds() {
    let world = World::proven();
    world.fail(Some(StoreError::Unavailable));
    let _ = world.ask("otp", "ann", HERE);
    world.pass(Span::from_secs(10));
    assert_eq!(world.mode("otp"), Mode::Degraded);
    assert_eq!(world.mode("login"), Mode::Normal, "nobody has asked for a login");
}

#[test]
fn p61_p62_the_fourth_entry_closes_for_ten_minutes_and_every_denial_says_so() {
    let world = World::proven();
    for _ in 0..3 {
        world.trip("login");
        world.fail(None);
        world.pass(Span::from_secs(320));
        assert_eq!(world.mode("login"), Mode::Normal);
    }
    let _ = world.signals();
    world.fail(Some(StoreError::Unavailable));
    let denials: Vec<_> = (0..4).map(|_| world.ask("login", "ann", HERE)).collect();
    assert!(denials.iter().all(|told| !told.admits() && told.mode == Mode::FailClosed));
    let alarms: Vec<_> = denials.iter().map(|told| told.alarm).collect();
    assert_eq!(alarms, [None, None, Some(Alarm::Flapped), Some(Alarm::Flapped)]);
    let expected = ("login".to_owned(), Mode::Normal, Mode::FailClosed, Cause::Flapped);
    assert_eq!(changes(&world), [expected], "told once");
    world.fail(None);
    let began = world.clock.now();
    for second in 1..600 {
        world.pass(Span::SECOND);
        assert_eq!(world.ask("login", "ann", HERE).verdict, denied(600 - second), "p15, p63");
    }
    world.pass(Span::SECOND);
    assert_eq!(world.clock.now().since(began), Span::from_secs(600));
    assert!(world.ask("login", "bob", HERE).admits());
    assert_eq!(world.mode("login"), Mode::Normal);
}

#[test]
fn p65_the_guard_counts_the_entries_of_one_policy_on_one_node() {
    let (here, there) = (World::proven(), World::proven());
    for _ in 0..3 {
        here.trip("login");
        here.fail(None);
        here.pass(Span::from_secs(320));
    }
    here.engine.reload(&policies()).unwrap();
    here.fail(Some(StoreError::Unavailable));
    let _ = here.admitted("login", "ann", HERE, 3);
    assert_eq!(here.mode("login"), Mode::FailClosed, "the fourth entry, a reload between");
    here.trip("otp");
    there.trip("login");
    assert_eq!(here.mode("otp"), Mode::Degraded, "the first of another policy");
    assert_eq!(there.mode("login"), Mode::Degraded, "the first of another node");
}

#[test]
fn p33_p65_neither_success_nor_reload_nor_another_stay_resets_anything() {
    let world = World::proven();
    world.trip("login");
    assert_eq!(world.admitted("login", "ann", HERE, 5), 3);
    world.engine.reload(&policies()).unwrap();
    assert_eq!(world.admitted("login", "ann", HERE, 1), 0, "after a reload");
    let without =
        PolicySet::builder().policy(Preset::Otp.policy(name("otp"), FailureMode::FailClosed));
    world.engine.reload(&without).unwrap();
    world.engine.reload(&policies()).unwrap();
    assert_eq!(world.mode("login"), Mode::Degraded, "taken out and put back");
    assert_eq!(world.admitted("login", "ann", HERE, 1), 0);
    world.fail(None);
    world.pass(Span::from_secs(310));
    assert_eq!(world.mode("login"), Mode::Normal);
    world.trip("login");
    assert_eq!(world.engine.standing("login").unwrap().epoch, 2);
    assert_eq!(world.admitted("login", "ann", HERE, 1), 0, "in another stay");
    world.pass(Span::from_secs(289));
    assert_eq!(world.admitted("login", "ann", HERE, 1), 0);
    world.pass(Span::from_secs(1));
    assert_eq!(world.clock.now().since(START), Span::from_secs(600));
    assert_eq!(world.admitted("login", "ann", HERE, 5), 3, "ten minutes after the first three");
}

#[test]
fn p57_nobody_polled_means_no_probe_and_no_change_while_nothing_is_asked() {
    let world = World::proven();
    world.fail(Some(StoreError::Unavailable));
    world.pass(Span::HOUR);
    assert_eq!(world.mode("login"), Mode::Normal);
    assert_eq!(world.ops().len(), 5, "the first probe of each policy, at the start");
}
