//! One server: killed, stopped, restarted, and never left behind.

use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};

use redis::Value;
use tidegate_test::servers::{RunningServer, port::Port, wait};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_killed_server_refuses_and_comes_back_empty_on_the_same_port() {
    let server = RunningServer::start().await;
    server.command(&["SET", "k", "v"]).await;
    let before = (server.addr(), server.info("run_id").await.unwrap());
    let mut open = TcpStream::connect(server.addr()).await.unwrap();
    server.kill();
    assert!(!server.runs());
    assert_eq!(open.read(&mut [0]).await.unwrap_or(0), 0, "the open socket is dead");
    assert!(TcpStream::connect(server.addr()).await.is_err());
    assert!(server.try_command(&["PING"]).await.is_err());

    server.restart().await;
    let after = (server.addr(), server.info("run_id").await.unwrap());
    assert_eq!(server.command(&["GET", "k"]).await, Value::Nil);
    assert_eq!(before.0, after.0);
    assert_ne!(before.1, after.1, "it is another life of the server");
}

#[tokio::test]
async fn a_paused_server_accepts_but_does_not_answer_until_resumed() {
    let server = RunningServer::start().await;
    server.pause();
    let mut open = TcpStream::connect(server.addr()).await.unwrap();
    open.write_all(b"PING\r\n").await.unwrap();
    let mut answer = [0; 7];
    let early = tokio::time::timeout(Duration::from_millis(200), open.read_exact(&mut answer));
    assert!(early.await.is_err(), "nothing is answered");
    server.resume();
    open.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
}

#[tokio::test]
async fn the_admin_connection_survives_restarts_and_too_few_places_for_clients() {
    let server = RunningServer::start().await;
    server.command(&["CONFIG", "SET", "maxclients", "1"]).await;
    let mut refused = TcpStream::connect(server.addr()).await.unwrap();
    let mut said = String::new();
    refused.read_to_string(&mut said).await.unwrap();
    assert!(said.contains("max number of clients"), "{said}");
    server.command(&["CONFIG", "SET", "maxclients", "100"]).await;
    for _ in 0..2 {
        server.restart().await;
        assert_eq!(server.command(&["PING"]).await, Value::SimpleString("PONG".into()));
    }
}

#[tokio::test]
async fn a_password_is_asked_for_and_known_to_the_harness() {
    let server = RunningServer::builder().password("secret").start().await;
    assert_eq!(server.url(), format!("redis://:secret@{}/", server.addr()));
    let mut stranger = TcpStream::connect(server.addr()).await.unwrap();
    stranger.write_all(b"GET k\r\n").await.unwrap();
    let mut said = [0; 7];
    stranger.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"-NOAUTH");
    server.command(&["GET", "k"]).await;
}

#[tokio::test]
async fn a_user_of_an_acl_file_can_be_the_harness() {
    let acl = "user default off\nuser boss on >word ~* &* +@all\n";
    let builder = RunningServer::builder().file("users.acl", acl).args(["--aclfile", "users.acl"]);
    let server = builder.login("boss", "word").start().await;
    assert_eq!(server.text(&["ACL", "WHOAMI"]).await, "boss");
}

#[tokio::test]
async fn arguments_of_one_life_only() {
    let server = RunningServer::builder().args(["--maxmemory", "5mb"]).start().await;
    let maxmemory = || async { server.info("maxmemory").await.unwrap() };
    assert_eq!(maxmemory().await, "5242880");
    server.restart_with(&["--maxmemory", "6mb"]).await;
    assert_eq!(maxmemory().await, "6291456");
    server.restart().await;
    assert_eq!(maxmemory().await, "5242880");
}

#[tokio::test]
async fn a_dropped_server_is_gone_with_its_folder() {
    let server = RunningServer::start().await;
    let (pid, folder) = (server.pid(), server.folder().to_owned());
    assert!(is_alive(pid) && folder.exists());
    server.pause();
    drop(server);
    assert!(!is_alive(pid), "a stopped one too");
    assert!(!folder.exists());
}

#[tokio::test]
#[should_panic(expected = "Bad directive or wrong number of arguments")]
async fn a_server_that_does_not_start_shows_its_log() {
    let _server = RunningServer::builder().args(["--no-such-option", "1"]).start().await;
}

#[test]
fn a_port_is_taken_once_and_given_back() {
    let ports: Vec<Port> = (0..64).map(|_| Port::free()).collect();
    let mut numbers: Vec<u16> = ports.iter().map(Port::number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 64);
}

/// Where it starts itself, this argument tells the one that is to be killed.
const VICTIM: &str = "the-one-that-is-killed";

#[tokio::test]
async fn a_killed_test_leaves_no_server_behind() {
    if std::env::args().any(|arg| arg == VICTIM) {
        // From another thread than the main one, whose end would be that of the process anyway.
        let server = std::thread::spawn(victim).join().unwrap();
        eprintln!("{} {}", server.pid(), server.folder().display());
        return core::future::pending().await;
    }
    let name = "server::a_killed_test_leaves_no_server_behind";
    let mut test = Command::new(std::env::current_exe().unwrap())
        // To libtest it is one more name of a test.
        .args([name, VICTIM, "--exact", "--nocapture"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (pid, folder) = told_by(test.stderr.take().unwrap());
    assert!(is_alive(pid), "it outlives the thread that asked for it");
    test.kill().unwrap();
    test.wait().unwrap();
    wait::until("the server ends with the test", || async { !is_alive(pid) }).await;
    // Files are all that is left.
    std::fs::remove_dir_all(folder).unwrap();
}

fn victim() -> RunningServer {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(RunningServer::start())
}

/// The pid and the folder of the server of the one that is killed.
fn told_by(victim: ChildStderr) -> (u32, PathBuf) {
    let mut lines = BufReader::new(victim).lines().map_while(Result::ok);
    let told = lines.find_map(|line| {
        let (pid, folder) = line.split_once(" /")?;
        Some((pid.parse().ok()?, Path::new("/").join(folder)))
    });
    told.unwrap()
}

/// Zombies are not: they hold nothing but their number until somebody asks for it.
fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}
