//! T14 and A40: made-up accounts from ten thousand networks keep nobody out who comes from elsewhere.

use super::*;
use crate::policy::Protects;

const KEYS: u64 = 1_000_000;
const NETWORKS: u64 = 10_000;
const HONEST: u64 = 1_000;

/// The caps after the flood, at the moment it ends.
fn flooded(fallback: Fallback) -> Rig {
    let mut rig = Rig::new(fallback);
    for key in 0..KEYS {
        let who = Who::account(&format!("nobody{key}")).and_ip(key % NETWORKS);
        rig.take(&who.and_agent(&format!("a{key}")), at(key / 100_000));
    }
    rig
}

/// Somebody from a network that the flood does not come from.
fn honest(nth: u64) -> Who {
    Who::account(&format!("honest{nth}")).and_ip(NETWORKS + nth).and_agent("browser")
}

#[test]
fn t14_newcomers_from_elsewhere_are_served_in_an_outage() {
    for fallback in [Fallback::Login, Fallback::Otp, Fallback::Guarded, Fallback::Health] {
        let mut rig = flooded(fallback);
        let served = (0..HONEST).filter(|nth| rig.admits(&honest(*nth), at(10))).count();
        println!("{fallback:?}: {served} of {HONEST}");
        assert!(served >= 990, "{fallback:?}: {served} of {HONEST}");
    }
}

#[test]
fn t14_a_tenth_of_a_limit_is_left_to_newcomers_from_elsewhere() {
    let limit = Limit::new(name("l"), Scope::of([Dimension::Account]), bucket(1, 50));
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed)
        .protecting(Protects::Spend)
        .limit(limit);
    let policies = PolicySet::builder().policy(spec).build(None).unwrap();
    let mut rig = Rig::of(Guardrails::new(Fallback::Spend), policies);
    for key in 0..KEYS {
        rig.take(&Who::account(&format!("nobody{key}")).and_ip(key % NETWORKS), at(0));
    }
    let served = (0..HONEST).filter(|nth| rig.admits(&honest(*nth), at(0))).count();
    assert!(served >= 990, "{served} of {HONEST}");
}

#[test]
fn p44_victims_of_a_flood_from_anywhere_are_counted_exactly() {
    let mut rig = Rig::new(Fallback::Login);
    let victim = |ip| Who::account("victim").and_ip(ip);
    assert!(rig.admits(&victim(1 << 20), at(0)));
    for key in 0..200_000 {
        rig.take(&Who::account(&format!("nobody{key}")).and_ip(key % NETWORKS), at(1));
    }
    assert!(rig.admits(&victim(1 << 21), at(2)) && rig.admits(&victim(1 << 22), at(2)));
    for nth in 0..50 {
        assert_eq!(rig.take(&victim((1 << 23) + nth), at(3)).wait, Span::from_secs(597));
    }
}

#[test]
fn p44_what_finds_no_place_is_counted_for_its_network_too_and_told_true_waits() {
    let mut rig = flooded(Fallback::Login);
    let mut waited = 0;
    for nth in 0..200 {
        let who = Who::account(&format!("neighbour{nth}")).and_ip(nth);
        let said = rig.take(&who, at(11));
        if !said.admits() {
            waited += 1;
            let end = at(11).after(said.wait);
            assert!(rig.clone().admits(&who, end), "{nth} was told {}", said.wait);
        }
    }
    assert!(waited > 100, "only {waited} had to wait");
}
