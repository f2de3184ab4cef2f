//! A store that breaks, heals and breaks again: local caps take over three times within half an hour,
//! and the fourth time nothing passes for ten minutes.

use tidegate_core::{Alarm, Cause, Mode, Signal, Span};
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::RunningServer;
use tidegate_test::sim::trace::{Observation, Truth, What};

use crate::people::{OWNER, Person};
use crate::policies;
use crate::world::{World, all};

/// For how long nothing passes.
const BACKOFF: Span = Span::from_secs(600);

/// A wire that is cut and mended.
struct Cut {
    _server: RunningServer,
    proxy: Proxy,
    world: World,
}

// === impl Cut ===

impl Cut {
    async fn new() -> Self {
        let server = RunningServer::start().await;
        let proxy = Proxy::start(server.addr()).await;
        let world = World::proven(&format!("redis://{}", proxy.addr()), 1).await;
        Self { _server: server, proxy, world }
    }

    async fn strike(&self) {
        self.proxy.refuse(true).await;
        self.proxy.kill_all();
        self.world.truth(Truth::Bad);
        let node = &self.world.nodes[0];
        for _ in 0..3 {
            let asked = policies::ALL.map(|policy| node.ask(policy, Person::caught(0)));
            all(asked.into()).await;
        }
        self.world.tape.holds();
    }

    async fn heal(&self) {
        self.proxy.refuse(false).await;
        self.world.truth(Truth::Good);
    }

    /// Three times in and out, and once more in.
    async fn flap(&self) {
        for _ in 0..3 {
            self.strike().await;
            self.world.all_stand(Mode::Degraded);
            self.heal().await;
            self.world.until(Mode::Normal, Span::from_secs(310)).await;
        }
        self.strike().await;
        self.world.all_stand(Mode::FailClosed);
    }

    /// One critical signal for each policy, told before or with the first denial that carries it.
    fn told_once(&self) {
        let records = self.world.tape.since(0);
        for policy in policies::ALL {
            let changes = |cause| self.world.tape.changes(0, policy, cause);
            assert_eq!((changes(Cause::Tripped), changes(Cause::Flapped)), (3, 1), "p61");
            let of = || records.iter().filter(|record| record.policy == policy);
            let told = of().position(|record| is_violation(&record.what));
            let denied = of().position(carries_alarm);
            assert!(told < denied && denied.is_some(), "p62: {told:?}, {denied:?}");
        }
    }

    /// Nothing passes, whoever it is, and everybody is told for how long.
    async fn nothing_passes(&self) {
        let node = &self.world.nodes[0];
        for minute in 0..10 {
            for policy in policies::ALL {
                for person in [OWNER, Person::other(minute)] {
                    let told = node.ask(policy, person).await;
                    assert_eq!((told.admitted, told.mode), (false, Mode::FailClosed), "p63");
                    assert_eq!(told.alarm, Some(Alarm::Flapped), "p62");
                    let left = BACKOFF.as_micros() - Span::MINUTE.as_micros() * u64::from(minute);
                    assert_eq!(told.wait, Some(Span::from_micros(left)), "p15");
                }
            }
            self.world.tape.holds();
            self.world.pass(Span::MINUTE).await;
        }
    }
}

fn is_violation(what: &What) -> bool {
    matches!(what, What::Told(Signal::Changed(change)) if change.cause == Cause::Flapped)
}

fn carries_alarm(record: &Observation) -> bool {
    let What::Decided { answer, .. } = &record.what else { return false };
    answer.alarm == Some(Alarm::Flapped)
}

#[tokio::test]
async fn p61_p62_p63_p64_a_store_that_flaps_closes_for_ten_minutes_and_then_is_trusted() {
    let cut = Cut::new().await;
    cut.flap().await;
    cut.heal().await;
    cut.proxy.clear_record();
    cut.nothing_passes().await;
    cut.told_once();
    cut.world.all_stand(Mode::Normal);
    let sent = cut.proxy.record();
    let asked = sent.iter().filter(|command| command[0].to_ascii_uppercase().starts_with(b"EVAL"));
    assert!(asked.clone().count() >= 4 * 110, "probed {} times", asked.clone().count());
    assert!(asked.clone().all(|command| crate::kept::is_probe(&command[3])), "p63");
    for policy in policies::ALL {
        let told = cut.world.nodes[0].ask(policy, OWNER).await;
        assert_eq!((told.admitted, told.mode), (true, Mode::Normal));
    }
    cut.world.tape.finish();
}

#[tokio::test]
async fn p61_p64_a_store_that_stays_broken_leaves_local_caps_after_ten_minutes() {
    let cut = Cut::new().await;
    cut.flap().await;
    cut.nothing_passes().await;
    cut.told_once();
    cut.world.all_stand(Mode::Degraded);
    for policy in policies::ALL {
        let told = cut.world.nodes[0].ask(policy, OWNER).await;
        let by_caps = (policy != policies::ADMIN, Mode::Degraded);
        let expected = if policy == policies::ADMIN { (false, Mode::FailClosed) } else { by_caps };
        assert_eq!((told.admitted, told.mode), expected);
    }
    // However long it goes on, nothing closes again.
    cut.world.pass(Span::from_secs(3_000)).await;
    cut.world.all_stand(Mode::Degraded);
    let told = cut.world.nodes[0].ask(policies::ADMIN, OWNER).await;
    assert_eq!((told.admitted, told.mode), (true, Mode::Degraded), "a35: nor stays closed");
    assert_eq!(told.alarm, Some(Alarm::Reopened));
    cut.world.tape.finish();
}
