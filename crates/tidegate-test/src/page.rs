//! A buffer for the output of a program under test, which the test can read.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A buffer that can be written to like a log. All clones share their content.
#[derive(Clone, Debug, Default)]
pub struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

// === impl SharedBuffer ===

impl SharedBuffer {
    /// Everything written so far.
    ///
    /// # Panics
    ///
    /// If it is not UTF-8 text.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).expect("logs are text")
    }
}

impl io::Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
