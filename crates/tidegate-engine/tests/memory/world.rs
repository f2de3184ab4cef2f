//! A store, a clock that stands still, and the few words the tests speak.

use std::sync::Arc;

use tidegate_core::{
    Attempts, Bucket, Case, Counts, Digests, Dimension, FailureMode, Ladder, Limit, ManualClock,
    Name, Period, PolicySet, PolicySpec, Quota, Rate, Reading, Scope, Shape, Span, Store as _,
    Subject, Threshold, Timestamp, Window,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

/// Where every test begins; the edge of a day, so that no period is cut short.
pub(crate) const START: Timestamp = Timestamp::from_micros(20_000 * Span::DAY.as_micros());

/// The secret of the digests: homes in the table are the same in every run. The sketch has its own,
/// which is not.
pub(crate) const SECRET: [u64; 2] = [0x7469_6465, 0x6761_7465];

/// An engine over an in-memory store, on a clock of our own.
pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) engine: Engine<MemoryStore<Arc<ManualClock>>>,
    digests: Digests,
}

/// Runs `part` on so many threads at once, and adds up what they return.
pub(crate) fn together(threads: u64, part: impl Fn(u64) -> usize + Sync) -> usize {
    let part = &part;
    std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// Numbers that look random and are the same for the same seed (`SplitMix64`).
pub(crate) struct Dice(pub(crate) u64);

// === impl World ===

impl World {
    pub(crate) fn new(budget: Budget, policies: PolicySet) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let digests = Digests::new(SECRET);
        let store = MemoryStore::new(budget, Arc::clone(&clock));
        Self { clock, engine: Engine::with_digests(store, policies, digests.clone()), digests }
    }

    /// Asks the first policy of the set, and says whether the request may pass.
    pub(crate) fn admits(&self, subject: &Subject<'_>) -> bool {
        self.admits_by(0, subject)
    }

    /// Asks the policy at `place`.
    pub(crate) fn admits_by(&self, place: usize, subject: &Subject<'_>) -> bool {
        let set = self.engine.policies();
        let mut case = Case::new(&set.policies()[place], subject);
        ready(self.engine.decide(&mut case)).unwrap().unwrap().is_admitted()
    }

    /// Whether the policy at `place` lets a request pass, and what its limits say.
    pub(crate) fn decide(&self, place: usize, subject: &Subject<'_>) -> (bool, Vec<Reading>) {
        let set = self.engine.policies();
        let mut case = Case::new(&set.policies()[place], subject);
        let decision = ready(self.engine.decide(&mut case)).unwrap().unwrap();
        (decision.is_admitted(), decision.explain().map(|said| *said.reading).collect())
    }

    /// What the limits of the policy at `place` would say to a request, without its being made.
    pub(crate) fn peek(&self, place: usize, subject: &Subject<'_>) -> Vec<Reading> {
        let set = self.engine.policies();
        let mut case = Case::new(&set.policies()[place], subject);
        case.resolve(&self.digests);
        let (batch, readings) = case.ask();
        ready(self.engine.store().peek(batch, readings)).unwrap().unwrap();
        readings.list().to_vec()
    }

    /// How many of `tries` requests are admitted.
    pub(crate) fn admitted_of(&self, tries: usize, subject: &Subject<'_>) -> usize {
        (0..tries).filter(|_| self.admits(subject)).count()
    }
}

// === impl Dice ===

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..sides`.
    pub(crate) fn below(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }
}

/// `tokens` per `per`, and `burst` at once.
pub(crate) fn bucket(tokens: u64, per: Span, burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::try_new(tokens, per).unwrap(), burst).unwrap())
}

/// `count` in each `length` since the epoch.
pub(crate) fn quota(count: u64, length: Span) -> Shape {
    Shape::Quota(Quota::try_new(count, Period::Fixed(length), Counts::Admitted).unwrap())
}

/// `count` in the `length` after a key's first use.
pub(crate) fn quota_since_first_use(count: u64, length: Span) -> Shape {
    Shape::Quota(Quota::try_new(count, Period::FirstUse(length), Counts::Admitted).unwrap())
}

/// `count` in any `per`: exact up to 64, in sub-counts beyond.
pub(crate) fn window(count: u64, per: Span) -> Shape {
    Shape::Window(Window::try_new(count, per, Counts::Admitted).unwrap())
}

/// The attempt number `block_at` within `per` begins a block.
pub(crate) fn attempts(block_at: u16, per: Span) -> Shape {
    let temp = Threshold { block_at, per, block: Span::SECOND };
    Shape::Attempts(Attempts::try_new(temp, None).unwrap())
}

/// A limit of attempts with blocks that grow.
pub(crate) fn ladder(block_at: u16, per: Span) -> Shape {
    Shape::Attempts(Attempts::climbing(block_at, per, Ladder::default()).unwrap())
}

pub(crate) fn name(name: &str) -> Name {
    Name::try_new(name).unwrap()
}

pub(crate) fn limit(of: &str, scope: &[Dimension], shape: Shape) -> Limit {
    Limit::new(name(of), Scope::of(scope.iter().copied()), shape).with_named_key()
}

/// One policy with these limits.
pub(crate) fn policy(limits: impl IntoIterator<Item = Limit>) -> PolicySet {
    PolicySet::builder().policy(spec("p", limits)).build(None).unwrap()
}

/// One policy with one limit per user.
pub(crate) fn per_user(shape: Shape) -> PolicySet {
    policy([limit("l", &[Dimension::User], shape)])
}

pub(crate) fn spec(of: &str, limits: impl IntoIterator<Item = Limit>) -> PolicySpec {
    let spec = PolicySpec::new(name(of), FailureMode::FailOpen);
    limits.into_iter().fold(spec, PolicySpec::limit)
}

/// Room for so many keys of every shape.
pub(crate) const fn room_for(keys: usize) -> Budget {
    Budget { buckets: keys, quotas: keys, windows: keys, attempts: keys }
}

/// One group of five buckets, five quotas, seven windows and seven abuse logs.
pub(crate) const ONE_GROUP: Budget = room_for(1);
