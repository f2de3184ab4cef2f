//! Bodies: skipped by their length, or walked chunk by chunk.
//!
//! The data itself is never looked at. The lines around it are: a chunk size that one reader takes
//! for 5 and another for 0 is as good a way to smuggle as two lengths in a head.

use super::head::FieldsOf;
use super::malformed::Malformed;
use super::scan;
use super::{HeadGuard, RequestPart, StepResult};

/// The most digits of a chunk size; 16 fill 64 bits.
const DIGITS: u8 = 16;

/// The longest extension of a chunk, with its semicolon. Signatures of chunks have about 90 bytes.
const EXTENSION: u8 = u8::MAX;

// === impl HeadGuard ===

impl HeadGuard {
    /// Takes bytes of a body of known length.
    pub(super) fn sized(&mut self, bytes: &[u8]) -> usize {
        let taken = self.take(bytes);
        if self.count == 0 {
            self.over();
        }
        taken
    }

    /// Takes bytes of the data of a chunk.
    pub(super) fn chunk(&mut self, bytes: &[u8]) -> usize {
        let taken = self.take(bytes);
        if self.count == 0 {
            self.part = RequestPart::ChunkReturn;
        }
        taken
    }

    /// Takes as many bytes as are here and still belong to the body or chunk.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let taken = usize::try_from(self.count).unwrap_or(usize::MAX).min(bytes.len());
        self.count = self.count.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
        taken
    }

    /// Begins the next chunk.
    pub(super) const fn next_chunk(&mut self) {
        self.part = RequestPart::Size;
        self.at = 0;
        self.count = 0;
    }

    /// Takes a byte of a chunk size or the one after it.
    pub(super) fn size(&mut self, first: u8) -> StepResult {
        match (first, char::from(first).to_digit(16)) {
            (_, Some(digit)) => {
                // Never more than 16 digits, so nothing is shifted out.
                let count = self.count << 4 | u64::from(digit);
                if self.at == DIGITS || i64::try_from(count).is_err() {
                    return Err(Malformed::ChunkSize);
                }
                self.count = count;
                self.at += 1;
            }
            (b'\n', _) => return Err(Malformed::BareLineFeed),
            (b'\r', _) if self.at > 0 => self.part = RequestPart::SizeFeed,
            (b';', _) if self.at > 0 => {
                self.part = RequestPart::Extension;
                self.at = 1;
            }
            _ => return Err(Malformed::ChunkSize),
        }
        Ok(1)
    }

    /// Takes bytes of a chunk extension, or the carriage return after it.
    pub(super) fn extension(&mut self, first: u8, bytes: &[u8]) -> StepResult {
        let room = EXTENSION - self.at;
        let run = scan::printable(&bytes[..bytes.len().min(usize::from(room))]);
        match first {
            _ if run > 0 => {
                self.at = self.at.saturating_add(u8::try_from(run).unwrap_or(EXTENSION));
                Ok(run)
            }
            b'\r' => {
                self.part = RequestPart::SizeFeed;
                Ok(1)
            }
            b'\n' => Err(Malformed::BareLineFeed),
            _ => Err(Malformed::ChunkExtension),
        }
    }

    /// Takes the line feed after a chunk size; after the last chunk, which is empty, come trailers.
    pub(super) const fn size_feed(&mut self, first: u8) -> StepResult {
        if first != b'\n' {
            return Err(Malformed::BareReturn);
        }
        if self.count == 0 {
            self.fields_of = FieldsOf::Trailer;
            self.part = RequestPart::Line;
        } else {
            self.part = RequestPart::Chunk;
        }
        Ok(1)
    }

    /// Takes a byte of the line end after the data of a chunk.
    pub(super) const fn chunk_end(&mut self, first: u8) -> StepResult {
        match (self.part, first) {
            (RequestPart::ChunkReturn, b'\r') => self.part = RequestPart::ChunkFeed,
            (RequestPart::ChunkFeed, b'\n') => self.next_chunk(),
            _ => return Err(Malformed::ChunkEnd),
        }
        Ok(1)
    }
}
