//! What a program writes while it is tested, to be read by the test.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Something that is written to, as a log is. All clones are one page.
#[derive(Clone, Debug, Default)]
pub struct Page(Arc<Mutex<Vec<u8>>>);

// === impl Page ===

impl Page {
    /// Everything that was written so far.
    ///
    /// # Panics
    ///
    /// If it is not text.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).expect("logs are text")
    }
}

impl io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
