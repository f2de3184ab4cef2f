//! Under which keys a request is counted, against an oracle that keeps everything.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[test]
fn p37_every_account_that_is_known_is_counted() {
    let long = "x".repeat(64 * 1_024);
    let longer = "x".repeat(64 * 1_024 + 1);
    let ids = ["0", "", "a\0", "b\0\0", "null", "ada", &long, &longer, "\u{fffd}", "é"];
    for (fallback, count) in [(Fallback::Login, 3), (Fallback::Otp, 2)] {
        let mut rig = Rig::new(fallback);
        for (place, id) in (0..).zip(ids) {
            let passed = |rig: &mut Rig| {
                let asks = (0..9).map(|nth| Who::account(id).and_ip(100 * place + nth));
                asks.filter(|who| rig.admits(who, at(0))).count()
            };
            assert_eq!(passed(&mut rig), count, "{fallback:?} of {} bytes", id.len());
        }
    }
}

#[test]
fn p37_an_account_that_is_not_known_leaves_the_prefix() {
    for (fallback, count) in [(Fallback::Login, 20), (Fallback::Otp, 10)] {
        let mut rig = Rig::new(fallback);
        let passed = |rig: &mut Rig, who: &Who| (0..50).filter(|_| rig.admits(who, at(0))).count();
        assert_eq!(passed(&mut rig, &Who::ip(1)), count);
        assert_eq!(passed(&mut rig, &Who::default()), count, "all without an address are one");
        assert!(rig.admits(&Who::ip(2), at(0)));
    }
}

#[test]
fn to_leave_out_the_address_or_the_agent_is_no_way_around() {
    let mut rig = Rig::new(Fallback::Guarded);
    let passed = |rig: &mut Rig, who: &Who| (0..200).filter(|_| rig.admits(who, at(0))).count();
    assert_eq!(passed(&mut rig, &Who::ip(1)), 60, "no agent is one agent");
    assert_eq!(passed(&mut rig, &Who::ip(1).and_agent("a")), 60, "and not that of another");
    assert_eq!(passed(&mut rig, &Who::ip(1).and_agent("b")), 0, "within one prefix");
    assert_eq!(passed(&mut rig, &Who::default()), 60, "neither: one prefix and one agent");
    assert_eq!(passed(&mut rig, &Who::default().and_agent("a")), 60);
    assert_eq!(passed(&mut rig, &Who::default().and_agent("b")), 0);
    let mut health = Rig::new(Fallback::Health);
    assert_eq!(passed(&mut health, &Who::default()), 60);
}

#[test]
fn p37_accounts_without_an_address_share_one_prefix() {
    let mut rig = Rig::new(Fallback::Login);
    let passed =
        |rig: &mut Rig, id: &str| (0..9).filter(|_| rig.admits(&Who::account(id), at(0))).count();
    assert!((0..6).all(|nth| passed(&mut rig, &format!("u{nth}")) == 3));
    assert_eq!((6..50).map(|nth| passed(&mut rig, &format!("u{nth}"))).sum::<usize>(), 2);
    assert_eq!((0..30).filter(|_| rig.admits(&Who::default(), at(0))).count(), 0);
}

/// Everything that was admitted, by the words of its key.
#[derive(Default)]
struct Oracle(BTreeMap<String, Vec<Timestamp>>);

impl Oracle {
    /// The keys of a request, each with its cap.
    fn keys(fallback: Fallback, who: &Who) -> Vec<(String, Cap)> {
        let account = who.account.as_ref().map(|id| format!("account {id}"));
        let prefix = format!("prefix {:?}", who.ip);
        let agent = format!("{prefix} agent {:?}", who.agent);
        let of_login = |caps: [Cap; 2]| {
            let by_account = account.clone().map(|key| (key, caps[0]));
            by_account.into_iter().chain([(prefix.clone(), caps[1])]).collect()
        };
        match fallback {
            Fallback::Login => of_login(LOGIN),
            Fallback::Otp => of_login(OTP),
            Fallback::Health => vec![(prefix, HEALTH[0])],
            _ => vec![(prefix, API[0]), (agent, API[1])],
        }
    }

    fn admits(&mut self, fallback: Fallback, who: &Who, now: Timestamp) -> bool {
        let keys = Self::keys(fallback, who);
        let admits = keys.iter().all(|(key, cap)| {
            let all = self.0.get(key).map_or(&[][..], |all| all);
            let counts = |at: &&Timestamp| now.since(**at) < cap.per;
            let counted = all.iter().filter(counts).count();
            u64::try_from(counted).unwrap() < cap.count
        });
        if admits {
            for (key, _) in keys {
                self.0.entry(key).or_default().push(now);
            }
        }
        admits
    }

    /// In every span that ends with an admitted request there are no more than its cap.
    fn holds(&self, fallback: Fallback, asked: &[Who]) {
        for (key, cap) in asked.iter().flat_map(|who| Self::keys(fallback, who)) {
            let all = self.0.get(&key).map_or(&[][..], |all| all);
            for end in all {
                let within = |at: &&Timestamp| **at <= *end && end.since(**at) < cap.per;
                assert!(all.iter().filter(within).count() as u64 <= cap.count, "{key}");
            }
        }
    }
}

fn whos() -> impl Strategy<Value = Who> {
    let account = proptest::option::of(proptest::sample::select(&["ada", "bob", "", "0"][..]));
    let ip = proptest::option::weighted(0.8, 0..3_u8);
    let agent = proptest::option::weighted(0.8, proptest::sample::select(&["x", "y", "z"][..]));
    (account, ip, agent).prop_map(|(account, ip, agent)| Who {
        account: account.map(str::to_owned),
        ip: ip.map(|last| [203, 0, 113, last]),
        subnet: None,
        agent: agent.map(str::to_owned),
    })
}

/// Mostly little, and now and then a span of a cap, give or take a tick.
fn pauses() -> impl Strategy<Value = Span> {
    let edges = (proptest::sample::select(&[20_u64, 60, 200, 600, 900][..]), 0..3_u64)
        .prop_map(|(secs, off)| Span::from_micros(secs * 1_000_000 + off - 1));
    prop_oneof![
        6 => Just(Span::ZERO),
        6 => (0..2_000_000_u64).prop_map(Span::from_micros),
        2 => edges,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn p29_caps_are_exact_for_spans_that_begin_at_any_time(
        fallback in proptest::sample::select(
            &[Fallback::Login, Fallback::Otp, Fallback::Guarded, Fallback::Health][..]
        ),
        asks in proptest::collection::vec((whos(), pauses(), any::<bool>()), 1..400),
    ) {
        let (mut rig, mut oracle) = (Rig::new(fallback), Oracle::default());
        let mut now = START;
        for (who, pause, tidies) in &asks {
            now = now.after(*pause);
            if *tidies {
                rig.rails.tidy(now);
            }
            let guarded = rig.take(who, now);
            prop_assert_eq!(guarded.admits(), oracle.admits(fallback, who, now), "{:?}", who);
            if !guarded.admits() {
                let end = now.after(guarded.wait);
                prop_assert!(!rig.clone().admits(who, before(end)), "told too long a wait");
                prop_assert!(rig.clone().admits(who, end), "told too short a wait");
            }
        }
        let asked: Vec<Who> = asks.into_iter().map(|(who, ..)| who).collect();
        oracle.holds(fallback, &asked);
    }
}
