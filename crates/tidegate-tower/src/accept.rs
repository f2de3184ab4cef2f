//! New connections: how many, from whom, and what happens to the rest (threat T34).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_core::Prefix;
use tokio::net::{TcpListener, TcpStream};

/// Counts open connections.
#[derive(Debug)]
pub struct Admission {
    most: usize,
    open: AtomicUsize,
    /// Looked at only if there is a limit for each address; as long as the list of connections.
    by_address: Option<(usize, Mutex<HashMap<Prefix, usize>>)>,
    refused: [AtomicU64; Refused::ALL.len()],
}

/// One open connection; gives its place back when it is dropped.
#[derive(Debug)]
pub struct Permit {
    admission: Arc<Admission>,
    address: Prefix,
}

/// Why a connection was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There are as many as there may be.
    Total,
    /// Its address has as many as it may have.
    Address,
    /// The operating system could not hand it over: usually there are no more file descriptors.
    System,
}

/// How long to leave the operating system alone after it could not hand over a connection. Asking
/// again at once would only keep a core busy: the connection is still there.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts for ever, and hands on what may be served. The rest is closed at once and counted.
pub async fn accept(
    listener: &TcpListener,
    admission: &Arc<Admission>,
    mut hand_on: impl FnMut(TcpStream, SocketAddr, Permit),
) -> Infallible {
    let mut failing = false;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                failing = false;
                let permit = admission.admit(peer.ip());
                if let Some(permit) = permit.filter(|_| stream.set_nodelay(true).is_ok()) {
                    hand_on(stream, peer, permit);
                }
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                admission.refuse(Refused::System);
                // Once, not twenty times a second; the metric tells how long it lasts.
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(kind = ?error.kind(), "cannot accept connections; trying again");
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Whether only the one connection is concerned, which went away before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

// === impl Admission ===

impl Admission {
    /// So many connections at most, and so many of each address: an IPv6 /64 counts as one.
    #[must_use]
    pub fn new(most: usize, by_address: Option<usize>) -> Arc<Self> {
        Arc::new(Self {
            most,
            open: AtomicUsize::new(0),
            by_address: by_address.map(|most| (most, Mutex::default())),
            refused: Default::default(),
        })
    }

    /// A place for one connection, if there is one; otherwise it is counted as refused.
    pub fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Permit> {
        let room = |open: usize| (open < self.most).then(|| open + 1);
        if self.open.fetch_update(Relaxed, Relaxed, room).is_err() {
            self.refuse(Refused::Total);
            return None;
        }
        // From here on it is counted, and dropping the permit would count it out.
        let address = Prefix::of(peer);
        if let Some((most, counts)) = &self.by_address {
            let mut counts = lock(counts);
            let count = counts.entry(address).or_insert(0);
            if *count >= *most {
                drop(counts);
                self.open.fetch_sub(1, Relaxed);
                self.refuse(Refused::Address);
                return None;
            }
            *count += 1;
        }
        Some(Permit { admission: Arc::clone(self), address })
    }

    fn refuse(&self, reason: Refused) {
        self.refused[reason as usize].fetch_add(1, Relaxed);
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.load(Relaxed)
    }

    /// How many were refused for this reason.
    #[must_use]
    pub fn refused(&self, reason: Refused) -> u64 {
        self.refused[reason as usize].load(Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Permit ===

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.open.fetch_sub(1, Relaxed);
        if let Some((_, counts)) = &self.admission.by_address
            && let Entry::Occupied(mut entry) = lock(counts).entry(self.address)
        {
            match entry.get().saturating_sub(1) {
                0 => drop(entry.remove()),
                count => *entry.get_mut() = count,
            }
        }
    }
}

// === impl Refused ===

impl Refused {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Total, Self::Address, Self::System];

    /// The label in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Address => "address",
            Self::System => "system",
        }
    }
}

#[cfg(test)]
mod tests {
    //! Places taken and given back.

    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_connection_is_gone() {
        let admission = Admission::new(2, None);
        let peer = IpAddr::from([192, 0, 2, 1]);
        let first = admission.admit(peer).unwrap();
        let _second = admission.admit(peer).unwrap();
        assert!(admission.admit(peer).is_none());
        assert_eq!(admission.refused(Refused::Total), 1);
        drop(first);
        assert!(admission.admit(peer).is_some());
    }

    #[test]
    fn t34_one_address_does_not_take_all_places() {
        let admission = Admission::new(10, Some(2));
        let peer: IpAddr = "2001:db8::1".parse().unwrap();
        let neighbour: IpAddr = "2001:db8::ffff".parse().unwrap();
        let permits = [admission.admit(peer).unwrap(), admission.admit(neighbour).unwrap()];
        assert!(admission.admit(peer).is_none(), "the same /64");
        assert!(admission.admit("2001:db8:0:1::1".parse().unwrap()).is_some());
        assert_eq!(admission.refused(Refused::Address), 1);
        drop(permits);
        assert_eq!(admission.open(), 0);
        let (_, counts) = admission.by_address.as_ref().unwrap();
        assert!(lock(counts).is_empty(), "addresses without connections are forgotten");
    }
}
