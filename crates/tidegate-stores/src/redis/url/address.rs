//! A host and a port.

use core::fmt;
use core::net::Ipv6Addr;
use core::num::NonZeroU16;

use super::TargetError;

/// The address of one server, as it was written or announced.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Address {
    /// A host name or an IP address; IPv6 without its brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

// === impl Address ===

impl Address {
    pub(crate) fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// Reads an address as it stands in a URL: `host`, `host:port`, `[::1]:port`.
    pub(super) fn parse(text: &str, default_port: u16) -> Result<Self, TargetError> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or(TargetError::Host)?;
                host.parse::<Ipv6Addr>().map_err(|_| TargetError::Host)?;
                (host, port)
            }
            None => {
                let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                // Only the characters of a name or an IPv4 address: anything else is a mistake that
                // would be looked up and reported as a name nobody knows.
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
                if host.is_empty() || !host.chars().all(plain) {
                    return Err(TargetError::Host);
                }
                (host, port)
            }
        };
        if port.is_empty() {
            return Ok(Self::new(host, default_port));
        }
        let port = port.strip_prefix(':').ok_or(TargetError::Host)?;
        let port: NonZeroU16 = port.parse().map_err(|_| TargetError::Port)?;
        Ok(Self::new(host, port.get()))
    }

    /// Reads an address to which a cluster redirects: everything before the last colon is the host,
    /// IPv6 included. An empty host means the host of the server that was asked.
    pub(crate) fn announced(text: &str, asked: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        Some(Self::new(if host.is_empty() { &asked.host } else { host }, port))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}
