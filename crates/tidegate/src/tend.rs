//! Looks after the store of an engine, for as long as the process runs.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Span, Store};
use tidegate_engine::Engine;
use tokio::time::sleep;

/// The longest time from one poll to the next: a failure can make a probe due that was not due before.
const PAUSE: Span = Span::from_millis(250);

/// Makes the probes that an engine on a shared store needs, for ever. Spawn it once, when the engine is
/// there; a process without it never learns that its store works again, and stays in the failure modes
/// of its policies.
///
/// While all is well it asks the store for nothing. After a failure it probes every two seconds, and
/// every five while a policy is degraded; then nothing else asks the store. The engine's own clock says
/// when. It needs a runtime of tokio with time; an engine whose store is in the process has nothing to
/// tend, and needs none of this.
///
/// ```
/// use std::sync::Arc;
/// use tidegate::redis::{RedisStore, Target};
/// use tidegate::{Engine, PolicySet, Secret};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let policies = PolicySet::builder().build(None)?;
/// let secret = Secret::try_new("of `openssl rand -base64 32`, the same on every node")?;
/// let store = RedisStore::new(Target::parse("redis://127.0.0.1:6379")?, &secret)?;
/// let engine = Arc::new(Engine::new(store, policies).sharing(&secret));
/// tokio::spawn(tidegate::tend(Arc::clone(&engine)));
/// # Ok(())
/// # }
/// ```
pub async fn tend<S: Store + 'static>(engine: Arc<Engine<S>>) -> Infallible {
    loop {
        for due in engine.poll(engine.now()) {
            let engine = Arc::clone(&engine);
            // In its own task: a probe that waits for its deadline must not hold up those of other
            // policies.
            tokio::spawn(async move { engine.probe(due).await });
        }
        #[expect(clippy::disallowed_methods, reason = "probes are due in real time")]
        sleep(pause(&engine)).await;
    }
}

/// How long to wait until the next poll: until a probe is due, but at most [`PAUSE`].
fn pause<S: Store>(engine: &Engine<S>) -> Duration {
    let due = engine.next_poll().map_or(PAUSE, |due| due.since(engine.now()));
    due.clamp(Span::from_millis(1), PAUSE).into()
}

#[cfg(test)]
mod tests {
    use tidegate_core::{
        Bucket, FailureMode, Limit, ManualClock, Mode, Name, PolicySet, PolicySpec, Rate, Scope,
        Shape, StoreError, Timestamp,
    };
    use tidegate_test::stub::Stub;
    use tokio::time::timeout;

    use super::*;

    /// Longer than anything here takes.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn engine(clock: &Arc<ManualClock>) -> Arc<Engine<Stub>> {
        let name = |text| Name::try_new(text).unwrap();
        let shape = Shape::Bucket(Bucket::try_new(Rate::per_second(1).unwrap(), 1).unwrap());
        let limit = Limit::new(name("all"), Scope::GLOBAL, shape);
        let spec = PolicySpec::new(name("p"), FailureMode::FailOpen).limit(limit);
        let policies = PolicySet::builder().policy(spec).build(None).unwrap();
        let clock: Arc<ManualClock> = Arc::clone(clock);
        Arc::new(Engine::new(Stub::failing(StoreError::Unavailable), policies).timed_by(clock))
    }

    /// Waits until it is so many.
    async fn probed(engine: &Engine<Stub>, times: u64) {
        let told = || engine.record("p").map_or(0, |it| it.good_probes + it.bad_probes);
        let waited = async {
            while told() < times {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, waited).await.expect("it is probed");
    }

    #[tokio::test]
    async fn p57_a_store_that_is_gone_is_found_out_and_probed_on_with_nobody_asking() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
        let engine = engine(&clock);
        let tending = tokio::spawn(tend(Arc::clone(&engine)));
        let mode = || engine.standing("p").map(|standing| standing.mode);
        for times in 1..=3 {
            probed(&engine, times).await;
            clock.advance(Span::from_secs(2));
        }
        assert_eq!(mode(), Some(Mode::Degraded), "three probes were bad");
        engine.store().wire().fail(None);
        clock.advance(Span::from_secs(5));
        probed(&engine, 4).await;
        assert_eq!(engine.record("p").map(|record| record.good_probes), Some(1));
        assert!(!tending.is_finished(), "for ever");
        tending.abort();
    }

    #[tokio::test]
    async fn while_all_is_well_nothing_is_asked() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
        let engine = engine(&clock);
        engine.store().wire().fail(None);
        let tending = tokio::spawn(tend(Arc::clone(&engine)));
        probed(&engine, 1).await;
        clock.advance(Span::HOUR);
        assert!(engine.poll(engine.now()).is_empty());
        assert_eq!(engine.next_poll(), None);
        assert_eq!(pause(&engine), Duration::from(PAUSE));
        tending.abort();
    }
}
