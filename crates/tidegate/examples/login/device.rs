//! Devices the host vouches for: a cookie that says somebody has logged in to this account from here
//! before, sealed so that nobody can make one.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tidegate::Account;

/// Makes cookies and tells its own from all others.
pub(crate) struct Devices(Hmac<Sha256>);

const NAME: &str = "device";

impl Devices {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        let mut block = [0; 64];
        block[..32].copy_from_slice(&secret);
        Self(Hmac::new(&block.into()))
    }

    /// A cookie for a device that has just proved itself. It is good for this account alone.
    pub(crate) fn cookie(&self, account: &Account<'_>) -> String {
        let mut id = [0; 16];
        // Without randomness there is no cookie worth having; an empty id is vouched for by nobody.
        let id = getrandom::fill(&mut id).map(|()| URL_SAFE_NO_PAD.encode(id)).unwrap_or_default();
        let seal = URL_SAFE_NO_PAD.encode(self.seal(&id, account).finalize().into_bytes());
        format!("{NAME}={id}.{seal}; HttpOnly; Secure; SameSite=Lax; Path=/; Max-Age=31536000")
    }

    /// The device that sent these headers, if it has logged in to this account before.
    pub(crate) fn vouched(&self, headers: &HeaderMap, account: &Account<'_>) -> Option<String> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split("; "));
        let value = pairs.find_map(|pair| pair.strip_prefix(NAME)?.strip_prefix('='))?;
        let (id, seal) = value.split_once('.')?;
        let seal = URL_SAFE_NO_PAD.decode(seal).ok()?;
        // Compared in constant time.
        self.seal(id, account).verify_slice(&seal).ok()?;
        (!id.is_empty()).then(|| id.to_owned())
    }

    fn seal(&self, id: &str, account: &Account<'_>) -> Hmac<Sha256> {
        self.0.clone().chain_update(id).chain_update([0]).chain_update(account.as_str())
    }
}
