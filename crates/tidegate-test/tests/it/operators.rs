//! What operators do to counters and see of them, and that each of it is told once.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tidegate_core::{
    Account, Amendment, Block, BlockScope, Bucket, Case, Clock, Dimension, Level, Limit,
    ManualClock, Page, PolicySet, Rate, Scope, Shape, Span, Stage, Store, Subject,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, Event, OperateError};
use tidegate_test::drive::digests;
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::ready;
use tidegate_test::trace::START;

use crate::blocks::{attempt, by_account, climbing, dual, engine, hammer, name, policies};
use crate::{cases, lua, memory};

/// What is done to one account.
#[derive(Clone, Copy, Debug)]
enum Verb {
    Block(Span, Option<Level>),
    Unblock,
    Reset,
}

/// The block that holds after it.
fn amend<S: Store>(engine: &Engine<S>, account: &str, limit: &str, verb: Verb) -> Option<Block> {
    let who = Account::new(account);
    let (set, subject) = (engine.policies(), Subject::new().account(&who));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let limit = Some(limit);
    let changes = match verb {
        Verb::Block(lasts, level) => {
            ready(engine.block(&mut case, limit, lasts, level)).map(|one| vec![one])
        }
        Verb::Unblock => ready(engine.unblock(&mut case, limit)),
        Verb::Reset => ready(engine.reset(&mut case, limit)),
    };
    changes.unwrap()[0].amended.block
}

#[derive(Clone, Debug)]
enum Step {
    Attempt(&'static str),
    Amend(&'static str, &'static str, Verb),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let account = || select(vec!["a", "b"]);
    let lasts = select(vec![1, 15_000_000, 60_000_000, 600_000_000, 86_400_000_000_u64]);
    let level = proptest::option::of(select(Level::ALL.to_vec()));
    let verb = prop_oneof![
        2 => (lasts, level).prop_map(|(lasts, level)| Verb::Block(Span::from_micros(lasts), level)),
        1 => Just(Verb::Unblock),
        1 => Just(Verb::Reset),
    ];
    let waits = select(vec![
        1,
        14_999_999,
        15_000_000,
        60_000_000,
        600_000_000,
        3_599_999_999,
        3_600_000_000,
        90_000_000_000_u64,
    ]);
    prop_oneof![
        6 => account().prop_map(Step::Attempt),
        2 => (account(), select(vec!["dual", "ladder"]), verb)
            .prop_map(|(account, limit, verb)| Step::Amend(account, limit, verb)),
        2 => waits.prop_map(Step::Wait),
    ]
}

fn both() -> PolicySet {
    policies([by_account("dual", dual(3, 6)), by_account("ladder", climbing(3))])
}

/// The same steps on a store and on the model.
fn agrees<S: Store>(
    store: impl FnOnce(Arc<ManualClock>) -> S,
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let (clock, engine) = engine(both(), store);
    let model = Engine::with_digests(ModelStore::new(Arc::clone(&clock)), both(), digests());
    for step in steps {
        match step {
            Step::Attempt(account) => {
                let said = |engine: &dyn Fn() -> (bool, tidegate_core::Reading)| {
                    let (passed, reading) = engine();
                    (passed, reading.room, reading.remaining, reading.attempts)
                };
                let found = said(&|| attempt(&engine, account));
                prop_assert_eq!(found, said(&|| attempt(&model, account)));
            }
            Step::Amend(account, limit, verb) => {
                let found = amend(&engine, account, limit, verb);
                prop_assert_eq!(found, amend(&model, account, limit, verb), "{:?}", verb);
            }
            Step::Wait(micros) => clock.advance(Span::from_micros(micros)),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(1_500))]

    #[test]
    fn p96_what_operators_do_in_memory_agrees_with_the_model(steps in vec(step(), 1..60)) {
        agrees(memory::roomy, steps)?;
    }

    #[test]
    fn p96_what_operators_do_by_the_rules_agrees_with_the_model(steps in vec(step(), 1..60)) {
        agrees(PlainStore::new, steps)?;
    }

    #[test]
    fn p96_what_operators_do_by_the_scripts_agrees_with_the_model(steps in vec(step(), 1..60)) {
        agrees(lua::serving, steps)?;
    }
}

#[test]
fn p92_blocking_never_shortens() {
    let (clock, engine) = engine(policies([by_account("l", climbing(3))]), memory::roomy);
    let minutes = |minutes: u64| Verb::Block(Span::from_secs(60 * minutes), None);
    let long = amend(&engine, "a", "l", minutes(10)).unwrap();
    assert_eq!(long.scope, BlockScope::Operator);
    assert_eq!(amend(&engine, "a", "l", minutes(1)), Some(long));
    clock.advance(Span::from_secs(540));
    assert_eq!(amend(&engine, "a", "l", minutes(1)), Some(long), "to the same tick");
    assert!(!attempt(&engine, "a").0 && attempt(&engine, "b").0, "and it is one account's");
    clock.advance(Span::from_secs(60));
    assert!(attempt(&engine, "a").0);
}

#[test]
fn unblocking_lifts_at_once_and_the_level_stands() {
    let (_, engine) = engine(policies([by_account("l", climbing(3))]), memory::roomy);
    let level = |engine: &Engine<_>| {
        let last = (0..3).map(|_| attempt(engine, "a").1).last().unwrap();
        last.attempts.unwrap().block.unwrap().level.unwrap()
    };
    assert_eq!(level(&engine), Level::L1);
    assert_eq!(amend(&engine, "a", "l", Verb::Unblock), None);
    assert_eq!(level(&engine), Level::L2, "somebody who goes on climbs on");
    assert_eq!(amend(&engine, "a", "l", Verb::Reset), None);
    assert_eq!(level(&engine), Level::L1, "all is forgotten");
}

#[test]
fn resetting_an_action_never_clears_a_global_limit() {
    let global = by_account("global", climbing(3)).at_stage(Stage::Global);
    let set = policies([global, by_account("action", dual(50, 100))]);
    let (_, engine) = engine(set, memory::roomy);
    hammer(&engine, "a", 3);
    let who = Account::new("a");
    let (policies, subject) = (engine.policies(), Subject::new().account(&who));
    let mut case = Case::new(policies.get("p").unwrap(), &subject);
    let changes = ready(engine.reset(&mut case, None)).unwrap();
    let named: Vec<_> = changes.iter().map(|change| change.limit.as_str()).collect();
    assert_eq!(named, ["action"]);
    assert!(!attempt(&engine, "a").0, "the global block holds");
    assert!(ready(engine.reset(&mut case, Some("global"))).unwrap()[0].amended.changed);
    assert!(attempt(&engine, "a").0, "unless it is named");
}

#[test]
fn what_cannot_be_done_is_said() {
    let bucket = Bucket::try_new(Rate::per_second(1).unwrap(), 5).unwrap();
    let scope = Scope::of([Dimension::Account]);
    let set = policies([
        by_account("one", climbing(3)),
        by_account("two", dual(3, 6)),
        Limit::new(name("bucket"), scope, Shape::Bucket(bucket)),
        Limit::new(name("device"), Scope::of([Dimension::Device]), Shape::Attempts(climbing(3))),
    ]);
    let (_, engine) = engine(set, memory::roomy);
    let who = Account::new("a");
    let (policies, subject) = (engine.policies(), Subject::new().account(&who));
    let mut case = Case::new(policies.get("p").unwrap(), &subject);
    let mut block = |limit| ready(engine.block(&mut case, limit, Span::MINUTE, None));
    assert!(matches!(block(Some("three")), Err(OperateError::NoSuchLimit { .. })));
    assert!(matches!(block(Some("device")), Err(OperateError::NotCounted { .. })));
    assert!(matches!(block(Some("bucket")), Err(OperateError::NotBlockable { .. })));
    assert_eq!(block(None), Err(OperateError::Ambiguous(2, name("p"))));
    let error = ready(engine.unblock_listed("no name")).unwrap_err();
    assert_eq!(error, OperateError::NotListed);
    let page = Page { after: Some("no cursor"), at_most: 1 };
    assert_eq!(ready(engine.blocks(page)), Err(OperateError::NotListed));
    assert!(attempt(&engine, "a").0, "and nothing was done");
}

/// Every block there is, and the longest page.
fn listed<S: Store>(engine: &Engine<S>, at_most: usize) -> (Vec<String>, usize) {
    let (mut keys, mut longest, mut next) = (Vec::new(), 0, None);
    for _ in 0..100_000 {
        let page = Page { after: next.as_deref(), at_most };
        let list = ready(engine.blocks(page)).unwrap();
        longest = longest.max(list.list.len());
        for entry in list.list {
            assert_eq!(entry.limit, Some(name("l")));
            assert_eq!((entry.policy, entry.block.level), (Some(name("p")), Some(Level::L1)));
            keys.push(entry.key);
        }
        let Some(more) = list.next else { return (keys, longest) };
        next = Some(more);
    }
    panic!("a list without end");
}

#[test]
fn the_list_of_blocks_is_paged_complete_and_bounded() {
    // One in 28 may be blocked.
    let budget = Budget { attempts: 28 * 8_000, ..memory::BUDGET };
    let store = |clock| MemoryStore::new(budget, clock);
    let (clock, engine) = engine(policies([by_account("l", climbing(2))]), store);
    for account in 0..3_000 {
        let account = format!("account {account}");
        hammer(&engine, &account, 2);
        // Who is only counted is not listed.
        let _ = attempt(&engine, &format!("other {account}"));
    }
    for (at_most, bound) in [(1, 7), (100, 106), (usize::MAX, 1_006)] {
        let (keys, longest) = listed(&engine, at_most);
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 3_000);
        assert_eq!(keys.len(), 3_000, "each of them once");
        assert!(longest <= bound, "{longest} on a page of {at_most}");
        assert!(keys.iter().all(|key| !key.contains("account")), "nobody's name shows");
    }
    let (keys, _) = listed(&engine, 500);
    for key in &keys[..10] {
        assert!(ready(engine.unblock_listed(key)).unwrap().changed);
        assert!(!ready(engine.unblock_listed(key)).unwrap().changed, "only once");
    }
    assert_eq!(listed(&engine, 500).0.len(), 2_990);
    clock.advance(Level::L1.lasts());
    assert_eq!(listed(&engine, 500).0.len(), 0, "those that have ended are not listed");
}

#[test]
fn blocks_and_amendments_are_told_once_each() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&told);
    let observer = move |event: &Event| note.lock().unwrap().push(event.clone());
    let clock = Arc::new(ManualClock::new(START));
    let set = policies([by_account("l", dual(3, 6))]);
    let engine = Engine::with_digests(memory::roomy(Arc::clone(&clock)), set, digests());
    let engine = engine.observed_by(vec![Box::new(observer)]).unwrap();
    hammer(&engine, "a", 20);
    let verbs = [Verb::Unblock, Verb::Block(Span::HOUR, None), Verb::Block(Span::MINUTE, None)];
    for verb in verbs.into_iter().chain([Verb::Reset, Verb::Reset, Verb::Unblock]) {
        let _ = amend(&engine, "a", "l", verb);
    }
    assert!(engine.finish_telling(Duration::from_secs(30)));
    let told = told.lock().unwrap();
    let blocked = told.iter().filter_map(|event| match event {
        Event::Blocked { block, at, .. } => Some((block.scope, block.until.since(*at))),
        _ => None,
    });
    let half = Span::from_secs(30);
    assert_eq!(
        blocked.collect::<Vec<_>>(),
        [(BlockScope::Temp, half), (BlockScope::Long, Span::HOUR)]
    );
    let amended = told.iter().filter_map(|event| match event {
        Event::Amended { policy, limit, amendment, amended } => {
            assert_eq!((policy, limit), (&Some(name("p")), &Some(name("l"))));
            assert_eq!(amended.at, clock.now());
            Some(*amendment)
        }
        _ => None,
    });
    let hour = Amendment::Block { lasts: Span::HOUR, level: None };
    let expected = [Amendment::Unblock, hour, Amendment::Reset];
    assert_eq!(amended.collect::<Vec<_>>(), expected, "what changes nothing is not told");
}
