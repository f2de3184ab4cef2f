//! Who the client is, when proxies stand between (threat T01).
//!
//! A header says what its sender wants it to say. So nothing in it counts unless the socket's own peer
//! is a proxy we trust, and then only what that proxy added: its entry, the rightmost. If that entry
//! is again a trusted proxy, the one before it was added by that proxy, and so on. The first address
//! that is not a trusted proxy is the client, whatever stands to its left; and what cannot be read
//! ends the walk, for who wrote it is not known.

use std::net::{IpAddr, Ipv6Addr};

use http::HeaderValue;
use http::header::{FORWARDED, HeaderMap, HeaderName};
use ipnet::{IpNet, Ipv4Net};

/// The proxies that are believed about where a request came from. With none, the client is the peer.
///
/// ```
/// use http::{HeaderMap, HeaderName, HeaderValue};
/// use tidegate_tower::client::Trust;
///
/// let header = HeaderName::from_static("x-forwarded-for");
/// let trust = Trust::proxies(["10.0.0.0/8".parse()?], header.clone());
/// let mut headers = HeaderMap::new();
/// headers.insert(header, HeaderValue::from_static("192.0.2.1, 203.0.113.7"));
///
/// let (proxy, stranger) = ("10.0.0.1".parse()?, "198.51.100.9".parse()?);
/// assert_eq!(trust.client(proxy, &headers).to_string(), "203.0.113.7");
/// assert_eq!(trust.client(stranger, &headers), stranger);
/// assert_eq!(Trust::default().client(proxy, &headers), proxy);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// The trusted networks, in canonical form like the addresses they are compared with.
    proxies: Vec<IpNet>,
    header: Option<HeaderName>,
}

/// The most entries that are walked. No request comes through more proxies; if one names more, the last
/// address walked counts as the client.
const MAX_HOPS: usize = 64;

// === impl Trust ===

impl Trust {
    /// Believes these proxies in this one header field: `forwarded` is read as RFC 7239 has it, any
    /// other as a list of addresses. Without a field, a trusted proxy itself counts as the client.
    #[must_use]
    pub fn proxies(
        proxies: impl IntoIterator<Item = IpNet>,
        header: impl Into<Option<HeaderName>>,
    ) -> Self {
        Self { proxies: proxies.into_iter().map(canonical).collect(), header: header.into() }
    }

    /// Whether an address is that of a trusted proxy.
    #[must_use]
    pub fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.proxies.iter().any(|network| network.contains(&address))
    }

    /// The client behind a peer: the peer, unless it is trusted and its header leads further.
    #[must_use]
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        match &self.header {
            Some(header) if self.trusts(peer) => self.walk(peer, header, headers),
            _ => peer,
        }
    }

    fn walk(&self, proxy: IpAddr, header: &HeaderName, headers: &HeaderMap) -> IpAddr {
        let hop = if header == FORWARDED { forwarded } else { plain };
        // Several lines are one list, in their order; so the walk begins at the end of the last.
        let lines = headers.get_all(header).iter().map(HeaderValue::as_bytes).rev();
        let mut client = proxy;
        for entry in lines.flat_map(entries).take(MAX_HOPS) {
            let Some(address) = hop(entry) else { return client };
            client = address;
            if !self.trusts(client) {
                return client;
            }
        }
        client
    }
}

/// The network in the form of canonical addresses: IPv4, if it was written as a part of IPv6.
fn canonical(network: IpNet) -> IpNet {
    let mapped = match network {
        IpNet::V6(v6) => v6.addr().to_ipv4_mapped().zip(v6.prefix_len().checked_sub(96)),
        IpNet::V4(_) => None,
    };
    let v4 = mapped.and_then(|(address, length)| Ipv4Net::new(address, length).ok());
    v4.map_or(network, IpNet::V4)
}

/// The entries of one header line from right to left, without the spaces around them.
///
/// A comma within quotes divides nothing, but to know which quotes are open one has to begin on the
/// left, where anybody may have written. So every comma divides, and half of a quoted text is not an
/// address.
fn entries(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Parses an entry of `X-Forwarded-For` and its like: an address, perhaps with a port.
fn plain(entry: &[u8]) -> Option<IpAddr> {
    node(std::str::from_utf8(entry).ok()?)
}

/// Parses an element of `Forwarded` (RFC 7239): pairs, of which exactly one is `for`.
///
/// All pairs have to be well-formed. A proxy may quote in them what a client sent, such as a host; a
/// comma in the quotes divides the text, and half of it must not pass for an element.
fn forwarded(entry: &[u8]) -> Option<IpAddr> {
    let entry = std::str::from_utf8(entry).ok()?;
    let mut found = None;
    for pair in entry.split(';') {
        let (name, value) = pair.trim_ascii().split_once('=')?;
        let quoted = value.strip_prefix('"').map(|rest| rest.strip_suffix('"'));
        let (is_well_formed, value) = match quoted {
            Some(inner) => (is_quoted(inner?), inner?),
            None => (is_token(value), value),
        };
        if !is_token(name) || !is_well_formed {
            return None;
        }
        if name.eq_ignore_ascii_case("for") && found.replace(node(value)?).is_some() {
            return None;
        }
    }
    found
}

/// Whether a text is a token (RFC 9110, 5.6.2). Brackets and colons are not allowed, so most addresses
/// must be quoted.
fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

/// Whether a text may stand between quotes (RFC 9110, 5.6.4).
fn is_quoted(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'"' || byte == b'\\' && bytes.next().is_none() {
            return false;
        }
    }
    true
}

/// Parses an address: `203.0.113.7`, `203.0.113.7:80`, `2001:db8::7`, `[2001:db8::7]`,
/// `[2001:db8::7]:80`, the last three also with a zone, `fe80::7%eth0`. Anything else is refused; the
/// port and the zone are dropped.
fn node(text: &str) -> Option<IpAddr> {
    if let Some(bracketed) = text.strip_prefix('[') {
        let (inner, port) = bracketed.split_once(']')?;
        let port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return if port { v6(inner) } else { None };
    }
    let v4 = |text: &str| text.parse().ok().filter(IpAddr::is_ipv4);
    match text.split_once(':') {
        None => v4(text),
        Some((address, port)) if is_port(port) && address.contains('.') => v4(address),
        Some(_) => v6(text),
    }
}

/// Parses an IPv6 address, perhaps with a zone; one that embeds IPv4 counts as IPv4.
fn v6(text: &str) -> Option<IpAddr> {
    let address = match text.split_once('%') {
        Some((address, zone)) if is_zone(zone) => address,
        Some(_) => return None,
        None => text,
    };
    address.parse::<Ipv6Addr>().ok().map(|address| IpAddr::V6(address).to_canonical())
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse::<u16>().is_ok()
}

fn is_zone(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=16).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod forms;
#[cfg(test)]
mod tests;
