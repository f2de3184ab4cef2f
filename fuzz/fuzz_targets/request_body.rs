//! Any bytes as the body of a request: it is one of the requests there are, or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_server::fuzz::request_body;

fuzz_target!(|bytes: &[u8]| {
    let _ = request_body(bytes);
});
