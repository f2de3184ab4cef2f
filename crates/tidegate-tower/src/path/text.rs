//! A canonical path while it is written, segment by segment.

use std::borrow::Cow;

use super::{MAX_LEN, PathError};

/// What is written so far. As long as that is how its source begins, it is not copied.
pub(super) struct Text<'p> {
    source: &'p str,
    /// How much of the source is written, if there is no copy.
    kept: usize,
    copy: Option<String>,
}

// === impl Text ===

impl<'p> Text<'p> {
    /// Nothing yet of what may become this source.
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

    /// Follows the last segment, if it is one that points elsewhere.
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
