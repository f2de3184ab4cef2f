//! Reads along an HTTP/1 connection before hyper does, and stops at the first byte that two readers
//! could take differently (threat T28).
//!
//! Request smuggling lives from two readers of one connection that disagree where a request ends: a
//! proxy in front and the server behind it. hyper is careful, yet lenient where RFC 9112 lets it be:
//! a line may end in a bare line feed, `Content-Length` may be repeated or stand beside
//! `Transfer-Encoding`, codings may come before `chunked`, HTTP/1.1 may come without Host. A limit
//! must not be passed by a request that nobody else saw. So the bytes go through a [`HeadGuard`] first,
//! which knows one way to write a request and refuses all others. hyper has no settings for this, and
//! a check of the parsed request would come too late: by then the bytes are divided.
//!
//! The guard holds a few dozen bytes, allocates nothing, and takes the bytes as they come, however
//! they are split. It bounds neither the size nor the number of fields, because hyper does. A head
//! that is refused is never complete for hyper: at least its last byte is held back.

mod body;
mod field;
mod head;
mod malformed;
mod scan;
mod whole;

pub(super) use malformed::Malformed;

use field::{FieldKind, Token};
use head::{FieldsOf, HeadFacts};

/// The reader that goes ahead of hyper on an HTTP/1 connection; by default nothing was read yet.
#[derive(Clone, Debug, Default)]
pub(super) struct HeadGuard {
    /// The part of a request to which the next byte belongs.
    part: RequestPart,
    /// The fault that ended the reading, if there was one.
    refused: Option<Malformed>,
    /// Whether field lines belong to a head or to the trailer of a chunked body.
    fields_of: FieldsOf,
    /// The field to which the value at hand belongs.
    known: FieldKind,
    /// A small number within the current part: bytes matched, digits or bytes seen.
    at: u8,
    /// The facts of the current head that decide how its body is framed.
    facts: HeadFacts,
    /// The method or field name of which the beginning has come.
    token: Token,
    /// Content-Length, chunk size, or the bytes that are still to come of either.
    count: u64,
}

/// The bytes that hyper may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// Number of bytes at the beginning that hyper may be given.
    pub(super) count: usize,
    /// The reason why no more may pass.
    pub(super) then: Then,
}

/// The reason why a [`HeadGuard`] lets no more bytes pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// All bytes passed; more may come.
    More,
    /// A request that asks for another protocol, by an Upgrade field or CONNECT, ends here, with its
    /// body. The bytes that follow are HTTP only if the service does not switch. The caller keeps
    /// them until that is clear, calls [`HeadGuard::upgraded`] if it does, and then [`HeadGuard::read`].
    Upgrade,
    /// The byte after those that passed makes the request malformed. The connection must end with a
    /// 400, and every further [`HeadGuard::read`] passes nothing and says the same.
    Malformed(Malformed),
}

/// The part of a request to which the next byte belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RequestPart {
    /// The beginning of a request line, or one empty line before it.
    #[default]
    Start,
    /// The line feed of the empty line before a request line.
    StartFeed,
    /// The beginning of a request line, after an empty line.
    StartLine,
    /// The method and the space after it.
    Method,
    /// The target and the space after it.
    Target,
    /// The version and the line end after it.
    Version,
    /// The beginning of a field line, or the empty line after all fields.
    Line,
    /// The name of a field and the colon after it.
    Name,
    /// The spaces before a value of a field of interest.
    ValueStart,
    /// The value of a field and the carriage return after it.
    Value,
    /// The spaces after a value of a field of interest, and the carriage return after them.
    ValueEnd,
    /// The line feed after a field.
    Feed,
    /// The line feed of the empty line after all fields.
    End,
    /// A body of known length.
    Sized,
    /// The size of a chunk.
    Size,
    /// The extension of a chunk.
    Extension,
    /// The line feed after the size of a chunk.
    SizeFeed,
    /// The data of a chunk.
    Chunk,
    /// The carriage return after the data of a chunk.
    ChunkReturn,
    /// The line feed after the data of a chunk.
    ChunkFeed,
    /// The end of a request that asks for another protocol.
    Asked,
    /// Bytes of another protocol, which pass unread.
    Tunnel,
}

/// Bytes of one step that pass, or the fault of the first byte.
type StepResult = Result<usize, Malformed>;

// === impl HeadGuard ===

impl HeadGuard {
    /// Looks at the next bytes the client sent, in order: how many of them hyper may be given, and
    /// why no more. The bytes that may not pass are the first ones of the next call, if there is one.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Passed {
        if let Some(malformed) = self.refused {
            return Passed { count: 0, then: Then::Malformed(malformed) };
        }
        let mut count = 0;
        while let Some(&first) = bytes.get(count) {
            if self.part == RequestPart::Start {
                let taken = self.whole_head(&bytes[count..]);
                count += taken;
                if taken > 0 {
                    continue;
                }
            }
            match self.step(first, &bytes[count..]) {
                Ok(passed) => count += passed,
                Err(malformed) => {
                    self.refused = Some(malformed);
                    return Passed { count, then: Then::Malformed(malformed) };
                }
            }
            if self.part == RequestPart::Asked {
                self.part = RequestPart::Start;
                return Passed { count, then: Then::Upgrade };
            }
        }
        Passed { count, then: Then::More }
    }

    /// Whether all bytes so far belong to requests that are complete.
    pub(super) const fn is_between_requests(&self) -> bool {
        matches!(self.part, RequestPart::Start)
    }

    /// Whether a head has begun and not ended. After a fault: whether the fault was inside a head.
    pub(super) const fn is_within_head(&self) -> bool {
        match self.part {
            RequestPart::Method | RequestPart::Target | RequestPart::Version => true,
            RequestPart::Line
            | RequestPart::Name
            | RequestPart::ValueStart
            | RequestPart::Value
            | RequestPart::ValueEnd
            | RequestPart::Feed
            | RequestPart::End => matches!(self.fields_of, FieldsOf::Head),
            _ => false,
        }
    }

    /// Whether a head has passed and its body is not complete. After a fault: whether the fault was
    /// inside a body, so that the service may already be at work on the request.
    pub(super) const fn is_within_body(&self) -> bool {
        let outside = matches!(
            self.part,
            RequestPart::Start
                | RequestPart::StartFeed
                | RequestPart::StartLine
                | RequestPart::Asked
                | RequestPart::Tunnel
        );
        !outside && !self.is_within_head()
    }

    /// Lets all further bytes pass unread: the service has answered 101, or 2xx to CONNECT.
    pub(super) const fn upgraded(&mut self) {
        self.part = RequestPart::Tunnel;
    }

    /// Takes some bytes, of which `first` is the first; the fault is always that of `first`.
    fn step(&mut self, first: u8, bytes: &[u8]) -> StepResult {
        match self.part {
            RequestPart::Start | RequestPart::StartFeed | RequestPart::StartLine => {
                self.start(first)
            }
            RequestPart::Method => self.method(first, bytes),
            RequestPart::Target => self.target(first, bytes),
            RequestPart::Version => self.version(first, bytes),
            RequestPart::Line => self.line(first, bytes),
            RequestPart::Name => self.name(first, bytes),
            RequestPart::ValueStart | RequestPart::Value | RequestPart::ValueEnd => {
                self.value(first, bytes)
            }
            RequestPart::Feed => self.feed(first),
            RequestPart::End => self.end(first),
            RequestPart::Sized => Ok(self.sized(bytes)),
            RequestPart::Size => self.size(first),
            RequestPart::Extension => self.extension(first, bytes),
            RequestPart::SizeFeed => self.size_feed(first),
            RequestPart::Chunk => Ok(self.chunk(bytes)),
            RequestPart::ChunkReturn | RequestPart::ChunkFeed => self.chunk_end(first),
            RequestPart::Asked | RequestPart::Tunnel => Ok(bytes.len()),
        }
    }
}

#[cfg(test)]
mod tests;
