//! The secret of a fleet, the previous one while it is being changed, and the admin token: each from the
//! environment, or from a file.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use tidegate_core::Secret;
use tidegate_engine::file::Hidden;
use tidegate_server::AdminToken;

use crate::cli::variable;
use crate::descriptors;

/// The most bytes of a secret file: far more than a secret has, and far less than would hurt.
const MOST_BYTES: u64 = 64 << 10;

/// The error if there is no secret: why there has to be one, and how to get it.
const MISSING: &str = "\
the nodes that share a store need a secret in common, and there is none: under it accounts and \
addresses have the same keys on every node, and a ticket of one can be settled by another. Make one \
with `openssl rand -base64 32`, and give it to every node: in TIDEGATE_SECRET, or in a file named by \
--secret-file or by `secret_file` in the policy file";

/// The error if there is a previous secret alone: why that is of no use.
const ONLY_PREVIOUS: &str = "\
there is a previous secret and no current one. While the secret is being changed every node has both: \
the new one in TIDEGATE_SECRET, --secret-file or `secret_file`, the one before in \
TIDEGATE_SECRET_PREVIOUS, --previous-secret-file or `previous_secret_file`";

/// The environment variable that may hold the token.
pub(crate) const ADMIN_TOKEN: &str = "TIDEGATE_ADMIN_TOKEN";

/// The places where a secret may be given: the first that has one counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SecretPlaces<'a> {
    /// A file that a flag names.
    pub(crate) flag: Option<&'a Path>,
    /// The text itself, from an environment variable.
    pub(crate) environment: Option<&'a Hidden>,
    /// A file that the policy file names.
    pub(crate) file: Option<&'a Path>,
}

/// The secret of the fleet, with the previous one if it is given.
///
/// # Errors
///
/// If there is no secret, or one cannot be read or can be guessed, or both are the same.
pub(crate) fn secret(current: SecretPlaces<'_>, previous: SecretPlaces<'_>) -> Result<Secret> {
    let check = |text: &Hidden| Ok(Secret::try_new(text.reveal())?);
    let previous = previous.find("the secret file", "TIDEGATE_SECRET_PREVIOUS", check)?;
    match (current.find("the secret file", "TIDEGATE_SECRET", check)?, previous) {
        (Some(current), None) => Ok(current),
        (Some(current), Some(previous)) => Ok(current.replacing(&previous)?),
        (None, Some(_)) => bail!(ONLY_PREVIOUS),
        (None, None) => bail!(MISSING),
    }
}

/// The token, if one is given.
///
/// # Errors
///
/// If the token cannot be read, or can be guessed.
pub(crate) fn admin_token(given: SecretPlaces<'_>) -> Result<Option<Hidden>> {
    given.find("the token file", ADMIN_TOKEN, |text| {
        AdminToken::try_new(text.reveal())?;
        Ok(Hidden::from(text.reveal().trim().to_owned()))
    })
}

// === impl SecretPlaces ===

impl<'a> SecretPlaces<'a> {
    /// The file to read the secret from, if it is in a file.
    pub(crate) fn path(self) -> Option<&'a Path> {
        self.flag.or(self.file.filter(|_| self.environment.is_none()))
    }

    /// The secret that `check` makes of what is given. Errors name the environment variable, or the
    /// file as `kind`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or `check` refuses the text.
    pub(crate) fn find<T>(
        self,
        kind: &str,
        variable: &'static str,
        check: impl FnOnce(&Hidden) -> Result<T>,
    ) -> Result<Option<T>> {
        match (self.path(), self.environment) {
            (Some(path), _) => {
                let name = format!("{kind} {}", path.display());
                check(&hidden_text(path, &name)?).context(name).map(Some)
            }
            (None, Some(text)) => check(text).context(variable).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// The value of an environment variable that nobody else should read, if it has one. There is no flag
/// for it, which others on the machine could read.
///
/// # Errors
///
/// If the value is not UTF-8 text.
pub(crate) fn hidden_variable(name: &str) -> Result<Option<Hidden>> {
    let text = variable(name).map(OsString::into_string).transpose();
    // The error is not shown: it would be the text.
    let text = text.map_err(|_| anyhow!("{name} is not UTF-8 text"))?;
    Ok(text.map(Hidden::from))
}

/// The text of a file that nobody else should read; errors call the file `name`.
fn hidden_text(path: &Path, name: &str) -> Result<Hidden> {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    let bytes =
        read.map_err(descriptors::explained).with_context(|| format!("cannot read {name}"))?;
    if u64::try_from(bytes).is_ok_and(|bytes| bytes > MOST_BYTES) {
        bail!("{name} has more than {MOST_BYTES} bytes; is it the right one?");
    }
    Ok(Hidden::from(text))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn hidden(text: &str) -> Hidden {
        Hidden::from(text.to_owned())
    }

    #[test]
    fn a_flag_comes_before_the_environment_and_that_before_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::write(&one, "the secret of file one\n").unwrap();
        fs::write(&two, "the secret of file two\n").unwrap();
        let environment = hidden("the secret of the environment");
        let of = |text: &str| Secret::try_new(text).unwrap();
        let in_file = SecretPlaces { file: Some(&two), ..SecretPlaces::default() };
        let in_both = SecretPlaces { environment: Some(&environment), ..in_file };
        let in_all = SecretPlaces { flag: Some(&one), ..in_both };
        for (given, text) in [
            (in_all, "the secret of file one"),
            (in_both, "the secret of the environment"),
            (in_file, "the secret of file two"),
        ] {
            assert_eq!(secret(given, SecretPlaces::default()).unwrap(), of(text));
        }
        let changed = secret(in_all, in_file).unwrap();
        assert_eq!(changed.previous(), Some(of("the secret of file two")));
        assert_ne!(changed, of("the secret of file one"), "it knows the one before");
    }

    #[test]
    fn the_one_before_is_another_and_never_alone() {
        let (new, old) = (hidden("canary of the new secret"), hidden("canary of the old secret\n"));
        let given = |text| SecretPlaces { environment: Some(text), ..SecretPlaces::default() };
        for (result, told) in [
            (secret(given(&old), given(&old)), "the previous secret is the current one"),
            (secret(SecretPlaces::default(), given(&old)), "a previous secret and no current one"),
            (secret(given(&new), given(&hidden("canary"))), "TIDEGATE_SECRET_PREVIOUS: a secret"),
        ] {
            let error = format!("{:#}", result.unwrap_err());
            assert!(error.contains(told) && !error.contains("canary"), "`{told}` in {error}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_without_the_secret() {
        let dir = tempfile::tempdir().unwrap();
        let (short, long) = (dir.path().join("short"), dir.path().join("long"));
        fs::write(&short, "canary").unwrap();
        fs::write(&long, "canary".repeat(20_000)).unwrap();
        let gone = dir.path().join("gone");
        let of = |flag, environment, file| {
            secret(SecretPlaces { flag, environment, file }, SecretPlaces::default())
        };
        for (result, told) in [
            (of(None, None, None), "openssl rand -base64 32"),
            (of(None, Some(&hidden("canary")), None), "TIDEGATE_SECRET"),
            (of(Some(&short), None, None), "short: a secret of 6 bytes can be guessed"),
            (of(None, None, Some(&long)), "is it the right one?"),
            (of(Some(&gone), None, None), "cannot read"),
            (of(Some(dir.path()), None, None), "cannot read"),
        ] {
            let error = format!("{:#}", result.unwrap_err());
            assert!(error.contains(told) && !error.contains("canary"), "`{told}` in {error}");
        }
    }

    #[test]
    fn the_token_of_a_flag_comes_before_the_environment_and_that_before_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        fs::write(&one, "the-token-of-file-one\n").unwrap();
        fs::write(&two, "the-token-of-file-two\n").unwrap();
        let environment = hidden("the-token-of-the-environment");
        let (flag, file) = (Some(one.as_path()), Some(two.as_path()));
        let found = |given| admin_token(given).unwrap();
        let all = SecretPlaces { flag, environment: Some(&environment), file };
        assert_eq!(found(all), Some(hidden("the-token-of-file-one")));
        assert_eq!(found(SecretPlaces { flag: None, ..all }), Some(environment.clone()));
        let last = SecretPlaces { file, ..SecretPlaces::default() };
        assert_eq!(found(last), Some(hidden("the-token-of-file-two")));
        assert_eq!(found(SecretPlaces::default()), None);
    }

    #[test]
    fn t41_what_is_wrong_is_told_with_its_place_and_without_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let (short, gone) = (dir.path().join("short"), dir.path().join("gone"));
        fs::write(&short, "canary").unwrap();
        let (guessed, spaced) = (hidden("canary"), hidden("canary with white space"));
        let flag = |path| SecretPlaces { flag: Some(path), ..SecretPlaces::default() };
        let environment =
            |text| SecretPlaces { environment: Some(text), ..SecretPlaces::default() };
        for (given, told) in [
            (environment(&guessed), "TIDEGATE_ADMIN_TOKEN: an admin token of 6 bytes"),
            (environment(&spaced), "TIDEGATE_ADMIN_TOKEN: an admin token has visible ASCII"),
            (flag(short.as_path()), "short: an admin token of 6 bytes can be guessed"),
            (flag(gone.as_path()), "cannot read the token file"),
        ] {
            let error = format!("{:#}", admin_token(given).unwrap_err());
            assert!(error.contains(told) && !error.contains("canary"), "`{told}` in {error}");
        }
    }
}
