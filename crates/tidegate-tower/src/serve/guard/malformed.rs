//! The reasons for which the guard ends a connection.
//!
//! Each kind has its own text, because the client that gets a 400 is more often a broken library
//! than an attacker, and its author has to find the byte at fault.

use core::fmt;

/// A fault in a request that lets two readers divide the bytes of a connection differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// More than one empty line before a request line (RFC 9112, section 2.2).
    EmptyLines,
    /// A line feed without a carriage return before it.
    BareLineFeed,
    /// A carriage return without a line feed after it.
    BareReturn,
    /// A method that is not a token followed by one space.
    Method,
    /// A request target that is empty or holds a byte other than visible ASCII.
    Target,
    /// A request line that does not end in `HTTP/1.1` or `HTTP/1.0`.
    Version,
    /// A line of the head that begins with a space or a tab (`obs-fold`).
    Folded,
    /// A field without a name.
    NameEmpty,
    /// A byte in a field name that is no token, or a line without a colon.
    Name,
    /// A space or a tab between a field name and its colon.
    NameSpace,
    /// A control character other than a tab in a field value.
    Control,
    /// More than one Host field.
    HostTwice,
    /// A request of HTTP/1.1 without a Host field.
    HostMissing,
    /// A Host value with a byte that no host and port have.
    Host,
    /// More than one Content-Length field.
    LengthTwice,
    /// A Content-Length value that is not one decimal number below 2^63.
    Length,
    /// Content-Length and Transfer-Encoding in the same head.
    LengthBesideCoding,
    /// More than one Transfer-Encoding field.
    CodingTwice,
    /// A Transfer-Encoding value other than `chunked`.
    Coding,
    /// Transfer-Encoding in a request of HTTP/1.0.
    CodingOld,
    /// A CONNECT request with a body.
    ConnectBody,
    /// A chunk size that is not a hexadecimal number below 2^63 of at most 16 digits.
    ChunkSize,
    /// A chunk extension that is too long or holds a byte other than visible ASCII and spaces.
    ChunkExtension,
    /// A chunk whose data is not followed by a line end.
    ChunkEnd,
    /// A trailer field that would frame or route the request.
    TrailerField,
}

// === impl Malformed ===

impl Malformed {
    /// The fault in plain English, for the detail of a problem document.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::EmptyLines => "more than one empty line stands before the request line",
            Self::BareLineFeed => "a line feed stands without a carriage return before it",
            Self::BareReturn => "a carriage return stands without a line feed after it",
            Self::Method => "the request does not begin with a method and one space",
            Self::Target => "the request target is empty or holds a byte that is not visible ASCII",
            Self::Version => "the request line does not end in HTTP/1.1 or HTTP/1.0",
            Self::Folded => "a line of the head begins with a space or a tab",
            Self::NameEmpty => "a field has no name",
            Self::Name => "a field name is not a token followed by a colon",
            Self::NameSpace => "a space or a tab stands between a field name and its colon",
            Self::Control => "a field value holds a control character",
            Self::HostTwice => "more than one host field",
            Self::HostMissing => "a request of HTTP/1.1 has no host field",
            Self::Host => "the host field is not one host with an optional port",
            Self::LengthTwice => "more than one content-length field",
            Self::Length => "the content-length field is not one decimal number below 2^63",
            Self::LengthBesideCoding => "content-length stands beside transfer-encoding",
            Self::CodingTwice => "more than one transfer-encoding field",
            Self::Coding => "the transfer-encoding field is not exactly chunked",
            Self::CodingOld => "transfer-encoding stands in a request of HTTP/1.0",
            Self::ConnectBody => "a CONNECT request has a body",
            Self::ChunkSize => "a chunk size is not a hexadecimal number below 2^63",
            Self::ChunkExtension => "a chunk extension is too long or not visible ASCII",
            Self::ChunkEnd => "the data of a chunk is not followed by a line end",
            Self::TrailerField => "a trailer field would frame or route the request",
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl core::error::Error for Malformed {}
