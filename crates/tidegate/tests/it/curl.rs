//! What a newcomer does first: start it, and paste what it prints.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::process::{Server, pasted, tidegate};

/// The curl lines a fresh server prints.
fn printed() -> (Server, Vec<String>) {
    let (mut server, _) = Server::start(&[]);
    let lines = [(); 2].map(|()| server.wait_for("curl ").trim().to_owned());
    (server, lines.to_vec())
}

#[test]
fn the_first_printed_line_shows_an_admission_every_time() {
    let (_server, lines) = printed();
    for _ in 0..3 {
        let decision: Value = serde_json::from_str(&pasted(&lines[0])).unwrap();
        assert_eq!(decision["verdict"], "admit", "{decision}");
        assert_eq!(decision["policy"], "api");
    }
}

#[test]
fn the_second_printed_line_shows_a_denial_with_a_true_wait() {
    let (_server, lines) = printed();
    let answer: Value = serde_json::from_str(&pasted(&lines[1])).unwrap();
    let verdicts = ["/results/0/verdict", "/results/1/verdict"].map(|at| answer.pointer(at));
    assert_eq!(verdicts, [Some(&"admit".into()), Some(&"deny".into())], "{answer}");
    let told = &answer["results"][1];
    assert_eq!(told["retry_after"], 60, "a minute, less what passed, rounded up");
    assert!(told["next_allowed_at"].as_str().unwrap() > told["decided_at"].as_str().unwrap());
    assert_eq!(told["binding"], "once");
    let again: Value = serde_json::from_str(&pasted(&lines[1])).unwrap();
    assert_eq!(again["results"][1]["verdict"], "deny", "pasted twice, it is denied still");
}

#[test]
fn the_third_printed_line_makes_a_file_and_serves_it() {
    let (mut server, _) = Server::start(&[]);
    let line = server.wait_for(" example > policies.yaml && ");
    let dir = tempfile::tempdir().unwrap();
    // The shell becomes the server, so that it ends with the test.
    let line = line.replace("&&", "&& exec");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(&dir).env("TIDEGATE_LISTEN", "127.0.0.1:0");
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut second = Server::spawn(&mut shell);
    let said = second.wait_for("listens on http");
    assert!(said.contains("4 policies of policies.yaml"), "{said}");
}

#[test]
fn without_a_command_it_serves() {
    let mut server = Server::spawn(&mut tidegate(&["--listen", "127.0.0.1:0"]));
    server.wait_for("listens on http://127.0.0.1:");
    server.signal("TERM");
    let (status, said) = server.ended();
    assert!(status.success(), "{said}");
}
