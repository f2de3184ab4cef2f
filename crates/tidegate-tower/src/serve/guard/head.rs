//! The request line, and the end of a head.

use super::malformed::Malformed;
use super::scan;
use super::{HeadGuard, RequestPart, StepResult};

/// The beginning of every version; its last digit follows.
const VERSION: &[u8] = b"HTTP/1.";

/// The end of almost every request line.
pub(super) const LINE_END: &[u8] = b"HTTP/1.1\r\n";

/// The part of a request to which field lines belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FieldsOf {
    /// The head.
    #[default]
    Head,
    /// The trailer of a chunked body.
    Trailer,
}

/// The facts of a head that decide how its body is framed; by default nothing of it has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeadFacts {
    /// The method is CONNECT.
    pub(super) connect: bool,
    /// The version is HTTP/1.0.
    pub(super) old: bool,
    /// Host has come.
    pub(super) host: bool,
    /// Content-Length has come.
    pub(super) length: bool,
    /// Transfer-Encoding has come.
    pub(super) coding: bool,
    /// Upgrade has come.
    pub(super) upgrade: bool,
}

// === impl HeadGuard ===

impl HeadGuard {
    /// Takes the empty line before a request, or begins the request without taking a byte.
    pub(super) fn start(&mut self, first: u8) -> StepResult {
        match (self.part, first) {
            (RequestPart::StartFeed, b'\n') => self.part = RequestPart::StartLine,
            (RequestPart::StartFeed, _) => return Err(Malformed::BareReturn),
            (_, b'\n') => return Err(Malformed::BareLineFeed),
            (RequestPart::Start, b'\r') => self.part = RequestPart::StartFeed,
            (_, b'\r') => return Err(Malformed::EmptyLines),
            _ if scan::token(&[first]) == 0 => return Err(Malformed::Method),
            _ => {
                self.facts = HeadFacts::default();
                self.fields_of = FieldsOf::Head;
                self.token.clear();
                self.count = 0;
                self.part = RequestPart::Method;
                return Ok(0);
            }
        }
        Ok(1)
    }

    /// Takes bytes of the method, and the space after it if it is there.
    pub(super) fn method(&mut self, first: u8, bytes: &[u8]) -> StepResult {
        let run = scan::token(bytes);
        let piece = &bytes[..run];
        if bytes.get(run) == Some(&b' ') {
            self.facts.connect = self.token.with(piece) == b"CONNECT";
            self.part = RequestPart::Target;
            self.at = 0;
            return Ok(run + 1);
        }
        if run > 0 {
            self.token.push(piece);
            return Ok(run);
        }
        Err(if first == b'\n' { Malformed::BareLineFeed } else { Malformed::Method })
    }

    /// Takes bytes of the target, and the space after it if it is there.
    pub(super) fn target(&mut self, first: u8, bytes: &[u8]) -> StepResult {
        let run = scan::visible(bytes);
        if run > 0 {
            self.at = 1;
        }
        if bytes.get(run) == Some(&b' ') && self.at > 0 {
            self.part = RequestPart::Version;
            self.at = 0;
            return Ok(run + 1);
        }
        match first {
            _ if run > 0 => Ok(run),
            b'\n' => Err(Malformed::BareLineFeed),
            // A request of HTTP/0.9 has no version.
            b'\r' if self.at > 0 => Err(Malformed::Version),
            _ => Err(Malformed::Target),
        }
    }

    /// Takes bytes of the version and of the line end after it.
    pub(super) fn version(&mut self, first: u8, bytes: &[u8]) -> StepResult {
        if self.at == 0 && bytes.starts_with(LINE_END) {
            self.part = RequestPart::Line;
            return Ok(LINE_END.len());
        }
        match (usize::from(self.at), first) {
            (at, _) if VERSION.get(at) == Some(&first) => {}
            (7, b'1') => {}
            (7, b'0') => self.facts.old = true,
            (8, b'\r') => {}
            (9, b'\n') => self.part = RequestPart::Line,
            (9, _) => return Err(Malformed::BareReturn),
            (_, b'\n') => return Err(Malformed::BareLineFeed),
            _ => return Err(Malformed::Version),
        }
        self.at += 1;
        Ok(1)
    }

    /// Takes the line feed that ends a head or a trailer.
    pub(super) const fn end(&mut self, first: u8) -> StepResult {
        if first != b'\n' {
            return Err(Malformed::BareReturn);
        }
        let facts = &self.facts;
        match self.fields_of {
            FieldsOf::Trailer => self.over(),
            FieldsOf::Head if !facts.host && !facts.old => return Err(Malformed::HostMissing),
            FieldsOf::Head if facts.connect && (facts.coding || self.count > 0) => {
                return Err(Malformed::ConnectBody);
            }
            FieldsOf::Head if facts.coding => self.next_chunk(),
            FieldsOf::Head if self.count > 0 => self.part = RequestPart::Sized,
            FieldsOf::Head => self.over(),
        }
        Ok(1)
    }

    /// Ends a request, whose body is complete.
    pub(super) const fn over(&mut self) {
        let asked = self.facts.connect || self.facts.upgrade;
        self.part = if asked { RequestPart::Asked } else { RequestPart::Start };
    }
}
