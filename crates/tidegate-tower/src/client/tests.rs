//! Header forms that were used to pass for somebody else, or might be.

use http::HeaderValue;
use proptest::prelude::*;

use super::*;

const PROXY: &str = "10.0.0.1";

fn trusted() -> Vec<IpNet> {
    ["10.0.0.0/8", "192.168.7.7/32", "fd00::/8"].map(|network| network.parse().unwrap()).to_vec()
}

/// The client that some header lines lead to.
fn walk(peer: &str, header: &'static str, lines: &[&[u8]]) -> String {
    let name = HeaderName::from_static(header);
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(&name, HeaderValue::from_bytes(line).unwrap());
    }
    client(peer.parse().unwrap(), &trusted(), Some(&name), &headers).to_string()
}

/// One line of `X-Forwarded-For` from a trusted proxy, and whom it leads to.
const FORMS: [(&str, &str); 62] = [
    // One hop, in every form there is.
    ("203.0.113.7", "203.0.113.7"),
    ("203.0.113.7:80", "203.0.113.7"),
    ("203.0.113.7:65535", "203.0.113.7"),
    ("2001:db8::7", "2001:db8::7"),
    ("[2001:db8::7]", "2001:db8::7"),
    ("[2001:db8::7]:443", "2001:db8::7"),
    ("2001:DB8:0:0::7", "2001:db8::7"),
    ("fe80::7%eth0", "fe80::7"),
    ("[fe80::7%eth0]:443", "fe80::7"),
    ("::ffff:203.0.113.7", "203.0.113.7"),
    ("::ffff:cb00:7107", "203.0.113.7"),
    ("[::ffff:203.0.113.7]:80", "203.0.113.7"),
    (" 203.0.113.7 ", "203.0.113.7"),
    ("\t203.0.113.7\t", "203.0.113.7"),
    // Several: what stands left of the first untrusted hop is hearsay.
    ("198.51.100.1, 203.0.113.7", "203.0.113.7"),
    ("198.51.100.1,203.0.113.7", "203.0.113.7"),
    ("198.51.100.1 ,\t203.0.113.7", "203.0.113.7"),
    ("127.0.0.1, 203.0.113.7", "203.0.113.7"),
    ("10.9.9.9, 203.0.113.7", "203.0.113.7"),
    ("1.1.1.1, 2.2.2.2, 3.3.3.3, 203.0.113.7", "203.0.113.7"),
    // Through more than one proxy.
    ("203.0.113.7, 10.0.0.2", "203.0.113.7"),
    ("203.0.113.7, 10.0.0.2, 10.0.0.3:8080", "203.0.113.7"),
    ("198.51.100.1, 203.0.113.7, 10.0.0.2, fd00::3", "203.0.113.7"),
    ("203.0.113.7, [fd00::3]:443, 192.168.7.7", "203.0.113.7"),
    ("203.0.113.7, ::ffff:10.0.0.2", "203.0.113.7"),
    ("203.0.113.7, 192.168.7.8", "192.168.7.8"),
    // Nobody but proxies: the first of them asks for itself.
    ("10.0.0.2", "10.0.0.2"),
    ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
    // What cannot be read ends the walk at its right neighbour.
    ("", PROXY),
    (" ", PROXY),
    (",", PROXY),
    (", ,", PROXY),
    ("203.0.113.7,", PROXY),
    ("203.0.113.7, unknown", PROXY),
    ("203.0.113.7, _hidden, 10.0.0.2", "10.0.0.2"),
    ("203.0.113.7,, 10.0.0.2", "10.0.0.2"),
    ("unknown", PROXY),
    ("_gazonk", PROXY),
    ("localhost", PROXY),
    ("example.com", PROXY),
    ("203.0.113.7 198.51.100.1", PROXY),
    ("203.0.113.7;198.51.100.1", PROXY),
    ("203.0.113.7/32", PROXY),
    ("203.0.113.07", PROXY),
    ("0xcb.0.0x71.7", PROXY),
    ("3405803783", PROXY),
    ("203.0.113", PROXY),
    ("203.0.113.7.1", PROXY),
    ("203.0.113.256", PROXY),
    ("203.0.113.7:", PROXY),
    ("203.0.113.7:65536", PROXY),
    ("203.0.113.7:+80", PROXY),
    ("203.0.113.7:80:80", PROXY),
    ("[203.0.113.7]", PROXY),
    ("[2001:db8::7", PROXY),
    ("2001:db8::7]", PROXY),
    ("[2001:db8::7]443", PROXY),
    ("[2001:db8::7]:", PROXY),
    ("fe80::7%", PROXY),
    ("fe80::7%eth0, 203.0.113.7%eth0", PROXY),
    ("\"203.0.113.7\"", PROXY),
    ("\"203.0.113.7, 10.0.0.2\"", PROXY),
];

#[test]
fn t01_x_forwarded_for_is_walked_from_the_right() {
    for (line, expected) in FORMS {
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
    for (line, expected) in [
        ("for=203.0.113.7", "203.0.113.7"),
        ("For=203.0.113.7;proto=https;by=10.0.0.1", "203.0.113.7"),
        ("proto=https; for=203.0.113.7", "203.0.113.7"),
        ("for=\"203.0.113.7:80\"", "203.0.113.7"),
        ("for=\"[2001:db8::7]\"", "2001:db8::7"),
        ("for=\"[2001:db8::7]:443\"", "2001:db8::7"),
        ("for=198.51.100.1, for=203.0.113.7", "203.0.113.7"),
        ("for=203.0.113.7, for=10.0.0.2;by=10.0.0.1", "203.0.113.7"),
        ("for=unknown", PROXY),
        ("for=_hidden", PROXY),
        ("for=203.0.113.7:80", PROXY),
        ("for=[2001:db8::7]", PROXY),
        ("for=\"203.0.113.7", PROXY),
        ("for=203.0.113.7;for=198.51.100.1", PROXY),
        ("for=", PROXY),
        ("for", PROXY),
        ("203.0.113.7", PROXY),
        ("proto=https", PROXY),
        ("by=203.0.113.7", PROXY),
        ("for=203.0.113.7;x=\"a,for=198.51.100.1\"", PROXY),
        ("for=\"203.0.113.7\\\"\"", PROXY),
    ] {
        assert_eq!(walk(PROXY, "forwarded", &[line.as_bytes()]), expected, "{line:?}");
    }
}

#[test]
fn t01_who_is_not_trusted_says_nothing_about_others() {
    for (line, _) in FORMS {
        let found = walk("198.51.100.99", "x-forwarded-for", &[line.as_bytes()]);
        assert_eq!(found, "198.51.100.99", "{line:?}");
    }
}

#[test]
fn t04_a_mapped_peer_is_the_same_peer() {
    assert_eq!(walk("::ffff:10.0.0.1", "x-forwarded-for", &[b"203.0.113.7"]), "203.0.113.7");
    assert_eq!(walk("::ffff:198.51.100.9", "x-forwarded-for", &[b"203.0.113.7"]), "198.51.100.9");
}

#[test]
fn without_a_header_to_look_at_the_peer_counts() {
    let mut headers = HeaderMap::new();
    headers.insert("x-forwarded-for", HeaderValue::from_static("203.0.113.7"));
    let peer = PROXY.parse().unwrap();
    assert_eq!(client(peer, &trusted(), None, &headers), peer);
}

proptest! {
    #[test]
    fn t01_no_header_bytes_change_an_untrusted_peer(
        lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..4),
        peer in any::<IpAddr>(),
    ) {
        let name = HeaderName::from_static("x-forwarded-for");
        let mut headers = HeaderMap::new();
        for line in lines {
            if let Ok(value) = HeaderValue::from_bytes(&line) {
                headers.append(&name, value);
            }
        }
        let trusted = trusted();
        prop_assume!(!is_trusted(&trusted, peer));
        prop_assert_eq!(client(peer, &trusted, Some(&name), &headers), peer.to_canonical());
    }

    /// What a client sends, the proxy has added to; so whatever it is, its own address is found.
    #[test]
    fn t01_no_header_bytes_hide_a_client_behind_a_trusted_proxy(
        forged in "[ -~]{0,60}",
        client_address in any::<IpAddr>(),
    ) {
        let trusted = trusted();
        prop_assume!(!is_trusted(&trusted, client_address));
        let line = format!("{forged}, {client_address}");
        let name = HeaderName::from_static("x-forwarded-for");
        let mut headers = HeaderMap::new();
        headers.append(&name, HeaderValue::from_str(&line).unwrap());
        let found = client(PROXY.parse().unwrap(), &trusted, Some(&name), &headers);
        prop_assert_eq!(found, client_address.to_canonical());
    }

    #[test]
    fn every_address_is_read_as_it_is_written(address in any::<IpAddr>(), port in any::<u16>()) {
        let canonical = Some(address.to_canonical());
        prop_assert_eq!(node(&address.to_string()), canonical);
        let with_port = std::net::SocketAddr::new(address, port).to_string();
        prop_assert_eq!(node(&with_port), canonical);
    }
}
