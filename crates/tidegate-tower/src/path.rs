//! One canonical form of a path, for matching, for keys and for the services behind (threat T05).
//!
//! A limit on `/login` is worth nothing if `//login`, `/%6cogin` or `/x/../login` reach the same
//! handler beside it. So a path is brought to one form before anything looks at it, and the request
//! goes on with that form: nobody behind the door can understand it differently. What could be
//! understood in two ways is refused instead of guessed.
//!
//! | written | becomes |
//! |---|---|
//! | an escaped letter, digit, `-`, `.`, `_` or `~` | that character |
//! | any other escape | stays, its digits in upper case: `%3A` is not `:` (RFC 3986, 2.2) |
//! | a character that may not stand in a path, also one beyond ASCII | its escape, as browsers do |
//! | `//` | `/` |
//! | `.` and `..`, also escaped | resolved, after slashes were merged; not above the root |
//! | a slash at the end | nothing, except for `/` itself |
//! | `%2F`, `%5C`, `\`, `;`, `%3B`, `%00`, control characters, `%252F` | refused |
//!
//! Upper and lower case are different, as they are to the service behind. There are two targets without
//! a path: that of CONNECT, which is empty, and `*` of OPTIONS. They stay as they are, and no route
//! matches them.

mod text;

use std::borrow::Cow;

use text::Text;

/// The longest path that is accepted, as written and in its canonical form, in bytes.
pub const MAX_LEN: usize = 8 << 10;

/// Why a path has no canonical form; such a request is answered with 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path has more than [`MAX_LEN`] bytes.
    #[error("the path is longer than {MAX_LEN} bytes")]
    TooLong,
    /// The text is no path: it does not begin with `/`, and is neither empty nor `*`.
    #[error("a path begins with `/`")]
    NotAbsolute,
    /// The path has more `..` than there are segments to go up.
    #[error("the path climbs above its root")]
    AboveRoot,
    /// A `%` is not followed by two hexadecimal digits.
    #[error("the path contains a `%` that is not followed by two hexadecimal digits")]
    BadEscape,
    /// Escaped bytes are not UTF-8.
    #[error("the path contains escaped bytes that are not UTF-8")]
    NotUtf8,
    /// An escape is escaped again: a reader that decodes twice sees another path.
    #[error("the path contains an escape that is escaped again")]
    EscapedTwice,
    /// The path has `%2F`, or a backslash in any form: some readers take them for `/`.
    #[error("the path contains an escaped slash or a backslash")]
    HiddenSlash,
    /// The path has `;` in any form: some readers cut a segment there.
    #[error("the path contains a `;`")]
    Parameter,
    /// The path has a control character in any form.
    #[error("the path contains a control character")]
    Control,
    /// The text has `?` or `#`, which end a path.
    #[error("the path contains a `?` or `#`, which are no part of a path")]
    Delimiter,
}

/// The canonical form of the path of a request target; borrowed exactly if the path has that form.
///
/// ```
/// use tidegate_tower::path::{PathError, canonical};
///
/// assert_eq!(canonical("//v1/./%6Cogin/")?, "/v1/login");
/// assert_eq!(canonical("/caf\u{e9}")?, "/caf%C3%A9");
/// assert_eq!(canonical("/v1%2flogin"), Err(PathError::HiddenSlash));
/// # Ok::<(), PathError>(())
/// ```
///
/// # Errors
///
/// If two readers could understand the path differently, or it is too long.
#[inline]
pub fn canonical(path: &str) -> Result<Cow<'_, str>, PathError> {
    if path.len() <= MAX_LEN && is_plain(path.as_bytes()) {
        return Ok(Cow::Borrowed(path));
    }
    rewrite(path)
}

/// Whether a path is canonical at first sight, as almost all are. A path with an escape, or with a
/// segment that begins with a dot, needs a second look.
fn is_plain(path: &[u8]) -> bool {
    let [b'/', rest @ ..] = path else { return false };
    let mut previous = b'/';
    for &byte in rest {
        let doubtful = previous == b'/' && matches!(byte, b'/' | b'.');
        if doubtful || !(is_pchar(byte) || byte == b'/') {
            return false;
        }
        previous = byte;
    }
    previous != b'/' || rest.is_empty()
}

/// Whether a byte may stand in a segment as it is (RFC 3986, 3.3); `;` may not.
fn is_pchar(byte: u8) -> bool {
    PCHARS[usize::from(byte)]
}

static PCHARS: [bool; 256] = table(b"-._~!$&'()*+,=:@");

/// A table that holds for ASCII letters, digits and `others`.
pub(crate) const fn table(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x80_u8 {
        table[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
}

/// Whether a byte means the same escaped or not (RFC 3986, 2.3).
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The canonical form, character by character. Only a path that changes is copied.
fn rewrite(path: &str) -> Result<Cow<'_, str>, PathError> {
    if path.len() > MAX_LEN {
        return Err(PathError::TooLong);
    }
    if path.is_empty() || path == "*" {
        return Ok(Cow::Borrowed(path));
    }
    if !path.starts_with('/') {
        return Err(PathError::NotAbsolute);
    }
    let mut text = Text::new(path);
    let mut rest = path;
    // How many hexadecimal digits have followed a `%25`.
    let mut digits = None;
    while let Some(first) = rest.chars().next() {
        let read = match first {
            '%' => escaped(rest)?,
            means => Read { means, len: means.len_utf8(), was_escaped: false },
        };
        digits = match digits {
            _ if read.means == '%' => Some(0),
            Some(0) if read.means.is_ascii_hexdigit() => Some(1),
            Some(_) if read.means.is_ascii_hexdigit() => return Err(PathError::EscapedTwice),
            _ => None,
        };
        write(&read, &mut text)?;
        rest = &rest[read.len..];
    }
    text.finish()
}

/// One character as it was read.
struct Read {
    /// The character itself, unescaped.
    means: char,
    /// The number of bytes that the character took in the path.
    len: usize,
    was_escaped: bool,
}

/// Reads the escaped character that a text begins with: one escape, or several beyond ASCII.
fn escaped(text: &str) -> Result<Read, PathError> {
    let mut escapes = text.as_bytes().chunks(3).map(|chunk| match chunk {
        [b'%', high, low] => Ok(digit(*high)? << 4 | digit(*low)?),
        _ => Err(PathError::BadEscape),
    });
    let mut next = || escapes.next().unwrap_or(Err(PathError::BadEscape));
    let mut bytes = [next()?, 0, 0, 0];
    let count = match bytes[0] {
        0x00..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Err(PathError::NotUtf8),
    };
    for byte in &mut bytes[1..count] {
        *byte = next().map_err(|_| PathError::NotUtf8)?;
    }
    let character = core::str::from_utf8(&bytes[..count]).ok().and_then(|text| text.chars().next());
    let means = character.ok_or(PathError::NotUtf8)?;
    Ok(Read { means, len: 3 * count, was_escaped: true })
}

fn digit(byte: u8) -> Result<u8, PathError> {
    let value = char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    value.ok_or(PathError::BadEscape)
}

/// Writes a character as it stands in a canonical path.
fn write(read: &Read, text: &mut Text<'_>) -> Result<(), PathError> {
    let byte = u8::try_from(read.means).ok().filter(u8::is_ascii);
    match (byte, read.was_escaped) {
        (Some(b'/'), false) => text.slash(),
        (Some(b'/' | b'\\'), _) => Err(PathError::HiddenSlash),
        (Some(b';'), _) => Err(PathError::Parameter),
        (Some(b'?' | b'#'), false) => Err(PathError::Delimiter),
        _ if read.means.is_control() => Err(PathError::Control),
        (Some(byte), true) if is_unreserved(byte) => text.push(byte),
        (Some(byte), false) if is_pchar(byte) => text.push(byte),
        _ => text.escape(read.means),
    }
}

#[cfg(test)]
mod spellings;
#[cfg(test)]
mod tests;
