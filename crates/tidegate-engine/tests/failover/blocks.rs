//! What local caps admit, which blocks still hold, and what becomes of tickets.

use tidegate_core::{Level, Mode, Span, StoreError, TicketError};
use tidegate_engine::{SettleError, ready};

use crate::world::{Op, World};

const HERE: [u8; 4] = [203, 0, 113, 9];

#[test]
fn p18_the_sixty_first_of_one_agent_and_the_hundred_and_twenty_first_of_one_prefix_are_refused() {
    let world = World::proven();
    world.fail(Some(StoreError::Unavailable));
    let of = |agent: &str, requests: usize| {
        (0..requests).filter(|_| world.ask_for("api", "ann", HERE, agent).0.admits()).count()
    };
    assert_eq!(
        (of("a", 61), of("b", 61), of("c", 10)),
        (60, 60, 0),
        "p17, p23: before and after the trip"
    );
    assert_eq!(world.mode("api"), Mode::Degraded);
    world.pass(Span::from_secs(59));
    assert_eq!(of("a", 1), 0);
    world.pass(Span::SECOND);
    assert_eq!((of("a", 61), of("c", 61)), (60, 60), "p28: exactly a minute later");
}

#[test]
fn p20_interfaces_are_not_guarded_by_account() {
    let world = World::proven();
    world.trip("api");
    let admitted = (0..30).filter(|place| {
        world.ask_for("api", "one account", [203, 0, 113, *place], "agent").0.admits()
    });
    assert_eq!(admitted.count(), 30);
}

#[test]
fn p28_p46_logins_and_one_time_passwords_have_their_own_exact_caps() {
    let world = World::proven();
    world.trip("login");
    world.trip("otp");
    // In turns, so that each would miss what the other took.
    let (mut logins, mut codes) = (0, 0);
    for _ in 0..10 {
        logins += world.admitted("login", "ann", HERE, 1);
        codes += world.admitted("otp", "ann", HERE, 1);
    }
    assert_eq!((logins, codes), (3, 2));
    let others = |policy: &str, until: usize| {
        (0..until)
            .filter(|number| world.ask(policy, &format!("user {number}"), HERE).admits())
            .count()
    };
    assert_eq!((others("login", 100), others("otp", 100)), (17, 8), "twenty and ten of one prefix");
    let refused = world.ask("login", "ann", HERE);
    assert_eq!((refused.mode, refused.level), (Mode::Degraded, Some(Level::L2)), "p41");
}

#[test]
fn p31_p32_nodes_count_by_themselves_and_shared_counts_change_nothing() {
    let (one, other) = (World::proven(), World::proven());
    // The other store has seen attempts of this account, though not enough for a block.
    assert_eq!(other.admitted("login", "ann", HERE, 2), 2);
    for world in [&one, &other] {
        world.trip("login");
        assert_eq!(world.admitted("login", "ann", HERE, 10), 3);
    }
}

#[test]
fn p47_blocks_this_node_knew_hold_to_their_end_and_no_longer() {
    let world = World::proven();
    while world.ask("login", "ann", HERE).admits() {}
    let met = world.ask("login", "ann", HERE);
    assert_eq!((met.mode, met.level), (Mode::Normal, Some(Level::L1)), "fifteen seconds");
    world.trip("login");
    let refused = world.ask("login", "ann", HERE);
    assert_eq!(
        (refused.admits(), refused.mode, refused.level),
        (false, Mode::Degraded, Some(Level::L1))
    );
    world.pass(Span::from_micros(14_999_999));
    assert!(!world.ask("login", "ann", HERE).admits());
    world.pass(Span::from_micros(1));
    assert_eq!(
        world.admitted("login", "ann", HERE, 10),
        3,
        "and nothing was counted meanwhile: p38"
    );
}

#[test]
fn p41_a_known_block_of_a_high_level_is_told_as_the_second_at_most() {
    let world = World::proven();
    let (set, account) = (world.engine.policies(), tidegate_core::Account::new("ann"));
    let subject = tidegate_core::Subject::new().account(&account).ip(HERE.into());
    let mut case = tidegate_core::Case::new(set.get("login").unwrap(), &subject);
    let blocked = world.engine.block(&mut case, Some("login-account"), Span::HOUR, Some(Level::L6));
    let changed = ready(blocked).unwrap();
    assert!(changed.is_ok(), "{changed:?}");
    world.trip("login");
    let refused = world.ask("login", "ann", HERE);
    assert_eq!((refused.admits(), refused.level), (false, Some(Level::L2)));
    assert!(world.ask("login", "bob", HERE).admits());
}

#[test]
fn p42_p43_nothing_is_written_while_degraded_and_nothing_is_carried_back() {
    let world = World::proven();
    assert!(world.ask("login", "ann", HERE).admits());
    let counted = || {
        let (set, account) = (world.engine.policies(), tidegate_core::Account::new("ann"));
        let subject = tidegate_core::Subject::new().account(&account).ip(HERE.into());
        let mut case = tidegate_core::Case::new(set.get("login").unwrap(), &subject);
        let decision = ready(world.engine.peek_by_store(&mut case)).unwrap().unwrap();
        decision
            .explain()
            .map(|said| said.reading.attempts.map_or(0, |it| it.temp))
            .collect::<Vec<_>>()
    };
    let before = counted();
    assert!(before.iter().any(|count| *count > 0), "{before:?}");
    world.trip("login");
    world.ops();
    assert_eq!(world.admitted("login", "ann", HERE, 10), 3);
    assert_eq!(world.ops(), [], "p19");
    world.fail(None);
    assert_eq!(counted(), before, "p21, p16");
    world.ops();
    world.pass(Span::from_secs(400));
    assert_eq!(world.mode("login"), Mode::Normal);
    assert!(world.ops().iter().all(|(_, op)| *op == Op::Probe));
}

#[test]
fn p91_a_ticket_from_before_an_outage_gives_nothing_back_during_or_after_it() {
    let world = World::proven();
    let (told, ticket) = world.ask_for("login", "ann", HERE, "agent");
    assert!(told.admits());
    let ticket = ticket.unwrap();
    world.trip("login");
    let (during, none) = world.ask_for("login", "ann", HERE, "agent");
    assert!(during.admits() && none.is_none(), "nothing was taken of the store");
    world.ops();
    let settle = || ready(world.engine.settle(ticket.as_str(), 0)).unwrap();
    assert_eq!(settle(), Err(SettleError::Store(StoreError::Unavailable)));
    world.fail(None);
    world.pass(Span::from_secs(310));
    assert_eq!(settle(), Err(SettleError::Ticket(TicketError::Expired)));
    assert!(world.ops().iter().all(|(_, op)| *op == Op::Probe));
    let (_, ticket) = world.ask_for("login", "bob", HERE, "agent");
    assert!(ready(world.engine.settle(ticket.unwrap().as_str(), 0)).unwrap().is_ok());
}
