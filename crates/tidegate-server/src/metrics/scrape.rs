//! One scrape at a time.
//!
//! To count a store's entries takes milliseconds of a processor. Whoever asks for `/metrics` and goes
//! away must not leave that work queued, nor may those who wait for it take connections. So nobody
//! waits for anybody else's: while one text is being made, others are given the one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;

/// Whose turn it is, and the last text.
#[derive(Default)]
pub(crate) struct Scrapes {
    making: AtomicBool,
    last: ArcSwapOption<String>,
}

/// The turn of whoever makes the next text; it ends when this is dropped, also by a panic.
pub(crate) struct Turn<'s>(&'s Scrapes);

// === impl Scrapes ===

impl Scrapes {
    /// Whether the caller has to make the next text, and so to take its [turn](Self::turn).
    pub(crate) fn begin(&self) -> bool {
        !self.making.swap(true, Ordering::Acquire)
    }

    /// The turn of whoever was told to begin, wherever the text is made.
    pub(crate) const fn turn(&self) -> Turn<'_> {
        Turn(self)
    }

    /// The text that was made last.
    pub(crate) fn last(&self) -> Option<Arc<String>> {
        self.last.load_full()
    }
}

// === impl Turn ===

impl Turn<'_> {
    /// Keeps a text for those who come before the next.
    pub(crate) fn made(self, text: String) -> Arc<String> {
        let text = Arc::new(text);
        self.0.last.store(Some(Arc::clone(&text)));
        text
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.making.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    //! Who makes, and who is given what was made.

    use super::*;

    #[test]
    fn t12_while_one_is_made_others_are_given_the_last() {
        let scrapes = Scrapes::default();
        assert!(scrapes.begin());
        assert!(!scrapes.begin() && scrapes.last().is_none());
        assert_eq!(*scrapes.turn().made("first".to_owned()), "first");
        assert!(scrapes.begin());
        assert!(!scrapes.begin());
        assert_eq!(*scrapes.last().unwrap(), "first");
        drop(scrapes.turn());
        assert!(scrapes.begin(), "a turn that made nothing ends too");
    }
}
