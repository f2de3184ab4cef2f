//! Warnings at the start, about settings that are allowed and rarely meant.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tidegate_server::Settings;
use tracing::warn;

use crate::config::Config;
use crate::store::{SecretPlaces, StoreChoice};

/// Other machines reach the decision API, and it has no authentication.
const NO_AUTHENTICATION: &str = "\
other machines can reach the decision API, and it has no authentication: whoever reaches it can charge \
anybody's limits and read the policies. Listen on 127.0.0.1, or let only your own programs through to \
this address";

/// Other machines reach the server, and every name that they use for it is refused.
const NO_HOSTS: &str = "\
requests that use a name for this server are refused with 421, but for localhost: list the names that \
clients use in `server.hosts` or --hosts";

/// Logs a warning for every setting of this configuration that is rarely meant.
pub(crate) fn tell(config: &Config, settings: &Settings, store: &StoreChoice) {
    let (address, hosts) = (settings.listen(), config.server().hosts.is_some());
    for warning in reach(address, if hosts { Naming::Written } else { Naming::Default }) {
        warn!(%address, "{warning}");
    }
    let [secret, previous] = match store {
        StoreChoice::Memory => [None, None],
        StoreChoice::Redis(_) => config.secrets().map(SecretPlaces::path),
    };
    for (what, path) in [
        ("the secret of the fleet", secret),
        ("the previous secret of the fleet", previous),
        ("the admin token", config.admin().path()),
    ] {
        if let Some(path) = path.filter(|path| is_readable(path)) {
            let mend = chmod(path);
            warn!(path = %path.display(), mend, "every user of this machine can read {what}");
        }
    }
}

/// Whether the settings list names for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    Written,
    Default,
}

/// Warnings about an address that other machines reach.
fn reach(listen: SocketAddr, hosts: Naming) -> &'static [&'static str] {
    match hosts {
        _ if listen.ip().to_canonical().is_loopback() => &[],
        Naming::Written => &[NO_AUTHENTICATION],
        Naming::Default => &[NO_AUTHENTICATION, NO_HOSTS],
    }
}

/// Whether every user can read a file with a secret in it. A file that cannot be looked at is reported
/// when it is read.
fn is_readable(path: &Path) -> bool {
    /// The permission bit that lets users read the file who neither own it nor are in its group.
    const OTHERS_READ: u32 = 0o004;
    fs::metadata(path).is_ok_and(|file| file.permissions().mode() & OTHERS_READ != 0)
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
            assert!(reach(loopback, Naming::Default).is_empty(), "{loopback}");
        }
        for open in ["0.0.0.0:7700", "[::]:7700", "10.0.0.7:7700", "[::ffff:10.0.0.7]:1"] {
            assert_eq!(reach(open, Naming::Written), [NO_AUTHENTICATION], "{open}");
            assert_eq!(reach(open, Naming::Default), [NO_AUTHENTICATION, NO_HOSTS], "{open}");
        }
    }

    #[test]
    fn t41_a_file_that_every_user_reads_is_warned_about() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        fs::write(&path, "a token").unwrap();
        for (mode, warned) in [(0o644, true), (0o604, true), (0o640, false), (0o600, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_readable(&path), warned, "{mode:o}");
        }
        assert!(!is_readable(&dir.path().join("gone")));
        assert_eq!(chmod(Path::new("/etc/tidegate/admin")), "chmod o-r /etc/tidegate/admin");
    }
}
