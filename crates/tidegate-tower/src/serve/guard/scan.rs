//! How far the bytes at hand are harmless.
//!
//! Most bytes of a head need no decision each: they belong to a token, a target or a value. The
//! length of such a run is found with a table for names, which are short, and eight bytes at a time
//! for targets and values, which are not. The sums below never carry from one byte into the next, so
//! every byte of a word is judged exactly.

use crate::path::table;

/// The top bit of each byte in a word.
const TOPS: u64 = every(0x80);

/// Bytes of a token (RFC 9110, section 5.6.2): names of methods and fields.
static TOKEN: [bool; 256] = table(b"!#$%&'*+-.^_`|~");

/// Bytes of a host and port (RFC 3986, section 3.2): without the comma, at which a list would be
/// split, and without `@`, before which user information would stand.
static HOST: [bool; 256] = table(b"-._~%!$&'()*+;=:[]");

/// Length of the token that `bytes` begins with; 0 if it begins with none.
pub(super) fn token(bytes: &[u8]) -> usize {
    run(bytes, |byte| TOKEN[usize::from(byte)])
}

/// Length of the host that `bytes` begins with; 0 if it begins with none.
pub(super) fn host(bytes: &[u8]) -> usize {
    run(bytes, |byte| HOST[usize::from(byte)])
}

/// Length of the decimal number that `bytes` begins with; 0 if it begins with none.
pub(super) fn digits(bytes: &[u8]) -> usize {
    run(bytes, |byte| byte.is_ascii_digit())
}

/// Length of the printable ASCII that `bytes` begins with, spaces included.
pub(super) fn printable(bytes: &[u8]) -> usize {
    run(bytes, |byte| matches!(byte, b' '..=b'~'))
}

/// Length of the visible ASCII that `bytes` begins with: all a request target may hold.
pub(super) fn visible(bytes: &[u8]) -> usize {
    let wrong = |word: u64| {
        let low = word & !TOPS;
        (!(low + every(0x80 - 0x21)) | (low + every(1)) | word) & TOPS
    };
    words(bytes, wrong, |byte| byte.is_ascii_graphic())
}

/// Length of the field value that `bytes` begins with: tabs, spaces, visible ASCII and bytes above
/// ASCII, which hyper hands to the service as they are.
pub(super) fn value(bytes: &[u8]) -> usize {
    let wrong = |word: u64| {
        let low = word & !TOPS;
        let control = !(low + every(0x80 - 0x20)) & !word;
        let tab = low ^ every(b'\t');
        let delete = (low + every(1)) & !word;
        (control & (tab + every(0x7f)) | delete) & TOPS
    };
    words(bytes, wrong, |byte| byte == b'\t' || !byte.is_ascii_control())
}

/// Length of the run of bytes at the beginning for which `fits` holds.
#[inline]
fn run(bytes: &[u8], fits: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !fits(byte)).unwrap_or(bytes.len())
}

/// Length of the run of bytes at the beginning that are not wrong: `wrong` sets the top bit of each
/// wrong byte in a word, and `fits` judges the last bytes, which fill no word.
#[inline]
fn words(bytes: &[u8], wrong: impl Fn(u64) -> u64, fits: impl Fn(u8) -> bool) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let found = wrong(u64::from_le_bytes(*word));
        if found != 0 {
            return at + (found.trailing_zeros() >> 3) as usize;
        }
        at += word.len();
    }
    at + run(rest, fits)
}

/// A word in which each byte is `byte`.
const fn every(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}
