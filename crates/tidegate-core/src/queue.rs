//! A fair queue: who of those who wait for a limit goes next, and when.
//!
//! A request past a limit may wait instead of being refused. Waiting is only worth something if it ends
//! in time, and if one tenant cannot wait in everybody's place. So there is a lane for each tenant,
//! first come first served; the lanes take turns by cost; and a request that cannot go before it is too
//! old is refused when it comes, not when it is too late.
//!
//! The queue is a value. It reads no clock, wakes nobody and asks no store: every verb takes `now`, and
//! gives back who had to leave and which request is the *head*, with the instant at which it has to be
//! woken. Only the head asks the store. It sleeps the wait it was told, which is true, and asks again.
//!
//! ```text
//!             told a wait                  due                         admitted: gone
//!   arrive ──────────────▶ head sleeps ─────────▶ ask ─▶ head asks ──┬──────────────▶ next head
//!             or not yet        ▲                                    │  refused, with another wait
//!                               └────────────────────────────────────┘
//! ```
//!
//! # Nobody barges
//!
//! While somebody waits ([`FairQueue::is_empty`] is false), an arrival goes behind and does not ask the
//! store. It never becomes the head by arriving. A head that is asking still waits. Nothing is
//! reserved: those who wait hold neither tokens nor permits.
//!
//! # What a round is
//!
//! In each round every lane gets one *quantum* of credit, and has its turn once its credit covers the
//! cost of its first request. It lets go what the credit pays for; then it is the turn of the next lane.
//! Lanes of the same round go in the order in which they last had a turn, or else came. A lane that comes
//! in a round has its first quantum in the next. A lane that runs empty loses its credit.
//!
//! So a request that has `w` units in its lane, its own cost included, goes within the next
//! `n = ⌈w / quantum⌉` rounds. Until then no other tenant lets go more than `n · quantum + c − 1` units,
//! where `c` is the largest cost among them, and one quantum more if some requests cost more than a
//! quantum. Where all costs are one quantum, that is one request of each other tenant for the first of a
//! lane, two for the second, and so on, however many the others send.
//!
//! A smaller quantum is fairer and costs nothing here, because no round is walked in which nobody can
//! pay. The usual quantum is [`Cost::ONE`].
//!
//! # Bounds
//!
//! [`QueueBounds`]: length, memory, age. A tenant alone may fill the queue. While others wait, it gets
//! no place beyond half of them, and what it has beyond half it only borrows: another tenant that finds
//! the queue full takes the place of its newest request. Refusing the other tenant instead would let
//! whoever comes first keep everybody out.
//!
//! [Chapter 13](crate::book::ch13_waiting_in_line) of the book has an example.

mod bounds;
mod order;
mod outlook;
mod purse;
#[cfg(test)]
mod tests;
mod told;
mod walk;

pub use bounds::{QueueBounds, QueueBoundsError};
pub use told::{
    Aftermath, Armed, Arrival, Closing, Departure, Forecast, Parting, Seat, TurnedAway,
};

use std::collections::BTreeMap;

use crate::cost::Cost;
use crate::time::Timestamp;
use order::FairOrder;
use outlook::Outlook;

/// Requests that wait for one limit on one node, in lanes by tenant.
///
/// `T` names a tenant. It is cloned for every request, so it should be a number or a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FairQueue<T> {
    bounds: QueueBounds,
    /// All who wait. Seats and deadlines ascend together, because the age is the same for all.
    waiters: BTreeMap<Seat, Waiter<T>>,
    order: FairOrder<T>,
    /// The tenant that has more than half of the places. There can be only one.
    borrower: Option<T>,
    /// What the head does. Without a head it says nothing.
    head: Head,
    outlook: Option<Outlook>,
    /// The seat given last.
    seats: u64,
    /// The time of the last verb. Time does not go back.
    latest: Timestamp,
    /// Why the queue is closed for good.
    closed: Option<Closing>,
}

/// A request that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiter<T> {
    tenant: T,
    /// When the request will have waited for too long.
    leaves_at: Timestamp,
}

/// What the head of a queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// The head sleeps until this time; without a time, until something changes.
    Sleeps(Option<Timestamp>),
    /// The head is asking the store.
    Asks,
    /// The head is asking the store, and something has changed since: the answer may not reflect it.
    AsksInVain,
}

// === impl FairQueue ===

impl<T: Ord + Clone> FairQueue<T> {
    /// An empty queue within these bounds. `quantum` is the credit that each tenant gets in a round.
    #[must_use]
    pub fn new(bounds: QueueBounds, quantum: Cost) -> Self {
        Self {
            bounds,
            waiters: BTreeMap::new(),
            order: FairOrder::new(quantum),
            borrower: None,
            head: Head::Sleeps(None),
            outlook: None,
            seats: 0,
            latest: Timestamp::ZERO,
            closed: None,
        }
    }

    /// Whether nobody waits. Only then may a new request ask the store without going through the queue.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// The number of requests that wait, a head that is asking included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Memory counted for the waiting requests, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.len()).unwrap_or(u64::MAX).saturating_mul(QueueBounds::EACH)
    }

    /// Whether the request with this seat still waits.
    #[must_use]
    pub fn holds(&self, seat: Seat) -> bool {
        self.waiters.contains_key(&seat)
    }

    /// The head, and when the queue has to be asked next.
    #[must_use]
    pub fn armed(&self) -> Option<Armed> {
        let (seat, _) = self.order.head()?;
        let wakes = match self.head {
            Head::Sleeps(until) => until,
            Head::Asks | Head::AsksInVain => None,
        };
        let leaves = self.oldest().map(|(_, leaves_at)| leaves_at);
        Some(Armed { seat, due: wakes.into_iter().chain(leaves).min() })
    }

    /// Gives an arriving request a seat, or refuses it; a refused request leaves no trace.
    pub fn arrive(
        &mut self,
        arrival: Arrival<T>,
        now: Timestamp,
    ) -> (Result<Seat, TurnedAway>, Aftermath) {
        let mut departed = self.pass(now);
        let seat = self.judge(&arrival).map(|()| {
            if self.len() >= self.bounds.places()
                && let Some(seat) = self.borrower.as_ref().and_then(|it| self.order.newest(it))
            {
                departed.extend(self.depart(seat, Parting::Yielded));
            }
            self.seat(arrival)
        });
        (seat, self.after(departed))
    }

    /// Returns the seat of the head if its wait is over: the head then asks the store, and
    /// [`admitted`](Self::admitted), [`refused`](Self::refused) or [`cancel`](Self::cancel) has to
    /// follow. Meanwhile the head does not expire, because the answer may already have charged for it.
    pub fn ask(&mut self, now: Timestamp) -> (Option<Seat>, Aftermath) {
        let departed = self.pass(now);
        let head = self.order.head().map(|(seat, _)| seat);
        let asks = head.filter(|_| self.head.is_due(self.latest));
        if asks.is_some() {
            self.head = Head::Asks;
        }
        (asks, self.after(departed))
    }

    /// Takes the head out of the queue, because the store has admitted it. A seat that is not the head's
    /// changes nothing: no request goes before its turn.
    pub fn admitted(&mut self, seat: Seat, now: Timestamp) -> Aftermath {
        let departed = self.pass(now);
        if self.is_head(seat) {
            self.take_out(seat);
            self.order.go();
            self.outlook = self.outlook.map(Outlook::after_head);
            self.begin();
        }
        self.after(departed)
    }

    /// Notes that the store has refused the head and told it another wait; without one, the head sleeps
    /// until something changes. If the wait is longer than the queue allows, the head leaves at once. A
    /// seat that is not the head's changes nothing.
    pub fn refused(&mut self, seat: Seat, told: Option<Forecast>, now: Timestamp) -> Aftermath {
        let mut departed = self.pass(now);
        if self.is_head(seat) {
            self.tell(told);
            departed.extend(self.expire());
            if self.is_head(seat) && self.is_hopeless(seat) {
                departed.extend(self.depart(seat, Parting::TooLong));
            }
        }
        self.after(departed)
    }

    /// Takes out a request that gives up, as when its client has gone. A seat that is not held any more
    /// changes nothing.
    pub fn cancel(&mut self, seat: Seat, now: Timestamp) -> Aftermath {
        let departed = self.pass(now);
        self.remove(seat);
        self.after(departed)
    }

    /// Notes a change that the wait of the head does not take into account: units were given back, a
    /// permit was freed, the limit has other numbers. The head asks at once, or once more if it is asking.
    pub fn wake(&mut self, now: Timestamp) -> Aftermath {
        let departed = self.pass(now);
        self.outlook = None;
        self.head = match self.head {
            Head::Sleeps(_) => Head::Sleeps(Some(self.latest)),
            Head::Asks | Head::AsksInVain => Head::AsksInVain,
        };
        self.after(departed)
    }

    /// Makes all waiting requests leave, in the order in which they came, also a head that is asking. The
    /// [reason](Closing) says whether the queue takes arrivals afterwards.
    pub fn close(&mut self, why: Closing, now: Timestamp) -> Aftermath {
        let mut departed = self.pass(now);
        self.closed = self.closed.or(Some(why).filter(|why| why.is_final()));
        while let Some(seat) = self.waiters.keys().next().copied() {
            departed.extend(self.depart(seat, Parting::Closed(why)));
        }
        self.after(departed)
    }

    /// Whether an arrival may wait.
    fn judge(&self, arrival: &Arrival<T>) -> Result<(), TurnedAway> {
        if let Some(why) = self.closed {
            return Err(TurnedAway::Closed(why));
        }
        let own = self.order.waiting(&arrival.tenant);
        if own >= self.bounds.share() && self.order.tenants() > 1 {
            return Err(TurnedAway::Share);
        }
        let may_take = self.borrower.as_ref().is_some_and(|it| *it != arrival.tenant);
        if self.len() >= self.bounds.places() && !may_take {
            return Err(TurnedAway::Full);
        }
        let (leaves_at, earliest) = (self.latest.after(self.bounds.age()), self.earliest(arrival));
        if earliest >= leaves_at {
            return Err(TurnedAway::TooLong { wait: earliest.since(self.latest) });
        }
        Ok(())
    }

    /// The earliest instant at which an arrival can go, by what it and the head were told, if all who
    /// are ahead of it go. Once that is too late, it may be later still.
    fn earliest(&self, arrival: &Arrival<T>) -> Timestamp {
        let Arrival { tenant, cost, told } = arrival;
        let leaves_at = self.latest.after(self.bounds.age());
        let own = told.map_or(self.latest, |told| self.latest.after(told.wait));
        let Some(outlook) = self.outlook else { return own };
        let is_late = |units| outlook.earliest(units) >= leaves_at;
        if !is_late(self.order.units() + u128::from(cost.get())) {
            return own;
        }
        own.max(outlook.earliest(self.order.until_gone(tenant, *cost, is_late)))
    }

    /// Gives a seat to an arrival that may wait. In an empty queue it is the head.
    fn seat(&mut self, arrival: Arrival<T>) -> Seat {
        let Arrival { tenant, cost, told } = arrival;
        self.seats += 1;
        let seat = Seat(self.seats);
        self.order.join(&tenant, seat, cost);
        if self.order.waiting(&tenant) > self.bounds.share() {
            self.borrower = Some(tenant.clone());
        }
        let leaves_at = self.latest.after(self.bounds.age());
        self.waiters.insert(seat, Waiter { tenant, leaves_at });
        if self.is_head(seat) {
            self.begin();
            if told.is_some() {
                self.tell(told);
            }
        }
        seat
    }

    /// Takes over what the store told the head, unless something has changed since it was asked.
    fn tell(&mut self, told: Option<Forecast>) {
        let Some((_, cost)) = self.order.head() else { return };
        if self.head == Head::AsksInVain {
            return self.begin();
        }
        self.outlook = told.and_then(|told| Outlook::new(told, cost, self.latest));
        self.head = Head::Sleeps(told.map(|told| self.latest.after(told.wait)));
    }

    /// Another head begins, and asks at once: what the one before was told may not hold for it.
    fn begin(&mut self) {
        self.head = Head::Sleeps(Some(self.latest));
        if self.is_empty() {
            self.outlook = None;
        }
    }

    /// Whether the head with this seat sleeps for longer than it may wait.
    fn is_hopeless(&self, seat: Seat) -> bool {
        let leaves_at = self.waiters.get(&seat).map(|waiter| waiter.leaves_at);
        matches!((self.head, leaves_at), (Head::Sleeps(Some(until)), Some(at)) if until >= at)
    }

    fn is_head(&self, seat: Seat) -> bool {
        self.order.head().is_some_and(|(head, _)| head == seat)
    }

    /// Lets the time pass: those who have waited for too long leave.
    fn pass(&mut self, now: Timestamp) -> Vec<Departure> {
        self.latest = self.latest.max(now);
        self.expire()
    }

    fn expire(&mut self) -> Vec<Departure> {
        let mut departed = Vec::new();
        while let Some((seat, leaves_at)) = self.oldest()
            && leaves_at <= self.latest
        {
            departed.extend(self.depart(seat, Parting::Expired));
        }
        departed
    }

    /// The request that has waited longest, a head that is asking left out, and when it leaves.
    fn oldest(&self) -> Option<(Seat, Timestamp)> {
        let is_asking = |seat| !matches!(self.head, Head::Sleeps(_)) && self.is_head(seat);
        let mut waiters = self.waiters.iter().map(|(seat, waiter)| (*seat, waiter.leaves_at));
        waiters.find(|(seat, _)| !is_asking(*seat))
    }

    fn depart(&mut self, seat: Seat, why: Parting) -> Option<Departure> {
        self.remove(seat).map(|()| Departure { seat, why })
    }

    /// Removes a request that has not been admitted. If it was the head, another one is.
    fn remove(&mut self, seat: Seat) -> Option<()> {
        let was_head = self.is_head(seat);
        let tenant = self.take_out(seat)?;
        self.order.leave(&tenant, seat);
        if was_head {
            self.outlook = None;
            self.begin();
        }
        Some(())
    }

    /// Takes a request out of those who wait; the order is the caller's business.
    fn take_out(&mut self, seat: Seat) -> Option<T> {
        let Waiter { tenant, .. } = self.waiters.remove(&seat)?;
        if self.borrower.as_ref() == Some(&tenant)
            && self.order.waiting(&tenant) <= self.bounds.share() + 1
        {
            self.borrower = None;
        }
        Some(tenant)
    }

    fn after(&self, departed: Vec<Departure>) -> Aftermath {
        Aftermath { departed, armed: self.armed() }
    }
}

// === impl Head ===

impl Head {
    fn is_due(self, now: Timestamp) -> bool {
        matches!(self, Self::Sleeps(Some(until)) if until <= now)
    }
}
