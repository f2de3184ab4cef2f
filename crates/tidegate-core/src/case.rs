//! One request on its way through: who asks, what is charged for it, and what the limits said.
//!
//! Everything a decision needs to remember is in one place that the caller keeps, on its stack or
//! wherever it likes. Nothing is allocated, and nothing large is handed around by value: that alone
//! costs more than the arithmetic.

use crate::charge::{Batch, Charge, Readings};
use crate::cost::Cost;
use crate::decision::Verdict;
use crate::key::{Digests, SubjectDigests};
use crate::limit::Limit;
use crate::policy::Policy;
use crate::subject::Subject;

/// One request to be decided: a subject, the policy that applies, and what the request weighs.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    policy: &'a Policy,
    weight: Cost,
    batch: Batch<'a>,
    readings: Readings,
    /// Set by [`fold`](crate::fold); until then, what admits nothing.
    pub(crate) verdict: Verdict,
    /// The place in the batch of the limit that decided.
    pub(crate) binding: u8,
}

// === impl Case ===

impl<'a> Case<'a> {
    /// A request of this subject under this policy, with the weight of one.
    #[must_use]
    #[inline]
    pub fn new(policy: &'a Policy, subject: &'a Subject<'a>) -> Self {
        Self {
            policy,
            weight: Cost::ONE,
            batch: Batch::new(subject, policy.class_fact()),
            readings: Readings::new(),
            verdict: Verdict::UNDECIDED,
            binding: 0,
        }
    }

    /// Sets what the request weighs. A limit may count weight or requests, as its
    /// [`CostRule`](crate::CostRule) says.
    #[must_use]
    #[inline]
    pub const fn weighing(mut self, weight: Cost) -> Self {
        self.weight = weight;
        self
    }

    /// The policy that applies.
    #[must_use]
    #[inline]
    pub const fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// What the request weighs.
    #[must_use]
    #[inline]
    pub const fn weight(&self) -> Cost {
        self.weight
    }

    /// What is charged: empty until the case has been resolved.
    #[must_use]
    #[inline]
    pub const fn batch(&self) -> &Batch<'a> {
        &self.batch
    }

    /// What the limits said: empty until a store has answered.
    #[must_use]
    #[inline]
    pub const fn readings(&self) -> &Readings {
        &self.readings
    }

    /// What to send to a store, and where it puts the answer.
    #[inline]
    pub const fn ask(&mut self) -> (&Batch<'a>, &mut Readings) {
        (&self.batch, &mut self.readings)
    }

    /// Fills in the charges: which limits apply, on which keys, for how much.
    ///
    /// A limit applies if every dimension of its scope is known. An anonymous request is so
    /// counted by address alone, an authenticated one by organisation, user and token too. If none
    /// applies, the batch stays empty; such a request must not pass as if it had been counted.
    #[inline(always)]
    pub fn resolve(&mut self, digests: &Digests) {
        let (facts, weight, limits) = (self.batch.facts(), self.weight, self.policy.limits());
        let charge = |limit: &'a Limit, digest| {
            Charge::new(limit, digest, limit.cost().units(weight), limit.stamp(facts))
        };
        self.batch.clear();
        self.readings.clear();
        if let [limit] = limits {
            if let Some(digest) = digests.key(limit, |dimension| digests.fact(facts, dimension)) {
                self.batch.push(charge(limit, digest));
            }
            return;
        }
        let mut keys = SubjectDigests::new(digests, facts);
        for limit in limits {
            if let Some(digest) = keys.key(limit) {
                self.batch.push(charge(limit, digest));
            }
        }
    }
}
