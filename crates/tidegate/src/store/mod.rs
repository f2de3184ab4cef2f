//! Where counters are kept: chosen once, at the start.
//!
//! `memory`, or the URL of servers that a fleet shares. The choice is made by
//! [`Config`](crate::config::Config); each kind is then served by code of its own, so that a decision
//! in memory pays nothing for there being others.

mod secret;
mod watch;

use std::fmt::Display;
use std::time::Duration;

use tidegate_core::Secret;
use tidegate_engine::file::Hidden;
use tidegate_stores::redis::{RedisStore, Target, TargetError};
use tokio::time::timeout;

use crate::cli::ExitFailure;

pub(crate) use secret::{ADMIN_TOKEN, SecretPlaces, admin_token, hidden_variable, secret};
pub(crate) use watch::watch;

/// How long the start of the process waits for the store, all servers together. It is no deadline of the
/// store's: a process that is started during an outage should come up, and what a longer look would have
/// refused is found by the first probe, reported as critical, and refuses then.
const LOOK: Duration = Duration::from_millis(100);

/// Where counters are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreChoice {
    /// Counters are in this process.
    Memory,
    /// Counters are in Redis or Valkey.
    Redis(Box<Target>),
}

// === impl StoreChoice ===

impl StoreChoice {
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

/// A store on these servers. A trouble that may pass is not waited for: the process serves all the same,
/// and its policies are in their failure modes until the store answers.
///
/// # Errors
///
/// If somebody has to mend something before the store can ever work: a file that cannot be read, a
/// password that is wrong, a server that would forget.
pub(crate) async fn connected(target: Target, secret: &Secret) -> Result<RedisStore, ExitFailure> {
    let shown = target.to_string();
    let store = RedisStore::new(target, secret).map_err(|error| refused(&shown, &error))?;
    match timeout(LOOK, store.check()).await {
        Ok(Err(trouble)) if trouble.is_refusal() => Err(refused(&shown, &trouble)),
        Ok(Ok(()) | Err(_)) | Err(_) => Ok(store),
    }
}

fn refused(shown: &str, why: &dyn Display) -> ExitFailure {
    ExitFailure::misconfigured(anyhow::anyhow!("the store {shown} cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<StoreChoice, String> {
        StoreChoice::parse(&Hidden::from(text.to_owned()))
    }

    #[test]
    fn a_store_is_memory_or_a_url() {
        assert_eq!(parsed("memory"), Ok(StoreChoice::Memory));
        for url in ["redis://h", "rediss://h:1/2", "redis+sentinel://h/m", "redis+cluster://a,b"] {
            assert!(matches!(parsed(url), Ok(StoreChoice::Redis(_))), "{url}");
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
