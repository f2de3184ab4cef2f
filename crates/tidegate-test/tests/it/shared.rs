//! What goes wrong only where counters are shared: by groups, by nodes, and by clocks set back.

use std::sync::Arc;

use tidegate_core::{
    Account, Attempts, Bucket, Calendar, Case, Cost, Counts, Dimension, FailureMode, Ladder, Limit,
    ManualClock, Name, Period, PolicySet, PolicySpec, Quota, Rate, Scope, Shape, Span, Subject,
    Timestamp, Unit, Window,
};
use tidegate_engine::Engine;
use tidegate_stores::redis::RedisStore;
use tidegate_test::lua::{Expired, secret, store};

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn window(count: u64) -> Shape {
    Shape::Window(Window::try_new(count, Span::MINUTE, Counts::Admitted).unwrap())
}

fn quota(count: u64, period: Period) -> Shape {
    Shape::Quota(Quota::try_new(count, period, Counts::Admitted).unwrap())
}

fn limit(name: &str, by: Dimension, shape: Shape) -> Limit {
    Limit::new(Name::try_new(name).unwrap(), Scope::of([by]), shape).settling()
}

fn policies(limits: impl IntoIterator<Item = Limit>) -> PolicySet {
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    PolicySet::builder().policy(spec).build(None).unwrap()
}

/// An engine whose store charges only counters with the same hash tag together, or all.
fn engine(clock: &Arc<ManualClock>, grouped: bool, set: PolicySet) -> Engine<RedisStore> {
    let clock = Arc::<ManualClock>::clone(clock);
    Engine::new(store(clock, Expired::Gone, grouped), set).sharing(&secret())
}

/// Decides a login of this account from this address, and settles it if asked to. Whether it was
/// admitted.
async fn login(engine: &Engine<RedisStore>, account: &str, ip: u8, settle: bool) -> bool {
    let ip = std::net::IpAddr::from([203, 0, 113, ip]);
    let named = Account::new(account);
    let subject = Subject::new().account(&named).user(account).ip(ip);
    let set = engine.policies();
    let mut case = Case::new(set.get("p").unwrap(), &subject).weighing(Cost::ONE);
    let decision = engine.decide(&mut case).await.unwrap();
    let (admitted, ticket) = (decision.is_admitted(), engine.ticket(&decision));
    if let (Some(ticket), true) = (ticket, settle) {
        engine.settle(ticket.as_str(), 0).await.unwrap();
    }
    // What is given back in the background has its turn.
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    admitted
}

/// A clock that goes on by a tick each time it is read, as between two groups.
#[derive(Debug)]
struct Ticking(ManualClock);

impl tidegate_core::Clock for Ticking {
    fn now(&self) -> Timestamp {
        self.0.advance(Span::from_micros(1));
        self.0.now()
    }
}

#[tokio::test]
async fn p91_a_ticket_over_two_groups_finds_its_units_in_both() {
    let clock = Arc::new(Ticking(ManualClock::new(START)));
    let set = policies([
        limit("account", Dimension::Account, window(5)),
        limit("ip", Dimension::Ip, window(50)),
    ]);
    let engine = Engine::new(store(clock, Expired::Gone, true), set).sharing(&secret());
    for attempt in 0..20 {
        assert!(login(&engine, "a", 1, true).await, "login {attempt} of somebody who may");
    }
}

#[tokio::test]
async fn p87_a_later_group_with_stale_periods_does_not_charge_the_first_twice() {
    let clock = Arc::new(ManualClock::new(START));
    let day = Period::Calendar(Calendar::try_new(Unit::Day, "UTC", None).unwrap());
    let set = policies([
        limit("once", Dimension::Account, window(1)),
        limit("daily", Dimension::Ip, quota(100, day)),
    ]);
    let engine = engine(&clock, true, set);
    assert!(login(&engine, "a", 1, false).await, "the first request of a process");
    assert!(!login(&engine, "a", 1, false).await, "and the only one");
}

#[tokio::test]
async fn p86_a_refused_request_does_not_begin_a_period_from_first_use() {
    for grouped in [false, true] {
        let clock = Arc::new(ManualClock::new(START));
        let set = policies([
            limit("hourly", Dimension::Account, quota(5, Period::FirstUse(Span::HOUR))),
            limit("ip", Dimension::Ip, window(1)),
        ]);
        let engine = engine(&clock, grouped, set);
        assert!(login(&engine, "other", 1, false).await);
        assert!(!login(&engine, "a", 1, false).await, "its address is used up");
        clock.advance(Span::from_secs(59 * 60 + 59));
        let mut admitted = 0;
        for ip in 10..30 {
            clock.advance(Span::from_millis(100));
            admitted += usize::from(login(&engine, "a", ip, false).await);
        }
        assert_eq!(admitted, 5, "within an hour of the first that counted (grouped: {grouped})");
    }
}

#[tokio::test]
async fn p90_a_clock_set_back_does_not_open_a_period_again() {
    let minute = Period::Fixed(Span::MINUTE);
    let set = policies([limit("fixed", Dimension::Account, quota(5, minute))]);
    let clock = Arc::new(ManualClock::new(START));
    let engine = engine(&clock, false, set);
    clock.advance(Span::from_secs(59));
    for _ in 0..5 {
        assert!(login(&engine, "a", 1, false).await);
    }
    clock.advance(Span::from_millis(1_500));
    let peeked = login(&engine, "b", 1, false).await;
    assert!(peeked, "somebody else is served meanwhile");
    clock.set(START.after(Span::from_millis(59_800)));
    assert!(!login(&engine, "a", 1, false).await, "the period is the same, and so is its count");
}

#[tokio::test]
async fn p91_a_clock_set_back_does_not_settle_a_ticket_twice() {
    let set = policies([limit("long", Dimension::Account, {
        Shape::Window(Window::try_new(5, Span::DAY, Counts::Admitted).unwrap())
    })]);
    let clock = Arc::new(ManualClock::new(START));
    let engine = engine(&clock, false, set);
    let account = Account::new("a");
    let subject = Subject::new().account(&account);
    let policies = engine.policies();
    let mut case = Case::new(policies.get("p").unwrap(), &subject);
    let decision = engine.decide(&mut case).await.unwrap();
    let ticket = engine.ticket(&decision).unwrap();
    clock.advance(Span::from_secs(15 * 60 - 1));
    engine.settle(ticket.as_str(), 0).await.unwrap();
    clock.advance(Span::from_secs(2));
    assert!(engine.settle(ticket.as_str(), 0).await.is_err(), "expired");
    clock.set(START.after(Span::from_secs(15 * 60 - 1)));
    assert!(engine.settle(ticket.as_str(), 0).await.is_err(), "settled before");
}

#[tokio::test]
async fn p86_nodes_that_count_in_different_shapes_do_not_erase_each_other() {
    let clock = Arc::new(ManualClock::new(START));
    let bucket = Bucket::try_new(Rate::try_new(5, Span::MINUTE).unwrap(), 5).unwrap();
    let shared = store(Arc::<ManualClock>::clone(&clock), Expired::Gone, false);
    let node = |shape| {
        let set = policies([limit("limit", Dimension::Account, shape)]);
        Engine::new(shared.clone(), set).sharing(&secret())
    };
    let (before, after) = (node(window(5)), node(Shape::Bucket(bucket)));
    let mut admitted = 0;
    for _ in 0..100 {
        admitted += usize::from(login(&before, "a", 1, false).await);
        admitted += usize::from(login(&after, "a", 1, false).await);
    }
    assert_eq!(admitted, 10, "each begins anew, once");
}

/// On a cluster the address and the account are two groups. An account that is tried once more than it
/// may be stays one of those that were tried from the address.
#[tokio::test]
async fn p86_a_refusal_by_another_group_takes_nobody_out_of_a_set() {
    for grouped in [false, true] {
        let clock = Arc::new(ManualClock::new(START));
        let spraying = Attempts::climbing(4, Span::HOUR, Ladder::default()).unwrap();
        let set = policies([
            Limit::new(
                Name::try_new("spraying").unwrap(),
                Scope::of([Dimension::Ip]),
                Shape::Attempts(spraying),
            )
            .distinct(Dimension::Account),
            limit("account", Dimension::Account, window(1)),
        ]);
        let engine = engine(&clock, grouped, set);
        for account in ["a", "b", "c"] {
            assert!(login(&engine, account, 1, false).await, "{account}");
            clock.advance(Span::SECOND);
            assert!(!login(&engine, account, 1, false).await, "{account}, a second time");
        }
        assert!(!login(&engine, "d", 1, false).await, "the fourth account (grouped: {grouped})");
    }
}
