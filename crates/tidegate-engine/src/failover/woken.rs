//! When a store has answered, as opposed to when the caller got round to reading the answer.
//!
//! A thread that has ten thousand requests to refuse comes back to a call long after its answer is
//! there. That is no sign of a slow store, and taken for one it would make a busy node send less
//! and less. So what counts is the moment at which the task was woken.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Waker};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Wake;

use tidegate_core::{Clock, Timestamp};

use crate::clock::Time;

/// Wakes a task, and notes when it was first woken since its last poll.
struct Stamp {
    task: Waker,
    clock: Time,
    /// When the task was woken, in microseconds; zero if it was not.
    at: AtomicU64,
}

/// The output of a future, and the time of the wake-up that led to it; the time of the poll if none
/// did.
pub(super) async fn woken<F: Future>(clock: &Time, future: F) -> (F::Output, Timestamp) {
    let mut future = pin!(future);
    let mut stamped: Option<(Arc<Stamp>, Waker)> = None;
    poll_fn(|context| {
        let known = stamped.take().filter(|(stamp, _)| stamp.task.will_wake(context.waker()));
        let (stamp, waker) = known.unwrap_or_else(|| Stamp::of(context.waker(), clock));
        let at = match stamp.at.swap(0, Relaxed) {
            0 => clock.now(),
            at => Timestamp::from_micros(at),
        };
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        stamped = Some((stamp, waker));
        polled.map(|output| (output, at))
    })
    .await
}

// === impl Stamp ===

impl Stamp {
    fn of(task: &Waker, clock: &Time) -> (Arc<Self>, Waker) {
        let stamp = Self { task: task.clone(), clock: clock.clone(), at: AtomicU64::new(0) };
        let stamp = Arc::new(stamp);
        (Arc::clone(&stamp), Waker::from(stamp))
    }
}

impl Wake for Stamp {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let now = self.clock.now().as_micros();
        let _ = self.at.compare_exchange(0, now, Relaxed, Relaxed);
        self.task.wake_by_ref();
    }
}
