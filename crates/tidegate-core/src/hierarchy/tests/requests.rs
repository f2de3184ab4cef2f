//! G6 over real decisions: whatever stands below, nothing passes that an enforcing row above would not
//! let pass by itself.
//!
//! The decisions are made with the rows that `charges` names, on buckets kept in the test. What a row
//! above would do alone is reckoned from its own numbers, as written, with other arithmetic.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::trees::{Bias, trees};
use super::*;
use crate::shape::{BucketState, Room};
use crate::subject::Dimension;
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug)]
struct Request {
    /// Milliseconds since the request before.
    after: u64,
    caller: usize,
    route: usize,
    weight: u64,
    user: u8,
    ip: u8,
}

fn requests(weights: std::ops::Range<u64>) -> impl Strategy<Value = Vec<Request>> {
    let one = (0..700_u64, 0..9_usize, 0..5_usize, weights, 0..2_u8, 0..2_u8);
    let one = one.prop_map(|(after, caller, route, weight, user, ip)| Request {
        after: after.saturating_sub(200),
        caller,
        route,
        weight,
        user,
        ip,
    });
    vec(one, 1..60)
}

/// Buckets in memory, by row and counter.
#[derive(Default)]
struct Buckets(HashMap<(RowId, Pinned, u8), BucketState>);

impl Buckets {
    /// One decision, all or nothing among the firm rows; a row that degrades is charged if it has room.
    fn admit(&mut self, charged: &Charged<'_>, request: &Request, now: Timestamp) -> bool {
        let weight = Cost::try_new(request.weight).unwrap();
        let met: Vec<_> = charged
            .rows
            .iter()
            .filter_map(|it| {
                let Allowance { bucket, cost } = it.numbers?.allowance;
                let fact = match it.counter.by {
                    Some(Dimension::User) => request.user,
                    Some(Dimension::Ip) => request.ip,
                    _ => 0,
                };
                let key = (it.row.id, it.counter, fact);
                let room = bucket.room(self.0.get(&key).copied(), cost.units(weight), now);
                let is_soft = it.row.overflow == Overflow::Degrade;
                Some((key, bucket, cost.units(weight), room == Room::Now, is_soft))
            })
            .collect();
        if met.iter().any(|(.., has_room, is_soft)| !has_room && !is_soft) {
            return false;
        }
        for (key, bucket, cost, ..) in met.iter().filter(|(_, _, _, has_room, _)| *has_room) {
            let (state, _) = bucket.take(self.0.get(key).copied(), *cost, now);
            self.0.insert(*key, state);
        }
        true
    }
}

/// One counter of a row by itself, in 128 bits: a token is as many units as the period has microseconds.
struct Alone {
    level: u128,
    at: u64,
}

impl Alone {
    fn admits(&mut self, allowance: &Allowance, weight: u64, now: u64) -> bool {
        let rate = allowance.bucket.rate();
        let token = u128::from(rate.per().as_micros());
        let full = u128::from(allowance.bucket.burst()) * token;
        let run_in = u128::from(now - self.at) * u128::from(rate.tokens());
        self.level = (self.level + run_in).min(full);
        self.at = now;
        let units = match allowance.cost {
            CostRule::PerRequest(units) => units.get(),
            CostRule::PerUnit(units) => units.get() * weight,
        };
        let taken = self.level.checked_sub(u128::from(units) * token);
        self.level = taken.unwrap_or(self.level);
        taken.is_some()
    }
}

/// A row above by itself, on all its counters.
struct Enforcer {
    allowance: Allowance,
    scope: RowScope,
    counters: HashMap<(RowId, u8), Alone>,
}

impl Enforcer {
    fn admits(&mut self, caller: RowId, request: &Request, now: u64) -> bool {
        let nobody = id(0);
        let key = match self.scope {
            RowScope::Global => (nobody, 0),
            RowScope::Tenant => (caller, 0),
            RowScope::User => (caller, request.user),
            RowScope::Ip => (nobody, request.ip),
        };
        let full = u128::from(self.allowance.bucket.burst())
            * u128::from(self.allowance.bucket.rate().per().as_micros());
        let counter = self.counters.entry(key).or_insert(Alone { level: full, at: now });
        counter.admits(&self.allowance, request.weight, now)
    }
}

impl Flat {
    /// The tenants that reach a route.
    fn callers(&self, route: &FlatRoute) -> Vec<RowId> {
        let upstream = self.upstreams.iter().find(|it| it.id == route.upstream).unwrap();
        let tenants = self.tenants.iter().map(|it| it.id);
        let is_near = |it: &RowId| self.depth(*it) <= MAX_DEPTH && self.reaches(*it, upstream);
        tenants.filter(is_near).collect()
    }

    /// The firm rows that enforce above a request, found in the flat lists: those of tenants above the
    /// caller, and of upstreams with the same alias above the owner.
    fn enforcers(&self, caller: RowId, route: &FlatRoute) -> Vec<&LimitRow> {
        let upstream = self.upstreams.iter().find(|it| it.id == route.upstream).unwrap();
        let tenants = self.tenants.iter().filter(|it| self.is_above(it.id, caller));
        let shadowed = self
            .upstreams
            .iter()
            .filter(|it| it.alias == upstream.alias && self.is_above(it.owner, upstream.owner));
        let rows = tenants.flat_map(|it| &it.rows).chain(shadowed.flat_map(|it| &it.rows));
        let enforces = |row: &&LimitRow| row.sharing == Sharing::Enforce;
        rows.filter(enforces).filter(|row| row.overflow != Overflow::Degrade).collect()
    }
}

/// What became of a trace: how often an enforcing row was above a request that passed.
fn run(tree: &Flat, requests: &[Request], is_even: bool) -> Result<usize, TestCaseError> {
    let mut buckets = Buckets::default();
    // By row: the row on what has passed, the row on all that came, and how many each let through.
    let mut enforcers: HashMap<RowId, (Enforcer, Enforcer, usize, usize)> = HashMap::new();
    let (mut now, mut passed) = (1_800_000_000_000_000, 0);
    for request in requests {
        now += request.after * 1_000;
        let route = &tree.routes[request.route % tree.routes.len()];
        let callers = tree.callers(route);
        let Some(place) = request.caller.checked_rem(callers.len()) else { continue };
        let caller = callers[place];
        let Ok(charged) = charges(tree, caller, route.id) else { continue };
        let is_admitted = buckets.admit(&charged, request, Timestamp::from_micros(now));
        for row in tree.enforcers(caller, route) {
            let Terms::Rate(allowance) = row.terms else { continue };
            let new = || Enforcer { allowance, scope: row.scope, counters: HashMap::new() };
            let (after, all, through, alone) =
                enforcers.entry(row.id).or_insert_with(|| (new(), new(), 0, 0));
            *alone += usize::from(all.admits(caller, request, now));
            if is_admitted {
                *through += 1;
                passed += 1;
                prop_assert!(after.admits(caller, request, now), "{} was escaped", row.id);
            }
            prop_assert!(!is_even || *through <= *alone, "{} alone lets fewer through", row.id);
        }
    }
    Ok(passed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Whatever passes, passes each enforcing row by itself as well, at the numbers it was written with.
    #[test]
    fn g6_nothing_passes_that_an_enforcing_row_would_refuse(
        tree in prop_oneof![trees(Bias::Any), trees(Bias::Full)], requests in requests(1..4),
    ) {
        run(&tree, &requests, false)?;
    }

    /// Where all requests weigh the same, no more of them pass than the enforcing row alone lets through.
    /// (Of different weights it may be more: a row that refuses a heavy one has room for two light ones.)
    #[test]
    fn g6_no_child_admits_more_than_an_enforcing_ancestor_alone(
        tree in prop_oneof![trees(Bias::Any), trees(Bias::Full)], requests in requests(1..2),
    ) {
        run(&tree, &requests, true)?;
    }
}

/// Ten requests at once, of tenants 2 and 3 in turn: how many of each pass.
fn passed(tree: &Flat) -> [usize; 2] {
    let request = Request { after: 0, caller: 0, route: 0, weight: 1, user: 0, ip: 0 };
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let (mut buckets, mut passed) = (Buckets::default(), [0, 0]);
    for turn in 0..10 {
        let charged = charges(tree, id(2 + turn % 2), id(30)).unwrap();
        let is_admitted = buckets.admit(&charged, &request, now);
        passed[usize::from(turn % 2 == 1)] += usize::from(is_admitted);
    }
    passed
}

#[test]
fn g6_a_row_that_enforces_caps_the_sum_and_one_to_inherit_each_tenant() {
    let tree = |sharing, own: Vec<LimitRow>| {
        Flat::new()
            .with_tenant(1, None, vec![rate(11, sharing, 1, 4)])
            .with_tenant(2, Some(1), own)
            .with_tenant(3, Some(1), vec![])
            .with_upstream(20, 1, "search", vec![])
            .with_route(30, 20, vec![])
    };
    let more = |overflow| vec![LimitRow { overflow, ..rate(12, Sharing::Private, 1_000, 1_000) }];
    assert_eq!(passed(&tree(Sharing::Enforce, vec![])), [2, 2]);
    assert_eq!(passed(&tree(Sharing::Inherit, vec![])), [4, 4]);
    for overflow in [Overflow::Reject, Overflow::Queue, Overflow::Degrade] {
        assert_eq!(passed(&tree(Sharing::Enforce, more(overflow))), [2, 2], "{overflow:?}");
    }
    // What a child refuses is left for the others.
    let less = vec![rate(12, Sharing::Private, 1, 1)];
    assert_eq!(passed(&tree(Sharing::Enforce, less)), [1, 3]);
}

/// The properties above are about something: in many traces requests pass below rows that enforce.
#[test]
fn traces_meet_rows_that_enforce() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut passed = |bias| {
        let both = (trees(bias), requests(1..2)).new_tree(&mut runner).unwrap();
        let (tree, requests) = both.current();
        run(&tree, &requests, true).unwrap()
    };
    for (bias, least) in [(Bias::Any, 40), (Bias::Full, 100)] {
        let traces: Vec<usize> = (0..300).map(|_| passed(bias)).collect();
        let with_some = traces.iter().filter(|passed| **passed > 0).count();
        assert!(with_some >= least, "{with_some} of 300");
    }
}
