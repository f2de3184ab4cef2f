//! What a script depends on: the shapes of a batch in order, and what each limit is for.
//!
//! Numbers, costs and keys are arguments. So a policy has one script, or a few if its limits do not
//! all apply to everybody, and their texts are the same in every process of every node.

use arrayvec::ArrayVec;
use tidegate_core::{Charge, MAX_LIMITS, Names, Stage, Way};

use super::form::Form;

/// What is done to one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) form: Form,
    pub(crate) shadow: bool,
    pub(crate) global: bool,
    pub(crate) attempts: bool,
    /// What it refuses itself is written.
    pub(crate) own: bool,
    /// Of a settlement.
    pub(crate) returns: Returns,
    /// How many former names of the counter come before the present one; see [`Names`].
    pub(crate) newer: u8,
    /// How many come after it.
    pub(crate) older: u8,
}

/// What a settlement gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Returns {
    /// Nothing: units are taken.
    Nothing,
    /// What was taken.
    Taken,
    /// All that an abuse log has counted.
    All,
}

/// What is asked of all counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ask {
    Charge,
    Peek,
    Settle,
}

/// Whether other counters of the same decision have refused it already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Refused {
    /// A limit of the action.
    Here,
    /// A global limit: those of the action do not even count the attempt.
    Globally,
}

/// What a script depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub(crate) ask: Ask,
    pub(crate) refused: Option<Refused>,
    pub(crate) parts: ArrayVec<Part, MAX_LIMITS>,
}

// === impl Signature ===

impl Signature {
    /// Of these charges, in this order.
    pub(crate) fn of_charges<'c, 'a: 'c>(
        ask: Ask,
        refused: Option<Refused>,
        charges: impl Iterator<Item = &'c Charge<'a>>,
    ) -> Self {
        let part = |charge: &Charge<'_>| Part {
            form: Form::of(charge),
            shadow: charge.limit().is_shadow(),
            global: charge.limit().stage() == Stage::Global,
            attempts: charge.shape().counts_attempts(),
            own: charge.shape().counts_own_refusals(),
            returns: Returns::Nothing,
            newer: 0,
            older: 0,
        };
        Self { ask, refused, parts: charges.map(part).collect() }
    }

    /// Of moves, as a settlement makes them.
    pub(crate) fn of_moves<'c, 'a: 'c>(moves: impl Iterator<Item = (&'c Charge<'a>, Way)>) -> Self {
        let parts = moves.map(|(charge, way)| Part {
            form: Form::of(charge),
            shadow: false,
            global: false,
            // What is taken has passed already, whether or not there is room.
            attempts: true,
            own: false,
            returns: match way {
                Way::There => Returns::Nothing,
                Way::Back => Returns::Taken,
                Way::Forgive => Returns::All,
            },
            newer: 0,
            older: 0,
        });
        Self { ask: Ask::Settle, refused: None, parts: parts.collect() }
    }

    /// The same for counters that have these names, in the same order.
    pub(crate) fn named<'n>(mut self, names: impl Iterator<Item = &'n Names>) -> Self {
        let count = |names: &[String]| u8::try_from(names.len()).unwrap_or_default();
        for (part, names) in self.parts.iter_mut().zip(names) {
            (part.newer, part.older) = (count(&names.newer), count(&names.older));
        }
        self
    }
}
