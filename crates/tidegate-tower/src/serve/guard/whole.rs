//! The quick way through a head that came in one piece and is written as almost all heads are.
//!
//! Step by step, a guard takes a third of the time that hyper takes to parse the same head. Nearly every
//! head comes whole, from a client that writes its fields in the usual form; such a head needs no state
//! between its bytes. This way accepts a part of what the steps accept and changes nothing if it does not
//! take the head, so the steps remain the one place that knows what is malformed. Tests feed the same
//! bytes whole and in pieces, and expect the same.

use super::field::FieldKind;
use super::head::{FieldsOf, HeadFacts, LINE_END};
use super::scan;
use super::{HeadGuard, RequestPart};

/// A head that was read in one go.
struct WholeHead {
    /// Its bytes, with the empty line.
    length: usize,
    /// Content-Length, if it was there.
    body: Option<u64>,
}

/// The most digits of a Content-Length that certainly fits.
const DIGITS: usize = 18;

impl HeadGuard {
    /// Takes the head that `bytes` begins with; 0 if it is not there whole, or not in the usual form.
    #[inline]
    pub(super) fn whole_head(&mut self, bytes: &[u8]) -> usize {
        let Some(WholeHead { length, body }) = WholeHead::read(bytes) else { return 0 };
        self.facts = HeadFacts { host: true, length: body.is_some(), ..HeadFacts::default() };
        self.fields_of = FieldsOf::Head;
        self.count = body.unwrap_or(0);
        self.part = if self.count > 0 { RequestPart::Sized } else { RequestPart::Start };
        length
    }
}

// === impl WholeHead ===

impl WholeHead {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = after_line(bytes)?;
        let (mut host, mut body) = (false, None);
        loop {
            if let [b'\r', b'\n', after @ ..] = rest {
                return host.then(|| Self { length: bytes.len() - after.len(), body });
            }
            let name = scan::token(rest);
            let [b':', value @ ..] = &rest[name..] else { return None };
            let length = match FieldKind::of(&rest[..name]) {
                FieldKind::Other if name > 0 => scan::value(value),
                FieldKind::Host if !host => {
                    host = true;
                    padded(value, scan::host)?
                }
                FieldKind::Length if body.is_none() => {
                    let length = padded(value, scan::digits)?;
                    body = Some(number(&value[..length])?);
                    length
                }
                _ => return None,
            };
            let [b'\r', b'\n', after @ ..] = &value[length..] else { return None };
            rest = after;
        }
    }
}

/// The bytes after a request line of HTTP/1.1 that asks for no tunnel.
fn after_line(bytes: &[u8]) -> Option<&[u8]> {
    let (method, rest) = bytes.split_at(scan::token(bytes));
    let [b' ', target @ ..] = rest else { return None };
    let length = scan::visible(target);
    let [b' ', version @ ..] = &target[length..] else { return None };
    let is_usual = !method.is_empty() && method != b"CONNECT" && length > 0;
    version.strip_prefix(LINE_END).filter(|_| is_usual)
}

/// Length of a value behind one space or none, as far as `scan` goes; `None` if it is empty.
fn padded(value: &[u8], scan: impl Fn(&[u8]) -> usize) -> Option<usize> {
    let space = usize::from(value.first() == Some(&b' '));
    match scan(&value[space..]) {
        0 => None,
        length => Some(space + length),
    }
}

/// The number of a value that is digits behind one space or none; `None` if it may not fit.
fn number(value: &[u8]) -> Option<u64> {
    let digits = value.strip_prefix(b" ").unwrap_or(value);
    let add = |sum: u64, digit: &u8| sum * 10 + u64::from(digit - b'0');
    (digits.len() <= DIGITS).then(|| digits.iter().fold(0, add))
}
