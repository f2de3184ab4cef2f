//! Logs how the store of a fleet does: why it fails, that it answers again, and that counts may have been
//! lost.
//!
//! The results of calls and probes are looked at four times a second, so that each thing is logged once
//! and not by every request. How policies stand is told by the engine, as signals (`report/signals.rs`
//! of `tidegate-tower`). Only one thing is asked of the store, once a minute and while it is trusted:
//! whether the fleet has the secret of this node.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Changes, Mode, Store};
use tidegate_engine::Engine;
use tidegate_stores::redis::{RedisStore, Trouble};
use tokio::time::sleep;
use tracing::{info, warn};

/// The time from one look to the next.
const PAUSE: Duration = Duration::from_millis(250);
/// The number of looks for which the same trouble is not logged again.
const QUIET: u64 = 40;
/// The number of looks from one comparison of secrets to the next: a minute.
const COMPARED_EVERY: u64 = 240;

/// The state of the store at one look.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Default))]
struct Seen<T> {
    changes: Changes,
    /// Why the last call that failed did. That may be long ago.
    trouble: Option<Arc<T>>,
    /// The good probes of all policies since the start.
    good_probes: u64,
    /// Whether failures of the store count for some policy at present.
    suspected: bool,
}

/// What has been noticed and logged so far, so that nothing is logged over and over.
#[derive(Debug)]
struct Said<T> {
    changes: Changes,
    /// The last trouble that was looked at.
    seen: Option<Arc<T>>,
    /// The troubles that were logged, and at which look.
    told: VecDeque<(String, u64)>,
    looks: u64,
    /// The number of good probes when it was logged that the store fails; `None` once it is logged that
    /// it answers again.
    failing: Option<u64>,
    /// The first look at which secrets are compared again.
    compares_at: u64,
    /// Whether it was logged that the fleet has another secret.
    apart: bool,
}

/// One thing to log about the store.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Restarted,
    TakenOver,
    Trouble(String),
    Back,
    OtherSecret,
    SameSecret,
}

/// Watches the store of an engine, and logs what is new, for as long as this is polled.
pub(crate) async fn watch(engine: Arc<Engine<RedisStore>>) -> Infallible {
    let mut said = Said::default();
    loop {
        let seen = seen(&engine);
        let compares = !seen.suspected && said.looks >= said.compares_at;
        said.look(seen).iter().for_each(tell);
        if compares {
            said.compares_at = said.looks + COMPARED_EVERY;
            // If this fails, the calls that need the store will say so.
            let shared = engine.store().shares_secret().await;
            shared.ok().and_then(|shared| said.compare(shared)).iter().for_each(tell);
        }
        #[expect(clippy::disallowed_methods, reason = "the store is watched in real time")]
        sleep(PAUSE).await;
    }
}

fn seen(engine: &Engine<RedisStore>) -> Seen<Trouble> {
    let store = engine.store();
    let (changes, trouble) = (store.changes(), store.trouble());
    let mut seen = Seen { changes, trouble, good_probes: 0, suspected: false };
    for policy in engine.policies().policies() {
        let name = policy.name().as_str();
        seen.good_probes += engine.record(name).map_or(0, |record| record.good_probes);
        seen.suspected |= engine
            .standing(name)
            .is_some_and(|standing| standing.mode != Mode::Normal || standing.failures > 0);
    }
    seen
}

fn tell(word: &Word) {
    match word {
        Word::Restarted => warn!("the store's server was restarted: counts may have been lost"),
        Word::TakenOver => warn!(
            "another server has taken over for the store: the latest counts may have been lost"
        ),
        Word::Trouble(trouble) => warn!(trouble, "the store fails"),
        Word::Back => info!("the store answers again"),
        Word::OtherSecret => warn!(
            "this node has another secret than the fleet: it counts accounts, addresses, devices and \
             agents apart from the other nodes, and settles none of their tickets; give all nodes \
             the same one"
        ),
        Word::SameSecret => info!("this node has the secret of the fleet"),
    }
}

// === impl Said ===

impl<T: Display> Said<T> {
    /// Takes a look, and returns what is new.
    fn look(&mut self, seen: Seen<T>) -> Vec<Word> {
        self.looks += 1;
        let mut words = Vec::new();
        if seen.changes.restarts > self.changes.restarts {
            words.push(Word::Restarted);
        }
        if seen.changes.failovers > self.changes.failovers {
            words.push(Word::TakenOver);
        }
        self.changes = seen.changes;
        let is_new = match (&seen.trouble, &self.seen) {
            (Some(trouble), Some(before)) => !Arc::ptr_eq(trouble, before),
            (trouble, _) => trouble.is_some(),
        };
        let text = seen.trouble.as_ref().filter(|_| is_new).map(ToString::to_string);
        self.seen = seen.trouble;
        if let Some(text) = text.filter(|text| self.may_tell(text)) {
            if seen.suspected {
                self.failing = Some(seen.good_probes);
            }
            words.push(Word::Trouble(text));
        } else if self.failing.is_some_and(|before| seen.good_probes > before) {
            self.failing = None;
            words.push(Word::Back);
        }
        words
    }

    /// What is new about the secret of this node; `shared` says whether the fleet has it.
    fn compare(&mut self, shared: bool) -> Option<Word> {
        let was_apart = std::mem::replace(&mut self.apart, !shared);
        match (was_apart, self.apart) {
            (false, true) => Some(Word::OtherSecret),
            (true, false) => Some(Word::SameSecret),
            _ => None,
        }
    }

    /// Whether a trouble has not been logged for a while; if so, notes that it is logged now.
    fn may_tell(&mut self, text: &str) -> bool {
        let looks = self.looks;
        self.told.retain(|(_, at)| looks - at < QUIET);
        if self.told.iter().any(|(told, _)| told == text) {
            return false;
        }
        self.told.push_back((text.to_owned(), looks));
        true
    }
}

impl<T> Default for Said<T> {
    fn default() -> Self {
        let (changes, told) = (Changes::default(), VecDeque::new());
        Self { changes, seen: None, told, looks: 0, failing: None, compares_at: 0, apart: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(text: &str, good_probes: u64) -> Seen<String> {
        let trouble = Some(Arc::new(text.to_owned()));
        Seen { trouble, good_probes, suspected: true, ..Seen::default() }
    }

    fn told(text: &str) -> Vec<Word> {
        vec![Word::Trouble(text.to_owned())]
    }

    #[test]
    fn the_same_trouble_is_told_once_in_ten_seconds() {
        let mut said = Said::default();
        let looks: Vec<_> = (0..100).map(|_| said.look(failing("gone", 0))).collect();
        let at: Vec<_> = (0..100).filter(|look| !looks[*look].is_empty()).collect();
        assert_eq!(at, [0, 40, 80]);
        assert_eq!(looks[0], told("gone"));
    }

    #[test]
    fn troubles_that_take_turns_are_not_told_more_often() {
        let mut said = Said::default();
        let turn = |look: u32| if look.is_multiple_of(2) { "one" } else { "other" };
        let looks = (0..80).map(|look| said.look(failing(turn(look), 0)).len());
        assert_eq!(looks.sum::<usize>(), 4);
    }

    #[test]
    fn it_is_told_once_that_the_store_answers_again() {
        let mut said = Said::default();
        assert_eq!(said.look(Seen { good_probes: 3, ..Seen::default() }), []);
        let gone = failing("gone", 3);
        assert_eq!(said.look(gone.clone()), told("gone"));
        assert_eq!(said.look(gone.clone()), [], "no probe was good since");
        assert_eq!(said.look(Seen { good_probes: 4, ..gone.clone() }), [Word::Back]);
        assert_eq!(said.look(Seen { good_probes: 5, ..gone }), []);
    }

    #[test]
    fn a_call_that_failed_and_is_long_over_is_told_once() {
        let mut said = Said::default();
        let once = Seen { suspected: false, ..failing("lost", 0) };
        assert_eq!(said.look(once.clone()), told("lost"));
        assert_eq!(said.look(Seen { good_probes: 1, ..once }), [], "nobody waits for it");
        assert_eq!(said.look(failing("other", 0)), told("other"));
    }

    #[test]
    fn another_secret_is_told_once_and_that_it_is_mended() {
        let mut said = Said::<String>::default();
        assert_eq!(said.compare(true), None);
        assert_eq!(said.compare(false), Some(Word::OtherSecret));
        assert_eq!(said.compare(false), None);
        assert_eq!(said.compare(true), Some(Word::SameSecret));
    }

    #[test]
    fn servers_that_have_changed_are_told_each_time() {
        let mut said = Said::<String>::default();
        let changed = |restarts, failovers| Seen {
            changes: Changes { restarts, failovers },
            ..Seen::default()
        };
        assert_eq!(said.look(changed(1, 0)), [Word::Restarted]);
        assert_eq!(said.look(changed(1, 0)), []);
        assert_eq!(said.look(changed(2, 1)), [Word::Restarted, Word::TakenOver]);
    }
}
