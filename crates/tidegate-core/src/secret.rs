//! The secret that every node of a fleet is given.
//!
//! Under it accounts and addresses have the same keys on every node, and a ticket made by one can be
//! settled by another. Who knows it can guess which account a key is about, and make tickets.

use core::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::key::KeyNames;
use crate::ticket::Seal;

/// What nodes that share a store have in common and nobody else knows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// Why a text is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a secret of {length} bytes can be guessed; take at least {}, such as those of \
     `openssl rand -base64 32`",
    Secret::SHORTEST
)]
pub struct SecretError {
    length: usize,
}

// === impl Secret ===

impl Secret {
    /// The fewest bytes of a text that nobody guesses.
    pub const SHORTEST: usize = 16;

    /// The secret that a text stands for. White space around it, as the end of a line in a file, is
    /// no part of it.
    ///
    /// # Errors
    ///
    /// If the text is too short.
    pub fn try_new(text: &str) -> Result<Self, SecretError> {
        let text = text.trim();
        match text.len() {
            length if length < Self::SHORTEST => Err(SecretError { length }),
            _ => Ok(Self(Sha256::digest(text.as_bytes()).into())),
        }
    }

    /// Spells keys out under this secret.
    #[must_use]
    pub fn names(&self) -> KeyNames {
        KeyNames::new(&self.derived(b"keys"))
    }

    /// Seals tickets under this secret.
    #[must_use]
    pub fn seal(&self) -> Seal {
        Seal::new(&self.derived(b"tickets"))
    }

    /// Tells members of sets apart under this secret.
    pub(crate) fn members(&self) -> [u64; 2] {
        let bytes = self.derived(b"members");
        let half = |from: usize| core::array::from_fn(|byte| bytes[from + byte]);
        [u64::from_le_bytes(half(0)), u64::from_le_bytes(half(8))]
    }

    /// What is used for one thing tells nothing about what is used for another.
    fn derived(&self, purpose: &[u8]) -> [u8; 32] {
        let mut block = [0; 64];
        block[..self.0.len()].copy_from_slice(&self.0);
        Hmac::<Sha256>::new(&block.into()).chain_update(purpose).finalize().into_bytes().into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_line_is_no_part_of_a_secret() {
        let text = "a long enough secret";
        assert_eq!(Secret::try_new(text), Secret::try_new(&format!("{text}\n")));
        assert_ne!(Secret::try_new(text), Secret::try_new("another long secret"));
    }

    #[test]
    fn what_can_be_guessed_is_no_secret() {
        let error = Secret::try_new("hunter2").unwrap_err();
        assert!(error.to_string().contains("openssl rand"), "{error}");
    }

    #[test]
    fn a_secret_does_not_show() {
        let secret = Secret::try_new("a long enough secret").unwrap();
        assert_eq!(format!("{secret:?} {:?}", secret.names()), "Secret KeyNames(secret)");
    }
}
