//! Abuse logs: the arguments that a charge brings for one, and the script texts for its manner.

use std::sync::LazyLock;

use tidegate_core::{Attempts, Charge, Level, Threshold};

use crate::redis::args::ScriptArgs;
use crate::redis::parts::Parts;

pub(crate) static ATTEMPTS: LazyLock<Parts> =
    LazyLock::new(|| Parts::of(include_str!("../lua/attempts.lua")));

/// Begins a condition: during a long block nothing is recorded, since that could only begin another
/// one.
const UNLESS_LONG: &str = "if not held$ or scope$ ~= 2 then\n";

/// The form of an abuse log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LogForm {
    pub(crate) manner: Manner,
    /// Whether the charge names a member, each of which counts once.
    pub(crate) distinct: bool,
}

/// How attempts are counted, and how long blocks last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Manner {
    /// One window, with blocks of one length.
    Temp,
    /// Two windows, with blocks of a length for each.
    Dual,
    /// One window, with blocks that grow longer.
    Ladder,
}

// === impl LogForm ===

impl LogForm {
    /// The form of the abuse log that a charge is about.
    pub(super) const fn of(attempts: &Attempts, distinct: bool) -> Self {
        let manner = match (attempts.ladder(), attempts.long()) {
            (Some(_), _) => Manner::Ladder,
            (None, Some(_)) => Manner::Dual,
            (None, None) => Manner::Temp,
        };
        Self { manner, distinct }
    }

    /// The arguments of a charge beside its cost and the most that fits: their names, and how they are
    /// packed.
    pub(super) const fn arguments(self) -> (&'static [&'static str], &'static str) {
        match self.manner {
            Manner::Temp => (&["id", "per", "block"], "c8LL"),
            Manner::Dual => (&["id", "per", "block", "fulls", "pers", "blocks"], "c8LLLLL"),
            Manner::Ladder => (&["id", "per", "from", "to", "decay", "lasts"], "c8LBBLc48"),
        }
    }

    /// The text that reads the log and checks its head; with `room`, it also sees whether one more
    /// attempt passes.
    pub(super) fn read(self, room: bool) -> String {
        let get = |name| ATTEMPTS.get(name);
        let mut text = [get("read"), get("numbers window"), get("state")].concat();
        text += match self.manner {
            Manner::Temp | Manner::Dual => get("numbers fixed"),
            Manner::Ladder => get("numbers ladder"),
        };
        if self.manner == Manner::Dual {
            text += get("numbers long");
        }
        if !room {
            return text;
        }
        let mine = if self.distinct { get("mine") } else { "" };
        text += get("held");
        // While a block holds, the log does not matter, except that a short block can become a long
        // one.
        text += &match self.manner {
            Manner::Ladder => ["if not held$ then\n", mine, get("reach"), "end\n"].concat(),
            _ => [mine, "if not held$ then\n", get("reach"), "end\n"].concat(),
        };
        if self.manner == Manner::Dual {
            text += &[UNLESS_LONG, &long(get("reach")), "end\n"].concat();
        }
        text + get("room")
    }

    /// The text that records an attempt, and begins a block if it is one too many.
    pub(super) fn count(self) -> String {
        let get = |name| ATTEMPTS.get(name);
        let push = if self.distinct { get("push member") } else { get("push") };
        let write = self.write();
        match self.manner {
            // Attempts leave no trace during a long block, and on a ladder during any block.
            Manner::Temp | Manner::Dual => {
                let long = if self.manner == Manner::Dual { get("begin long") } else { "" };
                let begin = [get("begin"), long].concat();
                [UNLESS_LONG, &self.bounds(), &begin, push, &write, "end\n"].concat()
            }
            Manner::Ladder => {
                let climb =
                    ["if reach$ > 0 then\n", get("climb"), "else\n", push, "end\n"].concat();
                ["if not held$ then\n", &self.bounds(), &climb, &write, "end\n"].concat()
            }
        }
    }

    /// The text that finds the attempt to give back, before anything is written.
    pub(super) fn find(self) -> String {
        let get = |name| ATTEMPTS.get(name);
        match self.distinct {
            true => [get("own"), get("mine"), get("find member")].concat(),
            false => get("find").to_owned(),
        }
    }

    /// The text that takes one attempt out.
    pub(super) fn back(self) -> String {
        self.bounds() + ATTEMPTS.get("back")
    }

    /// The text that takes all attempts out; a block stays.
    pub(super) fn forgive(self) -> String {
        self.bounds() + ATTEMPTS.get("forgive")
    }

    /// The text that writes the log, with a time to live that covers all it has to remember.
    pub(super) fn write(self) -> String {
        let forgets = match self.manner {
            Manner::Temp | Manner::Dual => ATTEMPTS.get("forgets"),
            Manner::Ladder => ATTEMPTS.get("forgets ladder"),
        };
        [forgets, ATTEMPTS.get("write")].concat()
    }

    fn bounds(self) -> String {
        let bounds = ATTEMPTS.get("bounds");
        if self.manner == Manner::Dual { long(bounds) } else { bounds.to_owned() }
    }
}

/// A text about the short window, turned into one about the long window.
fn long(text: &str) -> String {
    let numbers = text.replace("full$", "fulls$").replace("per$", "pers$");
    numbers.replace("reach$ = 1", "reach$ = 2")
}

/// Packs the arguments of a charge, in the order of [`LogForm::arguments`].
pub(super) fn pack(charge: &Charge<'_>, attempts: &Attempts, args: &mut ScriptArgs) {
    args.put(charge.limit().id());
    let Threshold { per, block, .. } = attempts.temp();
    args.span(*per);
    if let Some(ladder) = attempts.ladder() {
        args.byte(ladder.from().get());
        args.byte(ladder.to().get());
        args.span(Level::DECAY);
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
