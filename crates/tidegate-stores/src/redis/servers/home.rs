//! The runtime for tasks that nobody waits for.
//!
//! A process may have several runtimes, as a server with one for each thread, and they end one after
//! the other. A connection or the layout of a cluster is used by all callers, whichever of them started
//! it. So such a task lives in the runtime where the store was made, which outlives the callers.

use core::future::{Future, pending};

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// The runtime the store was made in, if there was one.
#[derive(Debug)]
pub(super) struct Home(Option<(Handle, Witness)>);

/// A task that ends with its runtime and not before.
#[derive(Debug)]
struct Witness(JoinHandle<()>);

// === impl Home ===

impl Home {
    pub(super) fn here() -> Self {
        let runtime = Handle::try_current().ok();
        Self(runtime.map(|runtime| {
            let witness = Witness(runtime.spawn(pending()));
            (runtime, witness)
        }))
    }

    /// Runs the task in the home runtime; if that is gone or never was, in the caller's. Without a
    /// runtime there either, nothing is done.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.0 {
            Some((runtime, witness)) if !witness.0.is_finished() => drop(runtime.spawn(task)),
            _ => spawn_here(task),
        }
    }
}

/// Runs the task in the caller's runtime; does nothing without one.
pub(crate) fn spawn_here(task: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = Handle::try_current() {
        drop(runtime.spawn(task));
    }
}

// === impl Witness ===

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.abort();
    }
}
