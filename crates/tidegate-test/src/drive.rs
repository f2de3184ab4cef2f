//! Asks a store the way the engine does, and says what came of it as plain data.
//!
//! Two stores can then be compared by value, and a failure reads like a log.

use tidegate_core::{
    Batch, Case, Cost, Digests, MAX_LIMITS, Policy, Reading, Readings, Span, Store, StoreError,
    Subject, Verdict, fold,
};

use crate::ready;

/// How often a batch is sent again with other calendar periods before that counts as an error.
/// The engine's rule is one.
const RESENDS: usize = MAX_LIMITS;

/// Whether the request is made or only considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// `Store::charge`.
    Charge,
    /// `Store::peek`.
    Peek,
}

/// A decision as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What to do.
    pub verdict: Verdict,
    /// The limit that decided.
    pub binding: String,
    /// What each limit said, in the order of the policy, by name.
    pub readings: Vec<(String, Reading)>,
    /// The store's time.
    pub decided_at: u64,
}

/// The secret of a test's digests; anything will do.
#[must_use]
pub fn digests() -> Digests {
    Digests::new([0x7469_6465, 0x6761_7465])
}

/// Asks `store` about one request. `None` if no limit of the policy applies to the subject.
///
/// # Panics
///
/// If the store fails: none that is judged here may.
pub fn ask<S: Store>(
    store: &S,
    policy: &Policy,
    subject: &Subject<'_>,
    weight: Cost,
    ask: Ask,
) -> Option<Answer> {
    ready(ask_remote(store, policy, subject, weight, ask))
}

/// The same of a store that has to be waited for.
///
/// # Panics
///
/// If the store fails.
pub async fn ask_remote<S: Store>(
    store: &S,
    policy: &Policy,
    subject: &Subject<'_>,
    weight: Cost,
    ask: Ask,
) -> Option<Answer> {
    let digests = digests();
    let mut case = Case::new(policy, subject).weighing(weight);
    for _ in 0..=RESENDS {
        case.resolve(&digests);
        if case.batch().charges().is_empty() {
            return None;
        }
        let (batch, readings) = case.ask();
        match send(store, batch, ask, readings).await {
            Ok(()) => return Some(answer(&mut case)),
            Err(StoreError::Stale { charge, now }) => batch.charges()[charge].refresh(now),
            Err(error) => panic!("the store failed: {error}"),
        }
    }
    panic!("the calendar periods are stale after {RESENDS} resends")
}

async fn send<S: Store>(
    store: &S,
    batch: &Batch<'_>,
    ask: Ask,
    readings: &mut Readings,
) -> Result<(), StoreError> {
    match ask {
        Ask::Charge => store.charge(batch, readings).await,
        Ask::Peek => store.peek(batch, readings).await,
    }
}

fn answer(case: &mut Case<'_>) -> Answer {
    let decision = fold(case);
    let admitted = decision.is_admitted();
    let readings = decision.explain().map(|said| {
        // The wait of a reading is that of a refused request; an admitted one has none.
        let wait = if admitted { Span::ZERO } else { said.reading.wait };
        (said.limit.name().to_string(), Reading { wait, ..*said.reading })
    });
    Answer {
        verdict: decision.verdict(),
        binding: decision.binding().map_or_else(String::new, |it| it.limit.name().to_string()),
        readings: readings.collect(),
        decided_at: decision.decided_at().as_micros(),
    }
}

// === impl Answer ===

impl Answer {
    /// Whether the request may pass.
    #[must_use]
    pub const fn is_admitted(&self) -> bool {
        matches!(self.verdict, Verdict::Admit)
    }

    /// What the limit of this name said.
    ///
    /// # Panics
    ///
    /// If it was not asked.
    pub fn of(&self, limit: &str) -> &Reading {
        let found = self.readings.iter().find(|(name, _)| name == limit);
        found.map_or_else(|| panic!("limit `{limit}` was not asked"), |(_, reading)| reading)
    }
}
