//! The header fields that decide whether a request is looked at, found in one walk.
//!
//! Heads are short, so one walk over all fields is quicker than looking five of them up.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN};

/// Fields of a head that are looked at for every request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fields<'h> {
    /// `Host`: the server that the request is for.
    pub(crate) host: FieldFound<'h>,
    /// `Origin`: the origin of the page that has sent the request, if a page has.
    pub(crate) origin: FieldFound<'h>,
    /// `Sec-Fetch-Site`: how the browser relates the origin of the sending page to that of the server.
    pub(crate) fetch_site: FieldFound<'h>,
    /// `Content-Type`: the declared type of the body.
    pub(crate) content_type: FieldFound<'h>,
    /// Whether the body is compressed, or encoded in another way.
    pub(crate) encoded: bool,
}

/// How often a header field is in a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FieldFound<'h> {
    /// The field is not there.
    #[default]
    No,
    /// The field is there once, with this value.
    Once(&'h HeaderValue),
    /// The field is there more than once, so that two readers might choose differently.
    Twice,
}

static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

// === impl Fields ===

impl<'h> Fields<'h> {
    /// Finds the fields of a head in one walk.
    #[inline]
    pub(crate) fn of(headers: &'h HeaderMap) -> Self {
        let mut fields = Self::default();
        for (name, value) in headers {
            let found = if name == HOST {
                &mut fields.host
            } else if name == CONTENT_TYPE {
                &mut fields.content_type
            } else if name == ORIGIN {
                &mut fields.origin
            } else if name == SEC_FETCH_SITE {
                &mut fields.fetch_site
            } else {
                fields.encoded |= name == CONTENT_ENCODING && value != "identity";
                continue;
            };
            *found =
                if *found == FieldFound::No { FieldFound::Once(value) } else { FieldFound::Twice };
        }
        fields
    }
}

// === impl FieldFound ===

impl<'h> FieldFound<'h> {
    /// The value of a field that is there exactly once.
    pub(crate) const fn once(self) -> Option<&'h HeaderValue> {
        match self {
            Self::Once(value) => Some(value),
            Self::No | Self::Twice => None,
        }
    }
}
