//! The queue once more, from the definitions alone: plain lists, and rounds that are walked one by one.

use super::*;

/// A queue that looks through all it has, every time.
#[derive(Clone)]
pub(super) struct Slow {
    pub(super) places: usize,
    pub(super) share: usize,
    pub(super) age: u64,
    pub(super) quantum: u64,
    /// In the order in which they last had a turn, or else came.
    lanes: Vec<SlowLane>,
    /// The tenant whose turn it is.
    turn: Option<u8>,
    round: u64,
    now: u64,
    /// Requests that got a seat.
    seated: usize,
    /// When the head wakes.
    wakes: Option<u64>,
    asks: bool,
    /// Whether something has changed since the head began to ask.
    changed: bool,
    /// What the store told last: until when, how fast, and whether that includes the head's cost.
    known: Option<(u64, Option<Rate>, bool)>,
    closed: Option<Closing>,
}

#[derive(Clone)]
struct SlowLane {
    tenant: u8,
    credit: u64,
    /// The last round in which it got its quantum.
    round: u64,
    line: Vec<Waits>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Waits {
    /// Which of those who got a seat it is.
    number: usize,
    cost: u64,
    came: u64,
}

/// Who left, and why.
pub(super) type Gone = Vec<(usize, Parting)>;

impl Slow {
    pub(super) fn new(places: usize, age: u64, quantum: u64) -> Self {
        Self {
            places,
            share: (places / 2).max(1),
            age,
            quantum,
            lanes: Vec::new(),
            turn: None,
            round: 0,
            now: 0,
            seated: 0,
            wakes: None,
            asks: false,
            changed: false,
            known: None,
            closed: None,
        }
    }

    pub(super) fn everybody(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.waiting().map(|waits| waits.number).collect();
        all.sort_unstable();
        all
    }

    fn waiting(&self) -> impl Iterator<Item = Waits> {
        self.lanes.iter().flat_map(|lane| lane.line.iter().copied())
    }

    fn lane(&self, tenant: u8) -> Option<&SlowLane> {
        self.lanes.iter().find(|lane| lane.tenant == tenant)
    }

    fn first(&self) -> Option<Waits> {
        self.lane(self.turn?).map(|lane| lane.line[0])
    }

    pub(super) fn head(&self) -> Option<usize> {
        self.first().map(|waits| waits.number)
    }

    /// The earliest of all instants at which something happens by itself.
    pub(super) fn due(&self) -> Option<u64> {
        let mut instants: Vec<u64> = Vec::new();
        for waits in self.waiting() {
            if !(self.asks && self.head() == Some(waits.number)) {
                instants.push(waits.came + self.age);
            }
        }
        if !self.asks && !instants.is_empty() {
            instants.extend(self.wakes);
        }
        instants.into_iter().min()
    }

    /// Walks until there is a lane whose credit covers its first request.
    fn walk(&mut self) {
        self.lanes.retain(|lane| !lane.line.is_empty());
        if self.lanes.is_empty() {
            (self.turn, self.round, self.known) = (None, 0, None);
            return;
        }
        if let Some(place) = self.lanes.iter().position(|lane| Some(lane.tenant) == self.turn) {
            if self.lanes[place].credit >= self.lanes[place].line[0].cost {
                return;
            }
            let ended = self.lanes.remove(place);
            self.lanes.push(ended);
        }
        loop {
            let round = self.round;
            let Some(lane) = self.lanes.iter_mut().find(|lane| lane.round < round) else {
                self.round += 1;
                continue;
            };
            lane.round = round;
            lane.credit += self.quantum;
            if lane.credit >= lane.line[0].cost {
                self.turn = Some(lane.tenant);
                return;
            }
        }
    }

    fn walk_and_begin(&mut self) {
        let before = self.head();
        self.walk();
        if self.head() != before || before.is_none() {
            (self.wakes, self.asks, self.changed) = (Some(self.now), false, false);
        }
    }

    /// Removes somebody who has not gone.
    fn strike(&mut self, number: usize) -> bool {
        let was_head = self.head() == Some(number);
        let Some(lane) =
            self.lanes.iter_mut().find(|lane| lane.line.iter().any(|it| it.number == number))
        else {
            return false;
        };
        let was_first = lane.line[0].number == number;
        lane.line.retain(|waits| waits.number != number);
        if let Some(next) = lane.line.first().filter(|_| was_first) {
            let turn = if was_head { self.quantum } else { 0 };
            lane.credit = lane.credit.min(next.cost - 1 + turn);
        }
        if was_head {
            self.known = None;
            self.walk();
            (self.wakes, self.asks, self.changed) = (Some(self.now), false, false);
        } else {
            self.lanes.retain(|lane| !lane.line.is_empty());
        }
        true
    }

    pub(super) fn pass(&mut self, now: u64) -> Gone {
        self.now = self.now.max(now);
        self.expire()
    }

    fn expire(&mut self) -> Gone {
        let mut gone = Vec::new();
        loop {
            let old = self.waiting().filter(|waits| waits.came + self.age <= self.now);
            let old = old.filter(|waits| !(self.asks && self.head() == Some(waits.number)));
            let Some(oldest) = old.map(|waits| waits.number).min() else { return gone };
            self.strike(oldest);
            gone.push((oldest, Parting::Expired));
        }
    }

    pub(super) fn arrive(
        &mut self,
        tenant: u8,
        cost: u64,
        told: Option<Forecast>,
    ) -> (Result<(), TurnedAway>, Gone) {
        if let Some(why) = self.closed {
            return (Err(TurnedAway::Closed(why)), Vec::new());
        }
        let own = self.lane(tenant).map_or(0, |lane| lane.line.len());
        if own >= self.share && self.lanes.iter().any(|lane| lane.tenant != tenant) {
            return (Err(TurnedAway::Share), Vec::new());
        }
        let full = self.waiting().count() >= self.places;
        let lender = self.lanes.iter().find(|it| it.line.len() > self.share);
        let newest = lender.filter(|it| it.tenant != tenant).and_then(|it| it.line.last()).copied();
        if full && newest.is_none() {
            return (Err(TurnedAway::Full), Vec::new());
        }
        let earliest = self.earliest(tenant, cost, told);
        if earliest >= self.now + self.age {
            let wait = Span::from_micros(earliest - self.now);
            return (Err(TurnedAway::TooLong { wait }), Vec::new());
        }
        let mut gone = Vec::new();
        if let Some(newest) = newest.filter(|_| full) {
            self.strike(newest.number);
            gone.push((newest.number, Parting::Yielded));
        }
        let first = self.lanes.is_empty();
        self.join(tenant, cost);
        if first {
            self.walk_and_begin();
            if let Some(told) = told {
                self.tell(Some(told));
            }
        }
        (Ok(()), gone)
    }

    fn join(&mut self, tenant: u8, cost: u64) {
        let waits = Waits { number: self.seated, cost, came: self.now };
        self.seated += 1;
        if let Some(lane) = self.lanes.iter_mut().find(|lane| lane.tenant == tenant) {
            lane.line.push(waits);
        } else {
            let (credit, round) = (0, self.round);
            self.lanes.push(SlowLane { tenant, credit, round, line: vec![waits] });
        }
    }

    /// Lets everybody go in a copy, until the newcomer has gone.
    fn earliest(&self, tenant: u8, cost: u64, told: Option<Forecast>) -> u64 {
        let own = self.now + told.map_or(0, |told| told.wait.as_micros());
        let Some((at, pace, with_head)) = self.known else { return own };
        let mut copy = self.clone();
        copy.join(tenant, cost);
        let mut units = 0;
        while let Some(first) = copy.first() {
            units += first.cost;
            if first.number == self.seated {
                break;
            }
            copy.let_go();
        }
        let rest = units - if with_head { self.first().map_or(0, |first| first.cost) } else { 0 };
        let more = pace.map_or(0, |pace| rest * pace.per().as_micros() / pace.tokens());
        own.max(at + more)
    }

    fn let_go(&mut self) {
        let turn = self.turn;
        if let Some(lane) = self.lanes.iter_mut().find(|lane| Some(lane.tenant) == turn) {
            lane.credit -= lane.line.remove(0).cost;
        }
        self.walk();
    }

    fn tell(&mut self, told: Option<Forecast>) {
        if self.changed {
            (self.wakes, self.known) = (Some(self.now), None);
        } else {
            self.wakes = told.map(|told| self.now + told.wait.as_micros());
            self.known = self.wakes.map(|at| (at, told.and_then(|told| told.pace), true));
        }
        (self.asks, self.changed) = (false, false);
    }

    pub(super) fn ask(&mut self) -> Option<usize> {
        let may = !self.asks && self.wakes.is_some_and(|at| at <= self.now);
        let asks = self.head().filter(|_| may);
        self.asks |= asks.is_some();
        asks
    }

    pub(super) fn admitted(&mut self, number: usize) {
        if self.head() == Some(number) {
            self.known = self.known.filter(|(_, pace, _)| pace.is_some());
            self.known = self.known.map(|(at, pace, _)| (at, pace, false));
            self.let_go();
            (self.wakes, self.asks, self.changed) = (Some(self.now), false, false);
        }
    }

    pub(super) fn refused(&mut self, number: usize, told: Option<Forecast>) -> Gone {
        if self.head() != Some(number) {
            return Vec::new();
        }
        self.tell(told);
        let mut gone = self.expire();
        let leaves = self.first().map(|first| first.came + self.age);
        if self.head() == Some(number) && self.wakes.is_some_and(|at| Some(at) >= leaves) {
            self.strike(number);
            gone.push((number, Parting::TooLong));
        }
        gone
    }

    pub(super) fn cancel(&mut self, number: usize) {
        self.strike(number);
    }

    pub(super) fn wake(&mut self) {
        self.known = None;
        self.changed = self.asks;
        self.wakes = Some(self.now);
    }

    pub(super) fn close(&mut self, why: Closing) -> Gone {
        let gone = self.everybody().into_iter().map(|it| (it, Parting::Closed(why))).collect();
        self.lanes.clear();
        self.walk();
        (self.wakes, self.asks, self.changed) = (None, false, false);
        if why != Closing::CircuitOpen && self.closed.is_none() {
            self.closed = Some(why);
        }
        gone
    }
}
