//! Amends one counter for an operator, with one script.
//!
//! While the secret is being changed the counter is first carried over to its current name, as before a
//! charge. Otherwise what is lifted or forgotten here would come back with the next attempt, and a
//! short block under the new name would take the place of a long one under the old.

use std::sync::Arc;

use arrayvec::ArrayVec;
use tidegate_core::{Amended, Amendment, Counter, MAX_KEY, Names, Shape, Span, StoreError};

use super::args::Args;
use super::carry;
use super::group::MAX_KEYS;
use super::reply;
use super::store::Inner;

/// The beginning of the names of all abuse logs.
pub(super) const LOGS: &str = "abuse_limiter:attempts:{";

/// Whether a name is that of somebody's abuse log, and not of a probe.
pub(super) fn is_log(name: &str) -> bool {
    name.strip_prefix(LOGS).is_some_and(|rest| !rest.starts_with('!'))
}

/// The counter to amend, as the script has to know it.
struct Named {
    names: Names,
    /// The id of the limit, if an abuse log can be made anew.
    limit: Option<u64>,
    /// Whether the counter is an abuse log, which alone can be blocked.
    is_log: bool,
}

pub(super) async fn amend(
    store: &Arc<Inner>,
    counter: Counter<'_>,
    amendment: Amendment,
) -> Result<Amended, StoreError> {
    let named = Named::of(store, counter)?;
    if let (Some(previous), Counter::Of(_, key)) = (&store.previous, &counter) {
        carry::one(store, previous, key, &named.names).await?;
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
    // Former names matter only to a reset: the names of abuse logs do not change.
    let keys: ArrayVec<&str, MAX_KEYS> = match amendment {
        Amendment::Reset => {
            [named.names.present.as_str()].into_iter().chain(named.names.former()).collect()
        }
        Amendment::Block { .. } | Amendment::Unblock => {
            ArrayVec::from_iter([named.names.present.as_str()])
        }
    };
    store.call(store.scripts.amend(), &keys, args.bytes(), read).await?
}

// === impl Named ===

impl Named {
    fn of(store: &Inner, counter: Counter<'_>) -> Result<Self, StoreError> {
        Ok(match counter {
            Counter::Of(charge, key) => {
                let is_log = matches!(charge.shape(), Shape::Attempts(_));
                let limit = is_log.then(|| charge.limit().id());
                Self { names: store.names.names(&key), limit, is_log }
            }
            Counter::Listed(name) if is_log(name) && name.len() <= MAX_KEY => {
                Self { names: Names::only(name.to_owned()), limit: None, is_log: true }
            }
            Counter::Listed(_) => return Err(StoreError::Refused),
        })
    }
}
