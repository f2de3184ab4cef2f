//! The locked caps: exact at the last one and at the last tick.

use super::super::rail::Rail;
use super::*;

/// A request that counts under this cap and, as far as it can be, under no other that is full.
fn under(cap: &Cap, number: u64) -> Who {
    let other = format!("u{number}");
    let of = |dimension| cap.by.contains(dimension);
    match (of(Dimension::Account), of(Dimension::Ip), of(Dimension::Agent)) {
        (true, ..) => Who::account("ada").and_ip(number),
        (_, true, true) => Who::ip(9).and_agent("curl"),
        (_, true, false) => Who::ip(9).and_account(&other).and_agent(&other),
        _ => panic!("no such cap"),
    }
}

/// So many pass and no more; the next one exactly when the first has its time behind it.
fn is_exact(fallback: Fallback, cap: Cap, count: u64, secs: u64) {
    assert_eq!((cap.count, cap.per), (count, Span::from_secs(secs)));
    let mut rig = Rig::new(fallback);
    let taken = |nth: u64| START.after(Span::from_millis(7 * nth));
    for nth in 0..count {
        let guarded = rig.take(&under(&cap, nth), taken(nth));
        assert!(guarded.admits(), "number {nth}");
        // Where there are two keys, the one that leaves less is told.
        let remaining = count - nth - 1;
        assert!(guarded.remaining <= remaining);
        assert!(guarded.cap != Some(cap) || guarded.remaining == remaining);
        assert_eq!(guarded.reset, cap.per);
    }
    let last = taken(count);
    let refused = rig.take(&under(&cap, count), last);
    assert!(!refused.admits() && refused.cap == Some(cap) && refused.remaining == 0);
    assert_eq!(refused.wait, START.after(cap.per).since(last));
    assert_eq!(refused.reset, taken(count - 1).after(cap.per).since(last));
    for nth in 0..count.min(5) {
        let free = taken(nth).after(cap.per);
        assert!(!rig.admits(&under(&cap, count + nth), before(free)), "a tick early");
        assert!(rig.admits(&under(&cap, count + nth), free), "at the very end of its span");
        assert!(!rig.admits(&under(&cap, count + nth), free), "one for one");
    }
}

#[test]
fn p24_three_logins_of_an_account_in_any_ten_minutes() {
    is_exact(Fallback::Login, LOGIN[0], 3, 600);
}

#[test]
fn p25_twenty_logins_of_a_prefix_in_any_ten_minutes() {
    is_exact(Fallback::Login, LOGIN[1], 20, 600);
}

#[test]
fn p26_two_one_time_passwords_of_an_account_in_any_quarter_of_an_hour() {
    is_exact(Fallback::Otp, OTP[0], 2, 900);
}

#[test]
fn p27_ten_one_time_passwords_of_a_prefix_in_any_quarter_of_an_hour() {
    is_exact(Fallback::Otp, OTP[1], 10, 900);
}

#[test]
fn p17_a_hundred_and_twenty_requests_of_a_prefix_in_any_minute() {
    for fallback in [Fallback::Guarded, Fallback::Ceilings] {
        if fallback == Fallback::Guarded {
            is_exact(fallback, API[0], 120, 60);
        }
        let mut rig = Rig::of(Guardrails::new(fallback), policies(bucket(100_000, 1), None));
        let passed = (0..500).filter(|nth| rig.admits(&under(&API[0], *nth), at(0))).count();
        assert_eq!(passed, 120, "{fallback:?}");
    }
}

#[test]
fn p18_sixty_requests_of_a_prefix_and_agent_in_any_minute() {
    is_exact(Fallback::Guarded, API[1], 60, 60);
    let mut rig = Rig::new(Fallback::Guarded);
    let passed = |rig: &mut Rig, agent: &str| {
        (0..100).filter(|_| rig.admits(&Who::ip(9).and_agent(agent), at(0))).count()
    };
    assert_eq!(passed(&mut rig, "a"), 60, "though its prefix has room");
    assert_eq!(passed(&mut rig, "b"), 60);
    assert_eq!(passed(&mut rig, "c"), 0, "though this agent has room");
    assert!(rig.admits(&Who::ip(8).and_agent("c"), at(0)), "another prefix");
}

/// Requests from ever other subnets of one site: how many of them pass.
fn of_subnets(fallback: Fallback, subnets: impl Iterator<Item = u16>) -> u64 {
    let mut rig = Rig::new(fallback);
    let passed = subnets.enumerate().filter(|(nth, subnet)| {
        let who = Who::account(&format!("u{nth}")).and_agent(&format!("a{nth}"));
        rig.admits(&who.and_subnet(*subnet), at(0))
    });
    passed.count() as u64
}

#[test]
fn p17_p25_p27_a_cap_by_address_holds_four_times_for_a_56_and_sixteen_times_for_a_48() {
    let caps = [
        (Fallback::Login, 20),
        (Fallback::Otp, 10),
        (Fallback::Closed, 10),
        (Fallback::Guarded, 120),
        (Fallback::Health, 60),
    ];
    for (fallback, count) in caps {
        let one_64 = of_subnets(fallback, (0..5_000).map(|_| 7));
        let one_56 = of_subnets(fallback, (0..5_000).map(|nth| nth % 256));
        let one_48 = of_subnets(fallback, (0..5_000).map(|nth| ((nth % 250) << 8) | (nth % 256)));
        assert_eq!([one_64, one_56, one_48], [count, 4 * count, 16 * count], "{fallback:?}");
    }
}

#[test]
fn p25_a_wide_prefix_is_told_when_it_has_room_again() {
    let mut rig = Rig::new(Fallback::Login);
    let of = |nth: u16| Who::account(&format!("u{nth}")).and_subnet(nth % 256);
    (0..80).for_each(|nth| assert!(rig.admits(&of(nth), at(0))));
    let refused = rig.take(&of(80), at(1));
    assert_eq!(refused.wait, Span::from_secs(599));
    assert_eq!(refused.cap.unwrap().by.to_string(), "ip56");
    assert!(!rig.admits(&of(80), before(at(600))) && rig.admits(&of(80), at(600)));
}

#[test]
fn reads_of_health_have_sixty_in_any_minute() {
    is_exact(Fallback::Health, HEALTH[0], 60, 60);
}

#[test]
fn a35_what_was_closed_goes_by_the_caps_of_one_time_passwords() {
    let mut rig = Rig::new(Fallback::Closed);
    let passed = |rig: &mut Rig, who: &Who| (0..30).filter(|_| rig.admits(who, at(0))).count();
    assert_eq!(passed(&mut rig, &Who::ip(9).and_account("ada")), 2);
    assert_eq!(passed(&mut rig, &Who::ip(9)), 8, "ten for the prefix");
}

#[test]
fn p20_interfaces_are_not_guarded_by_account() {
    let (mut with, mut without) = (Rig::new(Fallback::Guarded), Rig::new(Fallback::Guarded));
    for nth in 0..400 {
        let who = Who::ip(9).and_agent(&format!("a{}", nth % 3));
        let now = START.after(Span::from_millis(200 * nth));
        let one_account = who.clone().and_account("ada");
        assert_eq!(with.take(&one_account, now), without.take(&who, now), "{nth}");
    }
    // An account that has made too many everywhere else is as good as any other.
    for nth in 0..1_000 {
        assert!(with.admits(&Who::account("ada").and_ip(nth).and_agent("a"), at(100)));
    }
}

#[test]
fn p38_a_refused_request_takes_nothing() {
    let mut rig = Rig::new(Fallback::Login);
    let ada = |ip| Who::account("ada").and_ip(ip);
    (0..3).for_each(|_| assert!(rig.admits(&ada(1), at(0))));
    for nth in 0..1_000 {
        let now = at(0).after(Span::from_millis(nth));
        let refused = rig.take(&ada(2), now);
        assert_eq!(refused.wait, at(600).since(now), "hammering keeps nobody out for longer");
    }
    // Nor from the prefix that had room: twenty others still pass.
    let passed =
        (0..30).filter(|nth| rig.admits(&Who::account(&format!("u{nth}")).and_ip(2), at(1)));
    assert_eq!(passed.count(), 20);
    assert!(rig.admits(&ada(3), at(600)));
}

#[test]
fn p38_to_look_takes_nothing() {
    let mut rig = Rig::new(Fallback::Otp);
    let who = Who::account("ada").and_ip(1);
    for _ in 0..10 {
        let looked = rig.ask(&who, false, at(0));
        assert!(looked.admits());
        assert_eq!((looked.remaining, looked.reset), (2, Span::ZERO));
    }
    assert!(rig.admits(&who, at(0)));
    assert_eq!(rig.ask(&who, false, at(0)).remaining, 1);
    assert!(rig.admits(&who, at(0)));
    assert_eq!(rig.ask(&who, false, at(0)).wait, Span::from_secs(900));
}

#[test]
fn p40_who_has_asked_for_nothing_is_admitted() {
    for fallback in [Fallback::Login, Fallback::Otp, Fallback::Guarded, Fallback::Health] {
        let mut rig = Rig::new(fallback);
        for nth in 0..200 {
            let who = Who::account("ada").and_ip(1).and_agent("a");
            assert!(rig.admits(&who, at(900 * nth)), "{fallback:?}, number {nth}");
        }
    }
}

#[test]
fn p33_to_tidy_up_forgets_nothing_that_counts() {
    let mut rig = Rig::new(Fallback::Login);
    let who = Who::account("ada").and_ip(1);
    (0..3).for_each(|nth| assert!(rig.admits(&who, at(nth))));
    for secs in (3..600).step_by(7) {
        rig.rails.tidy(at(secs));
        assert!(!rig.rails.is_fresh(at(secs)));
        assert!(!rig.admits(&who, at(secs)));
    }
    assert!(!rig.rails.is_fresh(before(at(602))));
    assert!(rig.rails.is_fresh(at(602)));
}

#[test]
fn p33_tidying_gives_memory_back() {
    let mut rig = Rig::new(Fallback::Guarded);
    for nth in 0..20_000 {
        rig.take(&Who::default().and_ip(nth).and_agent("a"), at(0));
    }
    // Wider prefixes are those of IPv6.
    let kept = |rig: &Rig| -> Vec<_> { rig.rails.rails.iter().map(Rail::kept).collect() };
    assert_eq!(kept(&rig), [(16_384, 16_384), (0, 0), (0, 0), (16_384, 16_384)]);
    let overflowed = |rig: &Rig| -> usize { rig.rails.rails.iter().map(Rail::overflowed).sum() };
    assert_eq!(overflowed(&rig), 2 * (20_000 - 16_384), "in cells, by address and by agent");
    // Every five seconds, as probes are made.
    (0..5).for_each(|nth| rig.rails.tidy(at(60 + 5 * nth)));
    assert_eq!(kept(&rig), [(0, 0); 4]);
    assert_eq!(overflowed(&rig), 0);
}
