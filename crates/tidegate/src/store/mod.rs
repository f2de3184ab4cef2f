//! Where counters are kept: chosen once, at the start.
//!
//! `memory`, or the URL of servers that a fleet shares. The choice is made by
//! [`Config`](crate::config::Config); each kind is then served by code of its own, so that a decision
//! in memory pays nothing for there being others.

mod hidden;
mod redis;
mod secret;
mod watch;

use std::fmt;

use tidegate_stores::redis::{Target, TargetError};

pub(crate) use hidden::Hidden;
pub(crate) use redis::connected;
pub(crate) use secret::{Given, hidden_text, secret};
pub(crate) use watch::Watch;

/// Where counters are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Counters are in this process.
    Memory,
    /// Counters are in Redis or Valkey.
    Redis(Box<Target>),
}

// === impl Choice ===

impl Choice {
    /// The text that stands for counters in memory.
    pub(crate) const MEMORY: &str = "memory";

    /// The choice that a text stands for.
    ///
    /// # Errors
    ///
    /// Advice on what to write instead; it never quotes what was written.
    pub(crate) fn parse(text: &Hidden) -> Result<Self, String> {
        match text.reveal() {
            Self::MEMORY => Ok(Self::Memory),
            url => Target::parse(url).map(Box::new).map(Self::Redis).map_err(|error| match error {
                TargetError::Scheme => format!("write `{}`, or {error}", Self::MEMORY),
                error => error.to_string(),
            }),
        }
    }
}

/// The choice as it may be logged: without passwords.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str(Self::MEMORY),
            Self::Redis(target) => target.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Choice, String> {
        Choice::parse(&Hidden::from(text.to_owned()))
    }

    #[test]
    fn a_store_is_memory_or_a_url() {
        assert_eq!(parsed("memory"), Ok(Choice::Memory));
        for url in ["redis://h", "rediss://h:1/2", "redis+sentinel://h/m", "redis+cluster://a,b"] {
            assert!(matches!(parsed(url), Ok(Choice::Redis(_))), "{url}");
        }
        let advice = parsed("canary").unwrap_err();
        assert!(advice.starts_with("write `memory`, or start with redis://"), "{advice}");
    }

    #[test]
    fn advice_fits_into_an_error_and_holds_nothing_of_the_url() {
        for url in
            ["canary", "redis://canary@", "redis://canary/canary", "redis://h?canary", "redis://#"]
        {
            let advice = parsed(url).unwrap_err();
            assert!(advice.chars().count() <= 160 && !advice.contains("canary"), "{advice}");
        }
    }
}
