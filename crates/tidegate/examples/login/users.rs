//! The users who can log in: two people, for the example. Put your database and your password hash here.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tidegate::Account;

pub(crate) struct Users {
    /// Hashes of passwords, by folded account name. Use a slow hash such as Argon2id, not the one here.
    passwords: HashMap<&'static str, [u8; 32]>,
    codes: Mutex<HashMap<&'static str, &'static str>>,
}

impl Users {
    pub(crate) fn example() -> Self {
        let people = [("ada@example.com", "correct horse"), ("bob@example.com", "battery staple")];
        Self {
            passwords: people.map(|(name, password)| (name, hashed(password))).into(),
            codes: Mutex::new([("ada@example.com", "492039")].into()),
        }
    }

    /// Whether the password of the account is right. For accounts that do not exist it does the same
    /// work, and takes as long.
    pub(crate) fn password_is_right(&self, account: &Account<'_>, password: &str) -> bool {
        let nobody = [0; 32];
        let stored = self.passwords.get(account.as_str()).unwrap_or(&nobody);
        mac(password).verify_slice(stored).is_ok()
    }

    /// Whether this is the code of the account; a right code is used up.
    pub(crate) fn use_code(&self, account: &Account<'_>, code: &str) -> bool {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let right = codes.get(account.as_str()).is_some_and(|right| *right == code);
        if right {
            codes.remove(account.as_str());
        }
        right
    }
}

fn hashed(password: &str) -> [u8; 32] {
    mac(password).finalize().into_bytes().into()
}

fn mac(password: &str) -> Hmac<Sha256> {
    Hmac::<Sha256>::new(&[7; 64].into()).chain_update(password)
}
