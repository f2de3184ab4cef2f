//! Counters that had another name before a reload: where they are looked for, and what becomes of them.
//!
//! A script without former names has the same text as if this module did not exist.

use core::ops::Range;

use super::super::form::Form;
use super::super::signature::{Part, ScriptVerb, Signature};

/// The places of a counter's former names in `KEYS`.
#[derive(Clone, Debug)]
pub(super) struct FormerKeys {
    /// Former names that are looked at before the present one.
    newer: Range<usize>,
    /// Former names that are looked at after the present one.
    older: Range<usize>,
}

/// The places of the former names of each part. They follow all present names, and the ticket.
pub(super) fn places(signature: &Signature) -> Vec<FormerKeys> {
    let mut next = 1 + signature.parts.len() + usize::from(signature.ask == ScriptVerb::Settle);
    let mut take = |count: u8| {
        let first = next;
        next += usize::from(count);
        first..next
    };
    let former = |part: &Part| FormerKeys { newer: take(part.newer), older: take(part.older) };
    signature.parts.iter().map(former).collect()
}

/// The text that a script with former names begins with: a table of the counters that were found under
/// one.
pub(super) fn begin(signature: &Signature) -> &'static str {
    if signature.parts.iter().any(has_former) { "local adopted = {}\n" } else { "" }
}

/// Whether a counter has former names.
pub(super) const fn has_former(part: &Part) -> bool {
    part.newer + part.older > 0
}

// === impl FormerKeys ===

impl FormerKeys {
    /// The text `read`, which looks under the present name, changed to look for the counter under all
    /// its names.
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

    /// The text `write`, which writes a counter, changed for one that may have been found under another
    /// name. The counter is first set under the present name as it is. It lives no shorter than the one
    /// that was found, or that one would be found again. Newer names are forgotten by a time to live
    /// that is over: a charge has no right to delete.
    pub(super) fn write(&self, form: Form, write: &str) -> String {
        if self.is_empty() || write.is_empty() {
            return with_least(write, |_| String::new());
        }
        let (least, late) = (form.found_expiry(), form.adopted_late());
        let mut text = format!(
            "do\nlocal least = {least}\nif adopted[$] and v$ then\n\
             if least * 1000 > clock then\n\
             call('SET', keys[$], v$, 'PXAT', string.format('%d', least))\nelse {late} end\nend\n"
        );
        text += &with_least(write, |name| format!("if {name} < least then {name} = least end\n"));
        for place in self.newer.clone() {
            text += &format!("call('SET', keys[{place}], '', 'PXAT', '1')\n");
        }
        text + "end\n"
    }

    fn is_empty(&self) -> bool {
        self.newer.is_empty() && self.older.is_empty()
    }
}

/// The text with `line_of(name)` in place of each line `@least name`.
fn with_least(text: &str, line_of: impl Fn(&str) -> String) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix("@least ") {
        Some(name) => line_of(name.trim_end()),
        None => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}
