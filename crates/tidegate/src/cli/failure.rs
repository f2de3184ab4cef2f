//! Why a command did not do what it was asked, and which exit code says so.

use std::fmt;
use std::io;

use crate::descriptors;

/// The exit code of a command that fails while it runs.
pub(crate) const FAILED: u8 = 1;
/// The exit code if the command line or a policy file is wrong.
pub(crate) const MISCONFIGURED: u8 = 2;

/// An error and its exit code.
#[derive(Debug)]
pub(crate) struct ExitFailure {
    pub(crate) code: u8,
    error: anyhow::Error,
}

// === impl ExitFailure ===

impl ExitFailure {
    /// The failure if the command line or a file is wrong, so that the user has to change it. A file that
    /// could not be opened for want of a descriptor is not wrong.
    pub(crate) fn misconfigured(error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        let code = if descriptors::were_missing(&error) { FAILED } else { MISCONFIGURED };
        Self { code, error }
    }

    /// Whether the only error is that nobody reads the output any more.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        let io = self.error.downcast_ref::<io::Error>();
        io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl<E: Into<anyhow::Error>> From<E> for ExitFailure {
    fn from(error: E) -> Self {
        Self { code: FAILED, error: error.into() }
    }
}

impl fmt::Display for ExitFailure {
    /// Writes the error and its causes, on one line unless the error is a diagnostic of several lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = crate::text::escaped_lines(&format!("{:#}", self.error));
        // A diagnostic of a file begins with `error` itself.
        let prefix = if text.starts_with("error") { "" } else { "error: " };
        write!(f, "{prefix}{text}")
    }
}
