//! Reads along an HTTP/2 connection, to know whether a head is on its way.
//!
//! A client has only so long for a head, and h2 does not say when one begins: a HEADERS frame without
//! `END_HEADERS` may be followed by CONTINUATION frames for ever. So frame headers are read here
//! once more, and nothing else: payloads are skipped, and what is no HTTP/2 is left to h2 to refuse.

/// Length of the connection preface of a client (RFC 9113, section 3.4).
const PREFACE: u32 = 24;

/// The type of a HEADERS frame.
const HEADERS: u8 = 0x1;

/// The type of a CONTINUATION frame.
const CONTINUATION: u8 = 0x9;

/// The flag of a HEADERS or CONTINUATION frame after which the head is complete.
const END_HEADERS: u8 = 0x4;

/// The frames a client has sent so far, as far as their headers tell.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    /// Bytes to skip before the next frame header: the rest of the preface or of a payload.
    skip: u32,
    /// Bytes of the current frame header that have come; 0 to 8.
    at: u8,
    /// Length of the current frame's payload, as far as it has come.
    length: u32,
    /// Whether a head has begun and not ended.
    head: Head,
    /// Whether a whole head has come.
    pub(super) has_had_head: bool,
    /// Heads, and their bytes, that no request has come of so far.
    fruitless: (u32, u32),
    /// Requests that were opened when that was looked at last.
    opened: u64,
}

/// The part of a head at which an HTTP/2 connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// The connection is in no head.
    None,
    /// The connection is in the frame header or payload of a HEADERS or CONTINUATION frame without
    /// `END_HEADERS`, or after it.
    Open,
    /// The connection is in a frame header that carried the type of a head; its flags come next.
    Typed,
    /// The connection is in the last frame of a head.
    Last,
}

// === impl Frames ===

impl Frames {
    /// Frames of a connection of which nothing has been read, not even the preface.
    pub(super) const fn new() -> Self {
        Self {
            skip: PREFACE,
            at: 0,
            length: 0,
            head: Head::None,
            has_had_head: false,
            fruitless: (0, 0),
            opened: 0,
        }
    }

    /// Whether a head has begun and not ended: from the type of its HEADERS frame to the last byte
    /// of the frame with `END_HEADERS`.
    pub(super) const fn is_within_head(&self) -> bool {
        !matches!(self.head, Head::None)
    }

    /// Whether too much was sent in heads of which no request came, where `opened` requests have been opened
    /// in all. Streams beyond those that a client may have are refused by h2, which has to take their heads
    /// apart all the same. A client that does not know yet how many it may have sends some short ones.
    pub(super) fn is_fruitless(&mut self, opened: u64) -> bool {
        const MOST: (u32, u32) = (8, 6 << 10);
        let (heads, bytes) = self.fruitless;
        let fruits = u32::try_from(opened - self.opened).unwrap_or(u32::MAX);
        self.opened = opened;
        self.fruitless = match heads.checked_sub(fruits) {
            None | Some(0) => (0, 0),
            Some(left) => (left, bytes / heads * left),
        };
        self.fruitless.0 > MOST.0 && self.fruitless.1 > MOST.1
    }

    /// Looks at the next bytes the client sent, in order, up to the end of the last of `most` heads.
    /// Returns how many bytes it has looked at.
    pub(super) fn read(&mut self, all: &[u8], most: usize) -> usize {
        let (mut bytes, mut heads) = (all, 0);
        loop {
            let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
            self.skip -= u32::try_from(skipped).unwrap_or(self.skip);
            bytes = &bytes[skipped..];
            if self.skip == 0 && self.at == 0 && self.head == Head::Last {
                self.head = Head::None;
                self.has_had_head = true;
                self.fruitless.0 = self.fruitless.0.saturating_add(1);
                heads += 1;
                if heads == most {
                    return all.len() - bytes.len();
                }
            }
            let Some((byte, rest)) = bytes.split_first() else { return all.len() };
            self.header(*byte);
            bytes = rest;
        }
    }

    /// Takes the next byte of a frame header.
    fn header(&mut self, byte: u8) {
        match self.at {
            0..3 => self.length = self.length << 8 | u32::from(byte),
            3 if matches!(byte, HEADERS | CONTINUATION) => self.head = Head::Typed,
            4 if self.head == Head::Typed => {
                self.head = if byte & END_HEADERS == 0 { Head::Open } else { Head::Last };
            }
            // The stream of a frame does not matter here.
            _ => {}
        }
        self.at += 1;
        if self.at == 9 {
            if self.head != Head::None {
                self.fruitless.1 = self.fruitless.1.saturating_add(self.length);
            }
            self.at = 0;
            self.skip = self.length;
            self.length = 0;
        }
    }
}

#[cfg(test)]
mod tests;
