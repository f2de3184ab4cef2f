//! G2, G4: a fleet agrees by the rule of the core; and the judge notices one that does not.

use std::sync::Arc;

use tidegate_core::{
    AccordState, Agreed, Changed, Clock, Cursor, Fleet, FleetError, FleetStep, Lease, ManualClock,
    Motion, Span, Timestamp,
};
use tidegate_engine::MemoryFleet;
use tidegate_test::fleet::{FleetSpans, FleetTally, conform};
use tidegate_test::ready;

const SPANS: FleetSpans = FleetSpans {
    window: Span::from_secs(10),
    lease: Span::from_secs(8),
    pause: Span::from_secs(4),
};

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)))
}

fn judge<F: Fleet>(fleet: &F, clock: &ManualClock, seeds: u64) -> Result<FleetTally, String> {
    let mut sum = FleetTally::default();
    for seed in 0..seeds {
        let pass = async |span| clock.advance(span);
        sum += ready(conform(fleet, seed, SPANS, pass))?;
    }
    Ok(sum)
}

#[test]
fn g2_g4_the_fleet_in_memory_agrees_by_the_rule() {
    let clock = clock();
    let fleet = MemoryFleet::new(20_000, Arc::clone(&clock));
    let tally = judge(&fleet, &clock, 1_000).unwrap();
    let FleetTally { steps, lost, resent, leases, expired, late, failed } = tally;
    for (what, count) in [("steps", steps), ("lost", lost), ("resent", resent)] {
        assert!(count > 10_000, "{what}: {tally:?}");
    }
    for (what, count) in [("leases", leases), ("expired", expired), ("late", late)] {
        assert!(count > 1_000, "{what}: {tally:?}");
    }
    assert_eq!(failed, 0);
}

/// How a fleet gets it wrong.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    /// A step that is sent again makes its lease longer.
    Longer,
    /// Whoever asks gets a lease.
    Everybody,
    /// Late results count.
    Late,
    /// Every tenth change is told to nobody.
    Silent,
    /// What the sender has seen is ignored.
    Blind,
}

struct Mistaken {
    inner: MemoryFleet<Arc<ManualClock>>,
    clock: Arc<ManualClock>,
    wrong: Wrong,
}

impl Fleet for Mistaken {
    fn name(&self) -> &'static str {
        "mistaken"
    }

    async fn agree(&self, name: &str, mut step: FleetStep) -> Result<Agreed, FleetError> {
        let now = self.clock.now();
        let look = FleetStep { seen: 0, motion: Motion::Lift };
        let found = self.inner.agree(name, look).await?.accord;
        if self.wrong == Wrong::Blind && !matches!(step.motion, Motion::Report { .. }) {
            step.seen = step.seen.max(found.generation);
        }
        if self.wrong == Wrong::Late
            && let Motion::Report { .. } = step.motion
            && let AccordState::HalfOpen { lease: Some(lease), .. } = found.state
        {
            self.clock.set(Timestamp::from_micros(lease.until.as_micros() - 1).min(now));
        }
        let answer = self.inner.agree(name, step).await;
        self.clock.set(now);
        let mut agreed = Agreed { at: now, ..answer? };
        let is_unchanged = agreed.accord == found;
        if let Motion::Lease { holder, lease, .. } = step.motion
            && let AccordState::HalfOpen { lease: Some(held), .. } = &mut agreed.accord.state
        {
            let is_own = held.holder == holder && is_unchanged;
            match self.wrong {
                Wrong::Longer if is_own => held.until = now.after(lease),
                Wrong::Everybody => *held = Lease { holder, until: now.after(lease) },
                _ => {}
            }
        }
        Ok(agreed)
    }

    async fn changed_since(&self, cursor: Cursor) -> Result<Changed, FleetError> {
        let mut changed = self.inner.changed_since(cursor).await?;
        if self.wrong == Wrong::Silent {
            changed.accords.retain(|(_, accord)| accord.generation % 10 != 0);
        }
        Ok(changed)
    }
}

#[test]
fn the_judge_notices_a_fleet_that_is_mistaken() {
    use Wrong::{Blind, Everybody, Late, Longer, Silent};
    for (name, wrong) in [
        ("longer", Longer),
        ("everybody", Everybody),
        ("late", Late),
        ("silent", Silent),
        ("blind", Blind),
    ] {
        let clock = clock();
        let inner = MemoryFleet::new(20_000, Arc::clone(&clock));
        let fleet = Mistaken { inner, clock: Arc::clone(&clock), wrong };
        assert!(judge(&fleet, &clock, 200).is_err(), "{name} passes for right");
    }
}
