//! Any bytes as what a Redis server answers to a script.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_stores::redis::fuzz::reply;

fuzz_target!(|bytes: &[u8]| {
    let _ = reply(bytes);
});
