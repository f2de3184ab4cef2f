//! Work is conserved, and told waits are true: the queue before a real bucket, on a virtual clock.

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::shape::{Bucket, BucketState, Room};

/// One node with a queue before a bucket that other nodes use too.
struct Node {
    queue: Lanes,
    bucket: Bucket,
    state: BucketState,
    costs: Vec<(Seat, Cost)>,
    now: Timestamp,
    went: Vec<(Seat, Timestamp)>,
    left: usize,
}

#[derive(Clone, Debug)]
enum Deed {
    Arrive(u8, u64),
    Cancel(Index),
    OthersTake(u64),
    GiveBack(u64),
}

fn deeds() -> impl Strategy<Value = Vec<(u64, Deed)>> {
    let deed = prop_oneof![
        8 => (0..4_u8, 1..6_u64).prop_map(|(tenant, units)| Deed::Arrive(tenant, units)),
        1 => any::<Index>().prop_map(Deed::Cancel),
        1 => (1..6_u64).prop_map(Deed::OthersTake),
        1 => (1..6_u64).prop_map(Deed::GiveBack),
    ];
    let gap = prop_oneof![Just(0), 0..300_000_u64, 0..3_000_000_u64];
    proptest::collection::vec((gap, deed), 0..120)
}

impl Node {
    fn new(bucket: Bucket, queue: Lanes) -> Self {
        let (state, now) = (bucket.exhausted(at(0)), at(0));
        Self { queue, bucket, state, costs: Vec::new(), now, went: Vec::new(), left: 0 }
    }

    fn cost_of(&self, seat: Seat) -> Cost {
        self.costs.iter().find(|(it, _)| *it == seat).expect("a seat that was given").1
    }

    /// Asks the bucket, as the store would.
    fn charge(&mut self, cost: Cost) -> Result<(), Forecast> {
        match self.bucket.room(Some(self.state), cost, self.now) {
            Room::Now => {
                self.state = self.bucket.take(Some(self.state), cost, self.now).0;
                Ok(())
            }
            Room::After(wait) => Err(Forecast { wait, pace: Some(self.bucket.rate()) }),
            Room::Never => panic!("no request is dearer than the burst"),
        }
    }

    /// Wakes the head whenever it is due, up to an instant.
    fn run_until(&mut self, end: Timestamp) {
        while let Some(due) = due(&self.queue).filter(|due| *due <= end) {
            self.now = self.now.max(due);
            let (asks, after) = self.queue.ask(self.now);
            self.left += after.departed.len();
            let Some(seat) = asks else { continue };
            let after = match self.charge(self.cost_of(seat)) {
                Ok(()) => {
                    self.went.push((seat, self.now));
                    self.queue.admitted(seat, self.now)
                }
                Err(told) => self.queue.refused(seat, Some(told), self.now),
            };
            self.left += after.departed.len();
        }
        self.now = self.now.max(end);
    }

    /// A request comes. It asks the bucket only if nobody waits.
    fn arrive(&mut self, tenant: u8, cost: Cost) -> Option<Result<Seat, TurnedAway>> {
        let arrival = Arrival::new(tenant, cost);
        let arrival =
            if self.queue.is_empty() { arrival.told(self.charge(cost).err()?) } else { arrival };
        let (seat, after) = self.queue.arrive(arrival, self.now);
        self.left += after.departed.len();
        self.costs.extend(seat.ok().map(|seat| (seat, cost)));
        Some(seat)
    }

    fn does(&mut self, deed: &Deed) {
        match deed {
            Deed::Arrive(tenant, units) => {
                self.arrive(*tenant, cost(*units));
            }
            Deed::Cancel(index) if !self.costs.is_empty() => {
                let (seat, _) = self.costs[index.index(self.costs.len())];
                self.left += usize::from(self.queue.holds(seat));
                let after = self.queue.cancel(seat, self.now);
                self.left += after.departed.len();
            }
            Deed::Cancel(_) => {}
            Deed::OthersTake(units) => {
                let _ = self.charge(cost(*units));
            }
            Deed::GiveBack(units) => {
                let now = self.now;
                self.state = self.bucket.give_back(self.state, cost(*units), now, now).0;
                self.left += self.queue.wake(now).departed.len();
            }
        }
    }

    /// Whether the head, if there is one, is woken no later than there is room for it.
    fn is_woken_in_time(&self) -> bool {
        let Some(Armed { seat, due }) = self.queue.armed() else { return self.queue.is_empty() };
        let room = self.bucket.room(Some(self.state), self.cost_of(seat), self.now);
        let wait = match room {
            Room::Now => Span::ZERO,
            Room::After(wait) => wait,
            Room::Never => return false,
        };
        due.is_some_and(|due| due <= self.now.after(wait))
    }
}

fn buckets() -> impl Strategy<Value = Bucket> {
    (1..30_u64, 1..4_000_000_u64, 5..12_u64).prop_map(|(tokens, per, burst)| {
        let rate = Rate::try_new(tokens, Span::from_micros(per)).expect("a rate");
        Bucket::try_new(rate, burst).expect("a bucket")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn g7_while_somebody_waits_no_room_is_left_unused(
        bucket in buckets(), places in 1..30_usize, quantum in 1..6_u64, deeds in deeds(),
    ) {
        let mut node = Node::new(bucket, FairQueue::new(bounds(places, 5_000), cost(quantum)));
        for (gap, deed) in &deeds {
            node.run_until(node.now.after(Span::from_micros(*gap)));
            node.does(deed);
            prop_assert!(node.is_woken_in_time(), "{:?} at {:?}", node.queue, node.now);
        }
        node.run_until(node.now.after(Span::from_secs(5)));
        prop_assert!(node.queue.is_empty(), "nobody waits longer than the age");
        prop_assert_eq!(node.went.len() + node.left, node.costs.len(), "nobody is lost, or goes twice");
    }

    /// With nothing else happening, a request gets a seat if and only if it then goes in time, to the
    /// microsecond that rounding takes.
    #[test]
    fn g7_whoever_cannot_go_in_time_is_refused_at_once_and_nobody_else(
        bucket in buckets(),
        quantum in 1..6_u64,
        arrivals in proptest::collection::vec((0..4_u8, 1..6_u64), 1..40),
        newcomer in (0..5_u8, 1..6_u64),
        millis in 1..5_000_u64,
    ) {
        let with_age = |millis| FairQueue::new(bounds(1_000, millis), cost(quantum));
        let mut short = Node::new(bucket, with_age(millis));
        // The same queue with all the time in the world shows when everybody goes.
        let mut long = Node::new(bucket, with_age(1_000_000_000));
        for (tenant, units) in arrivals {
            if matches!(short.arrive(tenant, cost(units)), Some(Ok(_))) {
                long.arrive(tenant, cost(units));
            }
        }
        prop_assume!(!short.queue.is_empty());
        let age = at(millis);
        let verdict = short.arrive(newcomer.0, cost(newcomer.1)).expect("others wait");
        let seat = long.arrive(newcomer.0, cost(newcomer.1)).expect("others wait").expect("a seat");
        long.run_until(at(1_000_000_000));
        let (_, goes) = *long.went.iter().find(|(it, _)| *it == seat).expect("everybody goes");
        match verdict {
            Ok(_) => prop_assert!(goes <= age, "seated, and goes at {goes:?} of {age:?}"),
            Err(TurnedAway::TooLong { wait }) => {
                prop_assert!(goes >= age, "refused, and goes at {goes:?} of {age:?}");
                prop_assert!(goes.since(at(0)) >= wait, "the told wait is no longer than the true one");
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
