//! What a script depends on: the shapes of a batch in order, and what each limit is for.
//!
//! Numbers, costs and keys are arguments. So a policy has one script, or a few if its limits do not
//! all apply to everybody, and their texts are the same in every process of every node.

use arrayvec::ArrayVec;
use tidegate_core::{Attempts, Charge, Counts, MAX_LIMITS, Names, Period, Shape, Stage, Way};

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
    Attempts(Log),
}

/// What is done with an abuse log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Log {
    pub(crate) manner: Manner,
    /// The charge says whose attempt it is, and each counts once.
    pub(crate) distinct: bool,
}

/// How attempts are counted, and how long they are blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Manner {
    /// In one window, with blocks of one length.
    Temp,
    /// In two.
    Dual,
    /// In one, with blocks that grow.
    Ladder,
}

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

// === impl Form ===

impl Form {
    fn of(shape: &Shape, member: u64) -> Self {
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
            Shape::Attempts(attempts) => {
                Self::Attempts(Log { manner: Manner::of(attempts), distinct: member != 0 })
            }
        }
    }
}

// === impl Manner ===

impl Manner {
    const fn of(attempts: &Attempts) -> Self {
        match (attempts.ladder(), attempts.long()) {
            (Some(_), _) => Self::Ladder,
            (None, Some(_)) => Self::Dual,
            (None, None) => Self::Temp,
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
            form: Form::of(charge.shape(), charge.member()),
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
            form: Form::of(charge.shape(), charge.member()),
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
