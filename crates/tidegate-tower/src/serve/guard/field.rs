//! Field lines, of a head and of a trailer.
//!
//! Only the names that frame or route a request are told apart; the values of all others are looked
//! at for control characters and forgotten.

use super::head::FieldsOf;
use super::malformed::Malformed;
use super::scan;
use super::{HeadGuard, RequestPart, StepResult};

/// The longest name of interest, `transfer-encoding`.
const LONGEST: u8 = 17;

/// The one transfer coding that is understood.
const CHUNKED: &[u8] = b"chunked";

/// The fields that frame or route a request, and all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// A field that neither frames nor routes a request.
    #[default]
    Other,
    /// Host.
    Host,
    /// Content-Length.
    Length,
    /// Transfer-Encoding.
    Coding,
    /// Upgrade.
    Upgrade,
}

/// A method or field name that comes in pieces: its first bytes, as many as are of interest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Token {
    bytes: [u8; LONGEST as usize],
    /// Number of bytes that have come; `LONGEST + 1` stands for all words that are longer.
    len: u8,
}

// === impl FieldKind ===

impl FieldKind {
    /// The field of a name, in whatever case.
    #[inline]
    pub(super) fn of(name: &[u8]) -> Self {
        match name.len() {
            4 if is(name, b"host") => Self::Host,
            7 if is(name, b"upgrade") => Self::Upgrade,
            14 if is(name, b"content-length") => Self::Length,
            17 if is(name, b"transfer-encoding") => Self::Coding,
            _ => Self::Other,
        }
    }
}

/// Whether a token is this name, which is in lower case, of letters and dashes. The bit that is set in
/// lower case is set in a dash too, and no other byte of a token becomes a dash by it. All bytes are
/// compared at once.
#[inline]
fn is<const N: usize>(token: &[u8], name: &[u8; N]) -> bool {
    let Some((token, _)) = token.split_first_chunk::<N>() else { return false };
    let differences = (0..N).fold(0, |all, at| all | ((token[at] | 0x20) ^ name[at]));
    differences == 0
}

// === impl Token ===

impl Token {
    /// Whether nothing of the word has come.
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets the word.
    pub(super) const fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds a piece of the word.
    pub(super) fn push(&mut self, piece: &[u8]) {
        for &byte in piece {
            let Some(slot) = self.bytes.get_mut(usize::from(self.len)) else {
                self.len = LONGEST + 1;
                return;
            };
            *slot = byte;
            self.len += 1;
        }
    }

    /// The word with its last piece added; empty if it is too long to be of interest. A word that
    /// came in one piece, as almost all do, is not copied.
    pub(super) fn with<'a>(&'a mut self, piece: &'a [u8]) -> &'a [u8] {
        if self.is_empty() {
            return piece;
        }
        self.push(piece);
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

// === impl HeadGuard ===

impl HeadGuard {
    /// Takes the beginning of a field line, or of the empty line after all fields.
    pub(super) fn line(&mut self, first: u8, bytes: &[u8]) -> StepResult {
        match first {
            b'\r' => {
                self.part = RequestPart::End;
                Ok(1)
            }
            b'\n' => Err(Malformed::BareLineFeed),
            b' ' | b'\t' => Err(Malformed::Folded),
            b':' => Err(Malformed::NameEmpty),
            _ => {
                self.token.clear();
                self.part = RequestPart::Name;
                self.name(first, bytes)
            }
        }
    }

    /// Takes bytes of a field name, and the colon if it is there.
    pub(super) fn name(&mut self, first: u8, bytes: &[u8]) -> StepResult {
        let run = scan::token(bytes);
        let piece = &bytes[..run];
        if bytes.get(run) != Some(&b':') {
            if run > 0 {
                self.token.push(piece);
                return Ok(run);
            }
            return Err(match first {
                b' ' | b'\t' => Malformed::NameSpace,
                b'\n' => Malformed::BareLineFeed,
                _ => Malformed::Name,
            });
        }
        self.known = FieldKind::of(self.token.with(piece));
        if self.known == FieldKind::Other {
            self.part = RequestPart::Value;
            return Ok(run + 1);
        }
        match self.admit() {
            Ok(()) => {
                self.part = RequestPart::ValueStart;
                self.at = 0;
                Ok(run + 1)
            }
            // The fault is that of the colon: the next step begins with it.
            Err(_) if run > 0 => {
                if self.token.is_empty() {
                    self.token.push(piece);
                }
                Ok(run)
            }
            Err(malformed) => Err(malformed),
        }
    }

    /// Whether a field of interest may stand here.
    fn admit(&mut self) -> Result<(), Malformed> {
        if self.fields_of == FieldsOf::Trailer {
            return Err(Malformed::TrailerField);
        }
        let facts = &mut self.facts;
        match self.known {
            FieldKind::Host if facts.host => return Err(Malformed::HostTwice),
            FieldKind::Length if facts.length => return Err(Malformed::LengthTwice),
            FieldKind::Coding if facts.coding => return Err(Malformed::CodingTwice),
            FieldKind::Length if facts.coding => return Err(Malformed::LengthBesideCoding),
            FieldKind::Coding if facts.length => return Err(Malformed::LengthBesideCoding),
            FieldKind::Coding if facts.old => return Err(Malformed::CodingOld),
            FieldKind::Host => facts.host = true,
            FieldKind::Length => facts.length = true,
            FieldKind::Coding => facts.coding = true,
            FieldKind::Upgrade => facts.upgrade = true,
            FieldKind::Other => {}
        }
        Ok(())
    }

    /// Takes bytes of a value and of the line end after it.
    pub(super) fn value(&mut self, first: u8, bytes: &[u8]) -> StepResult {
        match (self.known, first) {
            (FieldKind::Other | FieldKind::Upgrade, _) => self.skip_value(first, bytes),
            (_, b' ' | b'\t') => {
                if self.part == RequestPart::Value {
                    self.part = RequestPart::ValueEnd;
                }
                Ok(1)
            }
            (known, b'\r') => {
                match known {
                    FieldKind::Length if self.at == 0 => return Err(Malformed::Length),
                    FieldKind::Coding if usize::from(self.at) < CHUNKED.len() => {
                        return Err(Malformed::Coding);
                    }
                    // An empty Host is what a target without authority has (RFC 9112, section 3.2).
                    _ => self.part = RequestPart::Feed,
                }
                Ok(1)
            }
            (_, b'\n') => Err(Malformed::BareLineFeed),
            (_, 0..=0x1f | 0x7f) => Err(Malformed::Control),
            (known, _) => {
                let taken = match known {
                    FieldKind::Length => self.digit(first)?,
                    FieldKind::Coding => self.coding(first)?,
                    _ => self.host(bytes)?,
                };
                self.part = RequestPart::Value;
                Ok(taken)
            }
        }
    }

    /// Takes bytes of a value that does not matter, and the line end if it is there.
    fn skip_value(&mut self, first: u8, bytes: &[u8]) -> StepResult {
        let run = scan::value(bytes);
        match bytes[run..] {
            [b'\r', b'\n', ..] => {
                self.part = RequestPart::Line;
                Ok(run + 2)
            }
            [b'\r', ..] => {
                self.part = RequestPart::Feed;
                Ok(run + 1)
            }
            _ if run > 0 => Ok(run),
            _ if first == b'\n' => Err(Malformed::BareLineFeed),
            _ => Err(Malformed::Control),
        }
    }

    /// Takes a digit of Content-Length.
    fn digit(&mut self, byte: u8) -> StepResult {
        let room = self.part != RequestPart::ValueEnd && byte.is_ascii_digit();
        let count = self.count.checked_mul(10);
        let count = count.and_then(|count| count.checked_add(u64::from(byte.wrapping_sub(b'0'))));
        match count.filter(|&count| room && i64::try_from(count).is_ok()) {
            Some(count) => {
                self.count = count;
                self.at = 1;
                Ok(1)
            }
            None => Err(Malformed::Length),
        }
    }

    /// Takes a byte of Transfer-Encoding.
    fn coding(&mut self, byte: u8) -> StepResult {
        let wanted = CHUNKED.get(usize::from(self.at));
        if self.part == RequestPart::ValueEnd || wanted != Some(&byte.to_ascii_lowercase()) {
            return Err(Malformed::Coding);
        }
        self.at += 1;
        Ok(1)
    }

    /// Takes bytes of Host.
    fn host(&mut self, bytes: &[u8]) -> StepResult {
        match scan::host(bytes) {
            run if run > 0 && self.part != RequestPart::ValueEnd => Ok(run),
            _ => Err(Malformed::Host),
        }
    }

    /// Takes the line feed after a field.
    pub(super) const fn feed(&mut self, first: u8) -> StepResult {
        if first != b'\n' {
            return Err(Malformed::BareReturn);
        }
        self.part = RequestPart::Line;
        Ok(1)
    }
}
