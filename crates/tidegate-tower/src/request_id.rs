//! The id of one request, from the first byte to the audit.

use core::fmt;
use std::sync::Arc;

use arrayvec::ArrayString;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::unguessable;

/// The id of one request in logs, bodies and audit records.
///
/// The client's id is adopted if it is short and harmless, and otherwise replaced by a new one: it ends
/// up in logs, so it cannot be just anything.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Text);

/// The text of an id. Its length alone decides which variant holds it, so equal texts are equal.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Text {
    /// A short text, as almost all are: ids made here, UUIDs, and the like.
    Short(ArrayString<SHORT>),
    Long(Arc<str>),
}

/// The longest text that needs no memory of its own.
const SHORT: usize = 44;

/// The longest id that is adopted.
const MAX_LEN: usize = 128;

// === impl RequestId ===

impl RequestId {
    /// A new id that nobody can guess: 128 bits in hexadecimal.
    #[must_use]
    pub fn generate() -> Self {
        let digits: [u8; 32] = unguessable::hex(unguessable::number());
        Self::new(core::str::from_utf8(&digits).unwrap_or_default())
    }

    /// The usual header field of the id.
    pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

    /// The client's id in this header field, if the field is there once and can be adopted.
    #[must_use]
    pub fn of(headers: &HeaderMap, field: &HeaderName) -> Option<Self> {
        let mut named = headers.get_all(field).iter();
        named.next().filter(|_| named.next().is_none()).and_then(Self::adopt)
    }

    /// The client's id, if it can be adopted: 1 to 128 letters, digits, `-`, `_`, `.` and `:`.
    #[must_use]
    pub fn adopt(value: &HeaderValue) -> Option<Self> {
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
        let bytes = value.as_bytes();
        let fits = (1..=MAX_LEN).contains(&bytes.len()) && bytes.iter().all(allowed);
        let text = core::str::from_utf8(bytes).ok().filter(|_| fits)?;
        Some(Self::new(text))
    }

    fn new(text: &str) -> Self {
        Self(match ArrayString::from(text) {
            Ok(short) => Text::Short(short),
            Err(_) => Text::Long(text.into()),
        })
    }

    /// The id as the value of a header field.
    #[must_use]
    pub fn header_value(&self) -> HeaderValue {
        // All characters of an id may stand in a header field.
        HeaderValue::from_str(self.as_str()).unwrap_or_else(|_| HeaderValue::from_static(""))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Short(text) => text,
            Text::Long(text) => text,
        }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({self})")
    }
}

#[cfg(test)]
mod tests {
    //! Which names are adopted, and that those made here are ones.

    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn adopt(bytes: &[u8]) -> Option<RequestId> {
        RequestId::adopt(&HeaderValue::from_bytes(bytes).unwrap())
    }

    #[test]
    fn a_harmless_name_is_adopted_as_it_is() {
        let (longest, short) = ("x".repeat(MAX_LEN), "x".repeat(SHORT));
        for name in ["1", "req-1_2.3:4", "0190b5e2-7c3a-7f4e-9d1b-2a6c8e0f4d13", &short, &longest] {
            let adopted = adopt(name.as_bytes()).unwrap();
            assert_eq!(adopted.as_str(), name);
            assert_eq!(adopted.header_value().as_bytes(), name.as_bytes());
            assert_eq!(adopted, adopt(name.as_bytes()).unwrap());
        }
    }

    #[test]
    fn t40_what_could_do_harm_in_a_log_is_not_adopted() {
        let too_long = "x".repeat(MAX_LEN + 1);
        for name in [
            "",
            " ",
            "a b",
            "a\tb",
            "a,b",
            "a;b",
            "a=b",
            "a\"b",
            "<b>",
            "${jndi:x}",
            "a/../b",
            "%0a",
            "a\\nb",
            "{}",
            "a'b",
            "caf\u{e9}",
            "\u{202e}x",
            "\u{1b}x",
            &too_long,
        ] {
            let Ok(value) = HeaderValue::from_bytes(name.as_bytes()) else { continue };
            assert_eq!(RequestId::adopt(&value), None, "{name:?}");
        }
        assert_eq!(adopt(b"a\xff"), None);
    }

    #[test]
    fn names_that_are_made_differ_and_could_be_adopted() {
        let made: HashSet<RequestId> = (0..10_000).map(|_| RequestId::generate()).collect();
        assert_eq!(made.len(), 10_000);
        for id in made {
            assert_eq!(id.as_str().len(), 32);
            assert_eq!(RequestId::adopt(&id.header_value()), Some(id));
        }
    }

    proptest! {
        #[test]
        fn t40_no_bytes_become_a_name_that_needs_escaping(
            bytes in prop::collection::vec(any::<u8>(), 0..140),
            plain in "[-A-Za-z0-9_.:]{0,140}",
        ) {
            for bytes in [bytes, plain.into_bytes()] {
                let Ok(value) = HeaderValue::from_bytes(&bytes) else { continue };
                let Some(id) = RequestId::adopt(&value) else { continue };
                prop_assert_eq!(id.as_str().as_bytes(), &*bytes);
                prop_assert!(id.as_str().len() <= MAX_LEN);
                prop_assert_eq!(format!("{:?}", id.as_str()), format!("\"{id}\""));
            }
        }
    }
}
