//! A login behind the preset, and a day of virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use tidegate_core::{
    Account, FailureMode, ManualClock, Name, PolicySet, Prefix, PrefixLength, Preset, Span,
    Subject, Timestamp,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{AttemptError, Engine, ready};

use crate::actor::{Actor, Try};

/// What is counted while a day goes by.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Guesses that were let through to the password check.
    pub(crate) per_account: HashMap<u32, u32>,
    pub(crate) per_prefix: HashMap<Prefix, u32>,
    pub(crate) per_48: HashMap<Prefix, u32>,
    /// Logins with the right password: those let through, and all.
    pub(crate) vouched: (u32, u32),
    pub(crate) unvouched: (u32, u32),
    /// The longest wait anybody was told.
    pub(crate) longest_wait: Option<Span>,
    pub(crate) attempts: u64,
}

pub(crate) struct World {
    engine: Engine<MemoryStore<Arc<ManualClock>>>,
    clock: Arc<ManualClock>,
    tally: Tally,
}

const START: u64 = 1_800_000_000_000_000;

impl World {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(START)));
        let login = Preset::Login.policy(Name::try_new("login").unwrap(), FailureMode::FailClosed);
        let policies = PolicySet::builder().policy(login).build(None).unwrap();
        let store = MemoryStore::new(Budget::default(), Arc::clone(&clock));
        Self { engine: Engine::new(store, policies), clock, tally: Tally::default() }
    }

    /// Lets a day go by: whoever is next acts, and says when it will again.
    pub(crate) fn day(mut self, mut actors: Vec<Actor>) -> Tally {
        let end = START + Span::DAY.as_micros();
        let mut next: BinaryHeap<Reverse<(u64, usize)>> = (0..actors.len())
            .map(|actor| Reverse((START + actors[actor].first().as_micros(), actor)))
            .collect();
        while let Some(Reverse((time, actor))) = next.pop() {
            if time >= end {
                break;
            }
            self.clock.set(Timestamp::from_micros(time));
            let wait = actors[actor].act(&mut |attempt: &Try<'_>| self.attempt(attempt));
            next.push(Reverse((time + wait.as_micros().max(1), actor)));
        }
        self.tally
    }

    /// One attempt: how long to wait if it is refused.
    fn attempt(&mut self, attempt: &Try<'_>) -> Option<Span> {
        let name = format!("Account {}", attempt.account);
        let account = Account::new(&name);
        let subject = Subject::new().account(&account).ip(attempt.ip).agent(attempt.agent);
        let subject = match attempt.device {
            Some(device) => subject.device(device),
            None => subject,
        };
        self.tally.attempts += 1;
        let refused = match ready(self.engine.attempt("login", &subject)).unwrap() {
            Ok(pending) if attempt.good => {
                ready(pending.succeeded()).unwrap().unwrap();
                None
            }
            Ok(pending) => {
                pending.failed();
                None
            }
            Err(AttemptError::TooMany(refusal)) => Some(refusal.retry_after().unwrap()),
            Err(error) => panic!("{error}"),
        };
        self.count(attempt, refused);
        refused
    }

    fn count(&mut self, attempt: &Try<'_>, refused: Option<Span>) {
        let tally = &mut self.tally;
        if let Some(wait) = refused {
            tally.longest_wait = tally.longest_wait.max(Some(wait));
        }
        if attempt.good {
            let logins =
                if attempt.device.is_some() { &mut tally.vouched } else { &mut tally.unvouched };
            logins.0 += u32::from(refused.is_none());
            logins.1 += 1;
        } else if refused.is_none() && !attempt.typo {
            *tally.per_account.entry(attempt.account).or_default() += 1;
            let wider = Prefix::rolled_up(attempt.ip, PrefixLength::P48);
            *tally.per_prefix.entry(Prefix::of(attempt.ip)).or_default() += 1;
            *tally.per_48.entry(wider).or_default() += 1;
        }
    }
}
