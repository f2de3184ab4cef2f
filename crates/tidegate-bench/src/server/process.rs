//! Servers as processes of their own: built, started, watched and ended.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::Fallible;

/// A server process, which is killed when this value is dropped.
pub(crate) struct ServerProcess(Child);

const PEER: &str = "throttlecrab-server";
const PEER_VERSION: &str = "0.4.40";

/// A directory for the files of a run, below cargo's target directory.
pub(crate) fn scratch() -> Fallible<PathBuf> {
    let scratch = target_dir()?.join("bench-server");
    fs::create_dir_all(&scratch)?;
    Ok(scratch)
}

/// Builds the `tidegate` binary as it is shipped.
pub(crate) fn build_tidegate() -> Fallible<PathBuf> {
    run(Command::new("cargo").args(["build", "--release", "--locked", "--package", "tidegate"]))?;
    Ok(target_dir()?.join("release/tidegate"))
}

/// Builds the peer's server, unless it has been built before.
pub(crate) fn build_peer() -> Fallible<PathBuf> {
    let root = target_dir()?.join("bench-peers");
    let binary = root.join("bin").join(PEER);
    if !binary.exists() {
        if Command::new("protoc").arg("--version").output().is_err() {
            let line = "apt-get install -y protobuf-compiler";
            return Err(format!("{PEER} is built with protoc; run: {line}").into());
        }
        let version = ["--version", PEER_VERSION, "--locked"];
        run(Command::new("cargo").args(["install", PEER]).args(version).arg("--root").arg(&root))?;
    }
    Ok(binary)
}

/// A port that nobody listens on at the moment.
pub(crate) fn free_port() -> Fallible<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn run(command: &mut Command) -> Fallible<()> {
    eprintln!("$ {command:?}");
    match command.status()?.success() {
        true => Ok(()),
        false => Err(format!("{command:?} failed").into()),
    }
}

/// Cargo's target directory, found from the path of this program, which is in its `release`.
fn target_dir() -> Fallible<PathBuf> {
    let myself = std::env::current_exe()?;
    let target = myself.parent().and_then(Path::parent);
    Ok(target.ok_or("this program is not below a target directory")?.to_owned())
}

// === impl ServerProcess ===

impl ServerProcess {
    /// Starts a server and waits until it accepts connections.
    pub(crate) fn start(binary: &Path, args: &[&str], port: u16) -> Fallible<Self> {
        let child = Command::new(binary).args(args).stdout(Stdio::null()).spawn();
        let mut process = Self(child.map_err(|error| format!("{}: {error}", binary.display()))?);
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(process);
            }
            if let Some(status) = process.0.try_wait()? {
                return Err(format!("{} ended at once: {status}", binary.display()).into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("{} does not listen on port {port}", binary.display()).into())
    }

    /// Processor time that the threads of this process have had so far.
    pub(crate) fn on_processor(&self) -> Fallible<Duration> {
        let mut nanos = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            nanos += text.split_whitespace().next().unwrap_or_default().parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// Waits until a server that was asked to end has ended.
    pub(crate) fn wait(&mut self) -> Fallible<()> {
        for _ in 0..200 {
            if self.0.try_wait()?.is_some() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Err(format!("process {} does not end", self.0.id()).into())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
