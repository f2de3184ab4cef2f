//! Turns: what a round is, by costs and quantum, and that nobody waits for longer than its rounds.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// A long age, so that nobody leaves because of it.
fn patient(quantum: u64) -> Lanes {
    FairQueue::new(bounds(1_000, 1_000_000), cost(quantum))
}

fn arrive(queue: &mut Lanes, tenant: u8, units: u64) -> Seat {
    queue.arrive(Arrival::new(tenant, cost(units)), at(0)).0.expect("a seat")
}

#[test]
fn g7_tenants_take_turns_and_each_is_served_as_it_came() {
    let mut queue = patient(1);
    let a: Vec<Seat> = (0..4).map(|_| arrive(&mut queue, 1, 1)).collect();
    let b: Vec<Seat> = (0..2).map(|_| arrive(&mut queue, 2, 1)).collect();
    let c = arrive(&mut queue, 3, 1);
    assert_eq!(go_all(&mut queue, at(0)), [a[0], b[0], c, a[1], b[1], a[2], a[3]]);
}

#[test]
fn g7_turns_are_equal_by_cost_and_not_by_number() {
    let mut queue = patient(2);
    let dear: Vec<Seat> = (0..3).map(|_| arrive(&mut queue, 1, 4)).collect();
    let cheap: Vec<Seat> = (0..7).map(|_| arrive(&mut queue, 2, 1)).collect();
    // The first was alone when it came, so it is the head already. After that two units a round for
    // each: one dear request in every second round, two cheap ones in each.
    let expected =
        [dear[0], cheap[0], cheap[1], dear[1], cheap[2], cheap[3], cheap[4], cheap[5], dear[2]];
    assert_eq!(go_all(&mut queue, at(0))[..9], expected);
}

#[test]
fn g7_a_tenant_that_comes_back_goes_behind_all_who_wait() {
    let mut queue = patient(1);
    let a = arrive(&mut queue, 1, 1);
    let (b, c) = (arrive(&mut queue, 2, 1), arrive(&mut queue, 3, 1));
    assert_eq!(go(&mut queue, at(0)), Some(a));
    let again = arrive(&mut queue, 1, 1);
    assert_eq!(go_all(&mut queue, at(0)), [b, c, again]);
}

#[test]
fn a_request_of_the_largest_cost_takes_no_longer_to_find() {
    let mut queue = patient(1);
    let largest = crate::time::MAX_EXACT;
    let first = arrive(&mut queue, 1, 1);
    let huge: Vec<Seat> = (2..5).map(|tenant| arrive(&mut queue, tenant, largest)).collect();
    let small = arrive(&mut queue, 5, 1);
    let order = go_all(&mut queue, at(0));
    assert_eq!(
        order,
        [first, small, huge[0], huge[1], huge[2]],
        "nobody waits for the rounds of others"
    );
}

#[test]
fn what_was_saved_for_a_dear_request_is_lost_when_it_leaves() {
    let mut queue = patient(1);
    let other: Vec<Seat> = (0..20).map(|_| arrive(&mut queue, 1, 1)).collect();
    let dear = arrive(&mut queue, 2, 15);
    let cheap: Vec<Seat> = (0..5).map(|_| arrive(&mut queue, 2, 1)).collect();
    for seat in &other[..10] {
        assert_eq!(go(&mut queue, at(0)), Some(*seat), "the dear one saves");
    }
    let _ = queue.cancel(dear, at(0));
    let order = go_all(&mut queue, at(0));
    let expected = [other[10], cheap[0], other[11], cheap[1], other[12], cheap[2]];
    assert_eq!(order[..6], expected, "the savings do not let the cheap ones go at once");
}

#[test]
fn what_was_saved_is_lost_even_if_the_dear_request_leaves_as_the_head() {
    let mut queue = patient(1);
    let dear = arrive(&mut queue, 1, 15);
    let cheap: Vec<Seat> = (0..3).map(|_| arrive(&mut queue, 1, 1)).collect();
    let other: Vec<Seat> = (0..3).map(|_| arrive(&mut queue, 2, 1)).collect();
    let _ = queue.cancel(dear, at(0));
    let order = go_all(&mut queue, at(0));
    assert_eq!(order, [cheap[0], other[0], cheap[1], other[1], cheap[2], other[2]]);
}

/// Somebody who waits, and what was ahead of it in its lane when it came, itself included.
struct Waited {
    tenant: u8,
    units: u64,
    lane: u64,
    /// What the other tenants have let go since: the sum and the largest.
    others: BTreeMap<u8, (u64, u64)>,
}

#[derive(Clone, Debug)]
enum Deed {
    Arrive(u8, u64),
    Cancel(Index),
    Go,
}

/// A quantum, and deeds whose costs are below a bound that is sometimes above it and sometimes not.
fn deeds() -> impl Strategy<Value = (u64, Vec<Deed>)> {
    (1..25_u64, 2..25_u64).prop_flat_map(|(quantum, costs)| {
        (Just(quantum), proptest::collection::vec(deed(costs), 0..300))
    })
}

fn deed(costs: u64) -> impl Strategy<Value = Deed> {
    prop_oneof![
        5 => (0..5_u8, 1..costs).prop_map(|(tenant, units)| Deed::Arrive(tenant, units)),
        1 => any::<Index>().prop_map(Deed::Cancel),
        4 => Just(Deed::Go),
    ]
}

/// Everybody who waits, by seat.
struct Ledger {
    quantum: u64,
    waits: BTreeMap<Seat, Waited>,
    /// The largest cost that was ever there.
    dearest: u64,
}

impl Ledger {
    fn arrive(&mut self, seat: Seat, tenant: u8, units: u64) {
        let same = self.waits.values().filter(|waited| waited.tenant == tenant);
        self.dearest = self.dearest.max(units);
        let lane = units + same.map(|waited| waited.units).sum::<u64>();
        self.waits.insert(seat, Waited { tenant, units, lane, others: BTreeMap::new() });
    }

    /// Somebody goes: the oldest of its tenant, and after no more than its rounds.
    fn go(&mut self, seat: Seat) -> Result<(), TestCaseError> {
        let gone = self.waits.remove(&seat).expect("it waits");
        let older = self
            .waits
            .iter()
            .filter(|(other, waited)| **other < seat && waited.tenant == gone.tenant);
        prop_assert_eq!(older.count(), 0, "it was not the first of its lane");
        let rounds = gone.lane.div_ceil(self.quantum) + u64::from(self.dearest > self.quantum);
        for (tenant, (units, largest)) in gone.others {
            let most = rounds * self.quantum + largest - 1;
            prop_assert!(units <= most, "tenant {tenant} let go {units}, at most {most}");
        }
        for waited in self.waits.values_mut().filter(|waited| waited.tenant != gone.tenant) {
            let (units, largest) = waited.others.entry(gone.tenant).or_default();
            (*units, *largest) = (*units + gone.units, gone.units.max(*largest));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn g7_a_backlogged_tenant_waits_for_no_more_than_its_rounds(
        (quantum, deeds) in deeds(),
    ) {
        let mut queue = patient(quantum);
        let mut ledger = Ledger { quantum, waits: BTreeMap::new(), dearest: 0 };
        for deed in &deeds {
            match deed {
                Deed::Arrive(tenant, units) => {
                    let seat = arrive(&mut queue, *tenant, *units);
                    ledger.arrive(seat, *tenant, *units);
                }
                Deed::Cancel(index) if !ledger.waits.is_empty() => {
                    let place = index.index(ledger.waits.len());
                    let seat = *ledger.waits.keys().nth(place).expect("within");
                    let _ = queue.cancel(seat, at(0));
                    ledger.waits.remove(&seat);
                }
                Deed::Cancel(_) => {}
                Deed::Go => {
                    let gone = go(&mut queue, at(0));
                    prop_assert_eq!(gone.is_some(), !ledger.waits.is_empty(), "work is conserved");
                    gone.map_or(Ok(()), |seat| ledger.go(seat))?;
                }
            }
        }
        while let Some(seat) = go(&mut queue, at(0)) {
            ledger.go(seat)?;
        }
        prop_assert!(ledger.waits.is_empty() && queue.is_empty());
    }

    #[test]
    fn g7_an_arrival_never_changes_who_is_first(
        (quantum, deeds) in deeds(),
    ) {
        let later = Forecast { pace: None, ..told(500, 1) };
        let mut queue = patient(quantum);
        for deed in &deeds {
            match deed {
                Deed::Arrive(tenant, units) => {
                    if let Some(seat) = queue.ask(at(0)).0 {
                        let _ = queue.refused(seat, Some(later), at(0));
                    }
                    let before = queue.armed();
                    arrive(&mut queue, *tenant, *units);
                    prop_assert!(before.is_none() || before == queue.armed(), "{before:?}");
                }
                Deed::Go | Deed::Cancel(_) => {
                    let _ = queue.wake(at(0));
                    go(&mut queue, at(0));
                }
            }
        }
    }
}
