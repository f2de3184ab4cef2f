//! Any bytes as a path: it is refused, or its canonical form is its own.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_tower::fuzz::path;

fuzz_target!(|bytes: &[u8]| {
    assert!(path(bytes));
});
