//! Any bytes as a query of facts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_server::fuzz::request_query;

fuzz_target!(|bytes: &[u8]| {
    let _ = request_query(bytes);
});
