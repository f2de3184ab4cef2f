//! Amends one counter for an operator, with one script.
//!
//! While the secret is being changed the counter is first carried over to its current name, as before a
//! charge. Otherwise what is lifted or forgotten here would come back with the next attempt, and a
//! short block under the new name would take the place of a long one under the old.

use core::slice;
use std::sync::Arc;

use arrayvec::ArrayVec;
use tidegate_core::{
    Amended, Amendment, CounterRef, Level, MAX_KEY, Names, Shape, Span, StoreError, Timestamp,
};

use super::args::ScriptArgs;
use super::carry;
use super::group::MAX_KEYS;
use super::reply;
use super::store::Connected;

/// The beginning of the names of all abuse logs.
pub(super) const LOGS: &str = "abuse_limiter:attempts:{";

/// Whether a name is that of somebody's abuse log, and not of a probe.
pub(super) fn is_log(name: &str) -> bool {
    name.strip_prefix(LOGS).is_some_and(|rest| !rest.starts_with('!'))
}

pub(super) async fn amend(
    store: &Arc<Connected>,
    counter: CounterRef<'_>,
    amendment: Amendment,
) -> Result<Amended, StoreError> {
    // Only an abuse log can be blocked; with the id of its limit, it can also be made anew.
    let (names, limit, is_log) = match counter {
        CounterRef::Of(charge, key) => {
            let is_log = matches!(charge.shape(), Shape::Attempts(_));
            (store.names.names(&key), is_log.then(|| charge.limit().id()), is_log)
        }
        CounterRef::Listed(name) if is_log(name) && name.len() <= MAX_KEY => {
            (Names::only(name.to_owned()), None, true)
        }
        CounterRef::Listed(_) => return Err(StoreError::Refused),
    };
    if let (Some(previous), CounterRef::Of(_, key)) = (&store.previous, &counter) {
        // An amendment concerns everything that was counted, and must not make a counter beside the old.
        carry::over(store, &[previous.names(key)], slice::from_ref(&names)).await?;
    }
    let (what, lasts, level) = match amendment {
        Amendment::Reset => (3, Span::ZERO, None),
        Amendment::Block { .. } | Amendment::Unblock if !is_log => (0, Span::ZERO, None),
        Amendment::Block { lasts, level } => (1, lasts, level),
        Amendment::Unblock => (2, Span::ZERO, None),
    };
    let nonce = store.nonce();
    let mut args = ScriptArgs::new(nonce);
    args.byte(what);
    args.byte(u8::from(limit.is_some()));
    args.put(limit.unwrap_or_default());
    // A block longer than the range of time ends with that range.
    args.put(lasts.as_micros().min(Timestamp::MAX.as_micros()));
    args.byte(level.map_or(0, Level::get));
    args.span(Level::DECAY);
    let read = |reply: &[u8]| reply::amended(reply, nonce);
    // Former names matter only to a reset: the names of abuse logs do not change.
    let former = names.former().filter(|_| amendment == Amendment::Reset);
    let keys: ArrayVec<&str, MAX_KEYS> =
        [names.present.as_str()].into_iter().chain(former).collect();
    store.call(&store.scripts.amend, &keys, args.bytes(), read).await?
}
