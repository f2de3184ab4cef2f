//! Something that is looked up again in the background: on demand, one at a time, not too often.

use core::future::Future;
use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;

/// From the end of one look to the beginning of the next.
const PAUSE: Duration = Duration::from_millis(100);

const IDLE: u8 = 0;
const LOOKING: u8 = 1;
/// Somebody asked while a look was under way, which may have begun too early to see why.
const WANTED: u8 = 2;

#[derive(Debug, Default)]
pub(super) struct Refresh {
    state: AtomicU8,
}

/// Somebody is looking. If they are stopped, with the runtime they were in, others may.
struct Looking<'a> {
    state: &'a AtomicU8,
    is_done: bool,
}

// === impl Refresh ===

impl Refresh {
    /// Whether the caller is to look, by [`run`](Self::run); else somebody does.
    #[must_use]
    pub(super) fn begin(&self) -> bool {
        self.state.swap(WANTED, Ordering::AcqRel) == IDLE
    }

    /// Looks for as long as it is asked for, with pauses.
    pub(super) async fn run<F: Future<Output = ()>>(&self, mut look: impl FnMut() -> F) {
        let mut looking = Looking { state: &self.state, is_done: false };
        while !looking.is_done {
            self.state.store(LOOKING, Ordering::Release);
            look().await;
            tokio::time::sleep(PAUSE).await;
            let end = (Ordering::AcqRel, Ordering::Acquire);
            looking.is_done = self.state.compare_exchange(LOOKING, IDLE, end.0, end.1).is_ok();
        }
    }
}

// === impl Looking ===

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.state.store(IDLE, Ordering::Release);
        }
    }
}
