//! Which runtime serves which connection.
//!
//! A listener with [threads](super::Bounds::threads) has one runtime for each: a request is read, answered
//! and written by the thread that its connection was handed to, and no task ever moves. `SO_REUSEPORT` was
//! refused: the kernel deals connections out by a hash, and with the few that a sidecar or a proxy keeps
//! open it often gives all to one thread. Here one task accepts and hands each to the thread with the
//! fewest.
//!
//! Without threads the connections are tasks of the runtime that serves, as a library's should be: the
//! resources of a host belong to its own runtime.

use core::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;

use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::connection::{self, Accepted, Common};
use super::host::Host;
use super::watch::Watches;

/// A connection on its way to the runtime that will serve it, taken out of the one that accepted it.
pub(super) type Handed = Accepted<std::net::TcpStream>;

/// The runtimes that serve connections.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// The lane at which the next search begins, so that lanes with equally many connections take turns.
    next: AtomicUsize,
}

/// One runtime: a thread of its own, or a task of the runtime that serves.
struct Lane {
    /// Not bounded itself: it never holds more connections than are admitted.
    sender: mpsc::UnboundedSender<(Handed, Arc<()>)>,
    /// Counts the connections of the lane: each has a clone.
    open: Arc<()>,
    /// Receives how many connections the lane had to cut off in the end.
    done: oneshot::Receiver<usize>,
    thread: Option<JoinHandle<()>>,
    /// The task of a lane without a thread, which ends when this is dropped.
    task: JoinSet<()>,
}

/// The parts that a lane works with.
struct Work<H> {
    common: Common,
    host: H,
    incoming: mpsc::UnboundedReceiver<(Handed, Arc<()>)>,
}

/// The threads of each runtime for blocking work: pages that are rendered off the thread that serves.
const BLOCKING: usize = 1;

// === impl Lanes ===

impl Lanes {
    pub(super) fn start<H: Host>(common: &Common, host: &H) -> io::Result<Self> {
        let lane = |number| Lane::start(common, host.clone(), number);
        let lanes = match common.bounds.threads {
            None => vec![lane(None)?],
            Some(count) => {
                (0..count.get()).map(|number| lane(Some(number))).collect::<Result<_, _>>()?
            }
        };
        Ok(Self { lanes, next: AtomicUsize::new(0) })
    }

    /// Hands a connection to the runtime with the fewest connections.
    pub(super) fn hand_over(&self, accepted: Handed) {
        let count = self.lanes.len();
        let next = self.next.fetch_add(1, Relaxed) % count.max(1);
        let places = (0..count).map(|offset| (next + offset) % count);
        let fewest = places.min_by_key(|place| Arc::strong_count(&self.lanes[*place].open));
        if let Some(lane) = fewest.and_then(|place| self.lanes.get(place)) {
            // A thread that is gone drops the connection, and that closes it.
            let _ = lane.sender.send((accepted, Arc::clone(&lane.open)));
        }
    }

    /// Lets every runtime finish its connections, and returns how many had to be cut off.
    pub(super) async fn finish(self) -> usize {
        let (senders, rest): (Vec<_>, Vec<_>) =
            self.lanes.into_iter().map(|it| (it.sender, (it.done, it.thread, it.task))).unzip();
        // Without senders nothing more can come, and so the lanes end.
        drop(senders);
        let mut cut = 0;
        for (done, thread, _task) in rest {
            cut += done.await.unwrap_or(0);
            let _ = thread.map(JoinHandle::join);
        }
        cut
    }
}

// === impl Lane ===

impl Lane {
    fn start<H: Host>(common: &Common, host: H, thread: Option<usize>) -> io::Result<Self> {
        let (sender, incoming) = mpsc::unbounded_channel();
        let (finished, done) = oneshot::channel();
        let work = Work { common: common.clone(), host, incoming };
        let mut task = JoinSet::new();
        let thread = match thread {
            None => {
                task.spawn(async move {
                    let _ = finished.send(work.run().await);
                });
                None
            }
            Some(number) => {
                let mut builder = Builder::new_current_thread();
                let runtime = builder.max_blocking_threads(BLOCKING).enable_all().build()?;
                let thread = std::thread::Builder::new().name(format!("serve-{number}"));
                Some(thread.spawn(move || {
                    let cut = runtime.block_on(work.run());
                    // Whatever is still open ends with its runtime; nothing here blocks.
                    runtime.shutdown_background();
                    let _ = finished.send(cut);
                })?)
            }
        };
        Ok(Self { sender, open: Arc::new(()), done, thread, task })
    }
}

// === impl Work ===

impl<H: Host> Work<H> {
    /// Serves connections until no more can come, then waits for those that are open. Returns how many
    /// are left after the time for that.
    async fn run(mut self) -> usize {
        let watches = Arc::new(Watches::new(&self.common.bounds));
        // One task for each connection.
        let mut connections = JoinSet::new();
        let sweeper = Arc::clone(&watches);
        let mut sweeping = JoinSet::new();
        sweeping.spawn(async move { sweeper.sweep().await });
        loop {
            tokio::select! {
                handed = self.incoming.recv() => match handed {
                    Some(handed) => drop(connections.spawn(self.connection(handed, &watches))),
                    None => break,
                },
                // A panic ends its own connection, and nothing else.
                Some(_) = connections.join_next() => {}
            }
        }
        watches.leave_all();
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(self.common.bounds.drain, all).await;
        connections.len()
    }

    fn connection(
        &self,
        (handed, counted): (Handed, Arc<()>),
        watches: &Watches,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (common, host, watch) = (self.common.clone(), self.host.clone(), watches.begin());
        async move {
            let Accepted { stream, peer, local, permit } = handed;
            permit.serve(&watch);
            // Registers the socket with the reactor of this runtime.
            let Ok(stream) = TcpStream::from_std(stream) else { return };
            let accepted = Accepted { stream, peer, local, permit };
            connection::serve(&common, host, accepted, &watch).await;
            drop(counted);
        }
    }
}
