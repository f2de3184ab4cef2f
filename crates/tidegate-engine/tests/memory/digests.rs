//! T11: whoever does not know the secret cannot choose who shares a counter or a place.
//!
//! And whoever does know it has won little: a key has two groups of a fixed size and one cell, so
//! there is no chain to grow.

use std::collections::HashSet;

use tidegate_core::{Case, Digests, ManualClock, ShapeKind, Span, Subject};
use tidegate_engine::memory::MemoryStore;
use tidegate_engine::{Engine, ready};

use crate::world::{SECRET, START, World, bucket, per_user, room_for};

/// Room for so many keys, and how many groups of five that is.
const BUDGET: usize = 200;
const GROUPS: u64 = 70;

/// Places in the two groups of a key.
const PLACES: usize = 10;

fn digest(digests: &Digests, user: u64) -> u64 {
    let (set, user) = (per_user(bucket(1, Span::DAY, 2)), user.to_le_bytes());
    let subject = Subject::new().user(&user);
    let mut case = Case::new(&set.policies()[0], &subject);
    case.resolve(digests);
    case.batch().charges()[0].digest()
}

#[test]
fn t11_secrets_decide_all_digests() {
    let (one, other) = (Digests::new([1, 2]), Digests::new([1, 3]));
    let mut seen = HashSet::new();
    for user in 0..2_000 {
        assert_eq!(digest(&one, user), digest(&one.clone(), user));
        assert!(seen.insert(digest(&one, user)), "user {user} shares a digest");
        assert!(seen.insert(digest(&other, user)), "user {user} shares one under another secret");
    }
    // One bit of the secret changes about half of the bits of a digest.
    let changed: u32 =
        (0..2_000).map(|user| (digest(&one, user) ^ digest(&other, user)).count_ones()).sum();
    assert!((30..=34).contains(&(changed / 2_000)), "{changed} bits of 2000 digests");
}

/// The two groups of a digest, as `table.rs` chooses them.
fn homes(digest: u64) -> [u64; 2] {
    let home =
        |digest: u64| u64::try_from((u128::from(digest) * u128::from(GROUPS)) >> 64).unwrap();
    [home(digest), home(digest.rotate_left(32).wrapping_mul(0x9E37_79B9_7F4A_7C15))]
}

/// Users whose keys have the same two groups under the secret of this test, and as many who avoid
/// those groups.
fn colliding(count: usize) -> (Vec<u64>, Vec<u64>) {
    let set = per_user(bucket(1, Span::DAY, 2));
    let digests = Digests::new(SECRET);
    let homes_of = |user: u64| {
        let user = user.to_le_bytes();
        let subject = Subject::new().user(&user);
        let mut case = Case::new(&set.policies()[0], &subject);
        case.resolve(&digests);
        homes(case.batch().charges()[0].digest())
    };
    let target = (0..).map(homes_of).find(|[first, second]| first != second).unwrap();
    let together = (0..).filter(|user| homes_of(*user) == target).take(count).collect();
    let apart = |user: &u64| homes_of(*user).iter().all(|home| !target.contains(home));
    (together, (0..).filter(apart).take(50).collect())
}

#[test]
fn t11_keys_chosen_to_collide_are_bounded_and_harm_nobody_else() {
    let (attackers, bystanders) = colliding(200);
    let world = World::new(room_for(BUDGET), per_user(bucket(1, Span::DAY, 2)));
    let given = |user: &u64| world.admitted_of(5, &Subject::new().user(&user.to_le_bytes()));
    let attack: Vec<usize> = attackers.iter().map(given).collect();
    let held = world.engine.store().usage().of(ShapeKind::Bucket);
    assert_eq!(held, PLACES, "they do collide; if not, `homes` no longer is what the table does");
    assert!(attack.iter().all(|given| *given <= 2), "none got more than its limit: {attack:?}");
    assert!(attack[..PLACES].iter().all(|given| *given == 2), "the first have places of their own");
    assert!(attack[PLACES..].iter().any(|given| *given > 0), "the others are served, coarsely");
    let served: Vec<usize> = bystanders.iter().map(given).collect();
    // One who by chance looks like an attacker to a cell may be refused; the next one is not.
    let harmed = served.iter().filter(|given| **given < 2).count();
    assert!(harmed <= 2, "elsewhere nothing has happened: {served:?}");
    // And those who are there keep their places and their counts.
    assert!(attackers[..PLACES].iter().all(|user| given(user) == 0));
}

#[test]
fn t11_keys_chosen_for_one_secret_do_not_collide_under_another() {
    let (attackers, _) = colliding(60);
    let set = per_user(bucket(1, Span::DAY, 2));
    let store = MemoryStore::new(room_for(BUDGET), ManualClock::new(START));
    let engine = Engine::new(store, set.clone());
    for user in &attackers {
        let user = user.to_le_bytes();
        let subject = Subject::new().user(&user);
        let mut case = Case::new(&set.policies()[0], &subject);
        assert!(ready(engine.decide(&mut case)).unwrap().unwrap().is_admitted());
    }
    assert_eq!(engine.store().usage().of(ShapeKind::Bucket), attackers.len());
}
