//! What is called idle never refuses alone; and what is plainly idle is called so.

use proptest::prelude::*;
use tidegate_core::{
    Case, Cost, CostRule, Counts, FailureMode, ManualClock, Name, PolicySet, PolicySpec, Rate,
    Subject, Timestamp,
};

use super::*;
use crate::memory::{Budget, MemoryStore};
use crate::{Engine, ready};

const START: u64 = 1_790_000_000_000_000;

/// One request: how long after the one before, by whom, and how heavy.
#[derive(Clone, Debug)]
struct Request {
    after: u64,
    org: u8,
    user: u8,
    weight: u64,
}

fn limit(name: &str, scope: Scope, shape: &Shape) -> Limit {
    Limit::new(Name::try_new(name).unwrap(), scope, shape.clone()).with_named_key()
}

fn is_idle(idle: &Limit, other: &Limit) -> bool {
    let shapes = |limit: &Limit| vec![limit.shape().clone()];
    let (b, a) = (shapes(idle), shapes(other));
    let idle = RuledLimit { limit: idle, shapes: &b };
    is_idle_beside(idle, RuledLimit { limit: other, shapes: &a }, Scope::GLOBAL)
}

/// Whether the second limit ever refuses what the first does not, in a policy with both.
fn refuses_alone(first: &Limit, second: &Limit, requests: &[Request]) -> bool {
    let policy = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen)
        .limit(first.clone())
        .limit(second.clone());
    let set = PolicySet::builder().policy(policy).build(None).unwrap();
    let clock = ManualClock::new(Timestamp::from_micros(START));
    let budget = Budget { buckets: 1_000, quotas: 1_000, windows: 1_000, attempts: 100 };
    let engine = Engine::new(MemoryStore::new(budget, &clock), set.clone());
    requests.iter().any(|request| {
        clock.advance(Span::from_micros(request.after));
        let (org, user) = ([b'a' + request.org], [b'a' + request.user]);
        let subject = Subject::new().org(&org).user(&user);
        let mut case = Case::new(set.get("p").unwrap(), &subject)
            .weighing(Cost::try_new(request.weight).unwrap());
        let _ = ready(engine.decide(&mut case)).unwrap().unwrap();
        let [first, second] = case.readings().list() else { panic!("both apply") };
        first.room.is_now() && !second.room.is_now()
    })
}

fn bucket(tokens: u64, per: u64, burst: u64) -> Shape {
    let rate = Rate::try_new(tokens, Span::from_micros(per)).unwrap();
    Shape::Bucket(Bucket::try_new(rate, burst).unwrap())
}

fn window(count: u64, per: u64) -> Shape {
    Shape::Window(Window::try_new(count, Span::from_micros(per), Counts::Admitted).unwrap())
}

fn quota(count: u64, period: Period) -> Shape {
    Shape::Quota(Quota::try_new(count, period, Counts::Admitted).unwrap())
}

fn fixed(per: u64) -> Period {
    Period::Fixed(Span::from_micros(per))
}

fn calendar(unit: Unit, zone: &str) -> Period {
    Period::Calendar(Calendar::try_new(unit, zone, None).unwrap())
}

/// Lengths that divide one another, and some that do not.
fn length() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![Just(60), Just(120), Just(240), Just(600), 7_u64..700]
}

/// A shape but for its count, and that one among those small enough to be filled.
fn shape() -> impl Strategy<Value = (Form, u64)> {
    let count = prop_oneof![2 => 1_u64..30, 1 => 60_u64..75, 1 => 100_u64..200];
    let form = (0_u8..4, length(), prop_oneof![1_u64..40, 100_u64..400]);
    (form.prop_map(|(kind, per, tokens)| Form { kind, per, tokens }), count)
}

/// A shape without its count.
#[derive(Clone, Copy, Debug)]
struct Form {
    kind: u8,
    per: u64,
    tokens: u64,
}

impl Form {
    fn with(self, count: u64) -> Shape {
        match self.kind {
            0 => bucket(self.tokens, self.per, count),
            1 => window(count, self.per),
            2 => quota(count, fixed(self.per)),
            _ => quota(count, Period::FirstUse(Span::from_micros(self.per))),
        }
    }
}

/// The strictest limit that is idle beside `other`, of those that `make` makes of a count: there a
/// claim that goes too far shows first.
fn strictest_idle(other: &Limit, make: impl Fn(u64) -> Limit) -> Option<Limit> {
    (1..400).map(make).find(|idle| is_idle(idle, other))
}

fn scope() -> impl Strategy<Value = Scope> {
    prop_oneof![
        Just(Scope::GLOBAL),
        Just(Scope::of([Dimension::Org])),
        Just(Scope::of([Dimension::Org, Dimension::User])),
    ]
}

/// Bursts, trickles and pauses.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let after = prop_oneof![4 => Just(0), 4 => 0_u64..12, 1 => 0_u64..700];
    let weight = prop_oneof![4 => Just(1), 3 => 1_u64..12, 2 => 1_u64..80];
    let request = (after, 0_u8..2, 0_u8..2, weight)
        .prop_map(|(after, org, user, weight)| Request { after, org, user, weight });
    prop::collection::vec(request, 1..300)
}

proptest! {
    #[test]
    fn what_never_binds_never_refuses_alone(
        (a, count) in shape(),
        (b, _) in shape(),
        (scope_of_a, scope_of_b) in (scope(), scope()),
        requests in requests(),
    ) {
        let a = limit("a", scope_of_a, &a.with(count));
        if let Some(b) = strictest_idle(&a, |count| limit("b", scope_of_b, &b.with(count))) {
            prop_assert!(!refuses_alone(&a, &b, &requests), "{b:?} beside {a:?}");
        }
    }

    /// Calendar periods are long, so these requests come hours apart.
    #[test]
    fn what_never_binds_on_a_calendar_never_refuses_alone(
        count in 1_u64..8,
        (a, b) in (0_usize..8, 0_usize..8),
        pace in 1_u64..12,
        requests in prop::collection::vec((0_u64..12, 1_u64..3), 1..500),
    ) {
        const ZONE: &str = "Europe/Berlin";
        let hour = Span::HOUR.as_micros();
        let shape = |kind, count| match kind {
            0 => quota(count, calendar(Unit::Hour, ZONE)),
            1 => quota(count, calendar(Unit::Day, ZONE)),
            2 => quota(count, calendar(Unit::Week, ZONE)),
            3 => quota(count, calendar(Unit::Month, ZONE)),
            4 => quota(count, calendar(Unit::Day, "UTC")),
            5 => quota(count, fixed(24 * hour)),
            6 => window(count, 24 * hour),
            _ => bucket(1, 3 * hour, count),
        };
        let a = limit("a", Scope::GLOBAL, &shape(a, count));
        let requests: Vec<Request> = requests
            .into_iter()
            .map(|(after, weight)| (after % pace * hour / 2, weight))
            .map(|(after, weight)| Request { after, org: 0, user: 0, weight })
            .collect();
        let b = |count| limit("b", Scope::GLOBAL, &shape(b, count));
        if let Some(b) = strictest_idle(&a, b) {
            prop_assert!(!refuses_alone(&a, &b, &requests), "{b:?} beside {a:?}");
        }
    }
}

#[test]
fn what_is_plainly_idle_is_found() {
    let (s, day) = (Span::SECOND.as_micros(), Span::DAY.as_micros());
    for (a, b) in [
        (bucket(10, s, 20), bucket(10, s, 20)),
        (bucket(10, s, 20), bucket(600, 60 * s, 100)),
        // 20 + 10 · 60 = 620 in any minute.
        (bucket(10, s, 20), window(640, 60 * s)),
        (bucket(10, s, 20), quota(620, fixed(60 * s))),
        (bucket(10, s, 20), quota(864_020, calendar(Unit::Day, "UTC"))),
        (bucket(10, s, 20), quota(1_000_000, calendar(Unit::Day, "Europe/Berlin"))),
        (window(10, 60 * s), window(20, 60 * s)),
        (window(10, 60 * s), window(10, 30 * s)),
        (window(10, 60 * s), quota(600, fixed(3_600 * s))),
        (window(10, 10 * s), bucket(1, s, 10)),
        (quota(10, fixed(60 * s)), quota(600, fixed(3_600 * s))),
        (quota(20, fixed(day)), window(40, day)),
        // Beyond 64 a window counts a unit for up to 61/60 of its length: three days are touched.
        (quota(100, fixed(day)), window(300, day)),
        (quota(100, calendar(Unit::Day, "UTC")), quota(3_100, calendar(Unit::Month, "UTC"))),
        (quota(100, calendar(Unit::Day, "UTC")), quota(100, calendar(Unit::Day, "UTC"))),
    ] {
        let (a, b) = (limit("a", Scope::GLOBAL, &a), limit("b", Scope::GLOBAL, &b));
        assert!(is_idle(&b, &a), "{b:?} beside {a:?}");
    }
}

#[test]
fn what_may_bind_is_left_alone() {
    let s = Span::SECOND.as_micros();
    for (a, b) in [
        (bucket(10, s, 20), bucket(9, s, 20)),
        (bucket(10, s, 20), bucket(10, s, 19)),
        (bucket(10, s, 20), window(619, 60 * s)),
        (window(10, 60 * s), window(10, 61 * s)),
        (window(10, 10 * s), bucket(1, s, 9)),
        (quota(10, fixed(60 * s)), window(19, 60 * s)),
        (quota(100, calendar(Unit::Day, "UTC")), quota(3_099, calendar(Unit::Month, "UTC"))),
    ] {
        let (a, b) = (limit("a", Scope::GLOBAL, &a), limit("b", Scope::GLOBAL, &b));
        assert!(!is_idle(&b, &a), "{b:?} beside {a:?}");
    }
}

/// A window of more than 64 keeps sixtieths of its length and forgets one later than it must.
#[test]
fn a_window_that_forgets_later_may_bind() {
    let per = 6_000;
    let at_a_sixtieth = per - START % per;
    let burst = |after| Request { after, org: 0, user: 0, weight: 40 };
    let requests = [burst(at_a_sixtieth), burst(per)];
    let exact = limit("exact", Scope::GLOBAL, &window(40, per));
    for count in 65..=80 {
        let coarse = limit("coarse", Scope::GLOBAL, &window(count, per));
        assert_eq!(refuses_alone(&exact, &coarse, &requests), count < 80, "{count}");
        assert_eq!(is_idle(&coarse, &exact), count >= 80, "{count}");
    }
}

#[test]
fn who_is_counted_how_and_for_what_matters() {
    let (strict, lax) = (bucket(1, 1_000_000, 1), bucket(1, 1_000_000, 5));
    let org = Scope::of([Dimension::Org]);
    let user = Scope::of([Dimension::Org, Dimension::User]);
    let strict = |scope| limit("strict", scope, &strict);
    let lax = |scope| limit("lax", scope, &lax);
    assert!(is_idle(&lax(user), &strict(org)), "all users of an organisation are in its counter");
    assert!(!is_idle(&lax(org), &strict(user)), "many users make an organisation");
    assert!(!is_idle(&lax(org), &strict(org).in_shadow()), "a shadow refuses nothing");
    assert!(!is_idle(&lax(org).in_shadow(), &strict(org)), "a shadow is there to report");
    assert!(!is_idle(&lax(org), &strict(org).settling()), "what is given back is room again");
    let spared = |limit: Limit| limit.unless(Dimension::Token);
    assert!(!is_idle(&lax(org), &spared(strict(org))), "whom it leaves alone the other refuses");
    assert!(is_idle(&spared(lax(org)), &spared(strict(org))));
    assert!(is_idle(&spared(lax(org)), &strict(org)));
    let ip = Scope::of([Dimension::Ip]);
    assert!(!is_idle(&lax(ip), &strict(ip).only_ipv6()), "of IPv4 it counts nothing");
    assert!(is_idle(&lax(ip).only_ipv6(), &strict(ip)));
    let each = CostRule::PerRequest(Cost::ONE);
    assert!(!is_idle(&lax(org), &strict(org).costing(each)), "weight and requests differ");
    let ip48 = Scope::of([Dimension::Ip48]);
    assert!(is_idle(&lax(ip), &strict(ip48)), "an address is in one /48");
    assert!(!is_idle(&lax(ip48), &strict(ip)));
}
