//! Starting: files, ports, and what is wrong with them.

use std::net::TcpListener;

use crate::process::{Server, ran};
use crate::wire::{get, verdict};

#[test]
fn it_serves_the_policies_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    std::fs::write(&file, ran(&["example"]).out.replace("name: report", "name: paper")).unwrap();
    let (server, address) = Server::on(&file);
    assert_eq!(verdict(address, "paper", "acme"), "admit");
    assert_eq!(verdict(address, "paper", "acme"), "deny");
    assert_eq!(get(address, "/livez").0, 200);
    assert_eq!(get(address, "/readyz").0, 200);
    let said = server.said();
    assert!(said.contains("4 policies") && said.contains("policies.yaml"), "{said}");
}

#[test]
fn a_busy_port_is_told_with_what_to_do() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let ran = ran(&["serve", "--listen", &address]);
    assert_eq!(ran.code, 1);
    for told in [address.as_str(), "another process", "--listen"] {
        assert!(ran.err.contains(told), "`{told}` in {}", ran.err);
    }
    assert_eq!(ran.out, "", "nobody is told to try what does not run");
}

#[test]
fn a_bad_file_is_refused_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    for (text, told) in [
        ("version: 1\npolicies: []\n", "policies"),
        ("version: 2\n", "version"),
        (": : :", "policies.yaml"),
        ("version: 1\nserver: { listne: x }\n", "listne"),
    ] {
        std::fs::write(&file, text).unwrap();
        let ran = ran(&["serve", "--listen", "127.0.0.1:0", "--config", file.to_str().unwrap()]);
        assert_eq!(ran.code, 2, "{text}: {ran:?}");
        assert!(ran.err.contains(told), "{text}: {}", ran.err);
        assert!(ran.err.contains("policies.yaml"), "{}", ran.err);
    }
    let folder = ran(&["serve", "--config", dir.path().to_str().unwrap()]);
    assert_eq!(folder.code, 2, "a folder is not a file: {folder:?}");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    std::fs::write(&file, ran(&["example"]).out + "\nserver: { threads: 0 }\n").unwrap();
    let ran = ran(&["validate", file.to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("threads"), "{}", ran.err);
}
