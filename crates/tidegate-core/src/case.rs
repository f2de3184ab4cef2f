//! One request on its way through: who asks, what is charged for it, and what the limits said.
//!
//! Everything a decision needs to remember is in one place that the caller keeps, on its stack or
//! wherever it likes. Nothing is allocated, and nothing large is handed around by value: that alone
//! costs more than the arithmetic.

use crate::bundle::Bundle;
use crate::charge::{Batch, Charge, Readings};
use crate::cost::Cost;
use crate::decision::{Decision, Verdict};
use crate::failover::Failsafe;
use crate::key::Digests;
use crate::limit::Limit;
use crate::policy::Policy;
use crate::subject::{Facts, Subject};
use crate::time::Span;

/// One request to be decided: a subject, the policy that applies, and what the request weighs.
///
/// It is [resolved](Self::resolve), [asked](Self::ask) about and [folded](crate::fold), once each;
/// an engine does all three.
///
/// ```
/// # use tidegate_core::{
/// #     Bucket, Case, Cost, CostRule, Digests, FailureMode, Limit, Name, PolicySet, PolicySpec,
/// #     Rate, Scope, Shape, Subject,
/// # };
/// # let bucket = |count| Ok::<_, tidegate_core::ShapeError>(
/// #     Shape::Bucket(Bucket::try_new(Rate::per_minute(count)?, count)?),
/// # );
/// let requests = Limit::new(Name::try_new("requests")?, Scope::GLOBAL, bucket(60)?)
///     .costing(CostRule::PerRequest(Cost::ONE));
/// let tokens = Limit::new(Name::try_new("tokens")?, Scope::GLOBAL, bucket(100_000)?);
/// # let api = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen)
/// #     .limit(requests)
/// #     .limit(tokens.with_named_key());
/// # let set = PolicySet::builder().policy(api).build(None)?;
/// # let policy = set.get("api").ok_or("no such policy")?;
/// // Under a policy with both, a request of 1,500 tokens is one request and 1,500 tokens.
/// let subject = Subject::new();
/// let mut case = Case::new(policy, &subject).weighing(Cost::try_new(1_500)?);
/// case.resolve(&Digests::new([7, 11]));
/// let costs = case.batch().charges().iter().map(|charge| charge.cost().get());
/// assert!(costs.eq([1, 1_500]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Case<'a> {
    policy: &'a Policy,
    bundle: &'a Bundle,
    weight: Cost,
    batch: Batch<'a>,
    readings: Readings,
    /// The verdict that [`fold`](crate::fold) has set; until then, a denial.
    pub(crate) verdict: Verdict,
    /// The place in the batch of the limit that decided.
    pub(crate) binding: u8,
    /// Whether only limits that count by outcome are charged.
    only_outcomes: bool,
    /// The number of the request's ticket, if it gets one.
    number: Option<u64>,
    /// The decision that was made without the store; `None` if the store decides.
    pub(crate) failsafe: Option<Failsafe>,
}

// === impl Case ===

impl<'a> Case<'a> {
    /// A request of this subject under this policy, with a weight of one.
    #[must_use]
    #[inline]
    pub fn new(policy: &'a Policy, subject: &'a Subject<'a>) -> Self {
        Self::over(policy, policy.bundle(), subject)
    }

    /// A request of this subject that is charged to the rows of a bundle, in place of the limits of the
    /// policy; the policy says what happens if the store fails.
    #[must_use]
    #[inline]
    pub fn over(policy: &'a Policy, bundle: &'a Bundle, subject: &'a Subject<'a>) -> Self {
        Self {
            policy,
            bundle,
            weight: Cost::ONE,
            batch: Batch::new(subject, policy.class_fact(), policy.deadline()),
            readings: Readings::new(),
            verdict: Verdict::UNDECIDED,
            binding: 0,
            only_outcomes: false,
            number: None,
            failsafe: None,
        }
    }

    /// Sets what the request weighs; to be called before [`resolve`](Self::resolve). A limit counts
    /// weight or requests, as its [`CostRule`](crate::CostRule) says.
    #[must_use]
    #[inline]
    pub const fn weighing(mut self, weight: Cost) -> Self {
        self.weight = weight;
        self
    }

    /// Charges only limits that count [by outcome](Limit::counting_outcomes); to be called before
    /// [`resolve`](Self::resolve). For a request that is refused before its other limits may be
    /// charged, such as one that lacks a right: it still counts as probing. If the policy has no such
    /// limit, no limit applies.
    #[must_use]
    #[inline]
    pub const fn only_outcomes(mut self) -> Self {
        self.only_outcomes = true;
        self
    }

    /// The policy under which the request is decided.
    #[must_use]
    #[inline]
    pub const fn policy(&self) -> &'a Policy {
        self.policy
    }

    /// The limits that decide: those of the policy, or rows.
    #[must_use]
    #[inline]
    pub const fn bundle(&self) -> &'a Bundle {
        self.bundle
    }

    /// What the request weighs; each limit derives its own cost from it.
    #[must_use]
    #[inline]
    pub const fn weight(&self) -> Cost {
        self.weight
    }

    /// The charges of the request: empty until the case has been resolved.
    #[must_use]
    #[inline]
    pub const fn batch(&self) -> &Batch<'a> {
        &self.batch
    }

    /// The readings of the limits: empty until a store has answered.
    #[must_use]
    #[inline]
    pub const fn readings(&self) -> &Readings {
        &self.readings
    }

    /// Sets the number of the request's [ticket](crate::Ticket), which no other ticket may have. An
    /// engine does this for requests that pass and whose limits [settle](Bundle::settles), so that
    /// asking for the ticket again gives the same one.
    pub const fn number(&mut self, number: u64) {
        self.number = Some(number);
    }

    /// The number of the request's ticket, if it has been given one.
    #[must_use]
    pub const fn ticket_number(&self) -> Option<u64> {
        self.number
    }

    /// The batch to send to a [`Store`](crate::Store), and the readings into which it puts the answer.
    #[inline]
    pub const fn ask(&mut self) -> (&Batch<'a>, &mut Readings) {
        (&self.batch, &mut self.readings)
    }

    /// Shortens the deadline of the store to `left`, because the rest of it has passed.
    pub const fn hurry(&mut self, left: Span) {
        self.batch.deadline = left;
    }

    /// Sets the decision that was made without the store, in place of the store's answer.
    pub fn decided_without_store(&mut self, failsafe: Failsafe) -> Decision<'_> {
        self.readings.begin(failsafe.at);
        self.number = None;
        (self.verdict, self.binding) = (failsafe.verdict, 0);
        self.failsafe = Some(failsafe);
        Decision(self)
    }

    /// Fills in the charges: which limits apply, on which keys, for how much.
    ///
    /// A limit applies if every dimension of its scope is known. So an anonymous request is counted
    /// by address alone, an authenticated one by organisation, user and token too. If no limit
    /// applies, the batch stays empty; such a request must not pass as if it had been counted.
    #[inline(always)]
    pub fn resolve(&mut self, digests: &Digests) {
        let facts = self.batch.facts_under(self.policy.class_fact());
        let (weight, limits) = (self.weight, self.bundle.limits());
        self.batch.charges.clear();
        self.batch.deadline = self.policy.deadline();
        self.readings.clear();
        self.number = None;
        self.failsafe = None;
        for limit in limits {
            let Some(digest) = digests.key(limit, facts) else { continue };
            match &limit.special {
                None => self.batch.push(charge(limit, digest, weight, facts)),
                Some(special) => {
                    if let Some(member) = special.member(digests, facts) {
                        let charge = charge(limit, digest, weight, facts);
                        self.batch.push(charge.of_member(member));
                    }
                }
            }
        }
        if self.only_outcomes {
            self.batch.keep_outcomes();
        }
    }
}

/// The charge of one limit. A function rather than a closure, so that it is certainly inlined.
#[inline(always)]
fn charge<'a>(limit: &'a Limit, digest: u64, weight: Cost, facts: Facts<'a>) -> Charge<'a> {
    Charge::new(limit, digest, limit.units(weight), limit.applies(facts))
}
