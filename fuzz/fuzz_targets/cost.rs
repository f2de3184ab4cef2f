//! Any bytes where a cost can be written: never zero, never wrapped around.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_server::fuzz::cost;

fuzz_target!(|bytes: &[u8]| {
    assert!(cost(bytes));
});
