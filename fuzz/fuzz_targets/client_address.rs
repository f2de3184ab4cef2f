//! Any bytes as forwarding headers: a peer that is not trusted is the client, whatever they say.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};

use libfuzzer_sys::fuzz_target;
use tidegate_tower::fuzz::client_address;

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

fuzz_target!(|lines: &[u8]| {
    assert_eq!(client_address(PEER, &[], lines), [PEER; 2]);
    let _ = client_address(PEER, &[PEER.into()], lines);
});
