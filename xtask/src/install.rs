//! The programs that the tests need beyond a Rust toolchain, and how to install them on a fresh
//! Debian or Ubuntu.
//!
//! A test that skips itself where a program is missing proves nothing on the machine that matters.
//! So missing programs are installed first, or the run ends here, with the one line to type. If
//! nothing is missing, nothing is changed.

use crate::shell::{Cmd, Failure, on_path};
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
    Tool { binary: "git", package: "git", why: "the tidy tests list what is committed" },
    Tool { binary: "curl", package: "curl", why: "the lines the server prints are tried" },
    Tool {
        binary: "chromium",
        package: "chromium",
        why: "pages of another origin try to use the server",
    },
    Tool { binary: "nginx", package: "nginx-light", why: "the gate is asked by a real proxy" },
    Tool { binary: "openssl", package: "openssl", why: "certificates for tests of TLS" },
    Tool { binary: "promtool", package: "prometheus", why: "the metrics are linted" },
    Tool {
        binary: "python3",
        package: "python3-venv",
        why: "schemathesis and Valkey come in venvs",
    },
    Tool {
        binary: "redis-server",
        package: "redis-server",
        why: "stores are tried on real servers",
    },
    Tool { binary: "redis-cli", package: "redis-tools", why: "an independent client" },
    Tool {
        binary: "setpriv",
        package: "util-linux",
        why: "servers end with the test, however it ends",
    },
    Tool { binary: "valgrind", package: "valgrind", why: "the guard counts instructions" },
];

/// Parts of the toolchain: the cargo subcommand, and the rustup component that contains it.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// How `apt-get` can be run as root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rights {
    Root,
    Sudo,
    None,
}

/// Installs everything that is missing, or fails with the line that would install it.
pub(crate) fn run() -> Result<(), Failure> {
    add_components()?;
    add_packages()?;
    // After the packages, because it needs Python.
    valkey::install()?;
    println!("nothing is missing");
    Ok(())
}

fn add_packages() -> Result<(), Failure> {
    let missing = missing(TOOLS, on_path);
    if missing.is_empty() {
        return Ok(());
    }
    for tool in &missing {
        println!("missing: {} ({})", tool.binary, tool.why);
    }
    apt_install(&missing)?;
    match self::missing(TOOLS, on_path).first() {
        None => Ok(()),
        Some(tool) => Err(Failure {
            reason: format!("{} is still not on the PATH", tool.binary),
            by_hand: format!("dpkg --listfiles {}", tool.package),
        }),
    }
}

fn add_components() -> Result<(), Failure> {
    for (subcommand, component) in COMPONENTS {
        if !Cmd::cargo(&[subcommand, "--version"]).succeeds() {
            println!("missing: cargo {subcommand}");
            Cmd::new("rustup", &["component", "add", component]).run()?;
        }
    }
    Ok(())
}

fn missing(tools: &[Tool], present: impl Fn(&str) -> bool) -> Vec<Tool> {
    tools.iter().copied().filter(|tool| !present(tool.binary)).collect()
}

fn apt_install(missing: &[Tool]) -> Result<(), Failure> {
    let rights = rights();
    if rights == Rights::None || !on_path("apt-get") {
        return Err(Failure {
            reason: "packages are missing, and installing them takes root and apt".into(),
            by_hand: line_for_root(missing),
        });
    }
    if apt(rights, &["update"]).run().is_err() {
        println!("the package lists could not be refreshed; trying with those at hand");
    }
    apt(rights, &["install", "-y"]).args(packages(missing)).run()
}

fn rights() -> Rights {
    let root = Cmd::new("id", &["-u"]).read().is_ok_and(|id| id.trim() == "0");
    if root {
        Rights::Root
    } else if on_path("sudo") {
        Rights::Sudo
    } else {
        Rights::None
    }
}

fn apt(rights: Rights, args: &[&str]) -> Cmd {
    // `env` instead of our own environment, which sudo does not pass on.
    let quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    let cmd = match rights {
        Rights::Sudo => Cmd::new("sudo", &quiet),
        Rights::Root | Rights::None => Cmd::new(quiet[0], &quiet[1..]),
    };
    cmd.args(args.iter().map(ToString::to_string))
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
        let line = |rights| apt(rights, &["update"]).to_string();
        assert_eq!(line(Rights::Root), "env DEBIAN_FRONTEND=noninteractive apt-get update");
        assert!(line(Rights::Sudo).starts_with("sudo env DEBIAN_FRONTEND"));
    }
}
