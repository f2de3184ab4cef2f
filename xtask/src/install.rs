//! The programs that the tests need beyond a Rust toolchain, and how to install them on a fresh
//! Debian or Ubuntu.
//!
//! A test that skips itself where a program is missing proves nothing on the machine that matters.
//! So missing programs are installed first, or the run ends here, with the one line to type. If
//! nothing is missing, nothing is changed.

use crate::shell::{Cmd, CommandFailure, on_path};
use crate::valkey;

/// A program that the tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tool {
    /// The executable that must be on the `PATH`.
    binary: &'static str,
    /// The Debian package that contains it.
    package: &'static str,
    /// What the program is needed for.
    why: &'static str,
}

const TOOLS: &[Tool] = &[
    tool("git", "git", "the tidy tests list what is committed"),
    tool("curl", "curl", "the lines the server prints are tried"),
    tool("chromium", "chromium", "pages of another origin try to use the server"),
    tool("nginx", "nginx-light", "the gate is asked by a real proxy"),
    tool("openssl", "openssl", "certificates for tests of TLS"),
    tool("promtool", "prometheus", "the metrics are linted"),
    tool("python3", "python3-venv", "schemathesis and Valkey come in venvs"),
    tool("redis-server", "redis-server", "stores are tried on real servers"),
    tool("redis-cli", "redis-tools", "an independent client"),
    tool("setpriv", "util-linux", "servers end with the test, however it ends"),
    tool("valgrind", "valgrind", "the guard counts instructions"),
];

/// The programs that the benchmarks need, whichever of them is run.
const BENCH_TOOLS: &[Tool] = &[
    tool("wrk", "wrk", "servers are put under load"),
    tool("protoc", "protobuf-compiler", "a peer's server is built with it"),
    tool("redis-server", "redis-server", "the shared store is measured on a real server"),
    tool("valgrind", "valgrind", "instructions are counted"),
];

const fn tool(binary: &'static str, package: &'static str, why: &'static str) -> Tool {
    Tool { binary, package, why }
}

/// Parts of the toolchain: the cargo subcommand, and the rustup component that contains it.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// The program that runs others as root.
const SUDO: &str = "sudo";

/// Installs everything that is missing, or fails with the line that would install it.
pub(crate) fn run() -> Result<(), CommandFailure> {
    add_components()?;
    add_packages(TOOLS)?;
    // After the packages, because it needs Python.
    valkey::install()?;
    println!("nothing is missing");
    Ok(())
}

/// Installs the programs that benchmarks need and this machine lacks.
pub(crate) fn for_benchmarks() -> Result<(), CommandFailure> {
    add_packages(BENCH_TOOLS)
}

fn add_packages(tools: &[Tool]) -> Result<(), CommandFailure> {
    let missing = missing(tools, on_path);
    if missing.is_empty() {
        return Ok(());
    }
    for tool in &missing {
        println!("missing: {} ({})", tool.binary, tool.why);
    }
    apt_install(&missing)?;
    match self::missing(tools, on_path).first() {
        None => Ok(()),
        Some(tool) => Err(CommandFailure::new(
            format!("{} is still not on the PATH", tool.binary),
            format!("dpkg --listfiles {}", tool.package),
        )),
    }
}

fn add_components() -> Result<(), CommandFailure> {
    for (subcommand, component) in COMPONENTS {
        if !Cmd::cargo(&format!("{subcommand} --version")).succeeds() {
            println!("missing: cargo {subcommand}");
            Cmd::new("rustup", &format!("component add {component}")).run()?;
        }
    }
    Ok(())
}

fn missing(tools: &[Tool], present: impl Fn(&str) -> bool) -> Vec<Tool> {
    tools.iter().copied().filter(|tool| !present(tool.binary)).collect()
}

fn apt_install(missing: &[Tool]) -> Result<(), CommandFailure> {
    let is_root = Cmd::new("id", "-u").read().is_ok_and(|id| id.trim() == "0");
    if !(is_root || on_path(SUDO)) || !on_path("apt-get") {
        let reason = "packages are missing, and installing them takes root and apt";
        return Err(CommandFailure::new(reason, line_for_root(missing)));
    }
    let apt = |line: &str| if is_root { apt(line) } else { apt(line).by(SUDO) };
    if apt("update").run().is_err() {
        println!("the package lists could not be refreshed; trying with those at hand");
    }
    apt("install -y").args(packages(missing)).run()
}

fn apt(line: &str) -> Cmd {
    // `env` instead of our own environment, which sudo does not pass on.
    Cmd::new("env", "DEBIAN_FRONTEND=noninteractive apt-get").args(line.split_whitespace())
}

fn packages(missing: &[Tool]) -> Vec<String> {
    let mut names: Vec<String> = missing.iter().map(|tool| tool.package.to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

fn line_for_root(missing: &[Tool]) -> String {
    format!("apt-get update && apt-get install -y {}", packages(missing).join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: Tool = Tool { binary: "server", package: "suite", why: "" };
    const CLIENT: Tool = Tool { binary: "client", package: "suite", why: "" };
    const OTHER: Tool = Tool { binary: "other", package: "another", why: "" };

    #[test]
    fn only_what_is_absent_is_missing() {
        assert_eq!(missing(&[SERVER, OTHER], |name| name == "other"), [SERVER]);
    }

    #[test]
    fn a_package_is_named_once() {
        let line = line_for_root(&[SERVER, CLIENT, OTHER]);
        assert_eq!(line, "apt-get update && apt-get install -y another suite");
    }

    #[test]
    fn sudo_is_used_by_those_who_are_not_root() {
        let line = "env DEBIAN_FRONTEND=noninteractive apt-get update";
        assert_eq!(apt("update").to_string(), line);
        assert_eq!(apt("update").by(SUDO).to_string(), format!("sudo {line}"));
    }
}
