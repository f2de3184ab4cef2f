//! Why the servers could not be used, in words for an operator.
//!
//! The engine acts on a [`StoreError`], which has a handful of variants and no text. An operator who
//! has to mend the servers needs the text: which server it was, and what it said.

use core::fmt;

use tidegate_core::StoreError;

/// What went wrong with the servers, with their addresses and without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Trouble {
    what: String,
    refusal: bool,
}

// === impl Trouble ===

impl Trouble {
    /// Trouble that may pass by itself: not there, not ready, not the primary.
    pub(crate) fn passing(what: impl Into<String>) -> Self {
        Self { what: bounded(what.into()), refusal: false }
    }

    /// Trouble that stays until somebody changes a setting.
    pub(crate) fn refusal(what: impl Into<String>) -> Self {
        Self { what: bounded(what.into()), refusal: true }
    }

    /// Adds the server that the trouble is about.
    pub(crate) fn at(mut self, place: impl fmt::Display) -> Self {
        self.what = format!("{place}: {}", self.what);
        self
    }

    /// Whether waiting is of no use: a wrong password, an evicting server, a certificate nobody
    /// trusts. At start-up that is a mistake to report, whereas the rest may only be late.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        self.refusal
    }

    /// The error that the engine acts on. Whatever the trouble is about, no call was sent.
    pub(crate) const fn error(&self) -> StoreError {
        if self.refusal { StoreError::Refused } else { StoreError::Unavailable }
    }
}

/// Makes a message one line, and not a long one: a server may answer with anything, and people read
/// this.
fn bounded(what: String) -> String {
    const LONGEST: usize = 300;
    if what.len() <= LONGEST && !what.contains(char::is_control) {
        return what;
    }
    what.chars().map(|it| if it.is_control() { ' ' } else { it }).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_one_short_line() {
        let hostile = format!("\x1b[2J\r\nfake log line\n{}", "é".repeat(1_000_000));
        for trouble in [Trouble::passing(hostile.as_str()), Trouble::refusal(hostile.as_str())] {
            let text = trouble.to_string();
            assert!(!text.contains(char::is_control), "{text:?}");
            assert_eq!(text.chars().count(), 300);
        }
        assert_eq!(Trouble::passing("short").to_string(), "short");
    }
}
