//! Abuse logs: what a charge brings for one, and its parts, put together for its manner.

use std::sync::LazyLock;

use tidegate_core::{Attempts, Charge, Level, Threshold};

use crate::redis::args::Args;
use crate::redis::parts::Parts;

pub(crate) static ATTEMPTS: LazyLock<Parts> =
    LazyLock::new(|| Parts::of(include_str!("../lua/attempts.lua")));

/// During a long block nothing is recorded: nothing could come of it but another.
const UNLESS_LONG: &str = "if not held$ or scope$ ~= 2 then\n";

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

// === impl Log ===

impl Log {
    /// Of the counter of a charge.
    pub(super) const fn of(attempts: &Attempts, distinct: bool) -> Self {
        Self { manner: Manner::of(attempts), distinct }
    }

    /// What a charge brings beside its cost and the most that fits: names, and how they are packed.
    pub(super) const fn arguments(self) -> (&'static [&'static str], &'static str) {
        match (self.manner, self.distinct) {
            (Manner::Temp, false) => (&["id", "per", "block"], "c8LL"),
            (Manner::Temp, true) => (&["id", "per", "block", "member"], "c8LLc8"),
            (Manner::Dual, false) => {
                (&["id", "per", "block", "fulls", "pers", "blocks"], "c8LLLLL")
            }
            (Manner::Dual, true) => {
                (&["id", "per", "block", "fulls", "pers", "blocks", "member"], "c8LLLLLc8")
            }
            (Manner::Ladder, false) => {
                (&["id", "per", "from", "to", "decay", "lasts"], "c8LBBLc48")
            }
            (Manner::Ladder, true) => {
                (&["id", "per", "from", "to", "decay", "lasts", "member"], "c8LBBLc48c8")
            }
        }
    }

    /// Reads the log and checks its head; with `room`, sees whether one more passes.
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
        // While a block holds, the log does not matter, but for the long window of a shorter one.
        text += &match self.manner {
            Manner::Ladder => ["if not held$ then\n", mine, get("reach"), "end\n"].concat(),
            Manner::Temp => [mine, "if not held$ then\n", get("reach"), "end\n"].concat(),
            Manner::Dual => {
                let temp = ["if not held$ then\n", get("reach"), "end\n"].concat();
                let long = [UNLESS_LONG, get("reach long"), "end\n"];
                [mine, &temp, &long.concat()].concat()
            }
        };
        text + get("room")
    }

    /// Records an attempt, and begins the block it is one too many for.
    pub(super) fn count(self) -> String {
        let get = |name| ATTEMPTS.get(name);
        let push = if self.distinct { get("push member") } else { get("push") };
        let write = self.write();
        match self.manner {
            // During a long block attempts leave no trace, and on a ladder during any.
            Manner::Temp | Manner::Dual => {
                let long = if self.manner == Manner::Dual { get("begin long") } else { "" };
                let begin = [get("begin"), long].concat();
                [UNLESS_LONG, self.bounds(), &begin, push, &write, "end\n"].concat()
            }
            Manner::Ladder => {
                let climb =
                    ["if reach$ > 0 then\n", get("climb"), "else\n", push, "end\n"].concat();
                ["if not held$ then\n", self.bounds(), &climb, &write, "end\n"].concat()
            }
        }
    }

    /// Finds what is given back, before anything is written.
    pub(super) fn find(self) -> String {
        let get = |name| ATTEMPTS.get(name);
        match self.distinct {
            true => [get("own"), get("mine"), get("find member")].concat(),
            false => get("find").to_owned(),
        }
    }

    /// Takes one attempt out.
    pub(super) fn back(self) -> String {
        [self.bounds(), ATTEMPTS.get("back")].concat()
    }

    /// Takes all attempts out; a block stays.
    pub(super) fn forgive(self) -> String {
        [self.bounds(), ATTEMPTS.get("forgive")].concat()
    }

    /// Writes the log, with a time to live that covers all it has to remember.
    pub(super) fn write(self) -> String {
        let forgets = match self.manner {
            Manner::Temp | Manner::Dual => ATTEMPTS.get("forgets"),
            Manner::Ladder => ATTEMPTS.get("forgets ladder"),
        };
        [forgets, ATTEMPTS.get("write")].concat()
    }

    fn bounds(self) -> &'static str {
        match self.manner {
            Manner::Temp | Manner::Ladder => ATTEMPTS.get("bounds"),
            Manner::Dual => ATTEMPTS.get("bounds long"),
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

/// Packs what a charge brings, in the order of [`Log::arguments`].
pub(super) fn pack(charge: &Charge<'_>, attempts: &Attempts, args: &mut Args) {
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
