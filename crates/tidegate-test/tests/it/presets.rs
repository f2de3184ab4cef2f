//! The ready-made limits against those who know how they work.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate_core::{
    Account, Attempts, Case, Dimension, FailureMode, Ladder, Level, Limit, ManualClock, PolicySet,
    PolicySpec, Preset, Protects, Scope, Shape, Span, Store, Subject,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, Event};
use tidegate_test::drive::digests;
use tidegate_test::lua::{Expired, secret, store};
use tidegate_test::ready;
use tidegate_test::trace::START;

use crate::blocks::{attempt, by_account, climbing, engine, name, policies};
use crate::{lua, memory};

fn of(preset: Preset) -> PolicySet {
    let spec = preset.policy(name("p"), FailureMode::FailClosed);
    PolicySet::builder().policy(spec).build(None).unwrap()
}

fn address(number: u32) -> IpAddr {
    IpAddr::from((0x0A00_0000 | number).to_be_bytes())
}

/// Who tries: an account, an address, and a device that is vouched for.
#[derive(Clone, Copy)]
struct Who<'a>(&'a str, u32, Option<&'a str>);

impl Who<'_> {
    /// Whether an attempt may go on; if so, whether it succeeds is known at once.
    async fn tries<S: Store>(self, engine: &Engine<S>, succeeds: bool) -> bool {
        let account = Account::new(self.0);
        let subject = Subject::new().account(&account).ip(address(self.1)).agent("curl");
        let subject = match self.2 {
            Some(device) => engine.attempt("p", &subject.device(device)).await,
            None => engine.attempt("p", &subject).await,
        };
        let Ok(pending) = subject else { return false };
        match succeeds {
            true => pending.succeeded().await.unwrap(),
            false => pending.failed(),
        }
        true
    }
}

/// How many guesses come through where every so many of them are made on another vouched device.
fn guesses_on_devices<S: Store>(
    made: impl FnOnce(Arc<ManualClock>) -> S,
    (preset, each): (Preset, u32),
) -> usize {
    let (_, engine) = engine(of(preset), made);
    let guesses = (0..100).filter(|number| {
        let device = format!("d{}", number / each);
        ready(Who("ada", *number, Some(&device)).tries(&engine, false))
    });
    let guesses = guesses.count();
    assert!(!ready(Who("ada", 7, Some("d99")).tries(&engine, false)));
    assert!(ready(Who("bob", 7, Some("d99")).tries(&engine, false)), "another account");
    guesses
}

#[test]
fn t18_devices_that_a_stolen_password_vouches_for_are_counted_too() {
    for (preset, guesses) in [((Preset::Otp, 3), 9), ((Preset::Login, 10), 50)] {
        assert_eq!(guesses_on_devices(memory::roomy, preset), guesses);
        assert_eq!(guesses_on_devices(lua::serving, preset), guesses);
    }
}

/// How many failures come through from subnets of one /56, each another one, and then from those of other
/// /56s of the same /48.
fn failures_of_a_block<S: Store>(
    made: impl FnOnce(Arc<ManualClock>) -> S,
    preset: Preset,
) -> [usize; 2] {
    let (_, engine) = engine(of(preset), made);
    let tries = |subnet: u32| {
        let name = format!("user {subnet}");
        let account = Account::new(&name);
        let site = 0x2001_0db8_0007_u128 << 80;
        let ip = IpAddr::from((site | u128::from(subnet) << 64).to_be_bytes());
        let subject = Subject::new().account(&account).ip(ip).agent("curl");
        ready(engine.attempt("p", &subject)).map(tidegate_engine::Pending::failed).is_ok()
    };
    let one_56 = (0..256).filter(|subnet| tries(*subnet)).count();
    let one_48 = (1..=16).flat_map(|number| (0..100).map(move |subnet| number << 8 | subnet));
    let one_48 = one_56 + one_48.filter(|subnet| tries(*subnet)).count();
    for number in 0..2_000 {
        let name = format!("other {number}");
        assert!(ready(Who(&name, number, None).tries(&engine, false)), "IPv4 has no such block");
    }
    [one_56, one_48]
}

#[test]
fn t03_subnets_of_one_block_share_a_limit() {
    for (preset, expected) in [(Preset::Login, [240, 960]), (Preset::Otp, [80, 320])] {
        let usual = |clock| MemoryStore::new(Budget::default(), clock);
        assert_eq!(failures_of_a_block(usual, preset), expected, "{preset:?}");
        assert_eq!(failures_of_a_block(lua::serving, preset), expected, "{preset:?}");
    }
}

#[test]
fn t19_with_the_table_full_owners_on_their_own_devices_still_get_in() {
    let budget = Budget { attempts: 200, ..memory::BUDGET };
    let made = |clock| MemoryStore::new(budget, clock);
    let (clock, engine) = engine(of(Preset::Login), made);
    for number in 0..2_000 {
        let _ = ready(Who(&format!("nobody{number}"), number, None).tries(&engine, false));
    }
    for login in 0..500 {
        clock.advance(Span::from_secs(1));
        let owner = format!("owner{}", login % 50);
        assert!(ready(Who(&owner, 1 << 20, Some("own")).tries(&engine, true)), "login {login}");
    }
}

#[test]
fn t13_with_the_table_full_guesses_are_counted_all_the_same() {
    let budget = Budget { attempts: 1, ..memory::BUDGET };
    let made = |clock| MemoryStore::new(budget, clock);
    let (clock, engine) = engine(of(Preset::Login), made);
    for number in 0..100 {
        let _ = ready(Who(&format!("nobody{number}"), 3, Some("dud")).tries(&engine, false));
    }
    let mut guesses = 0;
    for round in 0..100 {
        clock.advance(Span::from_secs(1));
        // Good logins of others, on devices that are counted in the same cells.
        for number in 0..20 {
            let _ = ready(Who(&format!("bob{number}"), 2, Some("his")).tries(&engine, true));
        }
        guesses += u32::from(ready(Who("ada", 1_000 + round, Some("dud")).tries(&engine, false)));
    }
    assert!(guesses <= 10, "{guesses} guesses");
}

/// On a cluster, what the account has counted is given back after the address has refused.
#[tokio::test]
async fn t19_an_address_that_is_blocked_blocks_no_account() {
    let clock = Arc::new(ManualClock::new(START));
    let servers = store(clock, Expired::Gone, true);
    let engine = Engine::with_digests(servers, of(Preset::Login), digests()).sharing(&secret());
    let (set, nobody) = (engine.policies(), Subject::new().ip(address(1)));
    let mut case = Case::new(set.get("p").unwrap(), &nobody);
    let _ = engine.block(&mut case, Some("login-prefix"), Span::HOUR, None).await.unwrap();
    for _ in 0..20 {
        // All of them are in flight: nothing here waits, so nothing is given back yet.
        assert!(!Who("ada", 1, None).tries(&engine, false).await);
    }
    assert!(Who("ada", 2, None).tries(&engine, true).await, "nobody has guessed at it");
}

fn a_short_block_of_an_operator<S: Store>(made: impl FnOnce(Arc<ManualClock>) -> S) {
    let (clock, engine) = engine(policies([by_account("l", climbing(3))]), made);
    let level = || {
        let block = (0..3).find_map(|_| attempt(&engine, "a").1.attempts.unwrap().block).unwrap();
        clock.set(block.until);
        block.level.unwrap()
    };
    assert_eq!([level(), level(), level()], [Level::L1, Level::L2, Level::L3]);
    let account = Account::new("a");
    let (set, subject) = (engine.policies(), Subject::new().account(&account));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let _ = ready(engine.block(&mut case, None, Span::MINUTE, None)).unwrap();
    clock.advance(Span::MINUTE);
    assert_eq!(level(), Level::L4, "what was climbed is not forgotten");
    clock.advance(Span::HOUR);
    clock.advance(Span::HOUR);
    let _ = ready(engine.block(&mut case, None, Span::MINUTE, None)).unwrap();
    clock.advance(Span::MINUTE);
    assert_eq!(level(), Level::L3, "and what was lost is not climbed again");
}

#[test]
fn a_short_block_of_an_operator_is_no_way_down_the_ladder() {
    a_short_block_of_an_operator(memory::roomy);
    a_short_block_of_an_operator(lua::serving);
}

fn a_block_after_the_clock_went_back<S: Store>(made: impl FnOnce(Arc<ManualClock>) -> S) {
    let (clock, engine) = engine(policies([by_account("l", climbing(30))]), made);
    clock.advance(Span::HOUR);
    assert!(attempt(&engine, "a").0);
    clock.set(START.after(Span::from_secs(3_000)));
    let account = Account::new("a");
    let (set, subject) = (engine.policies(), Subject::new().account(&account));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let _ = ready(engine.block(&mut case, None, Span::MINUTE, None)).unwrap();
    assert!(!attempt(&engine, "a").0, "it holds");
    clock.set(START.after(Span::from_secs(3_660)));
    assert!(attempt(&engine, "a").0, "and ends");
}

#[test]
fn p90_a_block_holds_although_the_clock_went_back() {
    a_block_after_the_clock_went_back(memory::roomy);
    a_block_after_the_clock_went_back(lua::serving);
}

fn tickets_kept_for_later<S: Store>(made: impl FnOnce(Arc<ManualClock>) -> S) {
    let log = Attempts::climbing(5, Span::MINUTE, Ladder::default()).unwrap();
    let scope = Scope::of([Dimension::Ip]);
    let limit = Limit::new(name("l"), scope, Shape::Attempts(log)).settling();
    let auth = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Auth);
    let set = PolicySet::builder().policy(auth.limit(limit)).build(None).unwrap();
    let (clock, engine) = engine(set, made);
    let engine = engine.sharing(&secret());
    let subject = Subject::new().ip(address(1));
    let try_once = || ready(engine.attempt("p", &subject));
    let own: Vec<_> = (0..4).map(|_| try_once().unwrap()).collect();
    clock.advance(Span::MINUTE);
    let guesses = (0..4).filter(|_| try_once().is_ok()).count();
    assert_eq!(guesses, 4);
    for success in own {
        ready(success.succeeded()).unwrap();
    }
    assert!(try_once().is_err(), "what has left the window is not given back from what is in it");
}

#[test]
fn p91_tickets_kept_for_later_buy_no_guesses() {
    tickets_kept_for_later(memory::roomy);
    tickets_kept_for_later(lua::serving);
}

/// What too many distinct values of have begun a block, and its level, as observers are told.
fn told_of_sets<S: Store>(
    made: impl FnOnce(Arc<ManualClock>) -> S,
    attack: impl FnOnce(&Engine<S>, &ManualClock),
) -> Vec<(Dimension, Option<Level>)> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&told);
    let observer = move |event: &Event| {
        if let Event::Blocked { distinct: Some(of), block, .. } = event {
            note.lock().unwrap().push((*of, block.level));
        }
    };
    let (clock, engine) = engine(of(Preset::Login), made);
    let engine = engine.observed_by(vec![Box::new(observer)]).unwrap();
    attack(&engine, &clock);
    assert!(engine.finish_telling(Duration::from_secs(30)));
    let told = told.lock().unwrap();
    told.clone()
}

/// One account from eleven addresses, past the blocks that its own limit begins.
fn a_crowd<S: Store>(engine: &Engine<S>, clock: &ManualClock) {
    let tries = |ip: u32, device: Option<&str>| ready(Who("ada", ip, device).tries(engine, false));
    for ip in 0..10 {
        if ip == 5 {
            assert!(!tries(ip, None), "the sixth guess at the account");
            clock.advance(Level::L1.lasts());
        }
        assert!(tries(ip, None), "address {ip}");
    }
    assert!(!tries(10, None), "the eleventh address in ten minutes");
    assert!(tries(10, Some("laptop")), "the owner is let through");
    clock.advance(Level::L2.lasts());
    assert!(!tries(0, None), "the block of the account is over, that of the crowd is not");
    clock.advance(Span::from_secs(239));
    assert!(!tries(0, None));
    clock.advance(Span::SECOND);
    assert!(tries(0, None), "after five minutes");
}

/// Twenty-one accounts from one address.
fn a_sprayer<S: Store>(engine: &Engine<S>, clock: &ManualClock) {
    let tries = |number: u32, ip: u32, device: Option<&str>| {
        ready(Who(&format!("user {number}"), ip, device).tries(engine, false))
    };
    assert!((0..20).all(|number| tries(number, 7, None)));
    assert!(!tries(20, 7, None), "the twenty-first account in ten minutes");
    assert!(tries(20, 8, None), "another address");
    assert!(tries(20, 7, Some("laptop")), "a vouched device at the same one");
    clock.advance(Level::L3.lasts());
    assert!(tries(20, 7, None), "after five minutes");
}

#[test]
fn distributed_guessing_is_told_and_keeps_strangers_out_for_five_minutes() {
    let expected = [(Dimension::Ip, Some(Level::L3))];
    assert_eq!(told_of_sets(memory::roomy, a_crowd), expected);
    assert_eq!(told_of_sets(lua::serving, a_crowd), expected);
}

#[test]
fn spraying_is_told_and_keeps_the_address_out_for_five_minutes() {
    let expected = [(Dimension::Account, Some(Level::L3))];
    assert_eq!(told_of_sets(memory::roomy, a_sprayer), expected);
    assert_eq!(told_of_sets(lua::serving, a_sprayer), expected);
}
