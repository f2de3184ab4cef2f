//! Who the client is, when proxies stand between (threat T01).
//!
//! A header says what its sender wants it to say. So nothing in it counts unless the socket's own peer
//! is a proxy we trust, and then only what that proxy added: its entry, the rightmost. If that entry
//! is again a trusted proxy, the one before it was added by that proxy, and so on. The first address
//! that is not a trusted proxy is the client, whatever stands to its left; and what cannot be read
//! ends the walk, for who wrote it is not known.

use std::net::{IpAddr, Ipv6Addr};

use http::header::{FORWARDED, HeaderMap, HeaderName};
use ipnet::IpNet;

/// Whose word counts for where a request came from. By default nobody's: the client is the peer.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    proxies: Vec<IpNet>,
    header: Option<HeaderName>,
}

// === impl Trust ===

impl Trust {
    /// Believes these proxies in this one header field: `forwarded` is read as RFC 7239 has it, any other
    /// as a list of addresses.
    #[must_use]
    pub fn proxies(proxies: impl IntoIterator<Item = IpNet>, header: HeaderName) -> Self {
        Self { proxies: proxies.into_iter().collect(), header: Some(header) }
    }

    /// The client behind a peer.
    #[must_use]
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        client(peer, &self.proxies, self.header.as_ref(), headers)
    }
}

/// Whether an address is one of the trusted proxies.
#[must_use]
pub fn is_trusted(trusted: &[IpNet], address: IpAddr) -> bool {
    let address = address.to_canonical();
    trusted.iter().any(|network| network.contains(&address))
}

/// The address of the client: of the peer, unless the peer is trusted and its header leads further.
#[must_use]
pub fn client(
    peer: IpAddr,
    trusted: &[IpNet],
    header: Option<&HeaderName>,
    headers: &HeaderMap,
) -> IpAddr {
    let mut client = peer.to_canonical();
    let Some(header) = header.filter(|_| is_trusted(trusted, client)) else { return client };
    let hop = if header == FORWARDED { forwarded } else { plain };
    // Several lines are one list, in their order; so the walk begins at the end of the last.
    let lines = headers.get_all(header).iter().map(http::HeaderValue::as_bytes);
    for line in lines.rev() {
        for entry in Entries(Some(line)) {
            match hop(entry) {
                Some(address) => client = address,
                None => return client,
            }
            if !is_trusted(trusted, client) {
                return client;
            }
        }
    }
    client
}

/// The entries of one line from right to left, without the spaces around them.
///
/// A comma within quotes divides nothing, but to know which quotes are open one has to begin on the
/// left, where anybody may have written. So every comma divides, and half of a quoted text is not an
/// address.
struct Entries<'l>(Option<&'l [u8]>);

impl<'l> Iterator for Entries<'l> {
    type Item = &'l [u8];

    fn next(&mut self) -> Option<&'l [u8]> {
        let line = self.0?;
        let entry = match line.iter().rposition(|byte| *byte == b',') {
            Some(comma) => {
                self.0 = Some(&line[..comma]);
                &line[comma + 1..]
            }
            None => {
                self.0 = None;
                line
            }
        };
        Some(trim(entry))
    }
}

/// Spaces and tabs, and nothing else, may stand around an entry.
fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// An entry of `X-Forwarded-For` and its like: an address, with a port perhaps.
fn plain(entry: &[u8]) -> Option<IpAddr> {
    node(std::str::from_utf8(entry).ok()?)
}

/// An element of `Forwarded` (RFC 7239): pairs, of which exactly one is `for`.
fn forwarded(entry: &[u8]) -> Option<IpAddr> {
    let entry = std::str::from_utf8(entry).ok()?;
    let mut found = None;
    for pair in entry.split(';') {
        let (name, value) = pair.trim_matches([' ', '\t']).split_once('=')?;
        if name.eq_ignore_ascii_case("for") {
            if found.is_some() {
                return None;
            }
            let quoted = value.strip_prefix('"').map(|rest| rest.strip_suffix('"'));
            found = Some(match quoted {
                Some(inner) => node(inner?)?,
                // Brackets and colons must be quoted there.
                None if value.contains(['[', ']', ':', '"']) => return None,
                None => node(value)?,
            });
        }
    }
    found
}

/// An address: `203.0.113.7`, `203.0.113.7:80`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:80`,
/// the last three also with a zone, `fe80::7%eth0`. Nothing else; the port and the zone are dropped.
fn node(text: &str) -> Option<IpAddr> {
    if let Some(bracketed) = text.strip_prefix('[') {
        let (inner, port) = bracketed.split_once(']')?;
        let port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return if port { v6(inner) } else { None };
    }
    match text.split_once(':') {
        None => text.parse().ok().filter(IpAddr::is_ipv4),
        Some((address, port)) if is_port(port) && address.contains('.') => {
            address.parse().ok().filter(IpAddr::is_ipv4)
        }
        Some(_) => v6(text),
    }
}

/// An IPv6 address, with a zone perhaps; one that embeds IPv4 counts as that.
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
mod tests;
