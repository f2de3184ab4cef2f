//! Which thread serves which connection.
//!
//! One runtime per thread: a request is read, decided and answered by the thread that its connection
//! was handed to, and no task ever moves. `SO_REUSEPORT` was refused: the kernel deals connections out
//! by a hash, and with the few that a sidecar or a proxy keeps open it often gives all to one thread.
//! Here one task accepts and hands each to the thread with the fewest.
//!
//! This file is the whole difference to one runtime with many threads, which
//! [`Settings::with_one_runtime`](crate::Settings::with_one_runtime) makes of it for comparison.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use crate::accept::Accepted;
use crate::connection;
use crate::worker::{Shared, Worker};
use tidegate_core::Store;

/// The threads that serve.
pub(crate) struct Threads {
    lanes: Vec<Lane>,
    /// Where the next search begins, so that equals take turns.
    next: AtomicUsize,
}

/// One thread with its runtime; or all of them with theirs.
struct Lane {
    /// Not bounded itself: there are never more in it than connections are admitted.
    sender: mpsc::UnboundedSender<Accepted>,
    /// How many connections it has.
    open: Arc<AtomicUsize>,
    /// How many it had to cut off in the end.
    done: oneshot::Receiver<usize>,
    thread: JoinHandle<()>,
}

/// Counts a connection for as long as it is served.
struct Counted(Arc<AtomicUsize>);

/// How many scrapes of `/metrics` a runtime works on at once; nothing else blocks.
const SCRAPES: usize = 1;

// === impl Threads ===

impl Threads {
    pub(crate) fn start<S: Store + 'static>(shared: &Arc<Shared<S>>) -> io::Result<Self> {
        let count = shared.settings.threads.get();
        let lanes = if shared.settings.one_runtime {
            vec![Lane::start(shared, 0, || {
                Builder::new_multi_thread()
                    .worker_threads(count)
                    .max_blocking_threads(SCRAPES)
                    .enable_all()
                    .build()
            })?]
        } else {
            let one =
                || Builder::new_current_thread().max_blocking_threads(SCRAPES).enable_all().build();
            (0..count).map(|number| Lane::start(shared, number, one)).collect::<Result<_, _>>()?
        };
        Ok(Self { lanes, next: AtomicUsize::new(0) })
    }

    /// Hands a connection to the thread with the fewest.
    pub(crate) fn hand_over(&self, accepted: Accepted) {
        let count = self.lanes.len();
        let next = self.next.fetch_add(1, Relaxed) % count.max(1);
        let places = (0..count).map(|offset| (next + offset) % count);
        let fewest = places.min_by_key(|place| self.lanes[*place].open.load(Relaxed));
        if let Some(lane) = fewest.and_then(|place| self.lanes.get(place)) {
            lane.open.fetch_add(1, Relaxed);
            // A thread that is gone drops the connection, and that closes it.
            let _ = lane.sender.send(accepted);
        }
    }

    /// Lets every thread finish what it has; how many connections had to be cut off.
    pub(crate) async fn finish(self) -> usize {
        let mut cut = 0;
        let (senders, rest): (Vec<_>, Vec<_>) =
            self.lanes.into_iter().map(|lane| (lane.sender, (lane.done, lane.thread))).unzip();
        drop(senders);
        for (done, thread) in rest {
            cut += done.await.unwrap_or(0);
            let _ = thread.join();
        }
        cut
    }
}

// === impl Lane ===

impl Lane {
    fn start<S: Store + 'static>(
        shared: &Arc<Shared<S>>,
        number: usize,
        runtime: impl FnOnce() -> io::Result<Runtime>,
    ) -> io::Result<Self> {
        let runtime = runtime()?;
        let worker = Arc::new(Worker::new(Arc::clone(shared)));
        let open = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = mpsc::unbounded_channel();
        let (finished, done) = oneshot::channel();
        let counted = Arc::clone(&open);
        let thread =
            std::thread::Builder::new().name(format!("serve-{number}")).spawn(move || {
                let cut = runtime.block_on(serve(worker, receiver, counted));
                // Whatever is still open ends with its runtime; nothing here blocks.
                runtime.shutdown_background();
                let _ = finished.send(cut);
            })?;
        Ok(Self { sender, open, done, thread })
    }
}

/// Serves what comes until no more can come, then waits for what is open; how many are left after
/// the time for that.
async fn serve<S: Store + 'static>(
    worker: Arc<Worker<S>>,
    mut incoming: mpsc::UnboundedReceiver<Accepted>,
    open: Arc<AtomicUsize>,
) -> usize {
    let connections = TaskTracker::new();
    let sweeper = Arc::clone(&worker);
    let sweeper = tokio::spawn(async move { sweeper.watches.sweep().await });
    while let Some(accepted) = incoming.recv().await {
        let counted = Counted(Arc::clone(&open));
        let worker = Arc::clone(&worker);
        // A panic ends this task and with it the one connection.
        connections.spawn(async move {
            connection::serve(worker, accepted).await;
            drop(counted);
        });
    }
    // Also if nobody asked for it, but whoever ran the server let go of it.
    worker.shared.drain();
    worker.watches.wake_all();
    connections.close();
    let drain = worker.shared.settings.timeouts.drain;
    let _ = tokio::time::timeout(drain, connections.wait()).await;
    sweeper.abort();
    connections.len()
}

// === impl Counted ===

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
