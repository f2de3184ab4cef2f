//! The admin token: from the environment, or from a file. The server, and the commands that ask it, find
//! the token in the same way.

use anyhow::{Context, Result};
use tidegate_server::AdminToken;

use crate::store::{Given, Hidden, hidden_text};

/// The environment variable that may hold the token.
pub(crate) const VARIABLE: &str = "TIDEGATE_ADMIN_TOKEN";

/// The token, if one is given.
///
/// # Errors
///
/// If the token cannot be read, or can be guessed.
pub(crate) fn find(given: Given<'_>) -> Result<Option<Hidden>> {
    match (given.path(), given.environment) {
        (Some(path), _) => {
            let name = format!("the token file {}", path.display());
            checked(&hidden_text(path, &name)?).context(name).map(Some)
        }
        (None, Some(text)) => checked(text).context(VARIABLE).map(Some),
        (None, None) => Ok(None),
    }
}

/// The text without the white space around it, if it is a token.
fn checked(text: &Hidden) -> Result<Hidden> {
    AdminToken::try_new(text.reveal())?;
    Ok(Hidden::from(text.reveal().trim().to_owned()))
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
        let (flag, file) = (Some(one.as_path()), Some(two.as_path()));
        let found = |given| find(given).unwrap();
        let all = Given { flag, environment: Some(&environment), file };
        assert_eq!(found(all), Some(hidden("the-token-of-file-one")));
        assert_eq!(found(Given { flag: None, ..all }), Some(environment.clone()));
        let last = Given { file, ..Given::default() };
        assert_eq!(found(last), Some(hidden("the-token-of-file-two")));
        assert_eq!(found(Given::default()), None);
    }

    #[test]
    fn t41_what_is_wrong_is_told_with_its_place_and_without_the_token() {
        let dir = tempfile::tempdir().unwrap();
        let (short, gone) = (dir.path().join("short"), dir.path().join("gone"));
        fs::write(&short, "canary").unwrap();
        let (guessed, spaced) = (hidden("canary"), hidden("canary with white space"));
        let flag = |path| Given { flag: Some(path), ..Given::default() };
        let environment = |text| Given { environment: Some(text), ..Given::default() };
        for (given, told) in [
            (environment(&guessed), "TIDEGATE_ADMIN_TOKEN: an admin token of 6 bytes"),
            (environment(&spaced), "TIDEGATE_ADMIN_TOKEN: an admin token has visible ASCII"),
            (flag(short.as_path()), "short: an admin token of 6 bytes can be guessed"),
            (flag(gone.as_path()), "cannot read the token file"),
        ] {
            let error = format!("{:#}", find(given).unwrap_err());
            assert!(error.contains(told) && !error.contains("canary"), "`{told}` in {error}");
        }
    }
}
