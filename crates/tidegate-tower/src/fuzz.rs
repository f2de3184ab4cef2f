//! Entry points for fuzz targets: every place where the door reads text that a stranger has written.
//!
//! Each takes any bytes, and must neither panic nor take long; its result is checked against properties
//! that hold for every input.

use std::borrow::Cow;
use std::net::IpAddr;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

use crate::client::Trust;
use crate::path;

/// The header fields that name the client; each is read in its own way.
const HEADERS: [&str; 2] = ["x-forwarded-for", "forwarded"];

/// Finds the client behind a peer in header lines, which newlines divide: once as `x-forwarded-for`,
/// once as `forwarded`.
#[must_use]
pub fn client_address(peer: IpAddr, trusted: &[IpNet], lines: &[u8]) -> [IpAddr; 2] {
    HEADERS.map(|name| {
        let name = HeaderName::from_static(name);
        let mut headers = HeaderMap::new();
        for line in lines.split(|byte| *byte == b'\n') {
            if let Ok(value) = HeaderValue::from_bytes(line) {
                headers.append(&name, value);
            }
        }
        Trust::proxies(trusted.iter().copied(), name).client(peer, &headers)
    })
}

/// Lets a trusted proxy add a client to a line that may say anything, and returns whether that client is
/// found in both headers.
#[must_use]
pub fn forwarded(line: &[u8]) -> bool {
    let (proxy, client) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([203, 0, 113, 7]));
    let trust = |name| Trust::proxies([IpNet::from(proxy)], HeaderName::from_static(name));
    HEADERS.iter().zip(["203.0.113.7", "for=203.0.113.7;proto=https"]).all(|(name, added)| {
        let whole = [line, b", ", added.as_bytes()].concat();
        // Bytes that no header can hold are not a case to test.
        let Ok(value) = HeaderValue::from_bytes(&whole) else { return true };
        let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value)]);
        trust(name).client(proxy, &headers) == client
    })
}

/// Brings a path to its canonical form, and returns whether that form is its own canonical form and
/// holds nothing that others would read differently. A path that is refused is fine.
#[must_use]
pub fn path(bytes: &[u8]) -> bool {
    let written = String::from_utf8_lossy(bytes);
    let Ok(form) = path::canonical(&written) else { return true };
    let is_stable = matches!(path::canonical(&form), Ok(Cow::Borrowed(same)) if same == form);
    let ended = format!("{form}/").to_ascii_uppercase();
    let hides = ["//", "/./", "/../", "%2F", "%5C", "%00", "\\", ";"];
    let is_root = form == "/";
    is_stable && form.is_ascii() && (is_root || !hides.iter().any(|text| ended.contains(text)))
}

#[cfg(test)]
mod tests {
    //! That they reach what they are for.

    use super::*;

    #[test]
    fn the_client_is_found_in_both_headers() {
        let (peer, client) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([203, 0, 113, 7]));
        let trusted = [IpNet::from(peer)];
        assert_eq!(client_address(peer, &trusted, b"x\n203.0.113.7"), [client, peer]);
        assert_eq!(client_address(peer, &trusted, b"for=203.0.113.7"), [peer, client]);
    }

    #[test]
    fn whatever_is_written_before_it_the_added_client_is_found() {
        for line in [&b""[..], b"198.51.100.1", b"for=\"", b"for=\"a, for=10.0.0.1", b"\xff", b"\n"]
        {
            assert!(forwarded(line), "{line:?}");
        }
    }

    #[test]
    fn paths_are_stable() {
        for bytes in [&b"/"[..], b"", b"*", b"//a/./b/../c%2e/", b"/%2f", b"/\xff", b"/x;/%25%32"] {
            assert!(path(bytes), "{bytes:?}");
        }
    }
}
