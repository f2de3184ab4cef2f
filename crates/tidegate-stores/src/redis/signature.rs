//! What a script depends on: the shapes of a batch in order, and what each limit is for.
//!
//! Numbers, costs and keys are arguments. So a policy has one script, or a few if its limits do not
//! all apply to everybody, and their texts are the same in every process of every node.

use arrayvec::ArrayVec;
use tidegate_core::{Charge, Counts, MAX_LIMITS, Period, Shape, Stage, Way};

/// The form in which a counter is kept and asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    Bucket,
    Fixed,
    FirstUse,
    Calendar,
    Ring,
    Grid,
    /// A grid whose charge brings the table of a backoff.
    Backoff,
}

/// What is done to one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) form: Form,
    pub(crate) shadow: bool,
    pub(crate) global: bool,
    pub(crate) attempts: bool,
    /// Of a settlement: units are given back.
    pub(crate) back: bool,
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

// === impl Form ===

impl Form {
    pub(crate) fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Bucket(_) => Self::Bucket,
            Shape::Quota(quota) => match quota.period() {
                Period::Fixed(_) => Self::Fixed,
                Period::FirstUse(_) => Self::FirstUse,
                Period::Calendar(_) => Self::Calendar,
            },
            Shape::Window(window) if window.is_exact() => Self::Ring,
            Shape::Window(window) => match window.counts() {
                Counts::Attempts(Some(_)) => Self::Backoff,
                Counts::Attempts(None) | Counts::Admitted => Self::Grid,
            },
        }
    }
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
            form: Form::of(charge.shape()),
            shadow: charge.limit().is_shadow(),
            global: charge.limit().stage() == Stage::Global,
            attempts: charge.shape().counts_attempts(),
            back: false,
        };
        Self { ask, refused, parts: charges.map(part).collect() }
    }

    /// Of moves, as a settlement makes them.
    pub(crate) fn of_moves<'s>(moves: impl Iterator<Item = (&'s Shape, Way)>) -> Self {
        let parts = moves.map(|(shape, way)| Part {
            form: Form::of(shape),
            shadow: false,
            global: false,
            // What is taken has passed already, whether or not there is room.
            attempts: true,
            back: way == Way::Back,
        });
        Self { ask: Ask::Settle, refused: None, parts: parts.collect() }
    }
}
