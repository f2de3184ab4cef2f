//! What a script depends on: the shapes of a batch in order, and what each limit is for.
//!
//! Numbers, costs and keys are arguments. So a policy has one script, or a few if its limits do not
//! all apply to everybody, and their texts are the same in every process of every node.

use arrayvec::ArrayVec;
use tidegate_core::{Charge, MAX_LIMITS, MoveDirection, Names, Stage};

use super::form::Form;

/// What a script does to one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) form: Form,
    pub(crate) shadow: bool,
    pub(crate) global: bool,
    pub(crate) attempts: bool,
    /// Whether the charge is recorded even when this limit itself refuses.
    pub(crate) own: bool,
    /// What is given back, in a settlement.
    pub(crate) returns: Returns,
    /// How many former names of the counter come before the present one; see [`Names`].
    pub(crate) newer: u8,
    /// How many former names of the counter come after the present one; see [`Names`].
    pub(crate) older: u8,
}

/// What a settlement gives back to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Returns {
    /// Nothing: units are taken.
    Nothing,
    /// The units that were taken.
    Taken,
    /// All that an abuse log has counted.
    All,
}

/// What a script is asked to do with all its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ScriptVerb {
    Charge,
    Peek,
    Settle,
}

/// The kind of limit that has already refused the decision, in another group of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RefusedBy {
    /// A limit of the action has refused.
    Here,
    /// A global limit has refused: limits of the action do not even count the attempt.
    Globally,
}

/// Everything that the text of a script depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub(crate) ask: ScriptVerb,
    pub(crate) refused: Option<RefusedBy>,
    pub(crate) parts: ArrayVec<Part, MAX_LIMITS>,
}

// === impl Part ===

impl Part {
    /// Takes units for a request that has already passed, whether or not there is room.
    fn taking(charge: &Charge<'_>) -> Self {
        Self {
            form: Form::of(charge),
            shadow: false,
            global: false,
            attempts: true,
            own: false,
            returns: Returns::Nothing,
            newer: 0,
            older: 0,
        }
    }
}

// === impl Signature ===

impl Signature {
    /// The signature of a script for these charges, in this order.
    pub(crate) fn of_charges<'c, 'a: 'c>(
        ask: ScriptVerb,
        refused: Option<RefusedBy>,
        charges: impl Iterator<Item = &'c Charge<'a>>,
    ) -> Self {
        let part = |charge: &Charge<'_>| Part {
            shadow: !charge.limit().is_firm(),
            global: charge.limit().stage() == Stage::Global,
            attempts: charge.shape().counts_attempts(),
            own: charge.shape().counts_own_refusals(),
            ..Part::taking(charge)
        };
        Self { ask, refused, parts: charges.map(part).collect() }
    }

    /// The signature of a script for these moves of a settlement.
    pub(crate) fn of_moves<'c, 'a: 'c>(
        moves: impl Iterator<Item = (&'c Charge<'a>, MoveDirection)>,
    ) -> Self {
        let parts = moves.map(|(charge, way)| Part {
            returns: match way {
                MoveDirection::There => Returns::Nothing,
                MoveDirection::Back => Returns::Taken,
                MoveDirection::Forgive => Returns::All,
            },
            ..Part::taking(charge)
        });
        Self { ask: ScriptVerb::Settle, refused: None, parts: parts.collect() }
    }

    /// The same signature with the former names of its counters, which come in the same order.
    pub(crate) fn named<'n>(mut self, names: impl Iterator<Item = &'n Names>) -> Self {
        let count = |names: &[String]| u8::try_from(names.len()).unwrap_or_default();
        for (part, names) in self.parts.iter_mut().zip(names) {
            (part.newer, part.older) = (count(&names.newer), count(&names.older));
        }
        self
    }
}
