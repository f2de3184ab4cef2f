//! The form in which a counter is kept and asked about: what a charge brings for it, under which names.
//!
//! A shape has one form or several; the texts that read and write one are put together in
//! `template.rs` from the parts in `lua/`.

use tidegate_core::{Attempts, Charge, Counts, Level, Period, Shape, Threshold};

use super::args::Args;

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

// === impl Form ===

impl Form {
    /// The form of the counter of a charge.
    pub(super) fn of(charge: &Charge<'_>) -> Self {
        match charge.shape() {
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
                Self::Attempts(Log { manner: Manner::of(attempts), distinct: charge.member() != 0 })
            }
        }
    }

    /// Whether it is a window, however that is kept.
    pub(super) const fn is_window(self) -> bool {
        matches!(self, Self::Ring | Self::Grid | Self::Backoff)
    }

    /// What a charge brings beside its cost and the most that fits: names, and how they are packed.
    pub(super) const fn arguments(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Bucket => (&["r", "p"], "LL"),
            Self::Fixed | Self::FirstUse => (&["length"], "L"),
            Self::Calendar => (&["first", "second", "third", "fourth"], "LLLL"),
            Self::Ring | Self::Grid => (&["per"], "L"),
            Self::Backoff => (&["per", "rows"], "Lc256"),
            Self::Attempts(log) => log.arguments(),
        }
    }
}

// === impl Log ===

impl Log {
    /// What a charge brings beside its cost and the most that fits: names, and how they are packed.
    const fn arguments(self) -> (&'static [&'static str], &'static str) {
        match (self.manner, self.distinct) {
            (Manner::Temp, false) => (&["id", "per", "block"], "c8LL"),
            (Manner::Temp, true) => (&["id", "per", "block", "member"], "c8LLc8"),
            (Manner::Dual, false) => {
                (&["id", "per", "block", "fulls", "pers", "blocks"], "c8LLLLL")
            }
            (Manner::Dual, true) => {
                (&["id", "per", "block", "fulls", "pers", "blocks", "member"], "c8LLLLLc8")
            }
            (Manner::Ladder, false) => (&["id", "per", "from", "to", "lasts"], "c8LBBc48"),
            (Manner::Ladder, true) => {
                (&["id", "per", "from", "to", "lasts", "member"], "c8LBBc48c8")
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

/// Packs what a charge brings beside its cost and the most that fits, in the order of
/// [`Form::arguments`]; the member of a charge comes after all of it.
pub(super) fn pack(charge: &Charge<'_>, args: &mut Args) {
    match charge.shape() {
        Shape::Bucket(bucket) => {
            args.put(bucket.units_per_micro());
            args.put(bucket.units_per_token());
        }
        Shape::Quota(quota) => match quota.period() {
            Period::Fixed(length) | Period::FirstUse(length) => args.span(*length),
            Period::Calendar(calendar) => {
                let periods = calendar.periods();
                periods.bounds().iter().for_each(|bound| args.put(bound.as_micros()));
            }
        },
        Shape::Window(window) => {
            args.span(window.per());
            if let Counts::Attempts(Some(backoff)) = window.counts() {
                backoff.rows().iter().for_each(|row| args.span(*row));
            }
        }
        Shape::Attempts(attempts) => {
            args.put(charge.limit().id());
            pack_attempts(attempts, args);
        }
    }
}

fn pack_attempts(attempts: &Attempts, args: &mut Args) {
    let Threshold { per, block, .. } = attempts.temp();
    args.span(*per);
    if let Some(ladder) = attempts.ladder() {
        args.byte(ladder.from().get());
        args.byte(ladder.to().get());
        Level::ALL.iter().for_each(|level| args.span(level.lasts()));
        return;
    }
    args.span(*block);
    if let Some(Threshold { block_at, per, block }) = attempts.long() {
        args.put(u64::from(*block_at) - 1);
        args.span(*per);
        args.span(*block);
    }
}
