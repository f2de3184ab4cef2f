//! The policy file from outside: every error as it is shown, every example as it is loaded.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be read fails it"
)]

use tidegate_engine::file::{File, NoDoor};

#[test]
fn a_small_file_is_read() {
    let text = "
version: 1
policies:
  - name: api
    failure_mode: fail_open
    limits:
      - name: burst
        by: org
        bucket: { rate: 10/s, burst: 20 }
";
    let file: File = File::parse("policies.yaml", text).unwrap();
    assert_eq!(*file.door(), NoDoor {});
    assert!(file.policies().clone().build(None).unwrap().get("api").is_some());
}
