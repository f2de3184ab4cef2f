//! Flag before environment before file before default.

use crate::process::{Server, ran, tidegate};
use crate::wire::metric;

#[test]
fn the_environment_comes_before_the_file_and_a_flag_before_both() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    let sections = "\nserver: { listen: '192.0.2.1:9' }\nlog: { format: json, level: debug }\n";
    std::fs::write(&file, ran(&["example"]).out + sections).unwrap();
    let path = file.to_str().unwrap();

    // The file's address is nobody's, so a start shows that the environment came first.
    let mut command = tidegate(&[]);
    command.env("TIDEGATE_CONFIG", path).env("TIDEGATE_LISTEN", "127.0.0.1:0");
    let mut server = Server::spawn(&mut command);
    let line = server.wait_for("listening");
    assert!(line.starts_with('{'), "the format of the file: {line}");
    drop(server);

    // The environment's address is nobody's, so a start shows that the flag came first.
    let mut command = tidegate(&["--listen", "127.0.0.1:0", "--log-format", "human"]);
    command.envs([
        ("TIDEGATE_CONFIG", path),
        ("TIDEGATE_LISTEN", "192.0.2.1:9"),
        ("TIDEGATE_LOG_FORMAT", "json"),
        ("TIDEGATE_LOG_LEVEL", "error"),
    ]);
    let mut server = Server::spawn(&mut command);
    let line = server.wait_for("listens on");
    assert!(line.starts_with("tidegate"), "the format of the flag: {line}");
    server.signal("TERM");
    let (status, said) = server.ended();
    assert!(status.success());
    assert!(!said.contains("INFO"), "the level of the environment: {said}");
}

#[test]
fn a_wrong_value_in_the_environment_is_told_by_name() {
    for (name, value) in [
        ("TIDEGATE_LISTEN", "nowhere"),
        ("TIDEGATE_THREADS", "many"),
        ("TIDEGATE_LOG_FORMAT", "xml"),
        ("TIDEGATE_LOG_LEVEL", "loud"),
        ("TIDEGATE_CONFIG", "no-such-file.yaml"),
    ] {
        let output = tidegate(&[]).env(name, value).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains(value), "{name}: {err}");
    }
}

#[test]
fn threads_are_as_many_as_the_environment_says() {
    let (_server, address) = Server::start_with(&[], &[("TIDEGATE_THREADS", "1")]);
    assert!(metric(address, "tidegate_policies").is_some());
    let wrong = tidegate(&["--listen", "127.0.0.1:0"]).env("TIDEGATE_THREADS", "0").output();
    assert_eq!(wrong.unwrap().status.code(), Some(2));
}
