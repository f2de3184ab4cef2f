//! New connections: how many, from whom, and what happens to the rest (threat T34).
//!
//! | a connection | finds a place |
//! |---|---|
//! | of a trusted peer | while there is one |
//! | of anybody else | while there is one, and its address has fewer than its share |
//! | that found none, where health checks have a reserve | in the reserve, of which one address has a quarter at most |
//!
//! On a reserved place only health checks are answered, so nobody can keep them out by opening
//! connections: a connection that says nothing is closed after the time for a head.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_core::Prefix;
use tokio::net::TcpListener;

use super::bounds::Bounds;
use super::connection::Accepted;
use super::host::Place;
use super::lanes::Handed;
use crate::client::Trust;

/// Counts open connections, and decides which new ones find a place.
#[derive(Debug)]
pub(super) struct Admission {
    ordinary: Places,
    reserved: Places,
    /// The peers whose connections are not counted by address.
    trusted: Trust,
    refused: [AtomicU64; Refused::ALL.len()],
}

/// A number of places for connections: the ordinary ones, or the reserve.
#[derive(Debug)]
struct Places {
    most: usize,
    of_one: usize,
    open: AtomicUsize,
    /// The open connections of each address; never longer than the list of connections.
    by_address: Mutex<HashMap<Prefix, usize>>,
}

/// One open connection; gives its place back when it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    admission: Arc<Admission>,
    place: Place,
    /// The address that the connection is counted under; none if its peer is trusted.
    address: Option<Prefix>,
}

/// Why a connection was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// As many connections are open as there may be.
    Total,
    /// The address of the connection has as many as it may have.
    Address,
    /// The operating system did not hand over the connection, usually for want of file descriptors.
    System,
}

/// How long to leave the operating system alone after it could not hand over a connection. Asking
/// again at once would only keep a core busy: the connection is still there.
const PAUSE: Duration = Duration::from_millis(50);

/// The part of the reserve that one address may have: a quarter.
const OF_RESERVE: usize = 4;

/// Accepts connections for ever, and hands on those that may be served. Others are closed and counted.
pub(super) async fn accept(
    listener: &TcpListener,
    admission: &Arc<Admission>,
    hand_on: impl Fn(Handed),
) -> Infallible {
    let mut failing = false;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                failing = false;
                let Some(permit) = admission.admit(peer.ip()) else { continue };
                let local = stream.local_addr().ok();
                if stream.set_nodelay(true).is_ok()
                    && let Ok(stream) = stream.into_std()
                {
                    hand_on(Accepted { stream, peer, local, permit });
                }
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                admission.refuse(Refused::System);
                // Logged once, not twenty times a second; the metric tells how long it lasts.
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(
                        kind = ?error.kind(),
                        "cannot accept connections, usually for want of file descriptors; trying again"
                    );
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Whether an error concerns only one connection, which went away before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

// === impl Admission ===

impl Admission {
    pub(super) fn new(bounds: &Bounds) -> Arc<Self> {
        let reserve = if bounds.health.is_empty() { 0 } else { bounds.reserve };
        Arc::new(Self {
            ordinary: Places::new(bounds.connections, bounds.of_one()),
            reserved: Places::new(reserve, reserve.div_ceil(OF_RESERVE)),
            trusted: bounds.trusted.clone(),
            refused: Default::default(),
        })
    }

    /// A place for one connection, if there is one; otherwise the connection is counted as refused.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<Permit> {
        let peer = peer.to_canonical();
        let address = Prefix::of(peer);
        let permit = |place, address| Permit { admission: Arc::clone(self), place, address };
        let counted = (!self.trusted.trusts(peer)).then_some(address);
        let refused = match self.ordinary.take(counted) {
            Ok(()) => return Some(permit(Place::Ordinary, counted)),
            Err(refused) => refused,
        };
        if self.reserved.take(Some(address)).is_ok() {
            return Some(permit(Place::Reserved, Some(address)));
        }
        self.refuse(refused);
        None
    }

    fn refuse(&self, reason: Refused) {
        self.refused[reason as usize].fetch_add(1, Relaxed);
    }

    /// How many connections are open, those on reserved places included.
    pub(super) fn open(&self) -> usize {
        self.ordinary.open.load(Relaxed) + self.reserved.open.load(Relaxed)
    }

    /// How many connections were refused for this reason.
    pub(super) fn refused(&self, reason: Refused) -> u64 {
        self.refused[reason as usize].load(Relaxed)
    }

    const fn places(&self, place: Place) -> &Places {
        match place {
            Place::Ordinary => &self.ordinary,
            Place::Reserved => &self.reserved,
        }
    }
}

// === impl Places ===

impl Places {
    fn new(most: usize, of_one: usize) -> Self {
        Self { most, of_one, open: AtomicUsize::new(0), by_address: Mutex::default() }
    }

    /// Takes a place, counted under an address if one is given.
    fn take(&self, address: Option<Prefix>) -> Result<(), Refused> {
        let room = |open: usize| (open < self.most).then(|| open + 1);
        self.open.fetch_update(Relaxed, Relaxed, room).map_err(|_| Refused::Total)?;
        let Some(address) = address else { return Ok(()) };
        let mut counts = lock(&self.by_address);
        let count = counts.entry(address).or_insert(0);
        if *count >= self.of_one {
            drop(counts);
            self.open.fetch_sub(1, Relaxed);
            return Err(Refused::Address);
        }
        *count += 1;
        Ok(())
    }

    fn give_back(&self, address: Option<Prefix>) {
        self.open.fetch_sub(1, Relaxed);
        if let Some(address) = address
            && let Entry::Occupied(mut entry) = lock(&self.by_address).entry(address)
        {
            match entry.get().saturating_sub(1) {
                0 => drop(entry.remove()),
                count => *entry.get_mut() = count,
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Permit ===

impl Permit {
    /// The kind of place that the connection has.
    pub(super) const fn place(&self) -> Place {
        self.place
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.places(self.place).give_back(self.address);
    }
}

// === impl Refused ===

impl Refused {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::Total, Self::Address, Self::System];

    /// The label of this reason in metrics.
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

    use ipnet::IpNet;

    use super::*;

    const ONE: [u8; 4] = [192, 0, 2, 1];
    const OTHER: [u8; 4] = [192, 0, 2, 2];

    #[test]
    fn a_place_is_free_again_when_its_connection_is_gone() {
        let admission = Admission::new(&Bounds::default().connections(2));
        let first = admission.admit(ONE.into()).unwrap();
        let _second = admission.admit(ONE.into()).unwrap();
        assert!(admission.admit(ONE.into()).is_none());
        assert_eq!(admission.refused(Refused::Total), 1);
        drop(first);
        assert!(admission.admit(ONE.into()).is_some());
    }

    #[test]
    fn t34_one_address_does_not_take_all_places() {
        let admission = Admission::new(&Bounds::default().connections(10).connections_of_one(2));
        let peer: IpAddr = "2001:db8::1".parse().unwrap();
        let neighbour: IpAddr = "2001:db8::ffff".parse().unwrap();
        let permits = [admission.admit(peer).unwrap(), admission.admit(neighbour).unwrap()];
        assert!(admission.admit(peer).is_none(), "the same /64");
        assert!(admission.admit("2001:db8:0:1::1".parse().unwrap()).is_some());
        assert_eq!(admission.refused(Refused::Address), 1);
        drop(permits);
        assert_eq!(admission.open(), 0);
        let counts = lock(&admission.ordinary.by_address);
        assert!(counts.is_empty(), "addresses without connections are forgotten");
    }

    #[test]
    fn t34_a_trusted_peer_may_have_all_places_but_the_reserve() {
        let bounds = Bounds::default().connections(8).connections_of_one(2).reserve(4, &["/livez"]);
        let proxies = Trust::proxies([IpNet::from(IpAddr::from(ONE))], None);
        let admission = Admission::new(&bounds.trust(proxies));
        let all: Vec<_> = (0..8).map(|_| admission.admit(ONE.into()).unwrap()).collect();
        assert!(all.iter().all(|permit| permit.place() == Place::Ordinary));
        let check = admission.admit(OTHER.into()).unwrap();
        assert_eq!(check.place(), Place::Reserved);
        drop(all);
        assert_eq!(admission.admit(OTHER.into()).unwrap().place(), Place::Ordinary);
    }

    #[test]
    fn t34_one_address_has_a_quarter_of_the_reserve() {
        let bounds = Bounds::default().connections(8).connections_of_one(2).reserve(8, &["/livez"]);
        let admission = Admission::new(&bounds);
        let flood: Vec<_> = (0..100).filter_map(|_| admission.admit(ONE.into())).collect();
        assert_eq!(flood.len(), 4, "two ordinary places, and two of the reserve");
        assert_eq!(admission.refused(Refused::Address), 96);
        let others: Vec<_> = (2..9).map(|n| admission.admit([192, 0, 2, n].into())).collect();
        assert!(others.iter().all(Option::is_some));
    }

    #[test]
    fn t04_an_address_is_one_however_the_socket_spells_it() {
        let admission = Admission::new(&Bounds::default().connections(10).connections_of_one(1));
        let _permit = admission.admit("::ffff:192.0.2.1".parse().unwrap()).unwrap();
        assert!(admission.admit(ONE.into()).is_none());
    }
}
