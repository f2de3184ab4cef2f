//! What an error reply means: one table.
//!
//! An error reply to a script means that nothing was changed, if the script could not have begun to
//! write. Ours check everything before their first write, and the server raises `OOM`, `READONLY`,
//! `NOREPLICAS` and `MISCONF` at the first write or before it: once a script has written, they are
//! not raised any more. So only an error of another kind from within a script leaves open what was
//! done, and nobody may then say that nothing was.

use redis::ServerError;
use tidegate_core::StoreError;

/// What the error reply of a script call means to the caller. The first word is its code; where the
/// server has given it none (`ERR`), the text decides.
pub(super) fn error_of(code: &str, text: &str) -> StoreError {
    match code {
        // Permissions and configuration: only an operator can help.
        "NOAUTH" | "WRONGPASS" | "NOPERM" | "CROSSSLOT" => StoreError::Refused,
        "ERR" => error_of_text(text),
        // Errors from within a script, but with a code that tells that nothing was done.
        "BUSY" | "UNKILLABLE" | "LOADING" | "MISCONF" | "OOM" | "READONLY" | "NOREPLICAS"
        | "MASTERDOWN" | "CLUSTERDOWN" | "EXECABORT" | "NOSCRIPT" | "MOVED" | "ASK"
        | "TRYAGAIN" => StoreError::Unavailable,
        _ if is_from_script(text) => StoreError::Timeout,
        _ => StoreError::Unavailable,
    }
}

/// Whether the server that replied is no primary, or none yet: the primary has to be found anew.
pub(super) fn is_elsewhere(error: &ServerError) -> bool {
    matches!(error.code(), "READONLY" | "MASTERDOWN" | "LOADING")
        || matches!(inner_code(error.details().unwrap_or_default()), Some("READONLY"))
}

fn error_of_text(text: &str) -> StoreError {
    // Before Redis 7.2, an error about what a script is not allowed to do has no code of its own.
    let denied = text.contains("The user executing the script can't")
        || text.contains("AUTH <password> called without any password")
        || text.contains("invalid password");
    if denied {
        return StoreError::Refused;
    }
    match inner_code(text) {
        Some("ERR") => StoreError::Timeout,
        Some(code) => error_of(code, text),
        None if is_from_script(text) => StoreError::Timeout,
        None => StoreError::Unavailable,
    }
}

/// The code of an error within a script. Before Redis 7, it stands within the text:
/// `Error running script (call to f_…): @user_script:1: @user_script: 1: -OOM command not …`.
fn inner_code(text: &str) -> Option<&str> {
    let (_, inner) = text.split_once("Error running script")?.1.rsplit_once(": -")?;
    inner.split_ascii_whitespace().next()
}

/// Whether an error is from within a script. Since Redis 7, such an error ends in
/// `script: <hash>, on @user_script:<line>.`
fn is_from_script(text: &str) -> bool {
    text.contains("script: ") || text.contains("Error running script")
}
