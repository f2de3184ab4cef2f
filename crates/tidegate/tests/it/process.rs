//! The binary as a child process that cannot outlive its test.
//!
//! Nothing here waits for time to pass: a test waits for a line of output or for the end of the
//! process, and gives up after a while that only a broken program needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Longer than anything here takes, on any machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A command that ran to its end.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A server that is killed when the test ends, however it ends.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    lines: Receiver<String>,
    /// Every line so far, of both outputs.
    seen: Vec<String>,
    /// Those nobody has waited for.
    waiting: Vec<String>,
}

/// The binary, with nothing from the environment of the tests.
pub(crate) fn tidegate(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
    command.args(args).env_clear().stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn ran(args: &[&str]) -> Ran {
    finished(tidegate(args).spawn().unwrap())
}

/// Runs a command that reads `input`.
#[track_caller]
pub(crate) fn ran_with(args: &[&str], input: &str) -> Ran {
    let mut child = tidegate(args).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    finished(child)
}

#[track_caller]
pub(crate) fn finished(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().expect("it was not killed");
    Ran { code, out: text(output.stdout), err: text(output.stderr) }
}

/// Runs a line in a shell, as if it had been pasted.
#[track_caller]
pub(crate) fn pasted(line: &str) -> String {
    let output = Command::new("sh").args(["-c", line]).stdin(Stdio::null()).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}\n{err}");
    String::from_utf8(output.stdout).unwrap()
}

// === impl Server ===

impl Server {
    /// Starts on a free port, and waits until it listens. Tells where.
    #[track_caller]
    pub(crate) fn start(args: &[&str]) -> (Self, SocketAddr) {
        Self::start_with(args, &[])
    }

    /// The same, on the policies of a file.
    #[track_caller]
    pub(crate) fn on(file: &Path) -> (Self, SocketAddr) {
        Self::start(&["--config", file.to_str().unwrap()])
    }

    /// The same, with these in its environment.
    #[track_caller]
    pub(crate) fn start_with(args: &[&str], envs: &[(&str, &str)]) -> (Self, SocketAddr) {
        let free = ["serve", "--listen", "127.0.0.1:0"];
        let mut command = tidegate(&[&free, args].concat());
        let mut server = Self::spawn(command.envs(envs.iter().copied()));
        // With logs as JSON there is nothing but logs.
        let json = args.contains(&"json");
        let line = server.wait_for(if json { "\"listening\"" } else { "listens on http" });
        let address = address_in(&line).unwrap_or_else(|| panic!("no address in {line:?}"));
        (server, address)
    }

    /// Starts a command whose output is read as it comes.
    #[track_caller]
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        // Those that the test does not read itself.
        let out = child.stdout.take().map(|out| Box::new(out) as Box<dyn Read + Send>);
        let err = child.stderr.take().map(|err| Box::new(err) as Box<dyn Read + Send>);
        for output in out.into_iter().chain(err) {
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Self { child, lines, seen: Vec::new(), waiting: Vec::new() }
    }

    /// Waits for a line that contains `text`, other than those that were waited for before. The two
    /// outputs come in no order, so lines before it are kept for later.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            if let Some(place) = self.waiting.iter().position(|line| line.contains(text)) {
                return self.waiting.remove(place);
            }
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.waiting.push(line.clone());
                    self.seen.push(line);
                }
                Err(error) => panic!("no `{text}` ({error}) in\n{}", self.seen.join("\n")),
            }
        }
    }

    /// Everything it has said so far.
    pub(crate) fn said(&self) -> String {
        self.seen.join("\n")
    }

    /// The memory it has at most taken, in KiB.
    #[allow(dead_code, reason = "for the proofs, which share this file")]
    pub(crate) fn memory_kib(&self) -> u64 {
        self.status_kib("VmHWM:")
    }

    /// The memory it takes now, in KiB.
    #[allow(dead_code, reason = "for the proofs, which share this file")]
    pub(crate) fn resident_kib(&self) -> u64 {
        self.status_kib("VmRSS:")
    }

    fn status_kib(&self, field: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Sends a signal by its name, such as `TERM`.
    #[track_caller]
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Waits for the end; tells how it ended, and everything it said.
    #[track_caller]
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        // Both outputs end when the process does.
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it does not end:\n{}", self.seen.join("\n"))
                }
            }
        }
        (self.child.wait().unwrap(), self.seen.join("\n"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in a line such as `… listens on http://127.0.0.1:40123`, in either log format.
pub(crate) fn address_in(line: &str) -> Option<SocketAddr> {
    let at = line.find("127.0.0.1:")?;
    let rest = &line[at..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && !".:".contains(c)).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
