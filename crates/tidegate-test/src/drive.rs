//! Asks a store the way the engine does, and returns the decision as plain data.
//!
//! Two stores can then be compared by value, and a failure reads like a log.

use tidegate_core::{
    Batch, Case, Cost, Digests, MAX_LIMITS, Policy, Reading, Readings, Span, Store, StoreError,
    Subject, Verdict, fold,
};

use crate::ready;

/// Times a batch may be sent again with other calendar periods before that counts as an error. The
/// engine allows one more than the batch has charges.
const RESENDS: usize = MAX_LIMITS;

/// Whether a request is charged or only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChargeOrPeek {
    /// Ask by `Store::charge`.
    Charge,
    /// Ask by `Store::peek`.
    Peek,
}

/// A decision as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainDecision {
    /// Whether the request is admitted.
    pub verdict: Verdict,
    /// The name of the limit that decided.
    pub binding: String,
    /// The name and the reading of each limit, in the order of the policy.
    pub readings: Vec<(String, Reading)>,
    /// The store's time at the decision, in microseconds.
    pub decided_at: u64,
}

/// The digests that tests use; their secret can be anything.
#[must_use]
pub fn digests() -> Digests {
    Digests::new([0x7469_6465, 0x6761_7465])
}

/// Asks `store` about one request. `None` if no limit of the policy applies to the subject.
///
/// # Panics
///
/// If the store fails: no store that is judged here may fail.
pub fn ask<S: Store>(
    store: &S,
    policy: &Policy,
    subject: &Subject<'_>,
    weight: Cost,
    ask: ChargeOrPeek,
) -> Option<PlainDecision> {
    ready(ask_remote(store, Case::new(policy, subject).weighing(weight), ask))
}

/// Asks a store that has to be waited for about one request. `None` if no limit applies to its subject.
///
/// # Panics
///
/// If the store fails.
pub async fn ask_remote<S: Store>(
    store: &S,
    mut case: Case<'_>,
    ask: ChargeOrPeek,
) -> Option<PlainDecision> {
    let digests = digests();
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
    ask: ChargeOrPeek,
    readings: &mut Readings,
) -> Result<(), StoreError> {
    match ask {
        ChargeOrPeek::Charge => store.charge(batch, readings).await,
        ChargeOrPeek::Peek => store.peek(batch, readings).await,
    }
}

fn answer(case: &mut Case<'_>) -> PlainDecision {
    let decision = fold(case);
    let passes = decision.verdict().passes();
    let readings = decision.explain().map(|said| {
        // A reading's wait is the wait of a refused request; one that passes has none.
        let wait = if passes { Span::ZERO } else { said.reading.wait };
        (said.limit.name().to_string(), Reading { wait, ..*said.reading })
    });
    PlainDecision {
        verdict: decision.verdict(),
        binding: decision.binding().map_or_else(String::new, |it| it.limit.name().to_string()),
        readings: readings.collect(),
        decided_at: decision.decided_at().as_micros(),
    }
}

// === impl PlainDecision ===

impl PlainDecision {
    /// Whether the request may pass.
    #[must_use]
    pub const fn is_admitted(&self) -> bool {
        matches!(self.verdict, Verdict::Admit)
    }

    /// The reading of the limit with this name.
    ///
    /// # Panics
    ///
    /// If that limit was not asked.
    pub fn of(&self, limit: &str) -> &Reading {
        let found = self.readings.iter().find(|(name, _)| name == limit);
        found.map_or_else(|| panic!("limit `{limit}` was not asked"), |(_, reading)| reading)
    }
}
