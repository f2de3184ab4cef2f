//! Any bytes in a forwarding header before what a trusted proxy adds: the client it adds is found.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_tower::fuzz::forwarded;

fuzz_target!(|bytes: &[u8]| {
    assert!(forwarded(bytes));
});
