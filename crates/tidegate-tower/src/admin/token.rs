//! The admin token, which every request of an operator has to carry.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The token of the admin listener. Only its digest is kept, and `Debug` does not show it.
#[derive(Clone)]
pub struct AdminToken([u8; 32]);

/// Why a text cannot be an admin token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminTokenError {
    /// The text is too short: it could be guessed.
    #[error(
        "an admin token of {length} bytes can be guessed; take at least {}, such as those of \
         `openssl rand -hex 32`",
        AdminToken::SHORTEST
    )]
    Short {
        /// The length of the text in bytes.
        length: usize,
    },
    /// The text has characters that are not visible ASCII, so that no header could carry it.
    #[error(
        "an admin token has visible ASCII characters only, such as those of `openssl rand -hex 32`"
    )]
    Unsendable,
}

// === impl AdminToken ===

impl AdminToken {
    /// The fewest bytes that a token must have, so that nobody guesses it.
    pub const SHORTEST: usize = 16;

    /// Makes a token of a text. White space around it, such as the end of a line in a file, is left out.
    ///
    /// # Errors
    ///
    /// If the text is too short, or has characters that no header can carry.
    pub fn try_new(text: &str) -> Result<Self, AdminTokenError> {
        let text = text.trim();
        match text.len() {
            length if length < Self::SHORTEST => Err(AdminTokenError::Short { length }),
            _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err(AdminTokenError::Unsendable)
            }
            _ => Ok(Self(Sha256::digest(text.as_bytes()).into())),
        }
    }

    /// Whether `presented` is this token. The time that takes says nothing about the token: digests all
    /// have the same length, and are compared to their ends.
    pub(super) fn is(&self, presented: &[u8]) -> bool {
        let presented: [u8; 32] = Sha256::digest(presented).into();
        self.0.ct_eq(&presented).into()
    }
}

tidegate_core::debug_as!(AdminToken, "AdminToken");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t43_what_can_be_guessed_is_no_token() {
        assert_eq!(AdminToken::try_new("").unwrap_err(), AdminTokenError::Short { length: 0 });
        let error = AdminToken::try_new(" fifteen-letters\n").unwrap_err().to_string();
        assert!(error.contains("15 bytes") && error.contains("openssl rand"), "{error}");
        assert!(!error.contains("fifteen"), "{error}");
        for text in ["sixteen letters!", "schlüssel-mit-umlaut"] {
            assert_eq!(AdminToken::try_new(text).unwrap_err(), AdminTokenError::Unsendable);
        }
    }

    #[test]
    fn t43_a_token_is_all_of_its_bytes_and_does_not_show() {
        let token = AdminToken::try_new("0123456789abcdef\n").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for other in [&b""[..], b"0123456789abcde", b"0123456789abcdef0", b"0123456789abcdeF"] {
            assert!(!token.is(other));
        }
        assert_eq!(format!("{token:?}"), "AdminToken");
    }
}
