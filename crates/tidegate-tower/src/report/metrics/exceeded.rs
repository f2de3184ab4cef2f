//! Refusals past a limit, by the scope of the limit and by endpoint class.
//!
//! Both labels come from the configuration, but it can change while we count. So each value takes the
//! next free place when it is first seen, and keeps it; beyond the last place there is `other`.

use std::sync::OnceLock;

use tidegate_core::{Decision, Name, Scope};

use crate::metrics::Counter;

/// The counters: a row for each scope, a column for each class, and one more of each for `other`.
pub(super) struct Exceeded {
    scopes: Seen<Scope, SCOPES>,
    classes: Seen<Name, CLASSES>,
    counts: Box<[Counter]>,
}

/// Values in the order in which they were first seen.
struct Seen<T, const N: usize>([OnceLock<T>; N]);

const SCOPES: usize = 32;
const CLASSES: usize = 64;
const COLUMNS: usize = CLASSES + 1;

// === impl Exceeded ===

impl Exceeded {
    pub(super) fn add_one(&self, decision: &Decision<'_>, class: &Name) {
        let scope = scope(decision).map_or(SCOPES, |scope| self.scopes.place(&scope));
        self.counts[scope * COLUMNS + self.classes.place(class)].add_one();
    }

    /// Every count that is not zero, with its labels.
    pub(super) fn counts(&self) -> impl Iterator<Item = ([String; 2], u64)> {
        let counts = self.counts.iter().map(Counter::get).enumerate();
        counts.filter(|(_, count)| *count > 0).map(|(place, count)| {
            let scope = self.scopes.label(place / COLUMNS);
            ([scope, self.classes.label(place % COLUMNS)], count)
        })
    }
}

impl Default for Exceeded {
    fn default() -> Self {
        let counts = (0..(SCOPES + 1) * COLUMNS).map(|_| Counter::default());
        Self { scopes: Seen::default(), classes: Seen::default(), counts: counts.collect() }
    }
}

/// The scope of the limit or local cap that decided.
fn scope(decision: &Decision<'_>) -> Option<Scope> {
    match decision.binding() {
        Some(binding) => Some(binding.limit.scope()),
        None => decision.guarded()?.cap.map(|cap| cap.by),
    }
}

// === impl Seen ===

impl<T: Clone + PartialEq + ToString, const N: usize> Seen<T, N> {
    /// The place of a value, which takes a free one when it is first seen; `N` if none is free.
    fn place(&self, value: &T) -> usize {
        // The first to see a value takes the place; another value may have taken it meanwhile.
        let is_at = |place: &OnceLock<T>| place.get_or_init(|| value.clone()) == value;
        self.0.iter().position(is_at).unwrap_or(N)
    }

    fn label(&self, place: usize) -> String {
        let value = self.0.get(place).and_then(OnceLock::get);
        value.map_or_else(|| super::collect::OTHER.to_owned(), ToString::to_string)
    }
}

impl<T, const N: usize> Default for Seen<T, N> {
    fn default() -> Self {
        Self([const { OnceLock::new() }; N])
    }
}
