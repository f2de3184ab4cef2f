//! Client prefixes: what an address counts as.
//!
//! One host has many spellings: `203.0.113.9` is also `::ffff:203.0.113.9`, `::ffff:cb00:7109` and,
//! behind a NAT64, `64:ff9b::cb00:7109`; and one IPv6 customer has 2⁶⁴ addresses. A limiter that
//! keys by text gives each of them a fresh allowance, or puts all of IPv4 in one bucket because
//! every mapped address begins alike (threats T03, T04). Normalising the text is a race against
//! the next notation, so none is looked at here: a [`Prefix`] is made from the bits of an address
//! that a parser has already accepted, and two of them are equal exactly if they count together.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first 96 bits of an IPv4 address that went through a NAT64: `64:ff9b::/96` (RFC 6052).
const NAT64: u128 = 0x0064_ff9b << 64;

/// The canonical prefix of a client address.
///
/// IPv4 counts by the address, however it was embedded: plain, mapped (`::ffff:0:0/96`) or
/// translated (`64:ff9b::/96`). All other IPv6 counts by its first 64 bits, 6to4 and Teredo
/// included: what they embed is not who sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// The first address of the prefix, IPv4 as `::ffff:a.b.c.d`. Bytes and not a `u128`, whose
    /// alignment would nearly double the size.
    address: [u8; 16],
    /// The length of the prefix in bits, as displayed.
    length: u8,
}

/// How many bits of an IPv6 address identify the client.
///
/// A subscriber has at least a /64; hosters hand out a /56 or a /48 for a few dollars a month, and
/// those who hold one can rotate through all the /64s in it. IPv4 is not rolled up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PrefixLength {
    /// One subnet, which is what a client counts as unless a limit says otherwise.
    #[default]
    P64,
    /// One household: 256 subnets.
    P56,
    /// One site: 65 536 subnets.
    P48,
}

// === impl Prefix ===

impl Prefix {
    /// The size of the encoding: 16 bytes of address, one of length.
    pub const BYTES: usize = 17;

    /// The length of every IPv4 prefix.
    const V4_LENGTH: u8 = 32;

    /// The prefix a client with this address counts as.
    #[must_use]
    pub const fn of(ip: IpAddr) -> Self {
        Self::rolled_up(ip, PrefixLength::P64)
    }

    /// The prefix of an address, with IPv6 cut to `length`, for limits over all the subnets of a site.
    #[must_use]
    pub const fn rolled_up(ip: IpAddr, length: PrefixLength) -> Self {
        let v6 = match ip {
            IpAddr::V4(v4) => return Self::v4(v4),
            IpAddr::V6(v6) => v6,
        };
        match embedded(v6) {
            Some(v4) => Self::v4(v4),
            None => {
                let mask = u128::MAX << (128 - length.bits());
                let address = (v6.to_bits() & mask).to_be_bytes();
                Self { address, length: length.bits() }
            }
        }
    }

    /// The first address of the prefix.
    #[must_use]
    pub const fn address(self) -> IpAddr {
        // No IPv6 prefix looks mapped: it would have to be longer than 64 bits.
        Ipv6Addr::from_octets(self.address).to_canonical()
    }

    /// How many bits of the address count: 32 for IPv4; 64, 56 or 48 for IPv6.
    #[must_use]
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Whether this is an IPv6 prefix, which has wider ones around it.
    #[must_use]
    pub const fn is_ipv6(self) -> bool {
        self.length > Self::V4_LENGTH
    }

    /// The bytes that are hashed: the address, IPv4 as `::ffff:a.b.c.d`, then the length.
    ///
    /// Equal for equal prefixes and for no others, on every machine and in every version.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [self.length; Self::BYTES];
        bytes[..16].copy_from_slice(&self.address);
        bytes
    }

    /// The prefix of an IPv4 address: all of it.
    const fn v4(v4: Ipv4Addr) -> Self {
        Self { address: v4.to_ipv6_mapped().octets(), length: Self::V4_LENGTH }
    }
}

impl fmt::Display for Prefix {
    /// Written as `203.0.113.9/32` or `2001:db8:1:2::/64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.length)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefix({self})")
    }
}

// === impl PrefixLength ===

impl PrefixLength {
    /// The length in bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::P64 => 64,
            Self::P56 => 56,
            Self::P48 => 48,
        }
    }
}

/// Whether a network that holds `held` places of a table may have one more, where `networks` networks
/// hold places and `left` places are free.
///
/// An attacker can make up keys and so fill any table, but cannot make up where he comes from. So the
/// first place of a network is always granted, and the next only while the network holds less than four
/// equal shares of the free places: a fifth stays free, however many networks ask for all they can get.
#[must_use]
pub const fn is_within_share(held: u64, networks: u64, left: u64) -> bool {
    held == 0 || held.saturating_mul(networks) < left.saturating_mul(4)
}

/// The IPv4 address that is embedded in a mapped or translated one.
///
/// The deprecated `::a.b.c.d` embeds none, because nothing translates it: `::1` is no IPv4 address.
const fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = v6.to_bits();
    if bits >> 32 == NAT64 {
        let [.., a, b, c, d] = v6.octets();
        return Some(Ipv4Addr::new(a, b, c, d));
    }
    v6.to_ipv4_mapped()
}

#[cfg(test)]
mod tests;
