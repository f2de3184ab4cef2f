//! One local cap, counted exactly for every key.
//!
//! Admitted requests are kept in one queue, oldest first, in which the entries of a key are linked. So
//! a look takes a step or two, nothing is ever scanned, and an entry goes when its time has come and
//! for no other reason.
//!
//! Memory is bounded by the number of keys. A key that finds no place is counted in a cell that it
//! shares with some other keys, and in a cell of its network. That may refuse too much but never too
//! little, and it changes nothing for keys that have a place.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::keyed::{CellOf, Whose};
use super::overflowed::Overflowed;
use super::shares::{CallerNetwork, Shares};
use crate::failover::contract::Cap;
use crate::failover::failsafe::Guarded;
use crate::time::{Span, Timestamp};

/// The most keys that are counted by themselves, for each cap of each policy.
pub(super) const MOST_KEYS: usize = 16_384;
/// The most old entries that one request puts away.
const SWEEP: usize = 32;

/// One cap, with the admitted requests that may still count, by key.
#[derive(Clone, Debug)]
pub(super) struct Rail {
    pub(super) cap: Cap,
    log: VecDeque<Taken>,
    /// The number of the first entry in the log; every entry has the number after that of the one
    /// before it.
    first: u64,
    keys: HashMap<u64, Run, FixedState>,
    cells: HashMap<CellOf, VecDeque<Timestamp>, FixedState>,
    overflowed: Overflowed,
    shares: Shares,
    most_keys: usize,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    at: Timestamp,
    key: u64,
    /// The number of the next entry of the same key.
    next: u64,
}

/// The entries of one key in the log.
#[derive(Clone, Copy, Debug)]
struct Run {
    count: u64,
    first: u64,
    last: u64,
    /// Whether older entries of this key may be in its cell.
    after_cell: bool,
    /// The network whose share this key's place is from.
    network: CallerNetwork,
}

// === impl Rail ===

impl Rail {
    pub(super) fn new(cap: Cap, most_keys: usize) -> Self {
        let (keys, cells) = (HashMap::default(), HashMap::default());
        let (log, overflowed) = (VecDeque::new(), Overflowed::default());
        let shares = Shares::default();
        Self { cap, log, first: 0, keys, cells, overflowed, shares, most_keys }
    }

    /// What a key has left. Old entries are put away meanwhile, which changes no answer.
    pub(super) fn left(&mut self, whose: Whose, now: Timestamp) -> Guarded {
        self.sweep(now, SWEEP);
        self.trim(whose.key, now);
        let run = self.keys.get(&whose.key).copied();
        let has_place = run.is_some() || self.shares.grants(whose.network, self.most_keys);
        let in_cell = match run {
            Some(run) if !run.after_cell => 0,
            None if has_place && !self.overflowed.has(whose.key, now) => 0,
            _ => self.in_cell(whose.cell(), now),
        };
        let own = run.map_or(0, |run| run.count);
        let remaining = self.cap.count.saturating_sub(own + in_cell);
        let (wait, reset) = self.waits(whose, run, own + in_cell, now);
        let left = Guarded { cap: Some(self.cap), remaining, wait, reset };
        let Some(cell) = whose.network_cell().filter(|_| !has_place) else { return left };
        let beside = self.left_in(cell, now);
        Guarded {
            remaining: left.remaining.min(beside.remaining),
            wait: left.wait.max(beside.wait),
            reset: left.reset.max(beside.reset),
            ..left
        }
    }

    /// Counts an admitted request.
    pub(super) fn take(&mut self, whose: Whose, now: Timestamp) {
        let Whose { key, network, .. } = whose;
        let number = self.first + as_u64(self.log.len());
        match self.keys.get_mut(&key) {
            Some(run) => {
                let last = run.last;
                (run.count, run.last) = (run.count + 1, number);
                if let Some(before) = entry(&mut self.log, self.first, last) {
                    before.next = number;
                }
            }
            None if self.shares.grants(network, self.most_keys) => {
                let after_cell = self.overflowed.has(key, now);
                let run = Run { count: 1, first: number, last: number, after_cell, network };
                self.keys.insert(key, run);
                self.shares.give(network);
            }
            None => {
                for cell in [Some(whose.cell()), whose.network_cell()].into_iter().flatten() {
                    self.cells.entry(cell).or_default().push_back(now);
                }
                self.overflowed.add(key, now.after(self.cap.per), now);
                return;
            }
        }
        self.log.push_back(Taken { at: now, key, next: number });
    }

    /// Puts old entries away, at most `most` of them.
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
            self.shares.shrink();
            self.cells.retain(|_, cell| cell.back().is_some_and(|at| now < at.after(self.cap.per)));
        }
    }

    /// Puts old entries away and forgets keys that were counted in cells, at most `most` of each.
    pub(super) fn tidy(&mut self, now: Timestamp, most: usize) {
        self.sweep(now, most);
        self.overflowed.sweep(now, most);
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

    /// The keys that are known to have been counted in cells.
    #[cfg(test)]
    pub(super) fn overflowed(&self) -> usize {
        self.overflowed.remembered()
    }

    /// Whether a key is counted by itself and nowhere else.
    #[cfg(test)]
    pub(super) fn is_alone(&self, key: u64) -> bool {
        self.keys.get(&key).is_some_and(|run| !run.after_cell)
    }

    /// Takes the old entries out of a key's run. They leave the log when they are the oldest in it.
    fn trim(&mut self, key: u64, now: Timestamp) {
        let Some(run) = self.keys.get_mut(&key) else { return };
        while run.count > 0
            && let Some(taken) = entry(&mut self.log, self.first, run.first)
            && now >= taken.at.after(self.cap.per)
        {
            (run.count, run.first) = (run.count - 1, taken.next);
        }
        if run.count == 0 {
            self.shares.take_back(run.network);
            self.keys.remove(&key);
        }
    }

    /// What a cell has left.
    fn left_in(&mut self, cell: CellOf, now: Timestamp) -> Guarded {
        let remaining = self.cap.count.saturating_sub(self.in_cell(cell, now));
        let ends = |at: Timestamp| at.after(self.cap.per).since(now);
        let newest = self.cells.get(&cell).and_then(|cell| cell.back());
        let reset = newest.map_or(Span::ZERO, |at| ends(*at));
        Guarded { cap: Some(self.cap), remaining, wait: self.cell_wait(cell, ends), reset }
    }

    fn in_cell(&mut self, cell: CellOf, now: Timestamp) -> u64 {
        let per = self.cap.per;
        let Some(cell) = self.cells.get_mut(&cell) else { return 0 };
        while cell.front().is_some_and(|at| now >= at.after(per)) {
            cell.pop_front();
        }
        as_u64(cell.len())
    }

    /// How long until there is room for a request, and until nothing counts any more.
    fn waits(&self, whose: Whose, run: Option<Run>, counted: u64, now: Timestamp) -> (Span, Span) {
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
                    // By then the key has no entry of its own left, and is one of those that share a
                    // cell.
                    _ if first == last => {
                        let then = first.after(self.cap.per);
                        ends(first).max(self.wait_without(whose, then, ends))
                    }
                    _ => ends(first),
                };
                (wait, ends(last))
            }
            _ => self.shared_waits(whose.cell(), run, over, ends),
        }
    }

    /// How long until there is room for a key that gives its place back at `then`.
    fn wait_without(
        &self,
        whose: Whose,
        then: Timestamp,
        ends: impl Fn(Timestamp) -> Span,
    ) -> Span {
        let has_place = self.shares.grants_after(whose.network, self.most_keys, 1);
        if has_place && !self.overflowed.has(whose.key, then) {
            return Span::ZERO;
        }
        let own = self.cell_wait(whose.cell(), &ends);
        let beside = whose.network_cell().filter(|_| !has_place);
        beside.map_or(own, |cell| own.max(self.cell_wait(cell, &ends)))
    }

    /// How long until there is room in a cell.
    fn cell_wait(&self, cell: CellOf, ends: impl Fn(Timestamp) -> Span) -> Span {
        let count = usize::try_from(self.cap.count).unwrap_or(usize::MAX);
        let freeing = self.cells.get(&cell).and_then(|cell| {
            let place = cell.len().checked_sub(count)?;
            cell.get(place)
        });
        freeing.map_or(Span::ZERO, |at| ends(*at))
    }

    /// Does the same as `waits` for a key that is counted in a cell, which is rare enough to sort.
    fn shared_waits(
        &self,
        cell: CellOf,
        run: Option<Run>,
        over: u64,
        ends: impl Fn(Timestamp) -> Span,
    ) -> (Span, Span) {
        let mut all: Vec<Timestamp> =
            self.cells.get(&cell).map_or_else(Vec::new, |cell| cell.iter().copied().collect());
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
