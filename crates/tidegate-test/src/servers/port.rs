//! Ports that belong to one test as long as it wants them.
//!
//! A server that is killed and restarted must find its port free, so a port is not merely looked
//! for but kept: beside the TCP port the holder binds the UDP port of the same number, which no
//! server here uses. That is a lock across processes which the kernel releases when its holder dies.
//! The ports lie below those the kernel gives to outgoing connections, for one of these could
//! otherwise sit on the port while the server is down.

use core::hash::{BuildHasher, Hasher};
use std::collections::hash_map::RandomState;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

/// Linux gives 32768 and above to outgoing connections; services people run are mostly below 10000.
const FIRST: u16 = 10_000;
const COUNT: u16 = 22_000;

/// A port on loopback that no other test has.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// Held, not used: the lock.
    _lock: UdpSocket,
}

// === impl Port ===

impl Port {
    /// One that is free now.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn free() -> Self {
        // Tests start at once; each begins to look somewhere else.
        let start = RandomState::new().build_hasher().finish() % u64::from(COUNT);
        let start = u16::try_from(start).expect("a remainder of a u16 is one");
        let numbers = (0..COUNT).map(|step| FIRST + (start + step) % COUNT);
        numbers.into_iter().find_map(Self::take).expect("a free port on loopback")
    }

    /// The port's number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The address on loopback.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        address(self.number)
    }

    fn take(number: u16) -> Option<Self> {
        let lock = UdpSocket::bind(address(number)).ok()?;
        // Bound and let go again; the server binds it next.
        TcpListener::bind(address(number)).ok()?;
        Some(Self { number, _lock: lock })
    }
}

fn address(number: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, number))
}
