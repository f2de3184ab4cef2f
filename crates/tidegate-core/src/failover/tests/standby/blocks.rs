//! Blocks while the store fails: known ones hold, none is raised, none outlives its end.

use super::*;
use crate::block::{Block, BlockScope, Level};

#[test]
fn p41_no_level_above_the_second_is_told() {
    let ada = Account::new("ada");
    for protects in [Protects::Login, Protects::Otp] {
        let mut node = Node::new(protects, FailureMode::FailClosed);
        node.down(at(0));
        let mut levels = Vec::new();
        for secs in 0..901 {
            if let Some(block) = node.asks(&someone().account(&ada), at(secs)).unwrap().block {
                assert!(block.level <= Some(Level::L2) && block.until > at(secs));
                levels.push(block.level);
            }
        }
        levels.dedup();
        let (l1, l2) = (Some(Level::L1), Some(Level::L2));
        assert_eq!(levels[..2], [l2, l1], "{protects:?}: by how long it is until there is room");
    }
}

/// Lets a node know of a block of the counter at this place.
fn learn(node: &mut Node, subject: &Subject<'_>, place: usize, level: Level, lasts: Span) {
    let block = Block { until: at(0), scope: BlockScope::Long, level: Some(level) };
    node.with(subject, |standby, asked| {
        let counter = asked.batch.charges()[place].digest();
        standby.mirror().learn(counter, &block, lasts, at(0));
    });
}

#[test]
fn p47_known_blocks_are_honoured_until_their_own_end() {
    let ada = Account::new("ada");
    let login = || someone().account(&ada);
    let mut node = Node::new(Protects::Login, FailureMode::FailClosed);
    node.heal_until(at(0));
    learn(&mut node, &login(), 0, Level::L6, Span::from_secs(1_000));
    assert_eq!(node.asks(&login(), at(0)), None, "while the store is asked, it says so itself");
    node.down(at(0));
    let mut told = Vec::new();
    for secs in [1, 500, 999] {
        let refused = node.asks(&login(), at(secs)).unwrap();
        told.push(wait(&refused).unwrap());
        let block = refused.block.unwrap();
        assert_eq!((block.until, block.level), (at(1_000), Some(Level::L2)), "P41: never higher");
        assert_eq!(refused.guarded, None, "and the caps are not asked");
    }
    assert_eq!(told, [999, 500, 1].map(Span::from_secs));
    assert!(node.asks(&login(), before(at(1_000))).unwrap().verdict != Verdict::Admit);
    let passed =
        (0..9).filter(|_| node.asks(&login(), at(1_000)).unwrap().verdict == Verdict::Admit);
    assert_eq!(passed.count(), 3, "whoever was blocked has used nothing");
    let other = Account::new("bob");
    let bob = node.asks(&someone().account(&other), at(1)).unwrap();
    assert_eq!(bob.verdict, Verdict::Admit);
}

#[test]
fn p21_nothing_that_happens_without_a_store_changes_a_block() {
    let ada = Account::new("ada");
    let login = || someone().account(&ada);
    let mut node = Node::new(Protects::Login, FailureMode::FailClosed);
    node.heal_until(at(0));
    learn(&mut node, &login(), 1, Level::L1, Span::from_secs(500));
    node.down(at(0));
    let known = format!("{:?}", node.standby.mirror());
    for secs in 0..900 {
        let _ = node.asks(&login(), at(secs));
    }
    assert_eq!(format!("{:?}", node.standby.mirror()), known);
}

#[test]
fn p20_known_blocks_of_accounts_do_not_close_interfaces() {
    let ada = Account::new("ada");
    let request = || someone().account(&ada);
    let mut node = Node::new(Protects::ApiHeavy, FailureMode::FailOpen);
    learn(&mut node, &request(), 0, Level::L3, Span::from_secs(1_000));
    node.down(at(0));
    assert_eq!(node.asks(&request(), at(1)).unwrap().verdict, Verdict::Admit);
    learn(&mut node, &request(), 1, Level::L3, Span::from_secs(1_000));
    let refused = node.asks(&request(), at(1)).unwrap();
    assert_eq!(wait(&refused), Some(Span::from_secs(999)), "those of addresses do");
}

#[test]
fn p65_a_standby_may_be_dropped_only_when_nothing_of_it_counts() {
    let mut node = Node::new(Protects::ApiHeavy, FailureMode::FailOpen);
    assert!(node.standby.is_fresh(at(0)));
    node.fails(&someone(), StoreError::Timeout, at(0));
    assert!(!node.standby.is_fresh(before(at(60))), "its guardrails count");
    assert!(node.standby.is_fresh(at(60)));
    learn(&mut node, &someone(), 0, Level::L1, Span::from_secs(90));
    assert!(!node.standby.is_fresh(before(at(90))) && node.standby.is_fresh(at(90)));
}
