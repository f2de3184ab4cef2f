//! Child processes, as values that can be shown before they run and repeated afterwards.
//!
//! A person who sees a stage fail wants the one line that repeats it, so the line printed is made
//! from the very value that is executed. Children write to our terminal: their output is the
//! report, and nothing here paraphrases it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// One command line, to be run from the root of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Cmd {
    env: Vec<(&'static str, String)>,
    program: String,
    args: Vec<String>,
}

/// Why a command did not succeed, and what a person can type next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandFailure {
    /// What went wrong, as a clause.
    pub(crate) reason: String,
    /// The command line that repeats or repairs it.
    pub(crate) by_hand: String,
}

/// What to do with a committed file that a command makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOrCheck {
    /// Write the file.
    Write,
    /// Fail if the file is out of date.
    Check,
}

// === impl Cmd ===

impl Cmd {
    /// The command `program` with the words of `line` as arguments.
    pub(crate) fn new(program: impl Into<String>, line: &str) -> Self {
        Self { env: Vec::new(), program: program.into(), args: Vec::new() }
            .args(line.split_whitespace())
    }

    /// Cargo with the words of `line` as arguments.
    pub(crate) fn cargo(line: &str) -> Self {
        Self::new("cargo", line)
    }

    /// The command with more arguments, which may contain spaces.
    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The command as an argument of another program, such as sudo.
    pub(crate) fn by(mut self, program: &str) -> Self {
        self.args.insert(0, core::mem::replace(&mut self.program, program.to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Prints the line, runs it in our terminal, and fails unless it exits with zero.
    pub(crate) fn run(&self) -> Result<(), CommandFailure> {
        println!("$ {self}");
        let status = self.command().status().map_err(|e| self.failure(&e))?;
        if status.success() { Ok(()) } else { Err(self.failure(&status)) }
    }

    /// Runs the command and returns its standard output; nothing is shown unless it fails.
    pub(crate) fn read(&self) -> Result<String, CommandFailure> {
        let output = self.output()?;
        if !output.status.success() {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            return Err(self.failure(&output.status));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs the command and returns its exit status and output; shows nothing.
    pub(crate) fn output(&self) -> Result<Output, CommandFailure> {
        self.quietly().map_err(|error| self.failure(&error))
    }

    /// Whether the command can be started and exits with zero; shows nothing.
    pub(crate) fn succeeds(&self) -> bool {
        self.quietly().is_ok_and(|output| output.status.success())
    }

    fn quietly(&self) -> std::io::Result<Output> {
        self.command().stdin(Stdio::null()).output()
    }

    fn command(&self) -> Command {
        // Cargo tells its children which cargo it is; a different one would rebuild everything.
        let program = match self.program.as_str() {
            "cargo" => std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            other => other.into(),
        };
        let mut command = Command::new(program);
        command.args(&self.args).current_dir(root());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn failure(&self, how: &dyn fmt::Display) -> CommandFailure {
        CommandFailure::new(format!("`{}` failed: {how}", self.program), self.to_string())
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quote(value))?;
        }
        f.write_str(&quote(&self.program))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quote(arg)))
    }
}

// === impl CommandFailure ===

impl CommandFailure {
    pub(crate) fn new(reason: impl Into<String>, by_hand: impl Into<String>) -> Self {
        Self { reason: reason.into(), by_hand: by_hand.into() }
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\n  by hand: {}", self.reason, self.by_hand)
    }
}

/// The root of the workspace, where every command runs.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Cargo's target directory, in [`root`] unless the caller chose another place.
pub(crate) fn target_dir() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Every file under `folder`; links are left out.
pub(crate) fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(inner)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}

/// Installs packages of Python, named as for pip, into a virtual environment at `venv`.
pub(crate) fn pip_install(venv: &Path, packages: &str) -> Result<(), CommandFailure> {
    Cmd::new("python3", "-m venv").args([venv.display().to_string()]).run()?;
    Cmd::new(venv.join("bin/pip").display().to_string(), "install --quiet")
        .args(packages.split_whitespace())
        .run()
}

/// Whether an executable of this name is on the `PATH`.
///
/// The system directories are searched as well: servers such as nginx live there, and the `PATH` of
/// an ordinary user often leaves them out.
pub(crate) fn on_path(binary: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).any(|dir| dir.join(binary).is_file())
}

/// The word, quoted for a POSIX shell.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_a_shell_takes_it() {
        let cmd = Cmd::cargo("test it's").env("RUSTFLAGS", "--cfg loom");
        assert_eq!(cmd.to_string(), r"RUSTFLAGS='--cfg loom' cargo test 'it'\''s'");
    }

    #[test]
    fn a_failing_command_names_the_line_to_repeat() {
        let failure = Cmd::new("false", "--now").run().unwrap_err();
        assert_eq!(failure.by_hand, "false --now");
        assert!(failure.reason.contains("exit status: 1"), "{failure}");
    }

    #[test]
    fn a_command_that_does_not_exist_is_a_failure() {
        let cmd = Cmd::new("no-such-program", "");
        assert!(!cmd.succeeds());
        assert!(cmd.read().is_err());
        assert!(!on_path("no-such-program"));
    }

    #[test]
    fn the_root_is_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
    }
}
