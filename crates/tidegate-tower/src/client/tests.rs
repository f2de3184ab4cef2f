//! Header forms that were used to pass for somebody else, or might be.

use proptest::prelude::*;

use super::forms::{self, PLAIN, PROXY};
use super::*;

/// Some proxies, believed in this header.
fn trust(header: &'static str) -> Trust {
    let networks = ["10.0.0.0/8", "192.168.7.7/32", "fd00::/8"];
    let networks = networks.map(|network| network.parse().unwrap());
    Trust::proxies(networks, HeaderName::from_static(header))
}

fn headers<'l>(name: &'static str, lines: impl IntoIterator<Item = &'l [u8]>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in lines.into_iter().flat_map(HeaderValue::from_bytes) {
        headers.append(name, value);
    }
    headers
}

/// The client that some header lines lead to.
fn walk(peer: &str, header: &'static str, lines: &[&[u8]]) -> String {
    let headers = headers(header, lines.iter().copied());
    assert_eq!(headers.len(), lines.len(), "a line that cannot be sent");
    trust(header).client(peer.parse().unwrap(), &headers).to_string()
}

#[test]
fn t01_x_forwarded_for_is_walked_from_the_right() {
    for (line, expected) in PLAIN {
        let found = walk(PROXY, "x-forwarded-for", &[line.as_bytes()]);
        assert_eq!(found, expected, "{line:?}");
    }
}

#[test]
fn t01_bytes_that_are_no_text_end_the_walk() {
    assert_eq!(walk(PROXY, "x-forwarded-for", &[b"203.0.113.7\xff"]), PROXY);
    assert_eq!(walk(PROXY, "x-forwarded-for", &[b"203.0.113.7\xc2\xa0"]), PROXY);
    assert_eq!(walk(PROXY, "x-forwarded-for", &[b"\xff, 203.0.113.7"]), "203.0.113.7");
}

#[test]
fn t01_several_lines_are_one_list() {
    let walk = |lines: &[&[u8]]| walk(PROXY, "x-forwarded-for", lines);
    assert_eq!(walk(&[b"198.51.100.1", b"203.0.113.7"]), "203.0.113.7");
    assert_eq!(walk(&[b"203.0.113.7", b"10.0.0.2"]), "203.0.113.7");
    assert_eq!(walk(&[b"198.51.100.1, 203.0.113.7", b"10.0.0.2, 10.0.0.3"]), "203.0.113.7");
    assert_eq!(walk(&[b"203.0.113.7", b""]), PROXY);
    assert_eq!(walk(&[]), PROXY);
}

#[test]
fn t01_forwarded_is_read_by_its_own_grammar() {
    for (line, expected) in forms::FORWARDED {
        assert_eq!(walk(PROXY, "forwarded", &[line.as_bytes()]), expected, "{line:?}");
    }
}

#[test]
fn t01_who_is_not_trusted_says_nothing_about_others() {
    let stranger = "198.51.100.99";
    for (header, forms) in [("x-forwarded-for", &PLAIN[..]), ("forwarded", &forms::FORWARDED[..])] {
        for (line, _) in forms {
            assert_eq!(walk(stranger, header, &[line.as_bytes()]), stranger, "{line:?}");
        }
    }
}

#[test]
fn t30_one_header_counts_and_no_other() {
    let trust = trust("x-forwarded-for");
    for other in ["forwarded", "x-real-ip", "x_forwarded_for", "cf-connecting-ip", "true-client-ip"]
    {
        let sent = headers(other, [&b"203.0.113.7"[..], b"for=203.0.113.7"]);
        assert_eq!(trust.client(PROXY.parse().unwrap(), &sent).to_string(), PROXY, "{other}");
    }
}

#[test]
fn t01_a_walk_has_an_end() {
    let through = |proxies: usize| {
        let line = format!("203.0.113.7{}", ", 10.0.0.2".repeat(proxies));
        walk(PROXY, "x-forwarded-for", &[line.as_bytes()])
    };
    assert_eq!(through(MAX_HOPS - 1), "203.0.113.7");
    assert_eq!(through(MAX_HOPS), "10.0.0.2");
}

#[test]
fn t04_a_mapped_peer_is_the_same_peer() {
    assert_eq!(walk("::ffff:10.0.0.1", "x-forwarded-for", &[b"203.0.113.7"]), "203.0.113.7");
    assert_eq!(walk("::ffff:198.51.100.9", "x-forwarded-for", &[b"203.0.113.7"]), "198.51.100.9");
}

#[test]
fn t04_a_mapped_network_is_the_same_network() {
    let trust = Trust::proxies(["::ffff:10.0.0.0/104".parse().unwrap()], None);
    assert_eq!(trust, Trust::proxies(["10.0.0.0/8".parse().unwrap()], None));
    for (address, expected) in [("10.9.9.9", true), ("::ffff:10.9.9.9", true), ("11.0.0.1", false)]
    {
        assert_eq!(trust.trusts(address.parse().unwrap()), expected, "{address}");
    }
}

#[test]
fn t01_by_default_the_peer_counts() {
    let sent = headers("x-forwarded-for", [&b"203.0.113.7"[..]]);
    let peer = PROXY.parse().unwrap();
    assert_eq!(Trust::default().client(peer, &sent), peer);
    assert!(!Trust::default().trusts(peer));
    let without_header = Trust::proxies([IpNet::from(peer)], None);
    assert_eq!(without_header.client(peer, &sent), peer);
}

proptest! {
    #[test]
    fn t01_no_header_bytes_change_an_untrusted_peer(
        name in prop::sample::select(vec!["x-forwarded-for", "forwarded", "x-real-ip"]),
        lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..4),
        forms in prop::collection::vec(prop::sample::select(PLAIN.to_vec()), 0..3),
        peer in any::<IpAddr>(),
    ) {
        let lines = lines.iter().map(Vec::as_slice);
        let sent = headers(name, lines.chain(forms.iter().map(|(line, _)| line.as_bytes())));
        let trust = trust(name);
        prop_assume!(!trust.trusts(peer));
        prop_assert_eq!(trust.client(peer, &sent), peer.to_canonical());
        prop_assert_eq!(Trust::default().client(peer, &sent), peer.to_canonical());
    }

    /// What a client sends, the proxy has added to; so whatever it is, its own address is found.
    #[test]
    fn t01_no_header_bytes_hide_a_client_behind_a_trusted_proxy(
        forged in "[ -~]{0,60}",
        client in any::<IpAddr>(),
    ) {
        let quoted = match client {
            IpAddr::V4(v4) => v4.to_string(),
            IpAddr::V6(v6) => format!("\"[{v6}]\""),
        };
        for (name, line) in [
            ("x-forwarded-for", format!("{forged}, {client}")),
            ("forwarded", format!("{forged}, for={quoted};proto=https")),
        ] {
            let trust = trust(name);
            prop_assume!(!trust.trusts(client));
            let found = trust.client(PROXY.parse().unwrap(), &headers(name, [line.as_bytes()]));
            prop_assert_eq!(found, client.to_canonical());
        }
    }

    /// What a client sends as a host, a proxy may quote in its own entry.
    #[test]
    fn t01_no_quoted_text_passes_for_an_entry(
        host in r#"([ -~]|, ?|for=198\.51\.100\.1|;x=|"){0,12}"#,
    ) {
        let host = host.replace('\\', "\\\\").replace('"', "\\\"");
        let line = format!("for=203.0.113.7;host=\"{host}\"");
        let found = walk(PROXY, "forwarded", &[line.as_bytes()]);
        prop_assert!(matches!(&*found, "203.0.113.7" | PROXY), "{line}: {found}");
    }

    #[test]
    fn every_address_is_read_as_it_is_written(address in any::<IpAddr>(), port in any::<u16>()) {
        let canonical = Some(address.to_canonical());
        prop_assert_eq!(node(&address.to_string()), canonical);
        let with_port = std::net::SocketAddr::new(address, port).to_string();
        prop_assert_eq!(node(&with_port), canonical);
    }
}
