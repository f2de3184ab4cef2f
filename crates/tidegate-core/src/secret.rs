//! The secret that every node of a fleet is given.
//!
//! Under it accounts, addresses, devices and agents have the same keys on every node, and a ticket made
//! by one node can be settled by another. Anyone who knows it can guess which account a key is about,
//! and make tickets.
//!
//! So one day it has to be changed, and no count may begin anew because of that: together with the new
//! secret a fleet is told the previous one, until everything counted under it has expired.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::key::KeyNames;
use crate::ticket::Seal;

/// Shows a type in debug output as this text and nothing else, because its contents are secret, private or
/// of no use to a reader. The parameters of a generic type come last.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as {
    ($type:ty, $text:literal $(, $($of:tt)+)?) => {
        impl $(<$($of)+>)? core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str($text)
            }
        }
    };
}

pub(crate) use debug_as;

/// The secret of a fleet: all nodes that share a store have it, and nobody else knows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    current: [u8; 32],
    /// The previous secret, while the secret is being changed.
    previous: Option<[u8; 32]>,
}

/// Why a text is not fit to be a secret, or a secret not to be the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The text is so short that it can be guessed.
    #[error(
        "a secret of {length} bytes can be guessed; take at least {}, such as those of \
         `openssl rand -base64 32`",
        Secret::SHORTEST
    )]
    Short {
        /// The length of the text in bytes.
        length: usize,
    },
    /// The previous secret is the current one, so nothing would change.
    #[error("the previous secret is the current one; give the one that was there before, or none")]
    Same,
}

// === impl Secret ===

impl Secret {
    /// The fewest bytes that a text must have so that nobody guesses it.
    pub const SHORTEST: usize = 16;

    /// The secret that a text stands for. White space around the text, such as the end of a line in a
    /// file, is no part of it.
    ///
    /// # Errors
    ///
    /// If the text is too short.
    pub fn try_new(text: &str) -> Result<Self, SecretError> {
        let text = text.trim();
        match text.len() {
            length if length < Self::SHORTEST => Err(SecretError::Short { length }),
            _ => Ok(Self { current: Sha256::digest(text.as_bytes()).into(), previous: None }),
        }
    }

    /// This secret, together with the previous one that it replaces: what was counted under the previous
    /// secret is carried over, and its tickets are opened. Only one previous secret is remembered.
    ///
    /// # Errors
    ///
    /// If both secrets are the same.
    pub fn replacing(self, previous: &Self) -> Result<Self, SecretError> {
        match previous.current == self.current {
            true => Err(SecretError::Same),
            false => Ok(Self { previous: Some(previous.current), ..self }),
        }
    }

    /// The previous secret that this one replaces, while the secret is being changed.
    #[must_use]
    pub fn previous(&self) -> Option<Self> {
        self.previous.map(|current| Self { current, previous: None })
    }

    /// The names of keys under this secret.
    #[must_use]
    pub fn names(&self) -> KeyNames {
        KeyNames::new(&self.derived(b"keys"))
    }

    /// The seal that makes and opens tickets under this secret.
    #[must_use]
    pub fn seal(&self) -> Seal {
        Seal::new(&self.derived(b"tickets"))
    }

    /// A value that is the same on every node with this secret, for nodes to compare. It says nothing
    /// else about the secret: it is derived like everything under a secret, and 32 bits are too few to
    /// confirm a guess.
    #[must_use]
    pub fn check_value(&self) -> String {
        let [a, b, c, d, ..] = self.derived(b"check");
        format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
    }

    /// The key of the hash that tells members of sets apart under this secret.
    pub(crate) fn members(&self) -> [u64; 2] {
        let bytes = self.derived(b"members");
        let half = |from: usize| core::array::from_fn(|byte| bytes[from + byte]);
        [u64::from_le_bytes(half(0)), u64::from_le_bytes(half(8))]
    }

    /// The key that is derived for one purpose. It tells nothing about the keys for other purposes.
    fn derived(&self, purpose: &[u8]) -> [u8; 32] {
        hmac(&self.current).chain_update(purpose).finalize().into_bytes().into()
    }
}

debug_as!(Secret, "Secret");

/// HMAC-SHA-256 under a key, which is padded with zeros to the hash's block: that is how HMAC is defined.
pub(crate) fn hmac(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    Hmac::new(&block.into())
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
    fn a_secret_remembers_the_one_before_and_no_other() {
        let [one, two, three] = ["one long secret", "two long secrets", "three long secrets"]
            .map(|text| Secret::try_new(&text.repeat(2)).unwrap());
        assert_eq!(one.previous(), None);
        let changed = two.clone().replacing(&one).unwrap();
        assert_eq!(changed.previous(), Some(one.clone()));
        assert_ne!(changed, two, "a node that knows the previous one is told so");
        let again = three.replacing(&changed).unwrap();
        assert_eq!(again.previous(), Some(two.clone()));
        assert_eq!(again.previous().unwrap().previous(), None);
        let told = changed.replacing(&two).unwrap_err().to_string();
        assert!(told.contains("the current one"), "{told}");
    }

    #[test]
    fn a_check_value_is_short_and_tells_secrets_apart() {
        let [one, two] = ["one long secret", "two long secrets"]
            .map(|text| Secret::try_new(&text.repeat(2)).unwrap());
        assert_eq!(one.check_value().len(), 8);
        assert_ne!(one.check_value(), two.check_value());
        let changed = two.clone().replacing(&one).unwrap();
        assert_eq!(changed.check_value(), two.check_value(), "of the secret there is now");
    }

    #[test]
    fn a_secret_does_not_show() {
        let secret = Secret::try_new("a long enough secret").unwrap();
        assert_eq!(format!("{secret:?} {:?}", secret.names()), "Secret KeyNames(secret)");
    }
}
