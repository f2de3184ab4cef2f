//! What an operator does to one counter: one script on one key.
//!
//! While the secret is being changed the counter is first carried over to its current name, as before
//! a charge: otherwise what is lifted or forgotten here would come back with the next attempt, and a
//! short block under the new name would take the place of a long one under the old.

use std::sync::Arc;

use tidegate_core::{Amended, Amendment, Counter, MAX_KEY, Shape, Span, StoreError};

use super::args::Args;
use super::carry;
use super::reply;
use super::store::Inner;

/// What the names of abuse logs begin with.
pub(super) const LOGS: &str = "abuse_limiter:attempts:{";

/// Whether a name is that of somebody's abuse log, and not of a probe.
pub(super) fn is_log(name: &str) -> bool {
    name.strip_prefix(LOGS).is_some_and(|rest| !rest.starts_with('!'))
}

/// Whose counter it is, as the script has to know it.
struct Named {
    key: String,
    /// The limit, where an abuse log can be made anew.
    limit: Option<u64>,
    /// Whether it can be blocked at all.
    is_log: bool,
}

pub(super) async fn amend(
    store: &Arc<Inner>,
    counter: Counter<'_>,
    amendment: Amendment,
) -> Result<Amended, StoreError> {
    let named = Named::of(store, counter)?;
    if let (Some(previous), Counter::Of(_, key)) = (&store.previous, &counter) {
        carry::one(store, previous, key, &named.key).await?;
    }
    let (what, lasts, level) = match amendment {
        Amendment::Reset => (3, Span::ZERO, None),
        Amendment::Block { .. } | Amendment::Unblock if !named.is_log => (0, Span::ZERO, None),
        Amendment::Block { lasts, level } => (1, lasts, level),
        Amendment::Unblock => (2, Span::ZERO, None),
    };
    let nonce = store.nonce();
    let args = Args::amending(nonce, what, named.limit, lasts, level);
    let read = |reply: &[u8]| reply::amended(reply, nonce);
    store.call(store.scripts.amend(), &[named.key], args.bytes(), read).await?
}

// === impl Named ===

impl Named {
    fn of(store: &Inner, counter: Counter<'_>) -> Result<Self, StoreError> {
        Ok(match counter {
            Counter::Of(charge, key) => {
                let is_log = matches!(charge.shape(), Shape::Attempts(_));
                let limit = is_log.then(|| charge.limit().id());
                Self { key: store.names.text(&key), limit, is_log }
            }
            Counter::Listed(name) if is_log(name) && name.len() <= MAX_KEY => {
                Self { key: name.to_owned(), limit: None, is_log: true }
            }
            Counter::Listed(_) => return Err(StoreError::Refused),
        })
    }
}
