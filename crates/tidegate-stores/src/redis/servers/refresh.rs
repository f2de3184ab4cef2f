//! Something that is looked up again in the background: on demand, one at a time, not too often.

use core::future::Future;
use core::sync::atomic::{AtomicU8, Ordering};
use core::time::Duration;
use std::sync::Arc;

/// The pause from the end of one look to the beginning of the next.
const PAUSE: Duration = Duration::from_millis(100);

const IDLE: u8 = 0;
const LOOKING: u8 = 1;
/// Somebody has asked while a look was under way, which may have begun too early to see what changed.
const WANTED: u8 = 2;

#[derive(Debug, Default)]
pub(super) struct Refresh {
    state: Arc<AtomicU8>,
}

/// The duty to look, given to one caller. If it is dropped unfinished, as when its runtime ends, even
/// before it has begun, others may look.
pub(super) struct Looking {
    state: Arc<AtomicU8>,
    is_done: bool,
}

// === impl Refresh ===

impl Refresh {
    /// Asks for a look. `Some` is for the caller who has to look, by [`Looking::run`]; with `None`
    /// somebody else does.
    #[must_use]
    pub(super) fn begin(&self) -> Option<Looking> {
        let is_first = self.state.swap(WANTED, Ordering::AcqRel) == IDLE;
        is_first.then(|| Looking { state: Arc::clone(&self.state), is_done: false })
    }
}

// === impl Looking ===

impl Looking {
    /// Looks for as long as somebody asks for it, with pauses.
    pub(super) async fn run<F: Future<Output = ()>>(mut self, mut look: impl FnMut() -> F) {
        while !self.is_done {
            self.state.store(LOOKING, Ordering::Release);
            look().await;
            #[expect(
                clippy::disallowed_methods,
                reason = "servers are asked no more often in real time"
            )]
            tokio::time::sleep(PAUSE).await;
            let end = (Ordering::AcqRel, Ordering::Acquire);
            self.is_done = self.state.compare_exchange(LOOKING, IDLE, end.0, end.1).is_ok();
        }
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        if !self.is_done {
            self.state.store(IDLE, Ordering::Release);
        }
    }
}
