//! Just enough of the Redis protocol to tell one request from the next.

use bytes::{Buf, Bytes, BytesMut};

/// The longest request accepted, more than any of ours; anything longer is not understood.
const LONGEST: usize = 64 * 1024 * 1024;

/// Splits a stream into commands. Once it meets anything that is not a command, as inside TLS, it
/// gives up: from there on it cannot tell where a command begins.
#[derive(Debug, Default)]
pub(super) struct Parser {
    buffer: BytesMut,
    lost: bool,
}

/// Why there is no command in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum No {
    /// The command is not complete yet; more bytes are needed.
    More,
    /// The bytes make no sense, and never will.
    Sense,
}

// === impl Parser ===

impl Parser {
    /// Takes the bytes that have arrived, and passes on every command they complete.
    pub(super) fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(Vec<Bytes>)) {
        if self.lost {
            return;
        }
        self.buffer.extend_from_slice(bytes);
        while !self.buffer.is_empty() {
            match command(&self.buffer) {
                Ok((words, length)) => {
                    self.buffer.advance(length);
                    if !words.is_empty() {
                        each(words);
                    }
                }
                Err(No::More) if self.buffer.len() <= LONGEST => return,
                Err(_) => {
                    self.lost = true;
                    self.buffer = BytesMut::new();
                }
            }
        }
    }
}

/// The first command in `bytes`, and its length.
fn command(bytes: &[u8]) -> Result<(Vec<Bytes>, usize), No> {
    let (head, mut at) = line(bytes, 0)?;
    let Some(count) = head.strip_prefix(b"*") else {
        let words = head.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let inline = head.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
        let words = words.map(Bytes::copy_from_slice).collect();
        return if inline { Ok((words, at)) } else { Err(No::Sense) };
    };
    let mut words = Vec::new();
    for _ in 0..number(count)? {
        let (head, start) = line(bytes, at)?;
        let length = number(head.strip_prefix(b"$").ok_or(No::Sense)?)?;
        let word = bytes.get(start..start + length).ok_or(No::More)?;
        words.push(Bytes::copy_from_slice(word));
        at = start + length + 2;
        if bytes.len() < at {
            return Err(No::More);
        }
    }
    Ok((words, at))
}

/// The line at `at`, without its end, and the index where the next one begins.
fn line(bytes: &[u8], at: usize) -> Result<(&[u8], usize), No> {
    let rest = bytes.get(at..).ok_or(No::More)?;
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(No::More)?;
    let line = &rest[..end];
    Ok((line.strip_suffix(b"\r").unwrap_or(line), at + end + 1))
}

fn number(digits: &[u8]) -> Result<usize, No> {
    let number = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    number.filter(|number| *number <= LONGEST).ok_or(No::Sense)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(pieces: &[&[u8]]) -> Vec<Vec<Bytes>> {
        let mut parser = Parser::default();
        let mut all = Vec::new();
        pieces.iter().for_each(|piece| parser.feed(piece, |command| all.push(command)));
        all
    }

    #[test]
    fn commands_are_found_wherever_the_stream_is_cut() {
        let stream = b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\nPING now\r\n*1\r\n$0\r\n\r\n";
        let whole = parsed(&[stream]);
        assert_eq!(whole, [vec!["GET", "a\r\nb"], vec!["PING", "now"], vec![""]]);
        for at in 0..stream.len() {
            assert_eq!(parsed(&[&stream[..at], &stream[at..]]), whole, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(parsed(&bytes), whole);
    }

    #[test]
    fn after_nonsense_nothing_is_understood() {
        for nonsense in
            [&b"\x16\x03\x01\n"[..], b"*x\r\n", b"*1\r\n:1\r\n", b"*1\r\n$99999999999\r\n"]
        {
            assert_eq!(parsed(&[nonsense, b"PING\r\n"]), Vec::<Vec<Bytes>>::new(), "{nonsense:?}");
        }
    }
}
