//! The environment of a policy file, as the flag or the variable names it.

use std::ffi::OsString;

use super::serve::Overlay;

/// The help of --environment, for every command that reads a policy file.
pub(super) const HELP: &str = "The environment whose numbers hold, if the policy file declares any [env: TIDEGATE_ENVIRONMENT] [default: the numbers without one]";

/// The overlay of a command that has no settings but the environment.
pub(super) fn overlay(flag: Option<&String>) -> Overlay {
    Overlay { environment: chosen(flag), ..Overlay::default() }
}

/// The environment that a flag names, or else the variable.
pub(super) fn chosen(flag: Option<&String>) -> Option<String> {
    let named = || Some(variable("TIDEGATE_ENVIRONMENT")?.to_string_lossy().into_owned());
    flag.cloned().or_else(named)
}

/// The value of an environment variable, if it has one that is not empty.
///
/// Some variables are read here and not by clap: one that is secret, because it has no flag, and one whose
/// flag conflicts with --server, because to clap the variable would conflict as well, though a flag comes
/// before the environment.
#[expect(clippy::disallowed_methods, reason = "the binary is where the environment is read")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
