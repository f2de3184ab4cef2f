//! Devices that the host vouches for: a cookie says that somebody has logged in to this account from here
//! before, and is sealed so that nobody else can make one.
//!
//! There is one cookie for each step. A device that has passed one step is not vouched for at the other:
//! a stolen password must not buy guesses at the code.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tidegate::Account;

/// Makes device cookies, and tells its own from all others.
pub(crate) struct Devices(Hmac<Sha256>);

/// The step of a login that a device has passed.
#[derive(Clone, Copy)]
pub(crate) enum DeviceStep {
    Password,
    Code,
}

impl DeviceStep {
    const fn cookie(self) -> &'static str {
        match self {
            Self::Password => "device",
            Self::Code => "code_device",
        }
    }
}

impl Devices {
    pub(crate) fn new(secret: [u8; 32]) -> Self {
        let mut block = [0; 64];
        block[..32].copy_from_slice(&secret);
        Self(Hmac::new(&block.into()))
    }

    /// A cookie for a device that has just proved itself. It is good for this account alone.
    pub(crate) fn cookie(&self, step: DeviceStep, account: &Account<'_>) -> String {
        let mut id = [0; 16];
        // Without randomness there is no cookie worth having; an empty id is vouched for by nobody.
        let id = getrandom::fill(&mut id).map(|()| URL_SAFE_NO_PAD.encode(id)).unwrap_or_default();
        let seal = URL_SAFE_NO_PAD.encode(self.seal(step, &id, account).finalize().into_bytes());
        let name = step.cookie();
        format!("{name}={id}.{seal}; HttpOnly; Secure; SameSite=Lax; Path=/; Max-Age=31536000")
    }

    /// The device that sent these headers, if it has passed this step for this account before.
    pub(crate) fn vouched(
        &self,
        step: DeviceStep,
        headers: &HeaderMap,
        account: &Account<'_>,
    ) -> Option<String> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split("; "));
        let value = pairs.find_map(|pair| pair.strip_prefix(step.cookie())?.strip_prefix('='))?;
        let (id, seal) = value.split_once('.')?;
        let seal = URL_SAFE_NO_PAD.decode(seal).ok()?;
        // Compared in constant time.
        self.seal(step, id, account).verify_slice(&seal).ok()?;
        (!id.is_empty()).then(|| id.to_owned())
    }

    fn seal(&self, step: DeviceStep, id: &str, account: &Account<'_>) -> Hmac<Sha256> {
        let mac = self.0.clone().chain_update([step as u8]).chain_update(id);
        mac.chain_update([0]).chain_update(account.as_str())
    }
}
