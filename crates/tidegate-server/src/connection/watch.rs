//! Slow clients: what a connection is waiting for, since when, and who ends the wait.
//!
//! hyper's own timer for heads was refused: it also runs while a connection is merely idle, knows
//! neither slow bodies nor slow readers, and allocates and enters a timer for every request. Here a
//! connection only notes its phase and the current tick, two stores to memory; one sweeper per thread
//! looks at all of them a few times per timeout and wakes those that are over.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use crate::settings::Timeouts;

/// The connections of one thread, and the ticks their waits are counted in.
#[derive(Debug)]
pub(crate) struct Watches {
    ticks: Arc<Ticks>,
    list: Mutex<Vec<Weak<Watch>>>,
}

/// What one connection is waiting for.
#[derive(Debug)]
pub(crate) struct Watch {
    ticks: Arc<Ticks>,
    /// The phase in the lowest byte, above it the tick at which it began.
    state: AtomicU64,
    /// HTTP/2 only: the requests that are being answered.
    streams: Mutex<Streams>,
    /// The wait is over, and the connection with it.
    over: AtomicBool,
    /// The client may still be sending what nobody will read.
    unread: AtomicBool,
    /// Of the connection's task.
    waker: OnceLock<Waker>,
}

/// The requests in progress on one HTTP/2 connection, and the tick at which each began, oldest first. As
/// many as there may be streams.
#[derive(Debug, Default)]
struct Streams {
    next: u64,
    begun: BTreeMap<u64, u64>,
}

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// The client to send a head; also from the very start.
    Head,
    /// The client to send anything at all.
    Idle,
    /// The client to send the rest of a body.
    Body,
    /// The rest of the body came too late; the handler is about to say so.
    Late,
    /// Our own answer.
    Answer,
    /// The client to accept it.
    Write,
    /// The client to close a connection that we have closed.
    Linger,
    /// HTTP/2: some stream to begin or to end.
    Streams,
}

/// The time of one thread, as counted by its sweeper, and how many ticks each wait may take.
#[derive(Debug)]
struct Ticks {
    now: AtomicU64,
    length: Duration,
    header: u64,
    idle: u64,
    body: u64,
    linger: u64,
}

/// How long a client may take to close, so that it can read our last words.
const LINGER: Duration = Duration::from_secs(1);

/// How many ticks the shortest timeout has.
const RESOLUTION: u32 = 16;

// === impl Watches ===

impl Watches {
    pub(crate) fn new(timeouts: &Timeouts) -> Self {
        let shortest = timeouts.header.min(timeouts.body).min(timeouts.idle).min(LINGER);
        let length = (shortest / RESOLUTION).max(Duration::from_millis(1));
        // One more: the first tick may come at once.
        let count = |wait: Duration| {
            u64::try_from(wait.as_nanos().div_ceil(length.as_nanos())).unwrap_or(u64::MAX - 1) + 1
        };
        let ticks = Ticks {
            now: AtomicU64::new(0),
            length,
            header: count(timeouts.header),
            idle: count(timeouts.idle),
            body: count(timeouts.body),
            linger: count(LINGER),
        };
        Self { ticks: Arc::new(ticks), list: Mutex::new(Vec::new()) }
    }

    /// Watches one more connection, until the watch is dropped.
    pub(crate) fn begin(&self) -> Arc<Watch> {
        let watch = Arc::new(Watch {
            ticks: Arc::clone(&self.ticks),
            state: AtomicU64::new(0),
            streams: Mutex::default(),
            over: AtomicBool::new(false),
            unread: AtomicBool::new(false),
            waker: OnceLock::new(),
        });
        watch.enter(Phase::Head);
        self.list().push(Arc::downgrade(&watch));
        watch
    }

    /// Ends the waits that are over, for ever.
    pub(crate) async fn sweep(&self) {
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
        self.list().retain(|watch| match watch.upgrade() {
            Some(watch) => {
                watch.check(now);
                true
            }
            None => false,
        });
    }

    /// Wakes every connection, so that it sees what has changed around it.
    pub(crate) fn wake_all(&self) {
        self.list().iter().filter_map(Weak::upgrade).for_each(|watch| watch.wake());
    }

    fn list(&self) -> MutexGuard<'_, Vec<Weak<Watch>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Watch ===

impl Watch {
    /// Begins another wait.
    #[inline]
    pub(crate) fn enter(&self, phase: Phase) {
        self.state.store(self.ticks.now.load(Relaxed) << 8 | phase as u64, Relaxed);
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        Phase::of(self.state.load(Relaxed))
    }

    /// Whether the connection has to end, whatever it is doing.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Notes that the client may still be sending what nobody will read.
    pub(crate) fn leave_unread(&self) {
        self.unread.store(true, Relaxed);
    }

    pub(crate) fn is_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    /// Remembers whom to wake. A task's waker stays good for as long as the task.
    #[inline]
    pub(crate) fn wakes(&self, waker: &Waker) {
        self.waker.get_or_init(|| waker.clone());
    }

    /// HTTP/2: a request has come; which it is among those in progress.
    pub(crate) fn stream_begins(&self) -> u64 {
        let mut streams = self.streams();
        let number = streams.next;
        streams.next += 1;
        streams.begun.insert(number, self.ticks.now.load(Relaxed));
        self.enter(Phase::Streams);
        number
    }

    /// HTTP/2: an answer has been sent, or given up.
    pub(crate) fn stream_ends(&self, number: u64) {
        let mut streams = self.streams();
        streams.begun.remove(&number);
        self.enter(if streams.begun.is_empty() { Phase::Idle } else { Phase::Streams });
    }

    /// Whether a request has been in progress for longer than its body and its answer may take
    /// together: new ones on the same connection are no reason to wait for an old one.
    fn has_stuck_stream(&self, now: u64) -> bool {
        let streams = self.streams();
        let oldest = streams.begun.first_key_value();
        oldest.is_some_and(|(_, begun)| now.saturating_sub(*begun) > 2 * self.ticks.body)
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, now: u64) {
        let state = self.state.load(Relaxed);
        let limit = match Phase::of(state) {
            Phase::Head => self.ticks.header,
            Phase::Idle | Phase::Streams => self.ticks.idle,
            // Our own answer is bounded too, so that nobody who is gone keeps a place.
            Phase::Body | Phase::Write | Phase::Answer => self.ticks.body,
            Phase::Late | Phase::Linger => self.ticks.linger,
        };
        let stuck = Phase::of(state) == Phase::Streams && self.has_stuck_stream(now);
        if now.saturating_sub(state >> 8) <= limit && !stuck {
            return;
        }
        if Phase::of(state) == Phase::Body {
            self.enter(Phase::Late);
        } else {
            self.over.store(true, Relaxed);
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }
}

// === impl Phase ===

impl Phase {
    const ALL: [Self; 8] = [
        Self::Head,
        Self::Idle,
        Self::Body,
        Self::Late,
        Self::Answer,
        Self::Write,
        Self::Linger,
        Self::Streams,
    ];

    #[inline]
    fn of(state: u64) -> Self {
        Self::ALL[(state & 7) as usize]
    }
}

#[cfg(test)]
mod tests {
    //! Ticks in place of time.

    use super::*;

    fn watches() -> Watches {
        let seconds = Duration::from_secs;
        Watches::new(&Timeouts {
            header: seconds(1),
            body: seconds(2),
            idle: seconds(4),
            drain: seconds(1),
        })
    }

    /// The ticks after which a wait in `phase` is over.
    fn lasts(phase: Phase) -> Option<u64> {
        let watches = watches();
        let watch = watches.begin();
        watch.enter(phase);
        (1..200).find(|_| {
            watches.tick();
            watch.is_over() || watch.phase() != phase
        })
    }

    #[test]
    fn every_wait_ends() {
        assert_eq!(
            lasts(Phase::Head),
            Some(18),
            "16 ticks, one that may come at once, and the next"
        );
        assert_eq!(lasts(Phase::Body), Some(34));
        assert_eq!(lasts(Phase::Write), Some(34));
        assert_eq!(lasts(Phase::Idle), Some(66));
        assert_eq!(lasts(Phase::Streams), Some(66));
        assert_eq!(lasts(Phase::Late), Some(18));
        assert_eq!(lasts(Phase::Linger), Some(18));
        assert_eq!(lasts(Phase::Answer), Some(34));
    }

    #[test]
    fn a_late_body_may_still_be_answered() {
        let watches = watches();
        let watch = watches.begin();
        watch.enter(Phase::Body);
        (0..34).for_each(|_| watches.tick());
        assert_eq!(watch.phase(), Phase::Late);
        assert!(!watch.is_over());
    }

    #[test]
    fn entering_a_phase_begins_its_wait_anew() {
        let watches = watches();
        let watch = watches.begin();
        for _ in 0..100 {
            watch.enter(Phase::Head);
            watches.tick();
        }
        assert!(!watch.is_over());
    }

    #[test]
    fn t34_new_streams_do_not_keep_a_stuck_one_alive() {
        let watches = watches();
        let watch = watches.begin();
        let _stuck = watch.stream_begins();
        let ended = (1..200).find(|_| {
            let other = watch.stream_begins();
            watch.stream_ends(other);
            watches.tick();
            watch.is_over()
        });
        assert_eq!(ended, Some(67), "twice the time of a body, and the next tick");
    }

    #[test]
    fn connections_that_are_gone_are_forgotten() {
        let watches = watches();
        let kept = watches.begin();
        drop(watches.begin());
        watches.tick();
        assert_eq!(watches.list().len(), 1);
        drop(kept);
    }

    #[test]
    fn the_phase_survives_the_tick_beside_it() {
        let watches = watches();
        watches.ticks.now.store(u64::from(u32::MAX), Relaxed);
        let watch = watches.begin();
        for phase in Phase::ALL {
            watch.enter(phase);
            assert_eq!(watch.phase(), phase);
        }
    }
}
