//! For fuzz targets: every place where bytes from the network are read.
//!
//! Each takes any bytes, and must neither panic nor take long.

use std::net::IpAddr;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

use crate::admin::requests as operators;
use crate::gate;
use crate::problem::Problem;
use crate::wire::{query, requests};

/// Reads a body as every kind of request; the first of the problems, if it is none of them.
///
/// # Errors
///
/// If it is no request of any kind.
pub fn request_body(bytes: &[u8]) -> Result<(), Problem> {
    let settled = requests::settle(bytes).map(drop);
    let batch = requests::batch(bytes).map(drop);
    let asked = requests::ask(bytes).map(|ask| {
        let _ = ask.facts.subject();
    });
    let ordered = operators::block(bytes).map(drop);
    let ordered = ordered.or(operators::unblock(bytes).map(drop));
    let ordered = ordered.or(operators::reset(bytes).map(drop));
    asked.or_else(|problem| settled.or(batch).or(ordered).map_err(|_| problem))
}

/// Reads a query.
///
/// # Errors
///
/// If it is neither one of facts nor one of a list.
pub fn request_query(bytes: &[u8]) -> Result<(), Problem> {
    let query = String::from_utf8_lossy(bytes);
    let listing = operators::listing(&query).map(drop);
    query::facts(&query).map(drop).or_else(|problem| listing.map_err(|_| problem))
}

/// Finds the client behind a peer, in header lines divided by newlines: with `x-forwarded-for` and
/// with `forwarded`.
#[must_use]
pub fn client_address(peer: IpAddr, trusted: &[IpNet], lines: &[u8]) -> [IpAddr; 2] {
    ["x-forwarded-for", "forwarded"].map(|name| {
        let name = HeaderName::from_static(name);
        let mut headers = HeaderMap::new();
        for line in lines.split(|byte| *byte == b'\n') {
            if let Ok(value) = HeaderValue::from_bytes(line) {
                headers.append(&name, value);
            }
        }
        gate::client(peer, trusted, Some(&name), &headers)
    })
}

#[cfg(test)]
mod tests {
    //! That they reach what they are for.

    use super::*;

    #[test]
    fn every_kind_of_body_is_read() {
        for body in [
            r#"{"policy":"api"}"#,
            r#"{"ticket":"AQ","cost":0}"#,
            r#"{"requests":[{"policy":"api"}]}"#,
        ] {
            assert!(request_body(body.as_bytes()).is_ok(), "{body}");
        }
        assert!(request_body(b"\xff").is_err());
        assert!(request_query(b"org=acme").is_ok());
        assert!(request_query(b"%").is_err());
    }

    #[test]
    fn the_client_is_found_in_both_headers() {
        let (peer, client) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([203, 0, 113, 7]));
        let trusted = [IpNet::from(peer)];
        assert_eq!(client_address(peer, &trusted, b"x\n203.0.113.7"), [client, peer]);
        assert_eq!(client_address(peer, &trusted, b"for=203.0.113.7"), [peer, client]);
    }
}
