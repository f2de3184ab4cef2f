//! The token of operators: from the environment, or from a file. The server and the commands that ask
//! it find it in the same way.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use tidegate_server::AdminToken;

use crate::store::Hidden;

/// Where the token itself may be.
const VARIABLE: &str = "TIDEGATE_ADMIN_TOKEN";

/// More than a header can carry, and far less than would hurt.
const MOST_BYTES: u64 = 8 << 10;

/// The token of the first of these that is there: a file that was named, a text, a file that was named
/// elsewhere. None if none is.
///
/// # Errors
///
/// If it cannot be read, or can be guessed.
pub(crate) fn find(
    flag: Option<&Path>,
    environment: Option<&Hidden>,
    file: Option<&Path>,
) -> Result<Option<Hidden>> {
    match (flag, environment, file) {
        (Some(path), _, _) | (None, None, Some(path)) => {
            let name = format!("the token file {}", path.display());
            let text = read(path).with_context(|| format!("cannot read {name}"))?;
            checked(&text).context(name).map(Some)
        }
        (None, Some(text), _) => checked(text.reveal()).context(VARIABLE).map(Some),
        (None, None, None) => Ok(None),
    }
}

/// What the environment has. Not a flag, which others on the machine could read.
///
/// # Errors
///
/// If it is not text.
#[expect(clippy::disallowed_methods, reason = "the binary is where the environment is read")]
pub(crate) fn of_environment() -> Result<Option<Hidden>> {
    let token = std::env::var_os(VARIABLE).filter(|token| !token.is_empty());
    let text = token.map(OsString::into_string).transpose();
    // The error would be the token.
    let text = text.map_err(|_| anyhow!("{VARIABLE} is not UTF-8 text"))?;
    Ok(text.map(Hidden::from))
}

/// The text without the white space around it, if it is a token.
fn checked(text: &str) -> Result<Hidden> {
    AdminToken::try_new(text)?;
    Ok(Hidden::from(text.trim().to_owned()))
}

fn read(path: &Path) -> Result<String> {
    let mut text = String::new();
    let bytes = File::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if u64::try_from(bytes).is_ok_and(|bytes| bytes > MOST_BYTES) {
        bail!("it has more than {MOST_BYTES} bytes; is it the right one?");
    }
    Ok(text)
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
        fs::write(&one, "the-token-of-file-one\n").unwrap();
        fs::write(&two, "the-token-of-file-two\n").unwrap();
        let environment = hidden("the-token-of-the-environment");
        let found = |flag, environment, file| find(flag, environment, file).unwrap();
        let first = found(Some(&one), Some(&environment), Some(&two));
        assert_eq!(first, Some(hidden("the-token-of-file-one")));
        assert_eq!(found(None, Some(&environment), Some(&two)), Some(environment));
        assert_eq!(found(None, None, Some(&two)), Some(hidden("the-token-of-file-two")));
        assert_eq!(found(None, None, None), None);
    }

    #[test]
    fn t41_what_is_wrong_is_told_with_its_place_and_without_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let (short, long) = (dir.path().join("short"), dir.path().join("long"));
        fs::write(&short, "canary").unwrap();
        fs::write(&long, "canary".repeat(2_000)).unwrap();
        let gone = dir.path().join("gone");
        for (result, told) in [
            (
                find(None, Some(&hidden("canary")), None),
                "TIDEGATE_ADMIN_TOKEN: an admin token of 6",
            ),
            (find(None, Some(&hidden("canary with white space")), None), "visible ASCII"),
            (find(Some(&short), None, None), "short: an admin token of 6 bytes can be guessed"),
            (find(None, None, Some(&long)), "is it the right one?"),
            (find(Some(&gone), None, None), "cannot read"),
        ] {
            let error = format!("{:#}", result.unwrap_err());
            assert!(error.contains(told) && !error.contains("canary"), "`{told}` in {error}");
        }
    }
}
