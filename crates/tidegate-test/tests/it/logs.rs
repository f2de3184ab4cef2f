//! P92, P96: the scripts of abuse logs, told the time, do what the rules say: to whatever is asked of
//! them, in any order, also when clocks are set back and numbers are changed.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use tidegate_core::{
    Account, Amended, Amendment, Attempts, Case, Claim, Clock as _, CounterRef, Digests, Dimension,
    FailureMode, Hold, Kept, KeyNames, Ladder, Level, Limit, MAX_LIMITS, ManualClock, Mode, Name,
    Outcome, PolicySet, PolicySpec, Reading, Readings, Receipt, Scope, Settled, Settlement, Shape,
    Span, Stage, Store as _, Subject, Threshold, TicketId, Timestamp, plan,
};
use tidegate_stores::redis::RedisStore;
use tidegate_test::lua::{Expired, secret, store};
use tidegate_test::ready;

use crate::cases;

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// What a limit of a trace is like, but for its numbers.
#[derive(Clone, Copy, Debug)]
struct Kind {
    distinct: bool,
    forgives: bool,
    global: bool,
    shadow: bool,
}

#[derive(Clone, Debug)]
enum Step {
    /// An attempt on one account.
    Charge(u8),
    Peek(u8),
    /// Settles one of the last admitted requests, at nothing.
    Settle(u8),
    Amend(u8, Amendment),
    /// So far forth, in µs, or back.
    Wait(i64),
    /// Other numbers.
    Reload(Vec<Attempts>),
}

/// The rules around a map.
struct Rules {
    names: KeyNames,
    kept: HashMap<String, Kept>,
}

/// Both sides of one trace.
struct Both {
    clock: Arc<ManualClock>,
    script: RedisStore,
    rules: Rules,
    kinds: Vec<Kind>,
    set: PolicySet,
    claims: Vec<Claim>,
    tickets: u64,
    digests: Digests,
}

fn set(kinds: &[Kind], logs: &[Attempts], earlier: Option<&PolicySet>) -> PolicySet {
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
    let spec = (0..).zip(kinds.iter().zip(logs)).fold(spec, |spec, (place, (kind, log))| {
        let name = Name::try_new(&format!("l{place}")).unwrap();
        let scope = Scope::of([Dimension::Org]);
        let mut limit = Limit::new(name, scope, Shape::Attempts(log.clone())).settling();
        limit = if kind.distinct { limit.distinct(Dimension::Account) } else { limit };
        limit = if kind.forgives { limit.forgiving() } else { limit };
        limit = if kind.global { limit.at_stage(Stage::Global) } else { limit };
        spec.limit(if kind.shadow { limit.in_shadow() } else { limit })
    });
    PolicySet::builder().policy(spec).build(earlier).unwrap()
}

// === impl Rules ===

impl Rules {
    fn decide(&mut self, case: &mut Case<'_>, writes: bool, now: Timestamp) -> Vec<Reading> {
        let (batch, _) = case.ask();
        let name = |charge| self.names.text(&batch.key(charge));
        let names: Vec<String> = batch.charges().iter().map(name).collect();
        let looked = |(charge, name): (&tidegate_core::Charge<'_>, &String)| {
            charge.look(self.kept.get(name), now).unwrap()
        };
        let mut met: Vec<Reading> = batch.charges().iter().zip(&names).map(looked).collect();
        let rooms: Vec<_> = met.iter().map(|met| met.room).collect();
        let planned = plan(batch.charges().iter().zip(rooms));
        for (place, charge) in batch.charges().iter().enumerate() {
            if writes && planned.writes(place) {
                let (kept, reading) = charge.take(self.kept.get(&names[place]), now).unwrap();
                self.kept.insert(names[place].clone(), kept);
                met[place] = reading;
            }
        }
        met
    }

    fn settle(&mut self, settlement: &Settlement<'_>, now: Timestamp) -> Receipt {
        if now >= settlement.expires_at() {
            return Receipt::Late;
        }
        let mut moved = Settled::default();
        for step in settlement.moves() {
            let name = step.key.unwrap();
            let (kept, more) =
                step.apply(self.kept.get(name), settlement.decided_at(), now).unwrap();
            moved += more;
            self.kept.extend(kept.map(|kept| (name.to_owned(), kept)));
        }
        Receipt::Settled(moved)
    }

    fn amend(
        &mut self,
        name: &str,
        shape: Option<&Shape>,
        what: Amendment,
        now: Timestamp,
    ) -> Amended {
        let outcome = what.apply(self.kept.get(name), shape, now);
        let changed = outcome != Outcome::Same;
        match outcome {
            Outcome::Same => {}
            Outcome::Gone => drop(self.kept.remove(name)),
            Outcome::Kept(state) => {
                self.kept.insert(name.to_owned(), Kept::Attempts(state));
            }
        }
        let block = match self.kept.get(name) {
            Some(Kept::Attempts(state)) => state.block().filter(|block| block.holds(now)),
            _ => None,
        };
        Amended { changed, block, at: now }
    }
}

// === impl Both ===

impl Both {
    fn new(kinds: Vec<Kind>, logs: &[Attempts]) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let script = store(Arc::clone(&clock) as _, Expired::Stays, false);
        let rules = Rules { names: secret().names(), kept: HashMap::new() };
        let set = set(&kinds, logs, None);
        let digests = Digests::new([1, 2]);
        Self { clock, script, rules, kinds, set, claims: Vec::new(), tickets: 0, digests }
    }

    /// Takes one step on both sides, and compares what they say.
    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Charge(account) => self.ask(*account, true),
            Step::Peek(account) => self.ask(*account, false),
            Step::Settle(which) => self.settle(usize::from(*which)),
            Step::Amend(which, what) => self.amend(*which, *what),
            Step::Wait(micros) => {
                let now = self.clock.now().as_micros();
                let now = now.checked_add_signed(*micros).unwrap();
                self.clock.set(Timestamp::from_micros(now));
                Ok(())
            }
            Step::Reload(logs) => {
                self.set = set(&self.kinds, logs, Some(&self.set));
                Ok(())
            }
        }
    }

    fn ask(&mut self, account: u8, writes: bool) -> Result<(), TestCaseError> {
        let account = account.to_string();
        let account = Account::new(&account);
        let subject = Subject::new().org("acme").account(&account);
        let mut case = Case::new(&self.set.policies()[0], &subject);
        case.resolve(&self.digests);
        let now = self.clock.now();
        let expected = self.rules.decide(&mut case, writes, now);
        let mut readings = Readings::new();
        let (batch, _) = case.ask();
        let asked = match writes {
            true => ready(self.script.charge(batch, &mut readings)),
            false => ready(self.script.peek(batch, &mut readings)),
        };
        prop_assert_eq!(asked, Ok(()));
        prop_assert_eq!(readings.list(), &expected);
        prop_assert_eq!(readings.decided_at(), now);
        let firm = |charge: &tidegate_core::Charge<'_>| !charge.limit().is_shadow();
        let charges = || batch.charges().iter().zip(&expected);
        if writes && charges().all(|(charge, met)| !firm(charge) || met.room.is_now()) {
            let held = charges().filter(|(_, met)| met.room.is_now()).map(|(charge, _)| Hold {
                limit: charge.limit().id(),
                digest: charge.digest(),
                role: charge.role(),
                period: 0,
                taken: charge.cost(),
                key: Some(self.rules.names.text(&batch.key(charge)).into()),
            });
            let id = TicketId { maker: 1, number: self.tickets };
            self.tickets += 1;
            let (mode, network) = (Mode::Normal, None);
            let claim = Claim { id, decided_at: now, mode, network, holds: held.collect() };
            self.claims.push(claim);
        }
        Ok(())
    }

    fn settle(&mut self, which: usize) -> Result<(), TestCaseError> {
        if self.claims.is_empty() {
            return Ok(());
        }
        let claim = self.claims.remove(which % self.claims.len());
        if claim.holds.is_empty() {
            return Ok(());
        }
        let settlement = Settlement::new(&claim, &self.set, None);
        let expected = self.rules.settle(&settlement, self.clock.now());
        prop_assert_eq!(ready(self.script.settle(&settlement)), Ok(expected));
        Ok(())
    }

    fn amend(&mut self, which: u8, what: Amendment) -> Result<(), TestCaseError> {
        let account = Account::new("a");
        let subject = Subject::new().org("acme").account(&account);
        let mut case = Case::new(&self.set.policies()[0], &subject);
        case.resolve(&self.digests);
        let batch = case.batch();
        let charge = batch.charges()[usize::from(which / 2) % batch.charges().len()];
        let key = batch.key(&charge);
        let name = self.rules.names.text(&key);
        let (counter, shape) = match which % 2 {
            0 => (CounterRef::Of(charge, key), Some(charge.shape())),
            _ => (CounterRef::Listed(name.as_str()), None),
        };
        let expected = self.rules.amend(&name, shape, what, self.clock.now());
        prop_assert_eq!(ready(self.script.amend(counter, what, Span::SECOND)), Ok(expected));
        Ok(())
    }
}

fn spans() -> impl Strategy<Value = Span> {
    prop_oneof![(1..40_u64).prop_map(Span::from_micros), (1..900_u64).prop_map(Span::from_secs)]
}

fn logs() -> impl Strategy<Value = Attempts> {
    let threshold = |block_at| (block_at, spans(), spans());
    let made = |(block_at, per, block)| Threshold { block_at, per, block };
    prop_oneof![
        threshold(2..9_u16).prop_map(move |temp| Attempts::try_new(made(temp), None).unwrap()),
        (threshold(2..5_u16), threshold(5..9_u16)).prop_map(move |(temp, long)| {
            let (temp, mut long) = (made(temp), made(long));
            long.per = Span::from_micros(long.per.as_micros() + temp.per.as_micros());
            Attempts::try_new(temp, Some(long)).unwrap()
        }),
        (2..6_u16, spans(), 0..6_usize, 0..6_usize).prop_map(|(block_at, per, from, more)| {
            let (from, to) = (Level::ALL[from], Level::ALL[(from + more).min(5)]);
            Attempts::climbing(block_at, per, Ladder::try_new(from, to).unwrap()).unwrap()
        }),
    ]
}

fn amendments() -> impl Strategy<Value = Amendment> {
    let level = prop::option::of((0..6_usize).prop_map(|place| Level::ALL[place]));
    prop_oneof![
        2 => (spans(), level).prop_map(|(lasts, level)| Amendment::Block { lasts, level }),
        2 => Just(Amendment::Unblock),
        1 => Just(Amendment::Reset),
    ]
}

fn waits() -> impl Strategy<Value = i64> {
    const SECOND: i64 = 1_000_000;
    prop_oneof![
        6 => 0..50_i64,
        3 => (1..120_i64).prop_map(|seconds| seconds * SECOND),
        2 => (1..20_i64).prop_map(|quarters| quarters * 900 * SECOND),
        1 => (-20..0_i64).prop_map(|back| back * SECOND),
    ]
}

fn steps(limits: usize) -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..6_u8).prop_map(Step::Charge),
        3 => (0..6_u8).prop_map(Step::Peek),
        2 => any::<u8>().prop_map(Step::Settle),
        2 => (any::<u8>(), amendments()).prop_map(|(which, what)| Step::Amend(which, what)),
        8 => waits().prop_map(Step::Wait),
        1 => prop::collection::vec(logs(), limits).prop_map(Step::Reload),
    ]
}

fn kinds() -> impl Strategy<Value = Kind> {
    (any::<bool>(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2)).prop_map(
        |(distinct, forgives, global, shadow)| Kind { distinct, forgives, global, shadow },
    )
}

fn traces() -> impl Strategy<Value = (Vec<(Kind, Attempts)>, Vec<Step>)> {
    prop::collection::vec((kinds(), logs()), 1..4).prop_flat_map(|limits| {
        let steps = prop::collection::vec(steps(limits.len()), 1..60);
        (Just(limits), steps)
    })
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn p92_p96_the_scripts_of_logs_agree_with_the_rules((limits, steps) in traces()) {
        let (kinds, logs): (Vec<_>, Vec<_>) = limits.into_iter().unzip();
        let mut both = Both::new(kinds, &logs);
        for step in &steps {
            both.step(step)?;
        }
    }
}

/// Lua has room for 200 names in a script: eight logs of the largest form fit.
#[test]
fn eight_logs_fit_a_script() {
    let threshold = |block_at, per| Threshold { block_at, per, block: Span::HOUR };
    let long = threshold(50, Span::DAY);
    let dual = Attempts::try_new(threshold(5, Span::HOUR), Some(long)).unwrap();
    let climbing = Attempts::climbing(5, Span::HOUR, Ladder::default()).unwrap();
    for (log, forgives) in [(dual, false), (climbing, true)] {
        let kind = Kind { distinct: true, forgives, global: false, shadow: false };
        let mut both = Both::new(vec![kind; MAX_LIMITS], &vec![log; MAX_LIMITS]);
        let account = |place| [Step::Charge(place), Step::Peek(place), Step::Wait(7)];
        for step in (0..9).flat_map(account).chain([Step::Settle(0), Step::Settle(1)]) {
            both.step(&step).unwrap();
        }
    }
}
