//! W3C trace context, levels 1 and 2: the trace that a request belongs to.
//!
//! A trace of the caller is passed on as it is, and none is ever begun here. A trace that cannot be read
//! is removed, so that it ends here.

use core::fmt;

use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::unguessable::hex;

/// The trace that a request belongs to, as its `traceparent` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// The id of the trace; not zero.
    trace_id: u128,
    /// The id of the caller's span; not zero.
    parent_id: u64,
    flags: u8,
}

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The length of `00-<32 hex>-<16 hex>-<2 hex>`.
const LEN: usize = 55;

// === impl TraceContext ===

impl TraceContext {
    /// The context in these headers, if there is exactly one and it is valid.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (value, None) = (values.next()?, values.next()) else { return None };
        Self::parse(value.as_bytes())
    }

    /// The context of a request, which is passed on to the services behind. One that cannot be read is
    /// removed, with its `tracestate`: a service that traces begins anew, as if there had been none.
    pub(crate) fn adopt(headers: &mut HeaderMap) -> Option<Self> {
        let context = Self::of(headers);
        if context.is_none() && headers.remove(TRACEPARENT).is_some() {
            headers.remove(TRACESTATE);
        }
        context
    }

    /// Parses `00-<32 hex>-<16 hex>-<2 hex>`. Of a later version, which begins in the same way, only
    /// this part is read.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (fields, rest) = text.split_at_checked(LEN)?;
        let field = |from: usize, len: usize| number(&fields[from..from + len]);
        let dashes = [2, 35, 52].iter().all(|place| fields[*place] == b'-');
        let version = field(0, 2)?;
        let ends_well = rest.is_empty() || (version > 0 && rest.starts_with(b"-"));
        if !dashes || version == 0xff || !ends_well {
            return None;
        }
        let parent_id = u64::try_from(field(36, 16)?).ok()?;
        let flags = u8::try_from(field(53, 2)?).ok()?;
        let context = Self { trace_id: field(3, 32)?, parent_id, flags };
        (context.trace_id != 0 && context.parent_id != 0).then_some(context)
    }

    /// The context as the value of the header field `traceparent`.
    #[must_use]
    pub fn header_value(&self) -> HeaderValue {
        // Digits and dashes may stand in a header field.
        HeaderValue::from_bytes(&self.text()).unwrap_or_else(|_| HeaderValue::from_static(""))
    }

    /// The id of the trace.
    #[must_use]
    pub const fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// The id of the trace in hexadecimal, as other tools show it.
    #[must_use]
    pub fn trace_id_hex(&self) -> String {
        hex::<32>(self.trace_id).map(char::from).iter().collect()
    }

    /// The id of the span that made the request.
    #[must_use]
    pub const fn parent_id(&self) -> u64 {
        self.parent_id
    }

    /// Whether the trace is sampled.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }

    fn text(&self) -> [u8; LEN] {
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        text[3..35].copy_from_slice(&hex::<32>(self.trace_id));
        text[36..52].copy_from_slice(&hex::<16>(self.parent_id.into()));
        text[53..].copy_from_slice(&hex::<2>(self.flags.into()));
        text
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

/// The number that at most 32 hexadecimal digits stand for, all in lower case; none for any other text.
fn number(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests;
