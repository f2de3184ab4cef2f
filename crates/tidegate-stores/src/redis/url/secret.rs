//! A password that nothing prints.

use core::fmt;

/// A text that must not show in a log, an error or a panic, whoever derives `Debug` around it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

/// The user and password for a server; empty if it lets everybody in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Secret>,
}

// === impl Secret ===

impl Secret {
    pub(crate) const fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

// === impl Login ===

impl fmt::Display for Login {
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
