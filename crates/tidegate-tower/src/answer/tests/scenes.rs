//! One decision of every kind, by real policies.

use std::net::IpAddr;
use std::sync::Arc;

use tidegate_core::{
    Account, Case, Cost, Decision, ManualClock, Mode, PolicySet, Store, StoreError, Subject,
};
use tidegate_engine::file::File;
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};
use tidegate_test::stub::Failing;

use super::{Code, NOW};

const POLICIES: &str = "
version: 1
shared:
  - { name: burst, by: org, bucket: { rate: 20/s, burst: 40 } }
  - { name: trial, by: org, shadow: true, window: { count: 1, per: 1min } }
policies:
  - name: api
    failure_mode: fail_open
    limits:
      - shared: burst
      - { name: daily, by: org, quota: { count: 100000, per: day } }
      - shared: trial
  - name: plan
    failure_mode: fail_closed
    protects: spend
    limits:
      - shared: burst
      - { name: monthly, by: org, quota: { count: 30, per: month, zone: Europe/Berlin } }
  - name: softly
    failure_mode: fail_open
    overflow: degrade
    limits:
      - shared: burst
  - name: export
    failure_mode: fail_open
    limits:
      - name: exports
        by: org
        attempts:
          temp: { block_at: 3, per: 10min, block: 15min }
          long: { block_at: 20, per: 24h, block: 24h }
  - name: sign-in
    protects: login
    failure_mode: fail_closed
    limits:
      - { name: per-account, by: account, attempts: { block_at: 6, per: 10min, ladder: all } }
      - { name: per-address, by: ip, bucket: { rate: 20/s, burst: 40 } }
  - name: sign-in-trial
    protects: login
    failure_mode: fail_closed
    limits:
      - shared: trial
  - name: trial
    failure_mode: fail_open
    limits:
      - shared: trial
";

/// A request of which something can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scene {
    Admitted,
    RefusedByBurst,
    RefusedByQuota,
    Blocked,
    NeverFits,
    PassedDegraded,
    EntranceAdmitted,
    EntranceBlocked,
    EntranceUnavailable,
    EntranceShadow,
    GuardedAdmitted,
    GuardedRefused,
    Unavailable,
    ShadowOnly,
}

// === impl Scene ===

impl Scene {
    pub(super) const ALL: [Self; 14] = [
        Self::Admitted,
        Self::RefusedByBurst,
        Self::RefusedByQuota,
        Self::Blocked,
        Self::NeverFits,
        Self::PassedDegraded,
        Self::EntranceAdmitted,
        Self::EntranceBlocked,
        Self::EntranceUnavailable,
        Self::EntranceShadow,
        Self::GuardedAdmitted,
        Self::GuardedRefused,
        Self::Unavailable,
        Self::ShadowOnly,
    ];

    pub(super) const ENTRANCES: [Self; 3] =
        [Self::EntranceAdmitted, Self::EntranceBlocked, Self::EntranceUnavailable];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::RefusedByBurst => "refused by a burst",
            Self::RefusedByQuota => "refused by a quota",
            Self::Blocked => "blocked",
            Self::NeverFits => "never fits",
            Self::PassedDegraded => "past a limit that degrades",
            Self::EntranceAdmitted => "admitted at an entrance",
            Self::EntranceBlocked => "blocked at an entrance",
            Self::EntranceUnavailable => "an entrance without its store",
            Self::EntranceShadow => "in shadow only, at an entrance",
            Self::GuardedAdmitted => "admitted without a store",
            Self::GuardedRefused => "refused without a store",
            Self::Unavailable => "closed without a store",
            Self::ShadowOnly => "in shadow only",
        }
    }

    /// The policy that is asked, what the requests weigh, and whether there is a store.
    fn script(self) -> (&'static str, &'static [u64], bool) {
        match self {
            Self::Admitted => ("api", &[1], true),
            Self::RefusedByBurst => ("api", &[40, 1], true),
            Self::RefusedByQuota => ("plan", &[30, 1], true),
            Self::Blocked => ("export", &[1; 3], true),
            Self::NeverFits => ("api", &[41], true),
            Self::PassedDegraded => ("softly", &[40, 1], true),
            Self::EntranceAdmitted => ("sign-in", &[1], true),
            Self::EntranceBlocked => ("sign-in", &[1; 6], true),
            Self::EntranceUnavailable => ("sign-in", &[1], false),
            Self::EntranceShadow => ("sign-in-trial", &[1, 1], true),
            Self::GuardedAdmitted => ("api", &[1], false),
            Self::GuardedRefused => ("api", &[1; 61], false),
            Self::Unavailable => ("plan", &[1], false),
            Self::ShadowOnly => ("trial", &[1, 1], true),
        }
    }

    /// Hands over the decision about the last request, and why it was refused if it was.
    pub(super) fn decided<T>(self, then: impl FnOnce(&Decision<'_>, Option<Code>) -> T) -> T {
        let (policy, weights, stored) = self.script();
        let file = File::<tidegate_engine::file::NoDoor>::parse("test.yaml", POLICIES).unwrap();
        let policies = file.policies().clone().build(None).unwrap();
        let clock = Arc::new(ManualClock::new(NOW));
        let budget = Budget { buckets: 8, quotas: 8, windows: 8, attempts: 64 };
        if stored {
            let store = MemoryStore::new(budget, Arc::clone(&clock));
            return last(&Engine::new(store, policies), policy, weights, then);
        }
        last(&failing(policies, clock), policy, weights, then)
    }
}

fn failing(policies: PolicySet, clock: Arc<ManualClock>) -> Engine<Failing> {
    Engine::new(Failing::failing(StoreError::Unavailable), policies).timed_by(clock)
}

fn last<S: Store, T>(
    engine: &Engine<S>,
    policy: &str,
    weights: &[u64],
    then: impl FnOnce(&Decision<'_>, Option<Code>) -> T,
) -> T {
    let set = engine.policies();
    let account = Account::new("alice@example.com");
    let address = IpAddr::from([203, 0, 113, 7]);
    let subject = Subject::new().org("acme").ip(address).account(&account).agent(b"curl");
    let (last, before) = weights.split_last().unwrap();
    let case = |weight: u64| {
        Case::new(set.get(policy).unwrap(), &subject).weighing(Cost::try_new(weight).unwrap())
    };
    for weight in before {
        let mut case = case(*weight);
        let _ = ready(engine.decide(&mut case)).unwrap().unwrap();
    }
    let mut case = case(*last);
    let decision = ready(engine.decide(&mut case)).unwrap().unwrap();
    let code = match (decision.passed(), decision.mode()) {
        (Ok(()), _) => None,
        (Err(_), Mode::FailClosed) => Some(Code::Unavailable),
        (Err(_), _) => Some(Code::RateLimitExceeded),
    };
    then(&decision, code)
}
