//! The environment of a policy file, as the flag or the variable names it.

/// The help of --environment, for every command that reads a policy file.
pub(super) const HELP: &str = "The environment whose numbers hold, if the policy file declares any [env: TIDEGATE_ENVIRONMENT] [default: the numbers without one]";

/// The environment that a flag names, or else the variable.
///
/// The variable is read here and not by clap, to which it would conflict with --server, though a flag
/// comes before the environment.
#[expect(clippy::disallowed_methods, reason = "the binary is where the environment is read")]
pub(super) fn chosen(flag: Option<&String>) -> Option<String> {
    let of_variable = || std::env::var_os("TIDEGATE_ENVIRONMENT").filter(|name| !name.is_empty());
    flag.cloned().or_else(|| of_variable().map(|name| name.to_string_lossy().into_owned()))
}
