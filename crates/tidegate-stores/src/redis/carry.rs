//! Changing the secret: counters are carried over from their names under the previous secret.
//!
//! With another secret accounts, addresses, devices, agents and long values have other names, on a
//! cluster in other slots, so no single script sees both. Before a charge the old names are looked up
//! (one call; none if the names of a batch are the same under both). A counter that is found is adopted
//! under the new name, as it is and with its expiry, if nothing is there; then the old name is
//! forgotten. So a counter goes on where it was, and is never added to another.
//!
//! If several nodes do this at once, one is first, because adopting is one script with a mark of its
//! own. The mark lives as long as the counter that was found: neither a slow node nor one that knows
//! only the old secret can bring back a counter that has been reset since. A node that finds the old
//! name gone, or the mark there, knows that the counter has arrived.
//!
//! Nothing is counted here, so a call without an answer is taken for a store that cannot be reached:
//! the decision fails, and nobody has to wonder whether it was counted.

use std::sync::Arc;

use arrayvec::ArrayVec;
use tidegate_core::{Names, StoreError};

use super::args::Nonce;
use super::group::{MAX_KEYS, present, tag_of};
use super::reply;
use super::servers::Garbled;
use super::store::Connected;

/// A counter that has another name under the current secret.
struct Renamed<'n> {
    /// The place of the counter in the batch.
    place: usize,
    previous: &'n str,
    current: &'n str,
}

/// The state that was found under one name.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// When the state expires, in milliseconds by the clock of the server.
    expiry: u64,
    state: Vec<u8>,
}

/// The states found under several names, or the place of the name under which no counter can be read.
type Looked = Result<ArrayVec<Option<Found>, MAX_KEYS>, usize>;

/// Carries counters over from their previous names to their current ones. Both lists are in the order
/// of a batch.
pub(super) async fn over(
    store: &Arc<Connected>,
    previous: &[Names],
    names: &[Names],
) -> Result<(), StoreError> {
    for places in store.groups(present(previous.iter())) {
        let mut group = Vec::new();
        for place in places {
            // Under all its names: a counter that a reload has left under a former name is carried over
            // to that name, where the charge finds it.
            let pairs = previous[place].in_order().zip(names[place].in_order());
            let renamed = pairs.filter(|(previous, current)| previous != current);
            group.extend(renamed.map(|(previous, current)| Renamed { place, previous, current }));
        }
        carry(store, &group).await.map_err(|error| match error {
            StoreError::Timeout => StoreError::Unavailable,
            other => other,
        })?;
    }
    Ok(())
}

/// Carries over counters whose previous names lie in one group.
async fn carry(store: &Arc<Connected>, group: &[Renamed<'_>]) -> Result<(), StoreError> {
    if group.is_empty() {
        return Ok(());
    }
    let [find, adopt, _] = &store.scripts.carry;
    let keys: ArrayVec<&str, MAX_KEYS> = group.iter().map(|renamed| renamed.previous).collect();
    let nonce = store.nonce();
    let looked = store.call(find, &keys, &nonce, |reply| looked(reply, nonce, keys.len())).await?;
    let found = looked.map_err(|place| StoreError::Corrupt { charge: group[place].place })?;
    for (renamed, found) in group.iter().zip(found) {
        let Some(Found { expiry, state }) = found else { continue };
        let nonce = store.nonce();
        let arg = [&nonce[..], &expiry.to_le_bytes(), &state].concat();
        let mark = format!("tg:{{{}}}:carried:{}", tag_of(renamed.current), renamed.current);
        let keys = [renamed.current, &mark];
        let first = store.call(adopt, &keys, &arg, |reply| adopted(reply, nonce)).await?;
        if first {
            let (store, previous) = (Arc::clone(store), renamed.previous.to_owned());
            // Nothing depends on this: the mark is there, and what is left expires by itself.
            store.clone().spawn(async move { forget(&store, &previous, &state).await });
        }
    }
    Ok(())
}

async fn forget(store: &Connected, previous: &str, state: &[u8]) {
    let [_, _, forget] = &store.scripts.carry;
    let arg = [&store.nonce()[..], state].concat();
    let _ = store.call(forget, &[previous], &arg, |_| Ok(())).await;
}

/// Whether the counter was adopted by this call, and not before or too late.
fn adopted(reply: &[u8], nonce: Nonce) -> Result<bool, Garbled> {
    match reply.strip_prefix(&nonce).ok_or(Garbled)? {
        b"carried" => Ok(true),
        b"before" | b"late" => Ok(false),
        _ => Err(Garbled),
    }
}

/// Reads the answer to a look under as many names as `names` says.
fn looked(reply: &[u8], nonce: Nonce, names: usize) -> Result<Looked, Garbled> {
    let mut rest = reply.strip_prefix(&nonce).ok_or(Garbled)?;
    if let Some(mut place) = rest.strip_prefix(b"corrupt ") {
        let corrupt = reply::place(&mut place)?;
        return if place.is_empty() && corrupt < names { Ok(Err(corrupt)) } else { Err(Garbled) };
    }
    let mut found = ArrayVec::new();
    for _ in 0..names {
        let (expiry, after) = rest.split_first_chunk().ok_or(Garbled)?;
        let (length, after) = after.split_first_chunk().ok_or(Garbled)?;
        let expiry = u64::from_le_bytes(*expiry);
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| Garbled)?;
        let (state, after) = after.split_at_checked(length).ok_or(Garbled)?;
        let one = (expiry > 0).then(|| Found { expiry, state: state.to_vec() });
        found.try_push(one).map_err(|_| Garbled)?;
        rest = after;
    }
    if rest.is_empty() { Ok(Ok(found)) } else { Err(Garbled) }
}

#[cfg(test)]
mod tests {
    //! P68: whatever comes back, it is an answer or it is garbled.

    use proptest::prelude::*;

    use super::*;

    const NONCE: Nonce = *b"abcd";

    fn one(expiry: u64, state: &[u8]) -> Vec<u8> {
        let length = u32::try_from(state.len()).unwrap();
        [&expiry.to_le_bytes()[..], &length.to_le_bytes(), state].concat()
    }

    #[test]
    fn what_is_there_is_told_from_what_is_not() {
        let reply = [&NONCE[..], &one(0, b""), &one(7, b"b1 state")].concat();
        let found = looked(&reply, NONCE, 2).unwrap().unwrap();
        assert_eq!(found[0], None);
        assert_eq!(found[1], Some(Found { expiry: 7, state: b"b1 state".to_vec() }));
        assert_eq!(looked(b"abcdcorrupt 2 ", NONCE, 2), Ok(Err(1)));
        for garbled in
            [&b""[..], b"abcd", b"abc", b"abcdcorrupt 3 ", b"abcdcorrupt 0 ", &reply[4..]]
        {
            assert_eq!(looked(garbled, NONCE, 2), Err(Garbled), "{garbled:?}");
        }
        assert_eq!(looked(&reply, NONCE, 1), Err(Garbled), "more than was asked for");
        assert_eq!(looked(&reply, *b"abce", 2), Err(Garbled), "the answer to something else");
    }

    #[test]
    fn only_who_is_first_has_carried_it_over() {
        assert_eq!(adopted(b"abcdcarried", NONCE), Ok(true));
        assert_eq!(adopted(b"abcdbefore", NONCE), Ok(false));
        assert_eq!(adopted(b"abcdlate", NONCE), Ok(false));
        assert_eq!(adopted(b"abcdcarried ", NONCE), Err(Garbled));
        assert_eq!(adopted(b"carried", NONCE), Err(Garbled));
    }

    proptest! {
        #[test]
        fn no_reply_is_too_strange(reply in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (looked(&reply, NONCE, 3), adopted(&reply, NONCE));
            let _ = looked(&[&NONCE[..], &reply].concat(), NONCE, 3);
        }
    }
}
