//! Flag before environment before file before default.

use crate::process::{Server, ran, tidegate};
use crate::wire::{metric, verdict};

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

/// A report for each organisation, and so many where it is tried out.
const TWO_ENVIRONMENTS: &str = "\
version: 1
environments: [production, staging]
policies:
- name: report
  failure_mode: fail_open
  limits:
  - name: once
    by: org
    bucket: { rate: 1/h, burst: 1 }
    in: { staging: { bucket: { burst: 3 } } }
";

#[test]
fn the_environment_of_the_policies_is_a_flag_or_a_variable() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    std::fs::write(&file, TWO_ENVIRONMENTS).unwrap();
    let path = file.to_str().unwrap();
    let explained = |flags: &[&str], variable: &str| {
        let mut command = tidegate(&["explain", "report", "--org", "a", "--config", path]);
        let output = command.args(flags).env("TIDEGATE_ENVIRONMENT", variable).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    for (flags, variable, burst) in [
        (&[][..], "", "burst 1"),
        (&[], "staging", "burst 3"),
        (&["--environment", "staging"], "", "burst 3"),
        (&["--environment", "production"], "staging", "burst 1"),
    ] {
        let told = explained(flags, variable);
        assert!(told.contains(burst), "{flags:?} {variable}: {told}");
    }
    for command in [&["validate", path][..], &["check", "report", "-c", path], &["-c", path]] {
        let output = tidegate(command).args(["-e", "stagign"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("did you mean `staging`?"), "{command:?}: {err}");
    }
    assert_eq!(ran(&["validate", path, "-e", "staging"]).code, 0);
}

#[test]
fn a_reload_keeps_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policies.yaml");
    std::fs::write(&file, TWO_ENVIRONMENTS).unwrap();
    let flags = ["--config", file.to_str().unwrap()];
    let (mut server, address) = Server::start_with(&flags, &[("TIDEGATE_ENVIRONMENT", "staging")]);
    let burst =
        |org: &str| (0..20).take_while(|_| verdict(address, "report", org) == "admit").count();
    assert_eq!(burst("before"), 3);
    let next = TWO_ENVIRONMENTS.replace("burst: 3", "burst: 7");
    std::fs::write(dir.path().join("next"), next).unwrap();
    std::fs::rename(dir.path().join("next"), &file).unwrap();
    server.wait_for("reloaded; the policies of the file are in force");
    assert_eq!(burst("after"), 7);
}
