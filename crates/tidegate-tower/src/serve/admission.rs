//! New connections: how many, from whom, and what happens to the rest (threat T34).
//!
//! | a connection | finds a place |
//! |---|---|
//! | of a trusted peer | while there is one |
//! | of anybody else | while there is one, and its address has fewer than its share |
//! | that found none, where connections give way | of one that nobody has vouched for |
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
use super::host::PlaceKind;
use super::lanes::Handed;
use super::strangers::{Stranger, Strangers};
use super::watch::Watch;
use crate::client::Trust;

/// Counts open connections, and decides which new ones find a place.
#[derive(Debug)]
pub(super) struct Admission {
    ordinary: Places,
    reserved: Places,
    /// Counts the connections of HTTP/2.
    http2: Places,
    /// The connections that give way to new ones, if any do.
    strangers: Option<Strangers>,
    /// The peers whose connections are not counted by address.
    trusted: Trust,
    refused: [AtomicU64; NotServed::ALL.len()],
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
pub(super) struct OpenConnection {
    admission: Arc<Admission>,
    /// The kind of place that the connection has.
    pub(super) place: PlaceKind,
    /// The address that the connection is counted under; none if its peer is trusted.
    address: Option<Prefix>,
    /// Its entry among the strangers, if it gives way to others.
    stranger: Option<Arc<Stranger>>,
    /// Whether it counts as one of HTTP/2 as well.
    is_http2: bool,
}

/// Vouches for a connection, so that it gives way to no other.
#[derive(Debug)]
pub(super) struct Voucher {
    admission: Arc<Admission>,
    stranger: Arc<Stranger>,
}

/// Why a connection was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotServed {
    /// As many connections are open as there may be.
    Total,
    /// The address of the connection has as many as it may have.
    Address,
    /// The operating system did not hand over the connection, usually for want of file descriptors.
    System,
}

tidegate_core::names!(NotServed { Total: "total", Address: "address", System: "system" });

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
                admission.refuse(NotServed::System);
                // Logged once, not twenty times a second; the metric tells how long it lasts.
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(
                        kind = ?error.kind(),
                        "cannot accept connections, usually for want of file descriptors; trying again"
                    );
                }
                #[expect(
                    clippy::disallowed_methods,
                    reason = "file descriptors come back in real time"
                )]
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
            ordinary: Places::new(
                bounds.connections,
                bounds.connections_of_one.min(bounds.connections),
            ),
            reserved: Places::new(reserve, reserve.div_ceil(OF_RESERVE)),
            http2: Places::new(bounds.http2_connections, usize::MAX),
            strangers: bounds.give_way.then(Strangers::default),
            trusted: bounds.trust.clone(),
            refused: Default::default(),
        })
    }

    /// A place for one connection, if there is one; otherwise the connection is counted as refused.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<OpenConnection> {
        let peer = peer.to_canonical();
        let address = Prefix::of(peer);
        let permit = |place, address, stranger| {
            let admission = Arc::clone(self);
            Some(OpenConnection { admission, place, address, stranger, is_http2: false })
        };
        let counted = (!self.trusted.trusts(peer)).then_some(address);
        let taken = self.ordinary.take(counted).or_else(|refused| {
            let crowd = (refused == NotServed::Address).then_some(address);
            let free = self
                .strangers
                .as_ref()
                .and_then(|strangers| strangers.give_way(crowd))
                .ok_or(refused)?;
            self.ordinary.give_back(Some(free));
            self.ordinary.take(counted)
        });
        let refused = match taken {
            Ok(()) => {
                let stranger =
                    |strangers: &Strangers| counted.map(|address| strangers.add(address));
                return permit(
                    PlaceKind::Ordinary,
                    counted,
                    self.strangers.as_ref().and_then(stranger),
                );
            }
            Err(refused) => refused,
        };
        if self.reserved.take(Some(address)).is_ok() {
            return permit(PlaceKind::Reserved, Some(address), None);
        }
        self.refuse(refused);
        None
    }

    fn refuse(&self, reason: NotServed) {
        self.refused[reason as usize].fetch_add(1, Relaxed);
    }

    /// How many connections are open, those on reserved places included.
    pub(super) fn open(&self) -> usize {
        self.ordinary.open.load(Relaxed) + self.reserved.open.load(Relaxed)
    }

    /// How many connections were refused for this reason.
    pub(super) fn refused(&self, reason: NotServed) -> u64 {
        self.refused[reason as usize].load(Relaxed)
    }

    const fn places(&self, place: PlaceKind) -> &Places {
        match place {
            PlaceKind::Ordinary => &self.ordinary,
            PlaceKind::Reserved => &self.reserved,
        }
    }
}

// === impl Places ===

impl Places {
    fn new(most: usize, of_one: usize) -> Self {
        Self { most, of_one, open: AtomicUsize::new(0), by_address: Mutex::default() }
    }

    /// Takes a place, counted under an address if one is given.
    fn take(&self, address: Option<Prefix>) -> Result<(), NotServed> {
        let room = |open: usize| (open < self.most).then(|| open + 1);
        self.open.fetch_update(Relaxed, Relaxed, room).map_err(|_| NotServed::Total)?;
        let Some(address) = address else { return Ok(()) };
        let mut counts = lock(&self.by_address);
        let count = counts.entry(address).or_insert(0);
        if *count >= self.of_one {
            drop(counts);
            self.open.fetch_sub(1, Relaxed);
            return Err(NotServed::Address);
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

/// The value in a mutex, also after a panic.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl OpenConnection ===

impl OpenConnection {
    /// Notes that the connection is served, and by which watch it can be ended.
    pub(super) fn serve(&self, watch: &Arc<Watch>) {
        if let Some(stranger) = &self.stranger {
            stranger.serve(watch);
        }
    }

    /// Counts the connection as one of HTTP/2; `false` if there are as many as there may be.
    pub(super) fn speaks_http2(&mut self) -> bool {
        match self.admission.http2.take(None) {
            Ok(()) => self.is_http2 = true,
            Err(reason) => self.admission.refuse(reason),
        }
        self.is_http2
    }

    /// What vouches for the connection, if it gives way to others until then.
    pub(super) fn voucher(&self) -> Option<Voucher> {
        let stranger = Arc::clone(self.stranger.as_ref()?);
        Some(Voucher { admission: Arc::clone(&self.admission), stranger })
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if self.is_http2 {
            self.admission.http2.give_back(None);
        }
        let holds = match (&self.admission.strangers, &self.stranger) {
            (Some(strangers), Some(stranger)) => strangers.leave(stranger),
            _ => true,
        };
        if holds {
            self.admission.places(self.place).give_back(self.address);
        }
    }
}

// === impl Voucher ===

impl Voucher {
    /// Keeps the connection from giving way from now on.
    pub(super) fn vouch(&self) {
        if let Some(strangers) = &self.admission.strangers {
            strangers.vouch(&self.stranger);
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

    fn bounds(connections: usize, connections_of_one: usize) -> Bounds {
        Bounds { connections, connections_of_one, ..Bounds::default() }
    }

    #[test]
    fn a_place_is_free_again_when_its_connection_is_gone() {
        let admission = Admission::new(&bounds(2, 256));
        let first = admission.admit(ONE.into()).unwrap();
        let _second = admission.admit(ONE.into()).unwrap();
        assert!(admission.admit(ONE.into()).is_none());
        assert_eq!(admission.refused(NotServed::Total), 1);
        drop(first);
        assert!(admission.admit(ONE.into()).is_some());
    }

    #[test]
    fn t12_connections_of_http_2_have_fewer_places() {
        let admission = Admission::new(&Bounds { http2_connections: 1, ..bounds(9, 9) });
        let [mut first, mut second] = [0; 2].map(|_| admission.admit(ONE.into()).unwrap());
        assert!(first.speaks_http2() && !second.speaks_http2());
        assert_eq!((admission.open(), admission.refused(NotServed::Total)), (2, 1));
        drop(first);
        assert!(second.speaks_http2());
    }

    #[test]
    fn t34_one_address_does_not_take_all_places() {
        let admission = Admission::new(&bounds(10, 2));
        let peer: IpAddr = "2001:db8::1".parse().unwrap();
        let neighbour: IpAddr = "2001:db8::ffff".parse().unwrap();
        let permits = [admission.admit(peer).unwrap(), admission.admit(neighbour).unwrap()];
        assert!(admission.admit(peer).is_none(), "the same /64");
        assert!(admission.admit("2001:db8:0:1::1".parse().unwrap()).is_some());
        assert_eq!(admission.refused(NotServed::Address), 1);
        drop(permits);
        assert_eq!(admission.open(), 0);
        let counts = lock(&admission.ordinary.by_address);
        assert!(counts.is_empty(), "addresses without connections are forgotten");
    }

    #[test]
    fn t34_a_trusted_peer_may_have_all_places_but_the_reserve() {
        let trust = Trust::proxies([IpNet::from(IpAddr::from(ONE))], None);
        let bounds = Bounds { reserve: 4, health: vec!["/livez"], trust, ..bounds(8, 2) };
        let admission = Admission::new(&bounds);
        let all: Vec<_> = (0..8).map(|_| admission.admit(ONE.into()).unwrap()).collect();
        assert!(all.iter().all(|permit| permit.place == PlaceKind::Ordinary));
        let check = admission.admit(OTHER.into()).unwrap();
        assert_eq!(check.place, PlaceKind::Reserved);
        drop(all);
        assert_eq!(admission.admit(OTHER.into()).unwrap().place, PlaceKind::Ordinary);
    }

    #[test]
    fn t34_one_address_has_a_quarter_of_the_reserve() {
        let bounds = Bounds { reserve: 8, health: vec!["/livez"], ..bounds(8, 2) };
        let admission = Admission::new(&bounds);
        let flood: Vec<_> = (0..100).filter_map(|_| admission.admit(ONE.into())).collect();
        assert_eq!(flood.len(), 4, "two ordinary places, and two of the reserve");
        assert_eq!(admission.refused(NotServed::Address), 96);
        let others: Vec<_> = (2..9).map(|n| admission.admit([192, 0, 2, n].into())).collect();
        assert!(others.iter().all(Option::is_some));
    }

    #[test]
    fn t34_the_address_with_the_most_strangers_gives_way_first() {
        let bounds = Bounds { give_way: true, ..bounds(4, 3) };
        let admission = Admission::new(&bounds);
        let vouched = admission.admit(OTHER.into()).unwrap();
        vouched.voucher().unwrap().vouch();
        let alone = admission.admit([192, 0, 2, 3].into()).unwrap();
        let crowd = [0; 2].map(|_| admission.admit(ONE.into()).unwrap());
        let left = |permit: &OpenConnection| permit.stranger.as_ref().unwrap().has_left();
        let newcomer = admission.admit(OTHER.into()).unwrap();
        assert_eq!(crowd.each_ref().map(left), [true, false], "the oldest of the crowd");
        assert!(!left(&alone) && !left(&vouched) && !left(&newcomer));
        assert_eq!(admission.open(), 4);
        // All strangers have one each now, and the oldest of them goes.
        let _another = admission.admit([192, 0, 2, 4].into()).unwrap();
        assert!(left(&alone) && !left(&crowd[1]) && !left(&vouched));
        drop((crowd, alone, vouched, newcomer));
        assert_eq!(admission.open(), 1, "a place is given back once");
    }

    #[test]
    fn t34_when_everybody_is_vouched_for_nobody_gives_way() {
        let admission = Admission::new(&Bounds { give_way: true, ..bounds(2, 2) });
        let permits = [0; 2].map(|_| admission.admit(ONE.into()).unwrap());
        permits.iter().for_each(|permit| permit.voucher().unwrap().vouch());
        assert!(admission.admit(OTHER.into()).is_none());
        assert_eq!(admission.refused(NotServed::Total), 1);
    }

    #[test]
    fn an_address_with_its_share_gives_way_to_itself() {
        let bounds = Bounds { give_way: true, ..bounds(9, 1) };
        let admission = Admission::new(&bounds);
        let first = admission.admit(ONE.into()).unwrap();
        let _other = admission.admit(OTHER.into()).unwrap();
        let _second = admission.admit(ONE.into()).unwrap();
        assert!(first.stranger.as_ref().unwrap().has_left());
        assert_eq!(admission.open(), 2);
    }

    #[test]
    fn t04_an_address_is_one_however_the_socket_spells_it() {
        let admission = Admission::new(&bounds(10, 1));
        let _permit = admission.admit("::ffff:192.0.2.1".parse().unwrap()).unwrap();
        assert!(admission.admit(ONE.into()).is_none());
    }
}
