//! Slow clients: what a connection waits for, since when, and who ends the wait.
//!
//! hyper's own timer for heads was refused: it also runs while a connection is merely idle, knows neither
//! slow readers nor HTTP/2, and enters a timer for every request. Here a connection notes the current tick
//! when a wait begins, one store to memory; one sweeper per runtime looks at all connections a few times
//! per timeout and wakes those whose wait is over.

use core::task::Waker;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::admission::lock;
use super::bounds::Bounds;
use super::memory::Share;

/// The connections of one runtime, and the ticks that their waits are counted in.
#[derive(Debug)]
pub(super) struct Watches {
    ticks: Arc<Ticks>,
    /// The watched connections. A watch that nobody else holds is removed: its connection is gone.
    list: Mutex<Vec<Arc<Watch>>>,
}

/// The waits of one connection.
#[derive(Debug)]
pub(super) struct Watch {
    ticks: Arc<Ticks>,
    /// For each [`Wait`] the tick at which it began; 0 while there is none.
    since: [AtomicU64; WAITS],
    /// Requests whose responses have not been handed over whole.
    open: AtomicUsize,
    /// Whether an answer is on its way to the socket.
    answering: AtomicBool,
    /// Whether a part of the next head has come while a request is open.
    next_head: AtomicBool,
    /// Whether the connection should end as soon as nothing is under way.
    leaving: AtomicBool,
    /// Whether nothing more is read from the client.
    deaf: AtomicBool,
    /// Whether all bytes that were read belong to requests that came whole.
    between: AtomicBool,
    /// Whether the connection has been idle for so long that it should free its buffers.
    parking: AtomicBool,
    /// The task that serves the connection.
    pub(super) task: Task,
    /// Whether there ever was a stream: HTTP/1 has none, and then streams need not be checked.
    has_streams: AtomicBool,
    streams: Mutex<Streams>,
    /// The memory of the connection, once its protocol is known.
    share: OnceLock<Arc<Share>>,
}

/// Something that a connection waits for its client to do. Several waits may be going on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// The client has to send the rest of a head, or anything at all on a new connection.
    Head,
    /// The client has to send another request.
    Idle,
    /// The client has to take what is written.
    Stuck,
    /// The client has to close a connection that we have closed.
    Linger,
}

/// The open streams of one HTTP/2 connection: at most as many as were advertised.
#[derive(Debug, Default)]
struct Streams {
    next: u64,
    open: HashMap<u64, Arc<StreamWatch>>,
    /// The stream that was opened last, until its task is spawned.
    opened: Option<Arc<StreamWatch>>,
}

/// The one wait of an HTTP/2 stream: for its client to open the window.
#[derive(Debug, Default)]
pub(super) struct StreamWatch {
    /// The tick at which a piece of the answer was handed over; 0 while none is waiting.
    stuck: AtomicU64,
    /// The task that serves the stream.
    pub(super) task: Task,
}

/// The task of a connection or a stream.
#[derive(Debug, Default)]
pub(super) struct Task {
    /// Whether the task has to end at once.
    over: AtomicBool,
    waker: OnceLock<Waker>,
}

/// A request under way; it is over when this is dropped.
#[derive(Debug)]
pub(super) struct Open {
    watch: Arc<Watch>,
    /// Its stream, if it came over HTTP/2.
    stream: Option<(u64, Arc<StreamWatch>)>,
}

/// The time of one runtime, counted by its sweeper, and how many ticks each wait may take.
#[derive(Debug)]
struct Ticks {
    /// The current tick. It begins with 1, because 0 stands for no wait.
    now: AtomicU64,
    length: Duration,
    most: [u64; WAITS],
    /// How many ticks a connection may be idle with its buffers.
    park: u64,
}

/// The number of [`Wait`]s.
const WAITS: usize = 4;

/// How long a connection may be idle with its buffers, if the time to be idle is at least four times that.
const PARK: Duration = Duration::from_secs(1);

/// How long a client may take to close a connection, so that it can read the last answer.
const LINGER: Duration = Duration::from_secs(1);

/// The least number of ticks in the shortest timeout.
const RESOLUTION: u32 = 16;

/// The longest tick. A shorter one would make the sweeper, which looks at every connection, show in the
/// slowest answers of a thread with thousands of them.
const LONGEST_TICK: Duration = Duration::from_millis(250);

// === impl Watches ===

impl Watches {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let waits = [bounds.header_timeout, bounds.idle_timeout, bounds.write_timeout, LINGER];
        let shortest = waits[..3].iter().min().copied().unwrap_or(LINGER);
        let length = (shortest / RESOLUTION).clamp(Duration::from_millis(1), LONGEST_TICK);
        // One more: the first tick may come at once.
        let count = |wait: Duration| {
            u64::try_from(wait.as_nanos().div_ceil(length.as_nanos())).unwrap_or(u64::MAX - 1) + 1
        };
        let park = count(PARK.min(bounds.idle_timeout / 4));
        let ticks = Ticks { now: AtomicU64::new(1), length, most: waits.map(count), park };
        Self { ticks: Arc::new(ticks), list: Mutex::default() }
    }

    /// Watches one more connection, until the watch is dropped. It waits for a first head.
    pub(super) fn begin(&self) -> Arc<Watch> {
        let watch = Arc::new(Watch {
            ticks: Arc::clone(&self.ticks),
            since: Default::default(),
            open: AtomicUsize::new(0),
            answering: AtomicBool::new(false),
            next_head: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            between: AtomicBool::new(false),
            parking: AtomicBool::new(false),
            task: Task::default(),
            has_streams: AtomicBool::new(false),
            streams: Mutex::default(),
            share: OnceLock::new(),
        });
        watch.begin(Wait::Head);
        lock(&self.list).push(Arc::clone(&watch));
        watch
    }

    /// Ends the waits that have taken too long, at every tick, for ever.
    pub(super) async fn sweep(&self) {
        #[expect(clippy::disallowed_methods, reason = "clients are given real time")]
        let mut interval = tokio::time::interval(self.ticks.length);
        // A thread that was busy makes waits longer, never shorter.
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            self.tick();
        }
    }

    fn tick(&self) {
        let now = self.ticks.now.fetch_add(1, Relaxed) + 1;
        lock(&self.list).retain(|watch| {
            watch.check(now);
            Arc::strong_count(watch) > 1
        });
    }

    /// Lets every connection end as soon as nothing is under way on it.
    pub(super) fn leave_all(&self) {
        lock(&self.list).iter().for_each(|watch| watch.leave());
    }
}

// === impl Watch ===

impl Watch {
    /// Begins a wait, unless it is going on already.
    #[inline]
    pub(super) fn begin(&self, wait: Wait) {
        let since = &self.since[wait as usize];
        if since.load(Relaxed) == 0 {
            since.store(self.ticks.now.load(Relaxed), Relaxed);
        }
    }

    /// Ends a wait.
    #[inline]
    pub(super) fn end(&self, wait: Wait) {
        self.since[wait as usize].store(0, Relaxed);
    }

    /// Notes in which share the connection counts its memory.
    pub(super) fn counts_in(&self, share: &Arc<Share>) {
        self.share.get_or_init(|| Arc::clone(share));
    }

    /// Lets the connection end as soon as nothing is under way.
    pub(super) fn leave(&self) {
        if !self.leaving.swap(true, Relaxed) {
            self.task.wake();
        }
    }

    /// Stops reading from a client of HTTP/2, and ends its connection once it had the time to read what it
    /// is told.
    pub(super) fn turn_deaf(&self) {
        self.deaf.store(true, Relaxed);
        self.begin(Wait::Linger);
    }

    /// Whether nothing more is read from the client.
    pub(super) fn is_deaf(&self) -> bool {
        self.deaf.load(Relaxed)
    }

    /// Whether the connection should end as soon as nothing is under way.
    #[inline]
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Relaxed)
    }

    /// Whether the connection should free its buffers now: it has been idle for a while, and nothing of
    /// a request is in them.
    #[inline]
    pub(super) fn is_parking(&self) -> bool {
        if !self.parking.load(Relaxed) {
            return false;
        }
        self.parking.store(false, Relaxed);
        let waits = |wait: Wait| self.since[wait as usize].load(Relaxed) != 0;
        let busy = waits(Wait::Head) || waits(Wait::Stuck) || waits(Wait::Linger);
        self.between.load(Relaxed) && !self.is_answering() && waits(Wait::Idle) && !busy
    }

    /// Notes whether all bytes that were read belong to requests that came whole.
    #[inline]
    pub(super) fn between_requests(&self, between: bool) {
        self.between.store(between, Relaxed);
    }

    /// Notes whether the socket has read a part of a head and not the rest. Behind a request under way,
    /// the time for the head begins when that request is answered.
    #[inline]
    pub(super) fn within_head(&self, within: bool) {
        let open = self.open.load(Relaxed) > 0;
        self.next_head.store(within && open, Relaxed);
        match within {
            true if open => {}
            true => self.begin(Wait::Head),
            false => self.end(Wait::Head),
        }
    }

    /// Notes that a request of HTTP/1 begins. If a part of the next head was read together with it, the
    /// time for that head begins when this request is answered.
    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.opens();
        if self.since[Wait::Head as usize].load(Relaxed) != 0 {
            self.end(Wait::Head);
            self.next_head.store(true, Relaxed);
        }
        Open { watch: Arc::clone(self), stream: None }
    }

    /// Notes that a request of HTTP/2 begins. Its task is spawned right afterwards, and takes
    /// [its watch](Self::opened) along.
    pub(super) fn open_stream(self: &Arc<Self>) -> Open {
        self.opens();
        self.has_streams.store(true, Relaxed);
        let stream = Arc::new(StreamWatch::default());
        let mut streams = lock(&self.streams);
        let number = streams.next;
        streams.next += 1;
        streams.open.insert(number, Arc::clone(&stream));
        streams.opened = Some(Arc::clone(&stream));
        Open { watch: Arc::clone(self), stream: Some((number, stream)) }
    }

    /// How many requests of HTTP/2 have begun.
    pub(super) fn streams_so_far(&self) -> u64 {
        lock(&self.streams).next
    }

    /// The watch of the stream that was opened last; it can be taken once.
    pub(super) fn opened(&self) -> Option<Arc<StreamWatch>> {
        lock(&self.streams).opened.take()
    }

    #[inline]
    fn opens(&self) {
        self.open.fetch_add(1, Relaxed);
        self.answering.store(true, Relaxed);
        self.end(Wait::Idle);
    }

    /// Whether a request is under way.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Relaxed) > 0
    }

    /// Notes that everything that was written is with the operating system.
    #[inline]
    pub(super) fn flushed(&self) {
        self.end(Wait::Stuck);
        if self.open.load(Relaxed) == 0 {
            self.answering.store(false, Relaxed);
        }
    }

    /// Whether an answer of the service is being written, and not one that hyper made itself.
    #[inline]
    pub(super) fn is_answering(&self) -> bool {
        self.answering.load(Relaxed)
    }

    fn check(&self, now: u64) {
        let has_lasted = |wait: Wait, more: u64| {
            let since = self.since[wait as usize].load(Relaxed);
            let most = self.ticks.most[wait as usize].saturating_add(more);
            since != 0 && now.saturating_sub(since) > most
        };
        let idle = self.since[Wait::Idle as usize].load(Relaxed);
        let parks = idle != 0 && now.saturating_sub(idle) == self.ticks.park;
        // An idle client is told to leave first: a request could be on its way.
        let told = self.ticks.most[Wait::Head as usize];
        let over = has_lasted(Wait::Head, 0)
            || has_lasted(Wait::Stuck, 0)
            || has_lasted(Wait::Linger, 0)
            || has_lasted(Wait::Idle, told);
        if over {
            self.task.end();
        } else if has_lasted(Wait::Idle, 0) {
            self.leave();
        } else if parks {
            self.parking.store(true, Relaxed);
            self.task.wake();
        }
        if !self.has_streams.load(Relaxed) {
            return;
        }
        let most = self.ticks.most[Wait::Stuck as usize];
        for stream in lock(&self.streams).open.values() {
            let stuck = stream.stuck.load(Relaxed);
            if stuck != 0 && now.saturating_sub(stuck) > most {
                stream.task.end();
            }
        }
    }
}

// === impl Task ===

impl Task {
    /// Remembers the waker of the task, which stays good for as long as the task.
    #[inline]
    pub(super) fn wakes(&self, waker: &Waker) {
        self.waker.get_or_init(|| waker.clone());
    }

    /// Whether the task has to end, whatever it is doing.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Ends the task, whatever it is doing.
    pub(super) fn end(&self) {
        self.over.store(true, Relaxed);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }
}

// === impl Open ===

impl Open {
    /// Notes that a piece of the answer is handed over. With HTTP/2 the next piece is asked for when the
    /// client has room for it.
    #[inline]
    pub(super) fn hands_over(&self) {
        if let Some((_, stream)) = &self.stream {
            stream.stuck.store(self.watch.ticks.now.load(Relaxed), Relaxed);
        }
    }

    /// The memory of the connection.
    pub(super) fn share(&self) -> Option<&Arc<Share>> {
        self.watch.share.get()
    }

    /// Notes that the next piece of the answer is asked for.
    #[inline]
    pub(super) fn is_asked(&self) {
        if let Some((_, stream)) = &self.stream {
            stream.stuck.store(0, Relaxed);
        }
    }
}

impl Drop for Open {
    #[inline]
    fn drop(&mut self) {
        if let Some((number, _)) = self.stream.take() {
            lock(&self.watch.streams).open.remove(&number);
        }
        if self.watch.open.fetch_sub(1, Relaxed) == 1 {
            self.watch.begin(Wait::Idle);
            if self.watch.next_head.swap(false, Relaxed) {
                self.watch.begin(Wait::Head);
            }
        }
    }
}

#[cfg(test)]
mod tests;
