//! The answer in the place of hyper's own.
//!
//! hyper answers a request that it cannot parse with a bare status line, before any service is asked. A
//! client is owed the reason, in the form of the [`Host`](super::Host)'s other answers.

use bytes::Bytes;
use http::Response;

use super::guard::Malformed;
use super::host::ListenerRefusal;
use crate::answer::Code;

/// Why a connection has to end with a refusal.
#[derive(Clone, Copy, Debug)]
pub(super) enum SocketFault {
    /// What came could be divided otherwise by another reader.
    Malformed(Malformed),
    /// A head came in parts, and there is no memory for one more.
    Crowded,
}

// === impl SocketFault ===

impl SocketFault {
    /// The fault in plain English, for the detail of a problem document.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Malformed(malformed) => malformed.text(),
            Self::Crowded => "too many heads are on their way; send this one again, in one piece",
        }
    }
}

/// What a client is told in the place of `hypers`, the answer of hyper.
pub(super) fn refusal(hypers: &[u8], fault: Option<SocketFault>) -> ListenerRefusal {
    let (code, detail) = match (hypers.get(9..12), fault) {
        (_, Some(fault @ SocketFault::Crowded)) => (Code::Busy, fault.text()),
        (Some(b"431"), _) => (Code::HeadTooLarge, "the head of the request is too large"),
        (Some(b"414"), _) => (Code::UriTooLong, "the target of the request is too long"),
        (_, Some(fault)) => (Code::Malformed, fault.text()),
        (_, None) => (Code::Malformed, "this is not a request of HTTP/1.1"),
    };
    ListenerRefusal { code, detail }
}

/// The response as HTTP/1.1 text, with the fields that hyper wrote, `date` and `connection: close` among
/// them.
pub(super) fn plain(hypers: &[u8], response: &Response<Bytes>) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    let status = response.status();
    let reason = status.canonical_reason().unwrap_or_default();
    text.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).as_bytes());
    let lines = hypers.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).skip(1);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with(b"content-length:")) {
        text.extend_from_slice(line);
        text.extend_from_slice(b"\r\n");
    }
    for (name, value) in response.headers() {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    let body = response.body();
    text.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    text.extend_from_slice(body);
    text
}
