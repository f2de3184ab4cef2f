//! Starting: files, ports, and what is wrong with them.

use std::net::TcpListener;
use std::process::Stdio;

use crate::process::{Server, ran, tidegate};
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

#[test]
fn policies_from_a_pipe_are_served_once() {
    let mut command = tidegate(&["--config", "/dev/stdin", "--listen", "127.0.0.1:0"]);
    let mut example = tidegate(&["example"]).spawn().unwrap();
    let mut server = Server::spawn(command.stdin(example.stdout.take().unwrap()));
    server.wait_for("listens on http");
    example.wait().unwrap();
    server.signal("HUP");
    server.wait_for("nothing to reload");
}

#[test]
fn where_logs_are_json_a_failure_is_json_too() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    for (args, code) in [
        (&["--listen", &address, "--log-format", "json"][..], 1),
        (&["--config", "no-such-file.yaml", "--log-format", "json"], 2),
        (&["--threads", "0", "--log-format", "json"], 2),
    ] {
        let ran = ran(args);
        assert_eq!(ran.code, code, "{ran:?}");
        let told: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!((&told["level"], &told["message"]), (&"error".into(), &"cannot serve".into()));
    }
}

#[test]
fn that_nobody_reads_its_output_is_no_reason_to_stop() {
    let mut child = tidegate(&["--listen", "127.0.0.1:0"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut server =
        Server::spawn(child.stderr(writer.try_clone().unwrap()).stdout(Stdio::piped()));
    server.wait_for("listens on http");
    drop(server);
    let mut child = tidegate(&["--listen", "127.0.0.1:0"]);
    let mut server = Server::spawn(child.stdout(writer));
    server.wait_for("listening");
    server.signal("TERM");
    assert!(server.ended().0.success());
}
