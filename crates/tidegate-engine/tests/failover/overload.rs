//! A39: more requests at once than the store can be asked about in time are shed, and feed nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use tidegate_core::{Account, Case, Mode, PolicySet, Span, StoreError, Subject};
use tidegate_engine::{AttemptError, DecideError, Event, SettleError, ready};

use crate::world::{Op, World};

const HERE: [u8; 4] = [203, 0, 113, 9];

/// What a request of a flood came to: nothing yet, a decision in a mode, or that it was shed.
type Came = Poll<Result<Mode, DecideError>>;

/// A request that is under way, to be polled by hand.
type Asked<'w> = Pin<Box<dyn Future<Output = Result<Mode, DecideError>> + 'w>>;

fn ask<'w>(world: &'w World, policy: &'w str) -> Asked<'w> {
    Box::pin(async move {
        let set: Arc<PolicySet> = Arc::clone(&world.engine.policies());
        let account = Account::new("ann");
        let subject = Subject::new().org("acme").account(&account).ip(HERE.into());
        let mut case = Case::new(set.get(policy).unwrap(), &subject);
        world.engine.decide(&mut case).await.map(|decision| decision.mode())
    })
}

fn poll(asked: &mut Asked<'_>) -> Came {
    asked.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// So many requests at once; those that were sent, and how many were shed.
fn flood<'w>(world: &'w World, policy: &'w str, count: usize) -> (Vec<Asked<'w>>, usize) {
    let (mut sent, mut shed) = (Vec::new(), 0);
    for _ in 0..count {
        let mut asked = ask(world, policy);
        match poll(&mut asked) {
            Poll::Pending => sent.push(asked),
            Poll::Ready(Err(error)) => {
                assert_eq!(error, DecideError::Overloaded);
                shed += 1;
            }
            Poll::Ready(Ok(mode)) => panic!("decided in {mode:?} by a store that waits"),
        }
    }
    (sent, shed)
}

fn held(world: &World, holds: bool) {
    world.wire().hold(holds);
}

fn shed(world: &World, policy: &str) -> u64 {
    world.engine.record(policy).unwrap().shed
}

#[test]
fn a39_what_cannot_be_sent_in_time_is_shed_at_once_and_feeds_nothing() {
    let world = World::proven();
    world.ops();
    held(&world, true);
    let (mut sent, lost) = flood(&world, "api", 9_000);
    // Ten a millisecond in a quarter of 100 ms are 250, and one policy may have half of them.
    assert_eq!((sent.len(), lost), (125, 8_875));
    assert_eq!(shed(&world, "api"), 8_875);
    assert_eq!(world.engine.standing("api").unwrap().failures, 0);
    assert_eq!(world.mode("api"), Mode::Normal);
    assert!(world.ops().is_empty(), "nothing that was shed has reached the store");
    held(&world, false);
    for asked in &mut sent {
        assert_eq!(poll(asked), Poll::Ready(Ok(Mode::Normal)));
    }
    assert_eq!(world.ops().len(), 125);
    assert_eq!(ready(ask(&world, "api")), Some(Ok(Mode::Normal)), "there is room again");
}

#[test]
fn p03_a_flood_of_one_policy_sheds_nothing_of_another() {
    let world = World::proven();
    held(&world, true);
    let (_api, lost) = flood(&world, "api", 9_000);
    assert!(lost > 0);
    let (login, lost) = flood(&world, "login", 60);
    assert_eq!((login.len(), lost), (60, 0));
    let (_otp, lost) = flood(&world, "otp", 9_000);
    assert!(lost > 0);
    assert_eq!(flood(&world, "admin", 1).1, 0, "whatever the others do, one may ask");
    assert_eq!((shed(&world, "login"), shed(&world, "admin")), (0, 0));
}

#[test]
fn a39_whoever_goes_away_leaves_room() {
    let world = World::proven();
    held(&world, true);
    for _ in 0..10 {
        let (sent, lost) = flood(&world, "api", 200);
        assert_eq!((sent.len(), lost), (125, 75), "as the first time");
        drop(sent);
    }
}

#[test]
fn t24_a_dead_store_trips_in_the_middle_of_a_flood() {
    let world = World::proven();
    held(&world, true);
    let (mut sent, _) = flood(&world, "api", 9_000);
    world.clock.advance(Span::from_millis(100));
    world.fail(Some(StoreError::Timeout));
    held(&world, false);
    for (place, asked) in sent.iter_mut().enumerate() {
        assert_eq!(world.mode("api") == Mode::Degraded, place >= 3, "{place}");
        assert!(matches!(poll(asked), Poll::Ready(Ok(Mode::FailOpen))), "silence counts");
    }
    held(&world, true);
    for _ in 0..9_000 {
        let decided = ready(ask(&world, "api"));
        assert_eq!(decided, Some(Ok(Mode::Degraded)), "nobody waits for the store, nor is shed");
    }
}

#[test]
fn a41_lost_swaps_are_shed_and_feed_nothing() {
    let world = World::proven();
    for policy in ["login", "api"] {
        for _ in 0..10 {
            world.wire().fail_next([StoreError::Contended]);
            let decided = ready(ask(&world, policy)).unwrap();
            assert_eq!(decided, Err(DecideError::Overloaded));
        }
        assert_eq!(world.engine.standing(policy).unwrap().failures, 0);
        assert_eq!((world.mode(policy), shed(&world, policy)), (Mode::Normal, 10));
    }
}

#[test]
fn a39_a_look_and_an_attempt_are_shed_like_a_decision() {
    let world = World::proven();
    held(&world, true);
    let _login = flood(&world, "login", 9_000);
    let before = shed(&world, "login");
    let (set, account) = (world.engine.policies(), Account::new("ann"));
    let subject = Subject::new().account(&account).ip(HERE.into());
    let mut case = Case::new(set.get("login").unwrap(), &subject);
    let looked = ready(world.engine.peek(&mut case)).unwrap();
    assert!(matches!(looked, Err(DecideError::Overloaded)));
    let tried = ready(world.engine.attempt("login", &subject)).unwrap().map(drop);
    let later = Some(Span::SECOND);
    assert_eq!(tried, Err(AttemptError::Unavailable { retry_after: later }));
    assert_eq!(shed(&world, "login"), before + 2);
}

#[test]
fn a39_a_flood_of_requests_keeps_no_settlement_out() {
    let world = World::proven();
    let (_, ticket) = world.ask_for("api", "ann", HERE, "agent");
    held(&world, true);
    let _flooded = (flood(&world, "api", 9_000), flood(&world, "login", 9_000));
    let ticket = ticket.unwrap();
    let mut settling = Box::pin(world.engine.settle(ticket.as_str(), 0));
    let mut context = Context::from_waker(Waker::noop());
    assert!(settling.as_mut().poll(&mut context).is_pending(), "it is sent");
    held(&world, false);
    let settled = settling.as_mut().poll(&mut context).map_ok(|settled| settled.returned);
    assert_eq!(settled, Poll::Ready(Ok(1)));
}

#[test]
fn a39_settlements_that_are_shed_are_counted_for_their_policy() {
    let world = World::proven();
    let tickets: Vec<_> =
        (0..200).map(|_| world.ask_for("api", "ann", HERE, "agent").1.unwrap()).collect();
    held(&world, true);
    let mut context = Context::from_waker(Waker::noop());
    let (mut sent, mut lost) = (Vec::new(), 0);
    for ticket in &tickets {
        let mut settling = Box::pin(world.engine.settle(ticket.as_str(), 0));
        match settling.as_mut().poll(&mut context) {
            Poll::Pending => sent.push(settling),
            Poll::Ready(told) => {
                assert_eq!(told, Err(SettleError::Store(StoreError::Contended)));
                lost += 1;
            }
        }
    }
    // As one policy may have: half of the bound.
    assert_eq!((sent.len(), lost), (125, 75));
    assert_eq!((shed(&world, "api"), shed(&world, "login")), (75, 0));
    assert_eq!(world.engine.standing("api").unwrap().failures, 0);
}

#[test]
fn a39_it_is_told_once_a_second_how_many_were_shed() {
    let world = World::proven();
    held(&world, true);
    let told = || {
        let events = std::mem::take(&mut *world.events.lock().unwrap());
        let told = events.into_iter().filter_map(|event| match event {
            Event::Overloaded { policy, shed } => Some((policy.to_string(), shed)),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    let _sent = flood(&world, "api", 1_125);
    assert_eq!(told(), [("api".to_owned(), 1)]);
    world.clock.advance(Span::from_millis(999));
    let _more = flood(&world, "api", 10);
    assert_eq!(told(), []);
    world.clock.advance(Span::from_millis(1));
    let _more = flood(&world, "api", 10);
    assert_eq!(told(), [("api".to_owned(), 1_011)]);
}

/// A task that notes how often it was woken.
#[derive(Default)]
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a39_a_thread_that_comes_late_to_an_answer_does_not_blame_the_store() {
    // The store answers within a millisecond, and the thread reads it 80 ms later, again and again.
    let world = World::proven();
    let task = Arc::new(Task::default());
    let waker = Waker::from(Arc::clone(&task));
    for round in 0..20 {
        held(&world, true);
        let mut sent: Vec<Asked<'_>> = (0..125).map(|_| ask(&world, "api")).collect();
        for asked in &mut sent {
            let came = asked.as_mut().poll(&mut Context::from_waker(&waker));
            assert!(came.is_pending(), "round {round}: all of them are sent");
        }
        world.clock.advance(Span::from_millis(1));
        held(&world, false);
        world.clock.advance(Span::from_millis(80));
        for asked in &mut sent {
            let came = asked.as_mut().poll(&mut Context::from_waker(&waker));
            assert_eq!(came, Poll::Ready(Ok(Mode::Normal)));
        }
    }
    assert_eq!(task.0.load(Ordering::Relaxed), 20 * 125);
    // One that is slow itself is sent less.
    held(&world, true);
    let (mut slow, _) = flood(&world, "api", 125);
    world.clock.advance(Span::from_millis(80));
    held(&world, false);
    slow.iter_mut().for_each(|asked| assert!(poll(asked).is_ready()));
    held(&world, true);
    assert_eq!(flood(&world, "api", 125).0.len(), 63, "half of 125, rounded up");
    assert!(world.ops().iter().all(|(_, op)| matches!(op, Op::Charge | Op::Probe)));
}
