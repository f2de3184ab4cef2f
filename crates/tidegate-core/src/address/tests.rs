//! P94, T03, T04: one address is one prefix, however it is written.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;

use super::*;

fn check(text: &str, prefix: &str) {
    let found = text.parse::<IpAddr>().map(|ip| Prefix::of(ip).to_string());
    assert_eq!(found.as_deref(), Ok(prefix), "{text}");
}

#[test]
fn addresses_are_canonical_by_bits() {
    check("203.0.113.9", "203.0.113.9/32");
    check("::ffff:203.0.113.9", "203.0.113.9/32");
    check("::ffff:cb00:7109", "203.0.113.9/32");
    check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64");
    check("2001:0DB8:0001:0002::1", "2001:db8:1:2::/64");
}

#[test]
fn t04_every_spelling_of_an_address_is_one_prefix() {
    for text in [
        "1.2.3.4",
        "::ffff:1.2.3.4",
        "::FFFF:1.2.3.4",
        "::ffff:102:304",
        "::ffff:0102:0304",
        "::FfFf:102:304",
        "0:0:0:0:0:ffff:1.2.3.4",
        "0:0:0:0:0:ffff:102:304",
        "0000:0000:0000:0000:0000:FFFF:0102:0304",
        "0::ffff:1.2.3.4",
        "0:0::ffff:102:304",
        "64:ff9b::1.2.3.4",
        "64:ff9b::102:304",
        "64:FF9B::102:304",
        "0064:ff9b:0:0:0:0:1.2.3.4",
        "0064:ff9b:0000:0000:0000:0000:0102:0304",
    ] {
        check(text, "1.2.3.4/32");
    }
    for text in [
        "2001:db8::1.2.3.4",
        "2001:db8::102:304",
        "2001:DB8::1",
        "2001:db8::",
        "2001:0db8:0000:0000:0000:0000:0000:0001",
        "2001:db8:0:0:1::",
        "2001:db8:0:0:ffff:ffff:ffff:ffff",
    ] {
        check(text, "2001:db8::/64");
    }
}

#[test]
fn t04_only_mapped_and_translated_addresses_are_ipv4() {
    check("::", "::/64");
    check("::1", "::/64");
    check("::1.2.3.4", "::/64");
    check("::ffff:0:1.2.3.4", "::/64");
    check("::1:ffff:1.2.3.4", "::/64");
    check("::fffe:1.2.3.4", "::/64");
    check("64:ff9b:1::1.2.3.4", "64:ff9b:1::/64");
    check("64:ff9b::1:102:304", "64:ff9b::/64");
    check("64:ff9b::1:0:1.2.3.4", "64:ff9b::/64");
    check("2002:102:304::1", "2002:102:304::/64");
    check("2002:102:304:5::1", "2002:102:304:5::/64");
    check("2001:0:102:304:5:6:7:8", "2001:0:102:304::/64");
    check("fe80::1", "fe80::/64");
}

#[test]
fn t04_what_has_two_readings_is_no_address() {
    for text in ["01.2.3.4", "1.2.3.04", "0x1.2.3.4", "16909060", "1.2.772", "1.2.3.4.", " 1.2.3.4"]
    {
        assert!(text.parse::<IpAddr>().is_err(), "{text:?} became an address");
    }
}

#[test]
fn t03_rotation_inside_one_64_is_one_prefix() {
    let base = 0x2001_0db8_0001_0002_u128 << 64;
    let rotated = |n: u64| {
        // An odd factor permutes the 64 bits: no address comes twice, and all of them vary.
        let host = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Prefix::of(Ipv6Addr::from_bits(base | u128::from(host)).into())
    };
    let prefixes: HashSet<_> = (0..1_000_000).map(rotated).collect();
    assert_eq!(prefixes.len(), 1);
}

#[test]
fn t03_roll_up_joins_the_subnets_of_a_site_and_no_others() {
    let subnet = |n: u64| Ipv6Addr::from_bits(u128::from(0x2001_0db8_0001_0000 + n) << 64).into();
    let count = |subnets: u64, length| {
        let prefixes: HashSet<_> =
            (0..subnets).map(|n| Prefix::rolled_up(subnet(n), length)).collect();
        prefixes.len()
    };
    assert_eq!(count(256, PrefixLength::P64), 256);
    assert_eq!(count(256, PrefixLength::P56), 1);
    assert_eq!(count(257, PrefixLength::P56), 2);
    assert_eq!(count(65_536, PrefixLength::P48), 1);
    assert_eq!(count(65_537, PrefixLength::P48), 2);

    let ip = IpAddr::from([0x2001, 0xdb8, 1, 0xabcd, 1, 2, 3, 4]);
    let rolled = |length| Prefix::rolled_up(ip, length).to_string();
    assert_eq!(rolled(PrefixLength::P64), "2001:db8:1:abcd::/64");
    assert_eq!(rolled(PrefixLength::P56), "2001:db8:1:ab00::/56");
    assert_eq!(rolled(PrefixLength::P48), "2001:db8:1::/48");
}

#[test]
fn t03_ipv4_is_not_rolled_up() {
    for ip in [
        IpAddr::from([203, 0, 113, 9]),
        Ipv4Addr::new(203, 0, 113, 9).to_ipv6_mapped().into(),
        IpAddr::from([0x64, 0xff9b, 0, 0, 0, 0, 0xcb00, 0x7109]),
    ] {
        for length in [PrefixLength::P64, PrefixLength::P56, PrefixLength::P48] {
            assert_eq!(Prefix::rolled_up(ip, length).to_string(), "203.0.113.9/32");
        }
    }
}

#[test]
fn lengths_tell_apart_prefixes_with_the_same_first_address() {
    let ip = IpAddr::from([0x2001, 0xdb8, 1, 0, 0, 0, 0, 1]);
    let lengths = [PrefixLength::P64, PrefixLength::P56, PrefixLength::P48];
    let prefixes = lengths.map(|length| Prefix::rolled_up(ip, length));
    assert_eq!(prefixes.map(Prefix::address), [IpAddr::from([0x2001, 0xdb8, 1, 0, 0, 0, 0, 0]); 3]);
    assert_eq!(prefixes.map(Prefix::length), [64, 56, 48]);
    assert_eq!(BTreeSet::from(prefixes.map(Prefix::to_bytes)).len(), 3);
}

#[test]
fn the_encoding_is_address_then_length() {
    let v4 = Prefix::of(IpAddr::from([203, 0, 113, 9]));
    assert_eq!(v4.to_bytes(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 203, 0, 113, 9, 32]);
    let v6 = Prefix::of(IpAddr::from([0x2001, 0xdb8, 1, 2, 3, 4, 5, 6]));
    assert_eq!(v6.to_bytes(), [0x20, 1, 0x0d, 0xb8, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 64]);
    assert_eq!(size_of::<Prefix>(), Prefix::BYTES);
}

/// Every way to write an IPv6 address that the parser knows, dotted end included.
fn spellings(v6: Ipv6Addr) -> Vec<String> {
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let [.., w, x, y, z] = v6.octets();
    let plain = vec![
        v6.to_string(),
        format!("{a:x}:{b:x}:{c:x}:{d:x}:{e:x}:{f:x}:{g:x}:{h:x}"),
        format!("{a:04x}:{b:04x}:{c:04x}:{d:04x}:{e:04x}:{f:04x}:{g:04x}:{h:04x}"),
        format!("{a:x}:{b:x}:{c:x}:{d:x}:{e:x}:{f:x}:{w}.{x}.{y}.{z}"),
    ];
    let upper: Vec<_> = plain.iter().map(|text| text.to_uppercase()).collect();
    [plain, upper].concat()
}

fn prefixes(texts: &[String]) -> Result<HashSet<Prefix>, core::net::AddrParseError> {
    texts.iter().map(|text| text.parse().map(Prefix::of)).collect()
}

proptest! {
    #[test]
    fn p94_every_form_of_an_ipv4_address_is_one_prefix(bits: u32) {
        let v4 = Ipv4Addr::from_bits(bits);
        let nat64 = Ipv6Addr::from_bits((0x0064_ff9b << 96) | u128::from(bits));
        let mut texts = spellings(v4.to_ipv6_mapped());
        texts.extend(spellings(nat64));
        texts.extend([v4.to_string(), format!("::ffff:{v4}"), format!("64:ff9b::{v4}")]);
        prop_assert_eq!(prefixes(&texts), Ok(HashSet::from([Prefix::of(v4.into())])));
        prop_assert_eq!(Prefix::of(v4.into()).to_string(), format!("{v4}/32"));
        prop_assert_eq!(Prefix::of(v4.into()).address(), IpAddr::V4(v4));
    }

    #[test]
    fn p94_every_form_of_an_ipv6_address_is_one_prefix(bits: u128) {
        let v6 = Ipv6Addr::from_bits(bits);
        let prefix = Prefix::of(v6.into());
        prop_assert_eq!(prefixes(&spellings(v6)), Ok(HashSet::from([prefix])));
        prop_assert_eq!(Prefix::of(prefix.address()), prefix);
        let network = Ipv6Addr::from_bits((bits >> 64) << 64);
        prop_assert_eq!((prefix.address(), prefix.length()), (IpAddr::V6(network), 64));
    }

    #[test]
    fn p94_prefixes_are_equal_exactly_if_they_count_together(
        // Few networks and few hosts, so that all combinations meet.
        networks: [(u8, u8); 2],
        hosts in prop::array::uniform2(prop_oneof![
            Just(0_u64), Just(0xffff_0102_0304), Just(0x0102_0304), any::<u64>(),
        ]),
    ) {
        let address = |i: usize| {
            let (kind, low) = networks[i];
            let upper = [0, 0x0064_ff9b << 32, 0x2001_0db8_u128 << 32][usize::from(kind % 3)];
            let upper = upper + u128::from(low % 3);
            Ipv6Addr::from_bits((upper << 64) | u128::from(hosts[i]))
        };
        // What P94 says, in its own words.
        let counts_as = |v6: Ipv6Addr| match v6.segments() {
            [0, 0, 0, 0, 0, 0xffff, g, h] => ("v4", [g, h, 0, 0]),
            [0x64, 0xff9b, 0, 0, 0, 0, g, h] => ("v4", [g, h, 0, 0]),
            [a, b, c, d, ..] => ("v6", [a, b, c, d]),
        };
        let (one, other) = (address(0), address(1));
        let (p, q) = (Prefix::of(one.into()), Prefix::of(other.into()));
        prop_assert_eq!(p == q, counts_as(one) == counts_as(other), "{} and {}", one, other);
        prop_assert_eq!(p == q, p.to_bytes() == q.to_bytes());
        prop_assert_eq!(p.cmp(&q), p.to_bytes().cmp(&q.to_bytes()));
    }
}
