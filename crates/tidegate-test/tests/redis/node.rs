//! A node of a fleet: an engine on a shared store, asked as a server would ask it.

use core::time::Duration;

use tidegate_core::{
    Account, Bucket, Case, Counts, Dimension, FailureMode, Limit, Name, Period, PolicySet,
    PolicySpec, Protects, Quota, Rate, Scope, Secret, Shape, Span, Store as _, StoreError, Subject,
    Trial, Window,
};
use tidegate_engine::Engine;
use tidegate_stores::redis::{RedisStore, Target};
use tidegate_test::lua::secret;

/// Short beside the stalls of these tests, long beside a loopback on a busy machine.
pub(crate) const SHORT: Duration = Duration::from_millis(400);

/// Longer than anything a healthy server needs, however busy the machine is.
pub(crate) const PATIENT: Duration = Duration::from_secs(10);

/// The longest deadline of a policy: where a timeout is shorter, that one holds.
pub(crate) const LONGEST: Span = *PolicySpec::DEADLINES.end();

/// By how much an error may come later than it should: what a busy machine takes to wake a task.
const MARGIN: Duration = Duration::from_millis(1_500);

/// More than any test counts, unless it says otherwise.
pub(crate) const PLENTY: u64 = 1_000_000;

/// Whether a request was admitted.
pub(crate) type Outcome = Result<bool, StoreError>;

/// One process of a fleet, with a connection of its own.
pub(crate) struct Node {
    engine: Engine<RedisStore>,
    timeout: Duration,
}

// === impl Node ===

impl Node {
    /// A node with three limits of plenty, each of another shape, on one organisation.
    pub(crate) fn new(url: &str, timeout: Duration) -> Self {
        Self::with(url, timeout, three(PLENTY))
    }

    pub(crate) fn with(url: &str, timeout: Duration, policies: PolicySet) -> Self {
        Self::under(&secret(), url, timeout, policies)
    }

    /// A node under another secret than that of the other tests.
    pub(crate) fn under(
        secret: &Secret,
        url: &str,
        timeout: Duration,
        policies: PolicySet,
    ) -> Self {
        let target = Target::parse(url).unwrap().with_timeout(timeout);
        let store = RedisStore::new(target, secret).unwrap();
        Self { engine: Engine::new(store, policies).sharing(secret), timeout }
    }

    pub(crate) fn engine(&self) -> &Engine<RedisStore> {
        &self.engine
    }

    pub(crate) fn store(&self) -> &RedisStore {
        self.engine.store()
    }

    /// Decides one request of an organisation, by the only policy, in time. Its account has the same
    /// name.
    ///
    /// # Panics
    ///
    /// If the answer is later than the timeout of the target and some margin.
    pub(crate) async fn decide(&self, org: &str) -> Outcome {
        let asked = async {
            let set = std::sync::Arc::clone(&self.engine.policies());
            let account = Account::new(org);
            let subject = Subject::new().org(org).account(&account);
            let mut case = Case::new(&set.policies()[0], &subject);
            let decided = self.engine.decide_by_store(&mut case).await;
            decided.map(|decision| decision.is_admitted())
        };
        let answer = tokio::time::timeout(self.timeout + MARGIN, asked).await;
        answer.unwrap_or_else(|_| panic!("no answer within {:?} and {MARGIN:?}", self.timeout))
    }

    /// Probes the store as the only policy does.
    pub(crate) async fn probe(&self) -> Result<(), StoreError> {
        let set = std::sync::Arc::clone(&self.engine.policies());
        let trial = Trial::new(&set.policies()[0], 7, self.engine.now());
        self.store().probe(&trial.batch()).await
    }

    /// What is left of each limit.
    pub(crate) async fn left(&self, org: &str) -> Result<Vec<i64>, StoreError> {
        let set = std::sync::Arc::clone(&self.engine.policies());
        let account = Account::new(org);
        let subject = Subject::new().org(org).account(&account);
        let mut case = Case::new(&set.policies()[0], &subject);
        let decision = self.engine.peek_by_store(&mut case).await?;
        Ok(decision.explain().map(|said| said.reading.remaining).collect())
    }

    /// How much each limit has counted.
    pub(crate) async fn counted(&self, org: &str) -> Vec<u64> {
        let left = self.left(org).await.unwrap_or_else(|error| {
            panic!("{error}: {}", self.trouble());
        });
        let set = self.engine.policies();
        let limits = set.policies()[0].limits();
        let counted = limits.iter().zip(left).map(|(limit, left)| {
            limit.shape().capacity() - u64::try_from(left).expect("no attempts are counted here")
        });
        counted.collect()
    }

    /// Why the last call failed, in words.
    pub(crate) fn trouble(&self) -> String {
        self.store().trouble().map(|trouble| trouble.to_string()).unwrap_or_default()
    }
}

/// One policy with these limits, all by organisation.
pub(crate) fn policies<'n>(limits: impl IntoIterator<Item = (&'n str, Shape)>) -> PolicySet {
    set(limits.into_iter().map(|(it, shape)| limit(Dimension::Org, it, shape)).collect())
}

pub(crate) fn set(limits: Vec<Limit>) -> PolicySet {
    set_within(LONGEST, limits)
}

/// The same with another deadline.
pub(crate) fn set_within(deadline: Span, limits: Vec<Limit>) -> PolicySet {
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Auth);
    let spec = spec.deadline(deadline);
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    PolicySet::builder().policy(spec).build(None).unwrap()
}

pub(crate) fn limit(by: Dimension, it: &str, shape: Shape) -> Limit {
    Limit::new(name(it), Scope::of([by]), shape).with_named_key().settling()
}

/// A bucket, a window and a quota of the same size.
pub(crate) fn three(count: u64) -> PolicySet {
    policies([("bucket", bucket(count)), ("window", window(count)), ("quota", quota(count))])
}

/// A bucket that fills so slowly that no test sees it.
pub(crate) fn bucket(burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::try_new(1, Span::HOUR).unwrap(), burst).unwrap())
}

pub(crate) fn window(count: u64) -> Shape {
    Shape::Window(Window::try_new(count, Span::DAY, Counts::Admitted).unwrap())
}

/// From the first use on, so that no test runs over the end of a period.
pub(crate) fn quota(count: u64) -> Shape {
    Shape::Quota(Quota::try_new(count, Period::FirstUse(Span::DAY), Counts::Admitted).unwrap())
}

pub(crate) fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}
