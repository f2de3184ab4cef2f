//! The secret of a fleet: from the environment, or from a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use tidegate_core::Secret;

use super::Hidden;

/// Far more than a secret has, and far less than would hurt.
const MOST_BYTES: u64 = 64 << 10;

/// Why there has to be one, and how to get it.
const MISSING: &str = "\
the nodes that share a store need a secret in common, and there is none: under it accounts and \
addresses have the same keys on every node, and a ticket of one can be settled by another. Make one \
with `openssl rand -base64 32`, and give it to every node: in TIDEGATE_SECRET, or in a file named by \
--secret-file or by `secret_file` in the policy file";

/// The secret of the first of these that is there: a file that was named, a text, a file that was
/// named elsewhere.
///
/// # Errors
///
/// If none is there, or it cannot be read, or can be guessed.
pub(crate) fn secret(
    flag: Option<&Path>,
    environment: Option<&Hidden>,
    file: Option<&Path>,
) -> Result<Secret> {
    match (flag, environment, file) {
        (Some(path), _, _) | (None, None, Some(path)) => in_file(path),
        (None, Some(text), _) => Secret::try_new(text.reveal()).context("TIDEGATE_SECRET"),
        (None, None, None) => bail!(MISSING),
    }
}

fn in_file(path: &Path) -> Result<Secret> {
    let name = || format!("the secret file {}", path.display());
    let mut text = String::new();
    let file = File::open(path).with_context(|| format!("cannot read {}", name()))?;
    let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
    let bytes = read.with_context(|| format!("cannot read {}", name()))?;
    if u64::try_from(bytes).is_ok_and(|bytes| bytes > MOST_BYTES) {
        bail!("{} has more than {MOST_BYTES} bytes; is it the right one?", name());
    }
    Secret::try_new(&text).with_context(name)
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
        let found = secret(Some(&one), Some(&environment), Some(&two)).unwrap();
        assert_eq!(found, of("the secret of file one"));
        let found = secret(None, Some(&environment), Some(&two)).unwrap();
        assert_eq!(found, of("the secret of the environment"));
        assert_eq!(secret(None, None, Some(&two)).unwrap(), of("the secret of file two"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_without_the_secret() {
        let dir = tempfile::tempdir().unwrap();
        let (short, long) = (dir.path().join("short"), dir.path().join("long"));
        fs::write(&short, "canary").unwrap();
        fs::write(&long, "canary".repeat(20_000)).unwrap();
        let gone = dir.path().join("gone");
        for (result, told) in [
            (secret(None, None, None), "openssl rand -base64 32"),
            (secret(None, Some(&hidden("canary")), None), "TIDEGATE_SECRET"),
            (secret(Some(&short), None, None), "short: a secret of 6 bytes can be guessed"),
            (secret(None, None, Some(&long)), "is it the right one?"),
            (secret(Some(&gone), None, None), "cannot read"),
            (secret(Some(dir.path()), None, None), "cannot read"),
        ] {
            let error = format!("{:#}", result.unwrap_err());
            assert!(error.contains(told) && !error.contains("canary"), "`{told}` in {error}");
        }
    }
}
