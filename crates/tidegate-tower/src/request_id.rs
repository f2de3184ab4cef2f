//! The name of one request, from the first byte to the audit.

use core::fmt;
use std::sync::Arc;

use http::HeaderValue;

/// What one request is called in logs, bodies and audit records.
///
/// That of the client is adopted if it is short and harmless, and otherwise made anew: it ends up in
/// logs, so it cannot be just anything.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Arc<str>);

/// The longest that is adopted.
const MAX_LEN: usize = 128;

// === impl RequestId ===

impl RequestId {
    /// A new one that nobody can guess: 128 bits in hexadecimal.
    #[must_use]
    pub fn generate() -> Self {
        let mut bytes = [0; 16];
        // Without randomness a name is still a name.
        let _ = getrandom::fill(&mut bytes);
        Self(format!("{:032x}", u128::from_be_bytes(bytes)).into())
    }

    /// That of the client, if it can be adopted: 1 to 128 letters, digits, `-`, `_`, `.` and `:`.
    #[must_use]
    pub fn adopt(value: &HeaderValue) -> Option<Self> {
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        let bytes = value.as_bytes();
        let fits = (1..=MAX_LEN).contains(&bytes.len()) && bytes.iter().all(allowed);
        let text = core::str::from_utf8(bytes).ok().filter(|_| fits)?;
        Some(Self(text.into()))
    }

    /// As a header field has it.
    #[must_use]
    pub(crate) fn header_value(&self) -> HeaderValue {
        // All of its characters may stand there.
        HeaderValue::from_str(&self.0).unwrap_or_else(|_| HeaderValue::from_static(""))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({})", self.0)
    }
}
