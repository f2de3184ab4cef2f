//! Counters that had another name before a reload: where they are looked for, and what becomes of them.
//!
//! A script without such names is the same text as if there were none of this.

use super::super::signature::{Ask, Form, Part, Signature};
use core::ops::Range;

/// The places of a counter's former names in `KEYS`.
#[derive(Clone, Debug)]
pub(super) struct Former {
    /// Names that come before the present one.
    newer: Range<usize>,
    /// Names that come after it.
    older: Range<usize>,
}

/// The places of the former names of each part. They follow all present names, and the ticket.
pub(super) fn places(signature: &Signature) -> Vec<Former> {
    let mut next = 1 + signature.parts.len() + usize::from(signature.ask == Ask::Settle);
    let mut take = |count: u8| {
        let first = next;
        next += usize::from(count);
        first..next
    };
    let former = |part: &Part| Former { newer: take(part.newer), older: take(part.older) };
    signature.parts.iter().map(former).collect()
}

/// What a script with former names begins with: the places of counters that were found under one.
pub(super) fn begin(signature: &Signature) -> &'static str {
    let former = signature.parts.iter().any(|part| part.newer + part.older > 0);
    if former { "local adopted = {}\n" } else { "" }
}

// === impl Former ===

impl Former {
    /// Looks for the counter under all its names, where `read` looks under the present one.
    pub(super) fn read(&self, read: &str) -> String {
        const PRESENT: &str = "local v$ = pcall('GET', keys[$])\n";
        if self.is_empty() {
            return read.to_owned();
        }
        let elsewhere = |place: usize| {
            format!("if not v$ then v$ = pcall('GET', keys[{place}])\nadopted[$] = v$ end\n")
        };
        let mut text = "local v$ = false\n".to_owned();
        text.extend(self.newer.clone().map(elsewhere));
        text += "if not v$ then v$ = pcall('GET', keys[$]) end\n";
        text.extend(self.older.clone().map(elsewhere));
        read.replacen(PRESENT, &text, 1)
    }

    /// Writes the counter whole if it was found under another name, and lets it live no shorter than it
    /// would have there: else that one would be found again. Newer names are forgotten, by a time to
    /// live that is over: a charge has no right to delete.
    pub(super) fn write(&self, form: Form, write: &str) -> String {
        if self.is_empty() {
            return without_least(write);
        }
        let kept = match form {
            Form::Bucket => "v$ and unpack('<L', v$, 43) or 0",
            _ => "keeps$",
        };
        let mut text = format!(
            "local least = 0\nif adopted[$] then\nleast, keeps$ = {kept}, -1\n\
             if not (least * 1000 > clock) then least = (clock - clock % 1000) / 1000 + 1 end\n"
        );
        if matches!(form, Form::Fixed | Form::FirstUse | Form::Calendar) {
            // What is given back ends when it did.
            text += "if finish$ < 0 then finish$ = least * 1000 - SLACK end\n";
        }
        text += "end\n";
        for line in write.lines() {
            match line.trim_start().strip_prefix("@least ") {
                Some(name) => {
                    text += &format!("if {name} < least then {name} = least end\n");
                }
                None => text.extend([line, "\n"]),
            }
        }
        for place in self.newer.clone() {
            text += &format!("call('SET', keys[{place}], '', 'PXAT', '1')\n");
        }
        text
    }

    fn is_empty(&self) -> bool {
        self.newer.is_empty() && self.older.is_empty()
    }
}

fn without_least(write: &str) -> String {
    let lines = write.lines().filter(|line| !line.trim_start().starts_with("@least "));
    lines.flat_map(|line| [line, "\n"]).collect()
}
