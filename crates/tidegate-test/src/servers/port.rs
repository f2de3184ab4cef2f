//! Ports that belong to one test for as long as it needs them.
//!
//! A server that is killed and restarted must find its port free. So a port is not only found but
//! also locked: beside the TCP port the holder binds the UDP port of the same number, which no
//! server here uses. The kernel releases this lock across processes when its holder dies. The ports
//! lie below those that the kernel gives to outgoing connections; otherwise such a connection could
//! take the port while the server is down.

use core::hash::{BuildHasher, Hasher};
use std::collections::hash_map::RandomState;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

/// The first port tried. Linux gives 32768 and above to outgoing connections; services people run
/// are mostly below 10000.
const FIRST: u16 = 10_000;
const COUNT: u16 = 22_000;

/// A port on loopback that no other test has.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// The lock on the port: held, but not used.
    _lock: UdpSocket,
}

// === impl Port ===

impl Port {
    /// Finds a free port and locks it.
    ///
    /// # Panics
    ///
    /// If no port is free.
    #[must_use]
    pub fn free() -> Self {
        // Tests start at the same time, so each begins its search somewhere else.
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
        // Bound and released at once, to see that it is free; the server binds it next.
        TcpListener::bind(address(number)).ok()?;
        Some(Self { number, _lock: lock })
    }
}

fn address(number: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, number))
}
