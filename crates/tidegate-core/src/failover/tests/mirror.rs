//! The blocks a node knows of: none is lost, and none outlives its end.

use super::super::Mirror;
use super::*;
use crate::block::{Block, BlockScope, Level};

/// As many as are remembered.
const MOST: u64 = 16_384;

fn block(level: Level) -> Block {
    Block { until: at(0), scope: BlockScope::Temp, level: Some(level) }
}

#[test]
fn p47_a_block_holds_until_its_own_end_and_no_longer() {
    let mut mirror = Mirror::default();
    assert!(mirror.is_empty() && mirror.is_fresh(at(0)));
    mirror.learn(7, &block(Level::L6), Span::from_secs(30), at(10));
    for now in [at(10), before(at(40))] {
        let known = mirror.get(7, now).unwrap();
        assert_eq!((known.until, known.level), (at(40), Some(Level::L6)));
    }
    assert!(!mirror.is_fresh(before(at(40))));
    assert_eq!(mirror.get(7, at(40)), None);
    assert!(mirror.is_fresh(at(40)));
    assert_eq!(mirror.get(8, at(10)), None, "that of another counter");
}

#[test]
fn p47_what_the_store_says_last_holds() {
    let mut mirror = Mirror::default();
    mirror.learn(7, &block(Level::L1), Span::from_secs(15), at(0));
    mirror.learn(7, &block(Level::L2), Span::from_secs(60), at(5));
    assert_eq!(mirror.get(7, at(20)).map(|block| block.until), Some(at(65)));
    mirror.learn(7, &block(Level::L2), Span::from_secs(10), at(20));
    assert_eq!(mirror.get(7, at(30)), None, "an operator may shorten it");
    mirror.forget(7);
    assert!(mirror.is_empty() && mirror.is_fresh(at(0)), "nothing of it is left");
}

#[test]
fn p47_of_too_many_blocks_those_that_end_first_are_forgotten() {
    let mut mirror = Mirror::default();
    let lasts = |counter: u64| Span::from_secs(1_000 + counter);
    for counter in 1..=MOST {
        mirror.learn(counter, &block(Level::L4), lasts(counter), at(0));
    }
    let held = |mirror: &Mirror| {
        (1..=2 * MOST).filter(|counter| mirror.get(*counter, at(0)).is_some()).count()
    };
    assert_eq!(held(&mirror), 16_384);
    mirror.learn(MOST + 1, &block(Level::L1), Span::from_secs(15), at(0));
    assert!(mirror.get(1, at(0)).is_some(), "a short block takes no long one's place");
    mirror.learn(MOST + 2, &block(Level::L5), lasts(MOST + 2), at(0));
    assert_eq!(mirror.get(1, at(0)), None, "a longer one takes that of the shortest");
    assert!(mirror.get(2, at(0)).is_some() && mirror.get(MOST + 2, at(0)).is_some());
    mirror.learn(2, &block(Level::L5), lasts(0), at(0));
    assert_eq!(held(&mirror), 16_384, "one that is known takes no place");
}
