//! Tests the real server with an independent client.
//!
//! Our own tests know what the server means. Schemathesis knows only `/openapi.json`: it makes up
//! requests, good and bad, and checks that every answer is one that was promised, that nothing
//! wrong is accepted, and that nothing ends in a 5xx. It is installed in a virtual environment
//! under the target directory.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::shell::{Cmd, CommandFailure, pip_install, root, target_dir};

/// The version of Schemathesis. Pinned: a check that is new tomorrow should not fail a tree that
/// was good today.
const SCHEMATHESIS: &str = "schemathesis==4.32.5";

/// The configuration file of Schemathesis.
const CONFIG: &str = "xtask/schemathesis.toml";

/// A running Tidegate server, which ends when this value is dropped.
struct Server(Child);

/// Starts the server on a free port and runs Schemathesis against it.
pub(crate) fn run() -> Result<(), CommandFailure> {
    let client = client()?;
    // Built as the tests build it: with the same features, so nothing is compiled again.
    Cmd::cargo("test --no-run --all-targets --locked --quiet").run()?;
    let port = free_port()?;
    let _server = Server::start(&target_dir().join("debug/tidegate"), port)?;
    let schema = format!("http://127.0.0.1:{port}/openapi.json");
    let all = "--no-color --mode all --max-examples 60 --seed 1";
    let line = format!("--config-file {CONFIG} run {schema} {all}");
    Cmd::new(client.display().to_string(), &line).run()
}

/// The path of Schemathesis, which is installed if it is missing.
fn client() -> Result<PathBuf, CommandFailure> {
    let venv = target_dir().join("venv");
    let client = venv.join("bin/st");
    if !client.exists() {
        pip_install(&venv, SCHEMATHESIS)?;
    }
    Ok(client)
}

fn free_port() -> Result<u16, CommandFailure> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    port.map(|address| address.port()).map_err(|error| {
        CommandFailure::new(format!("no port on loopback: {error}"), "ip address show dev lo")
    })
}

// === impl Server ===

impl Server {
    fn start(binary: &Path, port: u16) -> Result<Self, CommandFailure> {
        let address = format!("127.0.0.1:{port}");
        let args = ["serve", "--listen", &address, "--log-level", "warn"];
        let by_hand = format!("{} {}", binary.display(), args.join(" "));
        let failure = |reason: String| CommandFailure::new(reason, &by_hand);
        let child =
            Command::new(binary).args(args).current_dir(root()).stdout(Stdio::null()).spawn();
        let mut server = Self(child.map_err(|error| failure(error.to_string()))?);
        for _ in 0..200 {
            if TcpStream::connect(&address).is_ok() {
                return Ok(server);
            }
            if let Ok(Some(status)) = server.0.try_wait() {
                return Err(failure(format!("the server ended at once: {status}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(failure(format!("nothing listens on {address} after ten seconds")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
