//! Load against a running server: as many requests as it answers, or a steady rate of them.
//!
//! The load shares a machine with what it measures, so it does little: requests are prepared once,
//! connections are kept, answers are looked at only as far as it takes to count them.
//!
//! Latency is from the moment a request was sent until its answer was there. With a rate, the latency of
//! a request that had to wait for its connection counts from when it was due: otherwise a server that
//! stalls is asked less, and looks better for it.

mod answer;
mod connection;
mod tally;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use tidegate_core::{Clock, Span, Timestamp};
use tidegate_engine::SystemClock;
use tokio::task::LocalSet;

pub(crate) use tally::Tally;

/// How long answers may take after the last request.
const GRACE: Duration = Duration::from_secs(5);

/// The load to put on a server.
#[derive(Debug)]
pub(crate) struct Load {
    /// The address of the server.
    pub(crate) server: SocketAddr,
    /// Requests as they are written to the wire, sent in turn; at least one.
    pub(crate) requests: Vec<Vec<u8>>,
    /// The number of connections, each with one request under way at most.
    pub(crate) connections: usize,
    /// The number of threads that the connections are spread over.
    pub(crate) threads: usize,
    /// How long the load lasts.
    pub(crate) duration: Duration,
    /// The number of requests after which the load ends earlier.
    pub(crate) most: Option<u64>,
    /// The requests to send in a second, rather than as many as are answered.
    pub(crate) rate: Option<u64>,
}

/// The state that the threads of a load share.
#[derive(Debug)]
pub(crate) struct Course {
    load: Load,
    clock: SystemClock,
    start: Timestamp,
    end: Timestamp,
    /// Requests handed out so far.
    issued: AtomicU64,
    /// Requests answered so far, for the progress bar.
    answered: AtomicU64,
    /// Set by an interrupt: no more requests begin.
    stopped: AtomicBool,
}

/// A request that a connection has to make.
#[derive(Clone, Copy, Debug)]
struct Turn {
    number: u64,
    /// When the request is due, if there is a rate.
    due: Option<Timestamp>,
}

/// A load that is running.
#[derive(Debug)]
pub(crate) struct Running {
    course: Arc<Course>,
    threads: Vec<thread::JoinHandle<Result<Tally>>>,
}

// === impl Course ===

impl Course {
    /// How many requests have been answered.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// How much time has passed, and how long the load lasts.
    pub(crate) fn passed(&self) -> (Span, Span) {
        (self.clock.now().since(self.start), self.end.since(self.start))
    }

    /// Lets no more requests begin.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// The next request; `None` if there are no more.
    fn turn(&self, now: Timestamp) -> Option<Turn> {
        if now >= self.end || self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        if self.load.most.is_some_and(|most| number >= most) {
            return None;
        }
        let due = self.load.rate.map(|rate| {
            let micros = u128::from(number) * 1_000_000 / u128::from(rate.max(1));
            self.start.after(Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)))
        });
        (due.is_none_or(|due| due < self.end)).then_some(Turn { number, due })
    }

    fn request(&self, turn: Turn) -> &[u8] {
        let count = u64::try_from(self.load.requests.len()).unwrap_or(u64::MAX).max(1);
        let place = usize::try_from(turn.number % count).unwrap_or(0);
        self.load.requests.get(place).map_or(&[], Vec::as_slice)
    }
}

// === impl Running ===

impl Running {
    /// Starts a load on threads of its own.
    pub(crate) fn start(load: Load) -> Result<Self> {
        let clock = SystemClock::new();
        let start = clock.now();
        let end = start.after(load.duration.into());
        let (issued, answered) = (AtomicU64::new(0), AtomicU64::new(0));
        let stopped = AtomicBool::new(false);
        let (threads, connections) = (load.threads.max(1), load.connections.max(1));
        let course = Arc::new(Course { load, clock, start, end, issued, answered, stopped });
        let spawn = |place: usize| {
            // The first threads take the connections that cannot be shared evenly.
            let share = connections / threads + usize::from(place < connections % threads);
            let course = Arc::clone(&course);
            thread::Builder::new()
                .name(format!("load-{place}"))
                .spawn(move || drive(&course, share))
        };
        let threads = (0..threads).map(spawn).collect::<Result<_, _>>()?;
        Ok(Self { course, threads })
    }

    /// The state of the load, to watch while it runs.
    pub(crate) fn course(&self) -> &Course {
        &self.course
    }

    /// Whether all requests have been answered or given up.
    pub(crate) fn is_done(&self) -> bool {
        self.threads.iter().all(thread::JoinHandle::is_finished)
    }

    /// Waits for all threads to end, and adds up what they counted.
    pub(crate) fn finish(self) -> Result<Tally> {
        let mut total = Tally::new(self.course.start)?;
        for thread in self.threads {
            let part = thread.join().map_err(|_| anyhow!("a thread of the load failed"))??;
            total.add(&part)?;
        }
        Ok(total)
    }
}

/// Runs one thread of the load: its share of the connections, side by side.
fn drive(course: &Arc<Course>, connections: usize) -> Result<Tally> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    // One tally for the thread: a histogram for each connection would be most of the memory.
    let tally = Rc::new(RefCell::new(Tally::new(course.start)?));
    let connect = |_| local.spawn_local(connection::drive(Arc::clone(course), Rc::clone(&tally)));
    let tasks: Vec<_> = (0..connections).map(connect).collect();
    runtime.block_on(local.run_until(async {
        for task in tasks {
            task.await.map_err(|error| anyhow!("a connection failed: {error}"))?;
        }
        Ok::<_, anyhow::Error>(())
    }))?;
    Ok(tally.borrow().clone())
}
