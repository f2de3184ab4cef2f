//! The servers to use, as an operator writes them: one line of text.
//!
//! The text is a secret in part, so nothing of it is ever quoted: an error says what to write instead,
//! and [`Target`] shows itself with the password hidden.

mod address;
mod parse;
#[cfg(test)]
mod tests;

use core::fmt;
use core::time::Duration;
use std::path::PathBuf;

pub(crate) use self::address::Address;

/// The servers that hold the counters, how to reach them, and how long to wait for them.
///
/// | text | servers |
/// |---|---|
/// | `redis://[user[:password]@]host[:port][/db]` | one |
/// | `redis+sentinel://[user[:password]@]host[:port][,…]/name[/db]` | the primary that Sentinel names |
/// | `redis+cluster://[user[:password]@]host[:port][,…]` | a cluster, found through any of its nodes |
///
/// `rediss` instead of `redis` is the same over TLS. Special characters in user, password and name are
/// percent-encoded. These settings may follow a `?`, joined by `&`:
///
/// | setting | meaning |
/// |---|---|
/// | `timeout=250ms` | for a whole call, connecting included; 1 ms to 60 s |
/// | `ca=/path.pem` | TLS: trust these authorities and no others |
/// | `cert=/path.pem`, `key=/path.pem` | TLS: our own certificate and its key |
/// | `sentinel_user=`, `sentinel_password=` | Sentinel: the login at the sentinels themselves |
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pub(crate) kind: ServersKind,
    /// The server, the sentinels, or some nodes of the cluster; at least one.
    pub(crate) hosts: Vec<Address>,
    pub(crate) login: Credentials,
    pub(crate) db: u32,
    pub(crate) tls: Option<TlsFiles>,
    timeout: Duration,
}

/// What kind of servers the hosts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServersKind {
    Single,
    Sentinel { master: String, login: Credentials },
    Cluster,
}

/// The files that TLS reads at start-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(crate) ca: Option<PathBuf>,
    /// The files of the certificate chain and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
}

/// A text that must not show in a log, an error or a panic, whoever derives `Debug` around it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct HiddenText(String);

/// The user and password for a server; empty if it lets everybody in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<HiddenText>,
}

/// What is wrong with the text of a [`Target`], and what to write instead. It never quotes the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The text begins with none of the schemes.
    #[error(
        "start with redis://, redis+sentinel:// or redis+cluster://, \
         or with rediss instead of redis for TLS"
    )]
    Scheme,
    /// A special character is not percent-encoded, so it ends the part it should be in.
    #[error(
        "percent-encode the characters @ / ? # % and , within user, password and names \
         (@ is %40, / is %2F, % is %25)"
    )]
    Encoding,
    /// A host is neither a name nor an address.
    #[error("write a host name, an IPv4 address or an IPv6 address in brackets, as in [::1]:6379")]
    Host,
    /// A port is not a valid number.
    #[error("write the port after the host as a number between 1 and 65535")]
    Port,
    /// Several hosts are given where one is meant.
    #[error("redis:// takes one host; several belong to redis+sentinel:// or redis+cluster://")]
    Hosts,
    /// The name of the primary is missing.
    #[error("name the primary that Sentinel watches after the hosts, as in /mymaster")]
    Master,
    /// The database is not a number.
    #[error("write the database as a number after a slash, as in /0, and nothing after it")]
    Database,
    /// A database is given for a cluster.
    #[error("a cluster has no database but 0: leave the path out")]
    ClusterDatabase,
    /// A setting does not exist, is given twice or has no value.
    #[error(
        "after the ? only timeout, ca, cert, key, sentinel_user and sentinel_password are known, \
         each once and with a value"
    )]
    Setting,
    /// The timeout cannot be read or is out of range.
    #[error("write the timeout with its unit, as in timeout=250ms or timeout=2s, from 1ms to 60s")]
    Timeout,
    /// TLS settings are given without TLS.
    #[error("ca, cert and key belong to TLS: write rediss instead of redis, or leave them out")]
    WithoutTls,
    /// Only one of `cert` and `key` is given.
    #[error("cert and key belong together: write both or neither")]
    Identity,
    /// Sentinel settings are given without Sentinel.
    #[error("sentinel_user and sentinel_password belong to redis+sentinel:// only")]
    WithoutSentinel,
    /// A file for TLS cannot be used.
    #[error("{what} cannot be used: {why}")]
    Tls {
        /// The setting that names the file, or the part of TLS that it is for.
        what: &'static str,
        /// What is wrong with the file.
        why: String,
    },
}

// === impl Target ===

impl Target {
    /// How long a call may take unless the text says otherwise.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_millis(250);

    /// Reads a target from text.
    ///
    /// # Errors
    ///
    /// [`TargetError`], which says what to write instead and never repeats what was written.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        parse::parse(text)
    }

    /// How long a whole call may take: connecting, handshake and redirect included.
    #[must_use]
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The same servers with another timeout, between 1 ms and 60 s.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.clamp(parse::SHORTEST, parse::LONGEST);
        self
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.tls.is_some() { "rediss" } else { "redis" })?;
        f.write_str(match self.kind {
            ServersKind::Single => "://",
            ServersKind::Sentinel { .. } => "+sentinel://",
            ServersKind::Cluster => "+cluster://",
        })?;
        write!(f, "{}", self.login)?;
        let hosts: Vec<_> = self.hosts.iter().map(Address::to_string).collect();
        f.write_str(&hosts.join(","))?;
        match &self.kind {
            ServersKind::Single => write!(f, "/{}", self.db),
            ServersKind::Sentinel { master, .. } => write!(f, "/{master}/{}", self.db),
            ServersKind::Cluster => Ok(()),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self}, timeout {:?})", self.timeout)
    }
}

// === impl HiddenText ===

impl HiddenText {
    pub(crate) const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for HiddenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

// === impl Credentials ===

impl fmt::Display for Credentials {
    /// The login as it stands before a host: nothing, or with the `@`. A name without a password is
    /// hidden as well, since somebody who writes `redis://password@host` means the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.user, &self.password) {
            (None, None) => Ok(()),
            (Some(user), Some(_)) => write!(f, "{user}:***@"),
            (None, Some(_)) => f.write_str(":***@"),
            (Some(_), None) => f.write_str("***@"),
        }
    }
}
