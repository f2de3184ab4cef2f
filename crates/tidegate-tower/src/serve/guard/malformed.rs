//! The reasons for which the guard ends a connection.
//!
//! Each kind has its own text, because the client that gets a 400 is more often a broken library
//! than an attacker, and its author has to find the byte at fault.

/// Makes the enum and the texts of its variants from one table.
macro_rules! malformed {
    ($($(#[$about:meta])* $Fault:ident = $text:literal,)*) => {
        /// A fault in a request that lets two readers divide the bytes of a connection differently.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Malformed {
            $($(#[$about])* $Fault,)*
        }

        impl Malformed {
            /// The fault in plain English, for the detail of a problem document.
            pub(crate) const fn text(self) -> &'static str {
                match self {
                    $(Self::$Fault => $text,)*
                }
            }
        }
    };
}

malformed! {
    /// More than one empty line before a request line (RFC 9112, section 2.2).
    EmptyLines = "more than one empty line stands before the request line",
    /// A line feed without a carriage return before it.
    BareLineFeed = "a line feed stands without a carriage return before it",
    /// A carriage return without a line feed after it.
    BareReturn = "a carriage return stands without a line feed after it",
    /// A method that is not a token followed by one space.
    Method = "the request does not begin with a method and one space",
    /// A request target that is empty or holds a byte other than visible ASCII.
    Target = "the request target is empty or holds a byte that is not visible ASCII",
    /// A request line that does not end in `HTTP/1.1` or `HTTP/1.0`.
    Version = "the request line does not end in HTTP/1.1 or HTTP/1.0",
    /// A line of the head that begins with a space or a tab (`obs-fold`).
    Folded = "a line of the head begins with a space or a tab",
    /// A field without a name.
    NameEmpty = "a field has no name",
    /// A byte in a field name that is no token, or a line without a colon.
    Name = "a field name is not a token followed by a colon",
    /// A space or a tab between a field name and its colon.
    NameSpace = "a space or a tab stands between a field name and its colon",
    /// A control character other than a tab in a field value.
    Control = "a field value holds a control character",
    /// More than one Host field.
    HostTwice = "more than one host field",
    /// A request of HTTP/1.1 without a Host field.
    HostMissing = "a request of HTTP/1.1 has no host field",
    /// A Host value with a byte that no host and port have.
    Host = "the host field is not one host with an optional port",
    /// More than one Content-Length field.
    LengthTwice = "more than one content-length field",
    /// A Content-Length value that is not one decimal number below 2^63.
    Length = "the content-length field is not one decimal number below 2^63",
    /// Content-Length and Transfer-Encoding in the same head.
    LengthBesideCoding = "content-length stands beside transfer-encoding",
    /// More than one Transfer-Encoding field.
    CodingTwice = "more than one transfer-encoding field",
    /// A Transfer-Encoding value other than `chunked`.
    Coding = "the transfer-encoding field is not exactly chunked",
    /// Transfer-Encoding in a request of HTTP/1.0.
    CodingOld = "transfer-encoding stands in a request of HTTP/1.0",
    /// A CONNECT request with a body.
    ConnectBody = "a CONNECT request has a body",
    /// A chunk size that is not a hexadecimal number below 2^63 of at most 16 digits.
    ChunkSize = "a chunk size is not a hexadecimal number below 2^63",
    /// A chunk extension that is too long or holds a byte other than visible ASCII and spaces.
    ChunkExtension = "a chunk extension is too long or not visible ASCII",
    /// A chunk whose data is not followed by a line end.
    ChunkEnd = "the data of a chunk is not followed by a line end",
    /// A trailer field that would frame or route the request.
    TrailerField = "a trailer field would frame or route the request",
}
