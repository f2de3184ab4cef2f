//! The parts of an abuse log, put together for its manner.

use std::sync::LazyLock;

use super::{Parts, Place, STEP};
use crate::redis::form::{Log, Manner};

static ATTEMPTS: LazyLock<Parts> = LazyLock::new(|| Parts::of(include_str!("../lua/attempts.lua")));

static AMEND: LazyLock<Parts> = LazyLock::new(|| Parts::of(include_str!("../lua/amend.lua")));

/// During a long block nothing is recorded: nothing could come of it but another.
const UNLESS_LONG: &str = "if not held$ or scope$ ~= 2 then\n";

/// What an operator does to a log: one text, whatever it is.
pub(super) fn amend() -> String {
    let text = [
        STEP.get("functions"),
        AMEND.get("arguments"),
        STEP.get("clock"),
        AMEND.get("reset"),
        AMEND.get("numbers"),
        ATTEMPTS.get("read"),
        ATTEMPTS.get("state"),
        AMEND.get("amend"),
    ];
    Place { number: 1, is_local: true }.put(&text.concat())
}

// === impl Log ===

impl Log {
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
