//! Which environment of a policy file is meant: the flag, or the variable.

/// What `--help` says, wherever a file is read.
pub(super) const HELP: &str = "The environment whose numbers hold, if the policy file declares any [env: TIDEGATE_ENVIRONMENT] [default: the numbers without one]";

/// The environment that a flag names, or else the variable.
///
/// The variable is not clap's to read here: it would conflict with --server, though a flag comes
/// before the environment.
#[expect(clippy::disallowed_methods, reason = "the binary is where the environment is read")]
pub(super) fn chosen(flag: Option<&String>) -> Option<String> {
    let of_variable = || std::env::var_os("TIDEGATE_ENVIRONMENT").filter(|name| !name.is_empty());
    flag.cloned().or_else(|| of_variable().map(|name| name.to_string_lossy().into_owned()))
}
