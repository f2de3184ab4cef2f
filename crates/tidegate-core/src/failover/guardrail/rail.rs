//! One cap, exactly, for every key.
//!
//! What was admitted is kept in one queue, oldest first, in which the entries of a key are linked.
//! So a look is a step or two, nothing is ever scanned, and an entry goes when its time has come and
//! for no other reason.
//!
//! Memory is bounded by the number of keys. A key that finds no place is counted in a cell that it
//! shares with some others: that may refuse too much and never too little, and it changes nothing for
//! keys that have their places.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use crate::failover::contract::Cap;
use crate::time::{Span, Timestamp};

/// The keys that are counted by themselves, for each cap of each policy.
pub(super) const MOST_KEYS: usize = 16_384;
/// The cells that the others share.
const CELLS: u64 = 1_024;
/// How many old entries are put away at most by one request.
const SWEEP: usize = 32;

/// The admitted requests of the last while, by key.
#[derive(Clone, Debug)]
pub(super) struct Rail {
    cap: Cap,
    log: VecDeque<Taken>,
    /// The number of the first entry in the log; each has the next one.
    first: u64,
    keys: HashMap<u64, Run, FixedState>,
    cells: HashMap<u64, VecDeque<Timestamp>, FixedState>,
    most_keys: usize,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    at: Timestamp,
    key: u64,
    /// The number of the next entry of the same key.
    next: u64,
}

/// The entries of one key.
#[derive(Clone, Copy, Debug)]
struct Run {
    count: u64,
    first: u64,
    last: u64,
    /// Whether entries of this key may be in its cell.
    after_cell: bool,
}

/// What a key has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) remaining: u64,
    /// Until there is room for one.
    pub(super) wait: Span,
    /// Until nothing counted so far counts any more.
    pub(super) reset: Span,
}

// === impl Rail ===

impl Rail {
    pub(super) fn new(cap: Cap, most_keys: usize) -> Self {
        let (keys, cells) = (HashMap::default(), HashMap::default());
        Self { cap, log: VecDeque::new(), first: 0, keys, cells, most_keys }
    }

    pub(super) const fn cap(&self) -> Cap {
        self.cap
    }

    /// What a key has left. Old entries are put away meanwhile, which changes no answer.
    pub(super) fn left(&mut self, key: u64, now: Timestamp) -> Left {
        self.sweep(now, SWEEP);
        self.trim(key, now);
        let run = self.keys.get(&key).copied();
        let in_cell = match run {
            Some(run) if !run.after_cell => 0,
            _ => self.in_cell(key, now),
        };
        let own = run.map_or(0, |run| run.count);
        let remaining = self.cap.count.saturating_sub(own + in_cell);
        let (wait, reset) = self.waits(key, run, own + in_cell, now);
        Left { remaining, wait, reset }
    }

    /// Counts an admitted request.
    pub(super) fn take(&mut self, key: u64, now: Timestamp) {
        let number = self.first + as_u64(self.log.len());
        let has_place = self.keys.len() < self.most_keys;
        match self.keys.get_mut(&key) {
            Some(run) => {
                let last = run.last;
                (run.count, run.last) = (run.count + 1, number);
                if let Some(before) = entry(&mut self.log, self.first, last) {
                    before.next = number;
                }
            }
            None if has_place => {
                let after_cell = self.in_cell(key, now) > 0;
                let run = Run { count: 1, first: number, last: number, after_cell };
                self.keys.insert(key, run);
            }
            None => {
                self.cells.entry(key % CELLS).or_default().push_back(now);
                return;
            }
        }
        self.log.push_back(Taken { at: now, key, next: number });
    }

    /// Puts old entries away, so many at most.
    pub(super) fn sweep(&mut self, now: Timestamp, most: usize) {
        for _ in 0..most {
            match self.log.front() {
                Some(oldest) if self.is_over(oldest.at, now) => {
                    let key = oldest.key;
                    self.trim(key, now);
                    self.log.pop_front();
                    self.first += 1;
                }
                _ => break,
            }
        }
        if self.log.is_empty() && self.log.capacity() > 2 * SWEEP {
            self.log.shrink_to_fit();
            self.keys.shrink_to_fit();
            self.cells.retain(|_, cell| cell.back().is_some_and(|at| now < at.after(self.cap.per)));
        }
    }

    /// Whether nothing that was counted counts any more.
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        let over = |at: Option<Timestamp>| at.is_none_or(|at| self.is_over(at, now));
        over(self.log.back().map(|taken| taken.at))
            && self.cells.values().all(|cell| over(cell.back().copied()))
    }

    /// The keys that have places and the entries of the log.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.keys.len(), self.log.len())
    }

    /// Takes the old entries out of a key's run. Their places in the log go when they are the oldest.
    fn trim(&mut self, key: u64, now: Timestamp) {
        let Some(run) = self.keys.get_mut(&key) else { return };
        while run.count > 0
            && let Some(taken) = entry(&mut self.log, self.first, run.first)
            && now >= taken.at.after(self.cap.per)
        {
            (run.count, run.first) = (run.count - 1, taken.next);
        }
        if run.count == 0 {
            self.keys.remove(&key);
        }
    }

    fn in_cell(&mut self, key: u64, now: Timestamp) -> u64 {
        let per = self.cap.per;
        let Some(cell) = self.cells.get_mut(&(key % CELLS)) else { return 0 };
        while cell.front().is_some_and(|at| now >= at.after(per)) {
            cell.pop_front();
        }
        as_u64(cell.len())
    }

    /// How long until there is room, and until nothing counts any more.
    fn waits(&self, key: u64, run: Option<Run>, counted: u64, now: Timestamp) -> (Span, Span) {
        if counted == 0 {
            return (Span::ZERO, Span::ZERO);
        }
        let of = |number: u64| self.at(number).map(|taken| taken.at);
        let own = run.and_then(|run| Some((of(run.first)?, of(run.last)?)));
        let over = counted.saturating_sub(self.cap.count.saturating_sub(1));
        let ends = |at: Timestamp| at.after(self.cap.per).since(now);
        match (run, own) {
            (Some(run), Some((first, last))) if run.count == counted => {
                let wait = match over {
                    0 => Span::ZERO,
                    // By then nothing of its own is left, and it is one of those who share a cell.
                    _ if first == last => ends(first).max(self.cell_wait(key, ends)),
                    _ => ends(first),
                };
                (wait, ends(last))
            }
            _ => self.shared_waits(key, run, over, ends),
        }
    }

    /// How long until there is room in a key's cell.
    fn cell_wait(&self, key: u64, ends: impl Fn(Timestamp) -> Span) -> Span {
        let count = usize::try_from(self.cap.count).unwrap_or(usize::MAX);
        let freeing = self.cells.get(&(key % CELLS)).and_then(|cell| {
            let place = cell.len().checked_sub(count)?;
            cell.get(place)
        });
        freeing.map_or(Span::ZERO, |at| ends(*at))
    }

    /// The same where a cell is involved, which is rare enough to sort.
    fn shared_waits(
        &self,
        key: u64,
        run: Option<Run>,
        over: u64,
        ends: impl Fn(Timestamp) -> Span,
    ) -> (Span, Span) {
        let mut all: Vec<Timestamp> = self
            .cells
            .get(&(key % CELLS))
            .map_or_else(Vec::new, |cell| cell.iter().copied().collect());
        let mut next = run.map(|run| (run.first, run.count));
        while let Some((number, left)) = next.filter(|(_, left)| *left > 0)
            && let Some(taken) = self.at(number)
        {
            all.push(taken.at);
            next = Some((taken.next, left - 1));
        }
        all.sort_unstable();
        let freeing = usize::try_from(over).ok().and_then(|over| over.checked_sub(1));
        let wait = freeing.and_then(|place| all.get(place)).map_or(Span::ZERO, |at| ends(*at));
        (wait, all.last().map_or(Span::ZERO, |at| ends(*at)))
    }

    fn at(&self, number: u64) -> Option<&Taken> {
        usize::try_from(number.checked_sub(self.first)?).ok().and_then(|place| self.log.get(place))
    }

    fn is_over(&self, at: Timestamp, now: Timestamp) -> bool {
        now >= at.after(self.cap.per)
    }
}

fn entry(log: &mut VecDeque<Taken>, first: u64, number: u64) -> Option<&mut Taken> {
    usize::try_from(number.checked_sub(first)?).ok().and_then(|place| log.get_mut(place))
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
