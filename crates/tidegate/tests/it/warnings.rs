//! What the process warns about at its start, and what it does not blame a file for.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use socket2::{Domain, Socket, Type};
use tidegate_test::servers::RunningServer as Redis;

use crate::process::{PATIENCE, Server, address_in, tidegate};
use crate::wire::get;

/// The warnings at the start, told by a server that is stopped again.
fn warned(args: &[&str], envs: &[(&str, &str)]) -> String {
    let mut server = Server::spawn(tidegate(args).envs(envs.iter().copied()));
    server.wait_for("listens on http");
    server.signal("TERM");
    let (status, said) = server.ended();
    assert!(status.success(), "{said}");
    said.lines().filter(|line| line.contains("WARN")).collect::<Vec<_>>().join("\n")
}

#[test]
fn t43_listening_beyond_loopback_is_warned_about() {
    let here = warned(&["--listen", "127.0.0.1:0"], &[]);
    assert!(!here.contains("no authentication") && !here.contains("421"), "{here}");
    let open = warned(&["--listen", "0.0.0.0:0"], &[]);
    assert!(open.contains("no authentication") && open.contains("`server.hosts`"), "{open}");
    let named = warned(&["--listen", "0.0.0.0:0"], &[("TIDEGATE_HOSTS", "tidegate,localhost")]);
    assert!(named.contains("no authentication") && !named.contains("`server.hosts`"), "{named}");
}

#[test]
fn t41_a_token_file_that_every_user_can_read_is_warned_about() {
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("admin.token");
    fs::write(&token, "a-token-that-nobody-guesses").unwrap();
    let args = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--admin-token-file"];
    let args = [&args[..], &[token.to_str().unwrap()]].concat();
    for (mode, warned_about) in [(0o644, true), (0o640, false)] {
        fs::set_permissions(&token, fs::Permissions::from_mode(mode)).unwrap();
        let said = warned(&args, &[]);
        let mend = format!("chmod o-r {}", token.display());
        assert_eq!(said.contains("can read the admin token"), warned_about, "{mode:o}: {said}");
        assert_eq!(said.contains(&mend), warned_about, "{mode:o}: {said}");
        assert!(!said.contains("nobody-guesses"), "{said}");
    }
}

#[test]
fn t41_a_secret_file_that_every_user_can_read_is_warned_about() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let redis = runtime.block_on(Redis::start());
    let dir = tempfile::tempdir().unwrap();
    let [secret, previous] = ["secret", "before"].map(|name| {
        let path = dir.path().join(name);
        fs::write(&path, format!("canary-secret-of-the-fleet-{name}")).unwrap();
        path
    });
    let url = redis.url();
    let args = ["--listen", "127.0.0.1:0", "--store", &url];
    let files = ["--secret-file", secret.to_str().unwrap()];
    let before = ["--previous-secret-file", previous.to_str().unwrap()];
    let args = [&args[..], &files, &before].concat();
    for modes in [[0o644, 0o600], [0o600, 0o604], [0o600, 0o640]] {
        for (path, mode) in [&secret, &previous].into_iter().zip(modes) {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let said = warned(&args, &[]);
        let texts = ["can read the secret of the fleet", "can read the previous secret"];
        let warnings = texts.map(|text| said.contains(text));
        assert_eq!(warnings, modes.map(|mode| mode & 0o004 != 0), "{modes:?}: {said}");
        assert!(!said.contains("canary"), "{said}");
    }
}

#[test]
fn t43_an_address_for_operators_without_a_token_is_warned_about() {
    let said = warned(&["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"], &[]);
    assert!(said.contains("the admin listener is off: it needs a token"), "{said}");
    let said = warned(&["--listen", "127.0.0.1:0"], &[]);
    assert!(!said.contains("admin listener"), "{said}");
}

/// The binary with at most so many file descriptors.
fn with_descriptors(most: u32, args: &[&str]) -> Command {
    let line = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &line, env!("CARGO_BIN_EXE_tidegate")]).args(args).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn policies(dir: &Path) -> String {
    let file = dir.join("policies.yaml");
    let text = "version: 1\nserver: { threads: 1, header_timeout: 1min }\npolicies:\n- name: report\n  \
                failure_mode: fail_open\n  limits:\n  \
                - { name: once, by: org, bucket: { rate: 1/h, burst: 1 } }\n";
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// A connection from one of the addresses of this machine.
fn connect_from(number: u8, server: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 1, number], 0)).into()).unwrap();
    socket.connect_timeout(&server.into(), PATIENCE).unwrap();
    socket.into()
}

#[test]
fn t34_with_few_descriptors_there_are_fewer_connections_and_health_is_still_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = policies(dir.path());
    let args = ["serve", "--listen", "127.0.0.1:0", "--config", &file];
    let mut server = Server::spawn(&mut with_descriptors(200, &args));
    let said = server.wait_for("too few file descriptors");
    assert!(said.contains("connections=40") && said.contains("wanted=10000"), "{said}");
    let address = address_in(&server.wait_for("listens on http")).unwrap();
    let flood: Vec<_> = (0..100).map(|number| connect_from(1 + number / 50, address)).collect();
    assert_eq!(get(address, "/livez").0, 200);
    drop(flood);
}

#[test]
fn listening_in_vain_says_what_to_do() {
    let run = |args: &[&str], token: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(args).env_clear().envs(token.map(|token| ("TIDEGATE_ADMIN_TOKEN", token)));
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = run(&["--listen", "localhost:7700"], None);
    assert!(said.contains("such as 127.0.0.1:7700") && said.contains("localhost"), "{said}");
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port();
    drop(held);
    let both = format!("127.0.0.1:{port}");
    let args = ["--listen", &both, "--admin-listen", &both];
    let said = run(&args, Some("a-token-that-nobody-guesses"));
    assert!(said.contains("decisions are served at this port"), "{said}");
}

#[test]
fn t12_a_flood_that_takes_every_descriptor_makes_no_file_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let file = policies(dir.path());
    let args = ["serve", "--listen", "127.0.0.1:0", "--config", &file];
    let mut server = Server::spawn(&mut with_descriptors(48, &args));
    let address = address_in(&server.wait_for("listens on http")).unwrap();
    // From several addresses, because the places that are kept for health checks are not for one alone.
    let flood: Vec<_> = (0..100).map(|number| connect_from(1 + number / 25, address)).collect();
    // It accepts in its own time, so the first reloads may still find a descriptor.
    let reloads = std::iter::repeat_with(|| {
        server.signal("HUP");
        server.wait_for("reloaded")
    });
    let line = reloads.take(100).find(|line| line.contains("NOT reloaded")).unwrap();
    assert!(line.contains("no file descriptor is left"), "{line}");
    assert!(!line.contains("wrong") && line.contains("policies in force stay"), "{line}");
    drop(flood);
    server.wait_for("reloaded; the policies of the file are in force");
    assert_eq!(get(address, "/livez").0, 200);
}
