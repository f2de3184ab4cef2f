//! Looks after the store of a fleet, once a second, whether or not anybody asks for decisions.
//!
//! Whoever runs the process learns from the log that the store fails, that it works again, and that
//! counts may have been lost; load balancers learn from `/readyz` whether it works. Requests never
//! wait for any of this.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Changes, Store, StoreError};
use tidegate_server::Handle;
use tidegate_stores::redis::Trouble;
use tokio::time::sleep;
use tracing::{info, warn};

use super::Redis;

/// From one look to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// For how many looks the same trouble is not told again.
const QUIET: u64 = 10;

/// A store that is looked after.
pub(crate) struct Watch {
    store: Redis,
    handle: Handle<Redis>,
    said: Said<Trouble>,
}

/// What has been noticed and told so far, so that nothing is told over and over.
#[derive(Debug)]
struct Said<T> {
    changes: Changes,
    /// The last trouble that was looked at.
    seen: Option<Arc<T>>,
    /// What was told, and at which look.
    told: VecDeque<(String, u64)>,
    looks: u64,
    /// Whether somebody was told that the store fails, and not yet that it works again.
    failing: bool,
}

/// What there is to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Restarted,
    TakenOver,
    Trouble(String),
    Back,
}

// === impl Watch ===

impl Watch {
    /// Begins with what was found at the start.
    pub(crate) fn start(store: Redis, handle: Handle<Redis>, found: Option<StoreError>) -> Self {
        let mut watch = Self { store, handle, said: Said::default() };
        watch.look(found.map_or(Ok(()), Err));
        watch
    }

    /// Looks after the store for as long as this is polled.
    pub(crate) async fn run(mut self) -> Infallible {
        loop {
            sleep(PAUSE).await;
            let probed = self.store.probe().await;
            self.look(probed);
        }
    }

    fn look(&mut self, probed: Result<(), StoreError>) {
        let (changes, trouble) = (self.store.changes(), self.store.trouble());
        for word in self.said.look(&probed, changes, trouble) {
            tell(&word);
        }
        self.handle.probed(probed);
    }
}

fn tell(word: &Word) {
    match word {
        Word::Restarted => warn!("the store's server was restarted: counts may have been lost"),
        Word::TakenOver => warn!(
            "another server has taken over for the store: the latest counts may have been lost"
        ),
        Word::Trouble(trouble) => warn!(trouble, "the store fails"),
        Word::Back => info!("the store works again"),
    }
}

// === impl Said ===

impl<T: Display> Said<T> {
    /// What is new, given how a probe went, how often servers have changed, and why the last call
    /// that failed did. The latter may be long over.
    fn look(
        &mut self,
        probed: &Result<(), StoreError>,
        changes: Changes,
        trouble: Option<Arc<T>>,
    ) -> Vec<Word> {
        self.looks += 1;
        let mut words = Vec::new();
        if changes.restarts > self.changes.restarts {
            words.push(Word::Restarted);
        }
        if changes.failovers > self.changes.failovers {
            words.push(Word::TakenOver);
        }
        self.changes = changes;
        let is_new = match (&trouble, &self.seen) {
            (Some(trouble), Some(seen)) => !Arc::ptr_eq(trouble, seen),
            (trouble, _) => trouble.is_some(),
        };
        let text = match (probed, &trouble) {
            (Err(_), Some(trouble)) => Some(trouble.to_string()),
            (Err(error), None) => Some(error.to_string()),
            (Ok(()), Some(trouble)) if is_new => Some(trouble.to_string()),
            (Ok(()), _) => None,
        };
        self.seen = trouble;
        if let Some(text) = text.filter(|text| self.may_tell(text)) {
            self.failing |= probed.is_err();
            words.push(Word::Trouble(text));
        }
        if probed.is_ok() && std::mem::take(&mut self.failing) {
            words.push(Word::Back);
        }
        words
    }

    /// Whether this has not been told for a while; then it is told now.
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
        Self { changes, seen: None, told, looks: 0, failing: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOWN: Result<(), StoreError> = Err(StoreError::Unavailable);
    const NONE: Changes = Changes { restarts: 0, failovers: 0 };

    fn trouble(text: &str) -> Option<Arc<String>> {
        Some(Arc::new(text.to_owned()))
    }

    fn told(text: &str) -> Vec<Word> {
        vec![Word::Trouble(text.to_owned())]
    }

    #[test]
    fn the_same_trouble_is_told_once_in_ten_looks() {
        let mut said = Said::default();
        let looks: Vec<_> = (0..25).map(|_| said.look(&DOWN, NONE, trouble("gone"))).collect();
        let at: Vec<_> = (0..25).filter(|look| !looks[*look].is_empty()).collect();
        assert_eq!(at, [0, 10, 20]);
        assert_eq!(looks[0], told("gone"));
    }

    #[test]
    fn troubles_that_take_turns_are_not_told_more_often() {
        let mut said = Said::default();
        let turn = |look: u32| if look.is_multiple_of(2) { "one" } else { "other" };
        let looks = (0..20).map(|look| said.look(&DOWN, NONE, trouble(turn(look))).len());
        assert_eq!(looks.sum::<usize>(), 4);
    }

    #[test]
    fn it_is_told_once_that_the_store_works_again() {
        let mut said = Said::default();
        assert_eq!(said.look(&Ok(()), NONE, None), []);
        let gone = trouble("gone");
        assert_eq!(said.look(&DOWN, NONE, gone.clone()), told("gone"));
        assert_eq!(said.look(&Ok(()), NONE, gone.clone()), [Word::Back]);
        assert_eq!(said.look(&Ok(()), NONE, gone), []);
    }

    #[test]
    fn a_call_that_failed_between_two_probes_is_told() {
        let mut said = Said::default();
        let once = trouble("lost");
        assert_eq!(said.look(&Ok(()), NONE, once.clone()), told("lost"));
        assert_eq!(said.look(&Ok(()), NONE, once), [], "long over");
        assert_eq!(said.look(&Ok(()), NONE, trouble("other")), told("other"));
    }

    #[test]
    fn trouble_without_words_is_told_in_those_of_the_error() {
        let mut said = Said::<String>::default();
        assert_eq!(said.look(&DOWN, NONE, None), told("the store is unavailable"));
    }

    #[test]
    fn servers_that_have_changed_are_told_each_time() {
        let mut said = Said::<String>::default();
        let once = Changes { restarts: 1, failovers: 0 };
        assert_eq!(said.look(&Ok(()), once, None), [Word::Restarted]);
        assert_eq!(said.look(&Ok(()), once, None), []);
        let both = Changes { restarts: 2, failovers: 1 };
        assert_eq!(said.look(&Ok(()), both, None), [Word::Restarted, Word::TakenOver]);
    }
}
