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

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tidegate_core::{Clock, Span, Timestamp};
use tidegate_engine::SystemClock;

pub(crate) use tally::LoadTally;

/// How long answers may take after the last request.
const GRACE: Duration = Duration::from_secs(5);

/// The load to put on a server.
#[derive(Debug)]
pub(crate) struct BenchLoad {
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
pub(crate) struct LoadProgress {
    load: BenchLoad,
    clock: SystemClock,
    start: Timestamp,
    end: Timestamp,
    /// Requests handed out so far.
    issued: AtomicU64,
    /// One for all connections: a histogram for each would be most of the memory.
    tally: Mutex<LoadTally>,
    /// Set by an interrupt: no more requests begin.
    stopped: AtomicBool,
}

/// A request that a connection has to make.
#[derive(Clone, Copy, Debug)]
struct Turn<'l> {
    request: &'l [u8],
    /// When the request is due, if there is a rate.
    due: Option<Timestamp>,
}

/// A load that is running.
#[derive(Debug)]
pub(crate) struct Running {
    /// The state of the load, to watch while it runs.
    pub(crate) course: Arc<LoadProgress>,
    threads: Vec<thread::JoinHandle<Result<()>>>,
}

// === impl LoadProgress ===

impl LoadProgress {
    /// How many requests have been answered.
    pub(crate) fn answered(&self) -> u64 {
        self.tally().answers()
    }

    fn tally(&self) -> MutexGuard<'_, LoadTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn turn(&self, now: Timestamp) -> Option<Turn<'_>> {
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
        let requests = &self.load.requests;
        let place = usize::try_from(number).unwrap_or_default() % requests.len().max(1);
        let request = requests.get(place).filter(|_| due.is_none_or(|due| due < self.end))?;
        Some(Turn { request, due })
    }
}

// === impl Running ===

impl Running {
    /// Starts a load on threads of its own.
    pub(crate) fn start(load: BenchLoad) -> Result<Self> {
        let clock = SystemClock::new();
        let start = clock.now();
        let end = start.after(load.duration.into());
        let (issued, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
        let tally = Mutex::new(LoadTally::new(start)?);
        let (threads, connections) = (load.threads.max(1), load.connections.max(1));
        let course = Arc::new(LoadProgress { load, clock, start, end, issued, tally, stopped });
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

    /// Whether all requests have been answered or given up.
    pub(crate) fn is_done(&self) -> bool {
        self.threads.iter().all(thread::JoinHandle::is_finished)
    }

    /// Waits for all threads to end, and returns what they counted.
    pub(crate) fn finish(self) -> Result<LoadTally> {
        for thread in self.threads {
            thread.join().map_err(|_| anyhow!("a thread of the load failed"))??;
        }
        Ok(self.course.tally().clone())
    }
}

/// Runs one thread of the load: its share of the connections, side by side.
fn drive(course: &Arc<LoadProgress>, connections: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let connect = |_| runtime.spawn(connection::drive(Arc::clone(course)));
    let tasks: Vec<_> = (0..connections).map(connect).collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.context("a connection failed")?;
        }
        Ok(())
    })
}
