//! Any bytes as a policy file: it is read or refused, never panics, and what is read makes a set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_engine::file::{File, NoDoor};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    match File::<NoDoor>::parse("fuzz.yaml", &text) {
        Ok(file) => {
            file.policies().clone().build(None).expect("a file that is read makes a set");
            file.budget().check().expect("and a budget");
        }
        Err(refused) => {
            let shown = refused.to_string();
            assert!(!refused.problems().is_empty() && shown.len() <= 200_000);
            assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
});
