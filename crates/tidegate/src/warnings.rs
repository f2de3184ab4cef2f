//! Warnings at the start, about settings that are allowed and rarely meant.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tidegate_server::Settings;
use tracing::warn;

use crate::config::{Config, Overlay};
use crate::store::Choice;

/// A warning about a setting that is rarely meant.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Warning {
    /// Other machines reach the decision API, and it has no authentication.
    NoAuthentication(SocketAddr),
    /// Other machines reach the server, and every name that they use for it is refused.
    NoHosts(SocketAddr),
    /// Every user of the machine can read a file with a secret in it.
    Readable {
        /// The name of the secret in the file.
        what: &'static str,
        path: PathBuf,
    },
}

/// The name of a secret, and the file that it is in.
type SecretFile = (&'static str, PathBuf);

/// Logs a warning for every setting of this configuration that is rarely meant.
pub(crate) fn tell(config: &Config, overlay: &Overlay, settings: &Settings, store: &Choice) {
    let hosts = config.server(overlay).hosts.is_some();
    let [secret, previous] = match store {
        Choice::Memory => [None, None],
        Choice::Redis(_) => config.secret_files(overlay),
    };
    let files = [
        ("the secret of the fleet", secret),
        ("the previous secret of the fleet", previous),
        ("the admin token", config.admin_token_file(overlay)),
    ];
    let files = files.into_iter().filter_map(|(what, path)| Some((what, path?)));
    let reach = reach(settings.listen(), if hosts { Naming::Written } else { Naming::Default });
    for warning in reach.into_iter().chain(files.filter_map(readable)) {
        warning.log();
    }
}

/// Whether the settings list names for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    Written,
    Default,
}

/// Warnings about an address that other machines reach.
fn reach(listen: SocketAddr, hosts: Naming) -> Vec<Warning> {
    if listen.ip().to_canonical().is_loopback() {
        return Vec::new();
    }
    let no_hosts = (hosts == Naming::Default).then_some(Warning::NoHosts(listen));
    [Warning::NoAuthentication(listen)].into_iter().chain(no_hosts).collect()
}

/// The warning about a file that every user can read. A file that cannot be looked at is reported when it
/// is read.
fn readable((what, path): SecretFile) -> Option<Warning> {
    /// The permission bit that lets users read the file who neither own it nor are in its group.
    const OTHERS_READ: u32 = 0o004;
    let mode = fs::metadata(&path).ok()?.permissions().mode();
    (mode & OTHERS_READ != 0).then_some(Warning::Readable { what, path })
}

// === impl Warning ===

impl Warning {
    fn log(&self) {
        match self {
            Self::NoAuthentication(address) => warn!(
                %address,
                "other machines can reach the decision API, and it has no authentication: whoever \
                 reaches it can charge anybody's limits and read the policies. Listen on 127.0.0.1, \
                 or let only your own programs through to this address"
            ),
            Self::NoHosts(address) => warn!(
                %address,
                "requests that use a name for this server are refused with 421, but for localhost: \
                 list the names that clients use in `server.hosts` or --hosts"
            ),
            Self::Readable { what, path } => {
                let mend = chmod(path);
                warn!(path = %path.display(), mend, "every user of this machine can read {what}");
            }
        }
    }
}

/// The command that stops other users from reading a file.
fn chmod(path: &Path) -> String {
    format!("chmod o-r {}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t43_an_address_that_others_reach_is_warned_about() {
        let reach = |listen: &str, hosts| reach(listen.parse().unwrap(), hosts);
        for loopback in ["127.0.0.1:7700", "127.9.9.9:1", "[::1]:7700", "[::ffff:127.0.0.1]:1"] {
            assert_eq!(reach(loopback, Naming::Default), [], "{loopback}");
        }
        for open in ["0.0.0.0:7700", "[::]:7700", "10.0.0.7:7700", "[::ffff:10.0.0.7]:1"] {
            let listen: SocketAddr = open.parse().unwrap();
            let [one, two] = [Warning::NoAuthentication(listen), Warning::NoHosts(listen)];
            assert_eq!(reach(open, Naming::Written), vec![one.clone()], "{open}");
            assert_eq!(reach(open, Naming::Default), [one, two], "{open}");
        }
    }

    #[test]
    fn t41_a_file_that_every_user_reads_is_warned_about() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        fs::write(&path, "a token").unwrap();
        for (mode, warned) in [(0o644, true), (0o604, true), (0o640, false), (0o600, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let found = readable(("the admin token", path.clone()));
            assert_eq!(found.is_some(), warned, "{mode:o}");
        }
        assert_eq!(readable(("the admin token", dir.path().join("gone"))), None);
        assert_eq!(chmod(Path::new("/etc/tidegate/admin")), "chmod o-r /etc/tidegate/admin");
    }
}
