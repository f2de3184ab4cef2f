//! Real time plays no part: a real stall passes while the clock of the node stands still.

use tidegate_core::{Clock as _, Mode, Signal, Span};
use tidegate_engine::SystemClock;
use tidegate_test::servers::{RunningServer, wait};
use tidegate_test::sim::trace::{Truth, What};

use crate::people::Person;
use crate::policies::{self, LOGIN};
use crate::world::World;

#[tokio::test]
async fn p09_p59_a_real_stall_moves_nothing_but_the_one_request_it_fails() {
    let server = RunningServer::start().await;
    let world = World::proven(&format!("redis://{}", server.addr()), 1).await;
    let (node, real) = (&world.nodes[0], SystemClock::new());
    let set = policies::set();
    // The timer of the deadline and the clock here need not agree on the last hundredth.
    let almost = set.get("login").unwrap().deadline().as_micros() * 99 / 100;
    server.pause();
    world.truth(Truth::Bad);
    let (begin, virtually) = (real.now(), world.clock.now());
    // Two of them: a third would trip.
    for failures in 1..=2 {
        let told = node.ask(LOGIN, Person::other(1)).await;
        assert_eq!((told.admitted, told.mode), (false, Mode::FailClosed));
        assert!(told.took.as_micros() >= almost, "it was a real stall: {}", told.took);
        assert_eq!(node.failures(LOGIN), failures);
        // The probe that follows the first failure is due by the clock of the node.
        let due = node.engine.next_poll().unwrap();
        assert_eq!(due.since(virtually), Span::from_secs(2));
        assert!(node.poll(world.clock.now()).is_empty());
    }
    let stalled = real.now().since(begin).as_micros();
    assert!(stalled >= 2 * almost, "{stalled} µs");
    assert_eq!(node.mode(LOGIN), Mode::FailClosed, "that is what the last request met");
    let changed = |what| matches!(what, What::Told(Signal::Changed(it)) if it.to != Mode::Normal);
    assert!(!world.tape.since(0).iter().any(|record| changed(record.what)));
    server.resume();
    // The attempt to connect that the last request had begun may fail whoever joins it.
    let store = node.engine.store().store();
    wait::until("it is connected again", async || store.check().await.is_ok()).await;
    world.truth(Truth::Good);
    // Nor does a real pause heal anything: failures count until ten seconds have passed for the node.
    assert_eq!(node.failures(LOGIN), 2);
    world.pass(Span::from_secs(10)).await;
    assert_eq!(node.failures(LOGIN), 2, "both ends included");
    world.pass(Span::from_micros(1)).await;
    assert_eq!(node.failures(LOGIN), 0);
    world.tape.finish();
}
