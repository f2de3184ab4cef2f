//! A canonical path while it is written, segment by segment.

use std::borrow::Cow;

use super::{MAX_LEN, PathError};

/// The canonical path written so far. As long as its source begins with it, it is not copied.
pub(super) struct Text<'p> {
    source: &'p str,
    /// The number of bytes of the source that are written, while there is no copy.
    kept: usize,
    copy: Option<String>,
}

// === impl Text ===

impl<'p> Text<'p> {
    /// An empty text, which may become all of `source`.
    pub(super) const fn new(source: &'p str) -> Self {
        Self { source, kept: 0, copy: None }
    }

    /// Adds one ASCII character.
    pub(super) fn push(&mut self, byte: u8) -> Result<(), PathError> {
        if self.copy.is_none() && self.source.as_bytes().get(self.kept) == Some(&byte) {
            self.kept += 1;
            return Ok(());
        }
        if self.as_str().len() >= MAX_LEN {
            return Err(PathError::TooLong);
        }
        let (source, kept) = (self.source, self.kept);
        let copy = self.copy.get_or_insert_with(|| {
            let mut copy = String::with_capacity(source.len());
            copy.push_str(&source[..kept]);
            copy
        });
        copy.push(char::from(byte));
        Ok(())
    }

    /// Adds a character as its escape.
    pub(super) fn escape(&mut self, character: char) -> Result<(), PathError> {
        const DIGITS: [u8; 16] = *b"0123456789ABCDEF";
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            self.push(b'%')?;
            self.push(DIGITS[usize::from(byte >> 4)])?;
            self.push(DIGITS[usize::from(byte & 15)])?;
        }
        Ok(())
    }

    /// Ends a segment and begins another.
    pub(super) fn slash(&mut self) -> Result<(), PathError> {
        self.resolve()?;
        if self.as_str().ends_with('/') { Ok(()) } else { self.push(b'/') }
    }

    /// Ends the path.
    pub(super) fn finish(mut self) -> Result<Cow<'p, str>, PathError> {
        self.resolve()?;
        let text = self.as_str();
        if text.len() > 1 && text.ends_with('/') {
            self.truncate(text.len() - 1);
        }
        Ok(match self.copy {
            Some(copy) => Cow::Owned(copy),
            None if self.kept == self.source.len() => Cow::Borrowed(self.source),
            None => Cow::Owned(self.source[..self.kept].to_owned()),
        })
    }

    /// Resolves the last segment, if it is `.` or `..`.
    fn resolve(&mut self) -> Result<(), PathError> {
        let text = self.as_str();
        if text.ends_with("/.") {
            self.truncate(text.len() - 1);
        } else if let Some(above) = text.strip_suffix("/..") {
            let parent = above.rfind('/').ok_or(PathError::AboveRoot)?;
            self.truncate(parent + 1);
        }
        Ok(())
    }

    fn as_str(&self) -> &str {
        self.copy.as_deref().unwrap_or(&self.source[..self.kept])
    }

    fn truncate(&mut self, len: usize) {
        match &mut self.copy {
            Some(copy) => copy.truncate(len),
            None => self.kept = len,
        }
    }
}
