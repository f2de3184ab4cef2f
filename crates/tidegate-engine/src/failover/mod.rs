//! What becomes of a request when the store fails it, or is not asked at all.
//!
//! The rules are the core's ([`Standby`]). Here they meet the store and the threads: every request
//! reads the course of its policy once, reports what came of it, and is decided in one mode.
//! Probing is up to the host: it [polls](Engine::poll), makes the [probes](Engine::probe) that are
//! due, and polls again at [`next_poll`](Engine::next_poll).

mod history;
mod post;
mod posts;
mod traffic;
mod woken;

use tidegate_core::{
    Amended, Amendment, Asked, Block, Case, Charge, CounterRef, Decision, Failsafe, Failure,
    FailureMode, Generation, Input, Mode, Name, Outputs, Policy, Probe, Protects, Signal, Span,
    Standby, Standing, Store, StoreError, Timestamp, Trial, fold,
};

pub use self::history::StoreHistory;
pub(crate) use self::post::{Decider, Permit, Post};
pub(crate) use self::posts::Posts;
pub(crate) use self::traffic::Traffic;
use self::woken::woken;
use crate::engine::{Engine, StoreCall};
use crate::event::Event;
use crate::undecided::DecideError;

/// A probe that is due, for one policy.
#[must_use = "a probe that is not made leaves the policy without its store"]
#[derive(Clone, Debug)]
pub struct Due {
    policy: Name,
    probe: Probe,
}

/// A request that was sent to a store.
struct Sent<'p> {
    how: StoreCall,
    /// The standby of the request's policy.
    post: &'p Post,
    /// The permission under which the store was asked.
    permit: Permit,
    /// When the decision began.
    began: Timestamp,
}

// === impl Due ===

impl Due {
    /// The policy that the probe is for.
    #[must_use]
    pub const fn policy(&self) -> &Name {
        &self.policy
    }
}

// === impl Engine ===

impl<S: Store> Engine<S> {
    /// Lets time take its effect on all policies, and returns the probes that are due. Make each of
    /// them with [`probe`](Self::probe), and poll again at [`next_poll`](Self::next_poll) or a
    /// little later, at the latest every second: failures ask for probes that were not due before.
    ///
    /// The host of an engine on a shared store has to do this: without probes, a policy whose store
    /// has failed never learns that the store works again.
    pub fn poll(&self, now: Timestamp) -> Vec<Due> {
        if !S::FALLIBLE {
            return Vec::new();
        }
        self.forget_names(now);
        let policies = self.policies();
        let due = self.posts.in_force(&policies).filter_map(|(policy, post)| {
            let name = policy.name();
            let poll = |standby: &mut Standby| {
                let outputs = standby.step(Input::Poll, now);
                let probe = outputs.probe;
                (outputs, probe)
            };
            let probe = post.change(poll, |outputs| self.tell(name, &post, outputs))?;
            Some(Due { policy: name.clone(), probe })
        });
        due.collect()
    }

    /// When to [`poll`](Self::poll) next, if nothing happens before; `None` while all is well.
    #[must_use]
    pub fn next_poll(&self) -> Option<Timestamp> {
        if !S::FALLIBLE {
            return None;
        }
        let policies = self.policies();
        let posts = self.posts.in_force(&policies);
        posts.filter_map(|(_, post)| post.look(|standby| standby.failover().due())).min()
    }

    /// Makes a probe, within the deadline of its policy, and notes the result.
    pub async fn probe(&self, due: Due) {
        let policies = self.policies.load_full();
        let Some(policy) = policies.get(due.policy.as_str()) else { return };
        let trial = Trial::new(policy, self.tickets.maker(), self.now());
        let probed = self.store().probe(&trial.batch()).await;
        let post = self.post(policy);
        post.counted.probed(&probed);
        if let Err(error) = &probed {
            self.emit(|| Event::StoreFailed { policy: due.policy.clone(), error: error.clone() });
        }
        // A probe uses counters that nobody else uses, so whatever is wrong with them is the
        // store's fault.
        let probed = probed.map_err(|error| match error {
            StoreError::Refused => Failure::Refused,
            _ => Failure::Backend,
        });
        let input = Input::Probed(due.probe, probed);
        self.step(policy.name(), &post, input, self.now());
        if S::SHARED {
            self.notice();
        }
    }

    /// How a policy stands: its mode, how often it was degraded, the failures that count. `None` if
    /// there is no such policy.
    #[must_use]
    pub fn standing(&self, policy: &str) -> Option<Standing> {
        let policies = self.policies();
        let policy = policies.get(policy)?;
        if !S::FALLIBLE {
            return Some(Standing::NORMAL);
        }
        let post = self.post(policy);
        self.step(policy.name(), &post, Input::Tick, self.now());
        Some(post.look(Standby::standing))
    }

    /// What has happened between a policy and its store since the start. `None` if there is no such
    /// policy.
    #[must_use]
    pub fn record(&self, policy: &str) -> Option<StoreHistory> {
        let policies = self.policies();
        Some(self.post(policies.get(policy)?).counted.record())
    }

    /// Decides a request with a store that can fail, and notes what became of it. The request is
    /// shed if more are under way than the store can answer in time.
    pub(crate) async fn decide_watched<'d>(
        &self,
        case: &'d mut Case<'_>,
        how: StoreCall,
    ) -> Result<Decision<'d>, DecideError> {
        let (post, began) = (self.post(case.policy()), self.now());
        let permit = match post.route() {
            Decider::Ask(permit) => permit,
            Decider::Local => match self.decide_locally(case, &post, how) {
                Ok(failsafe) => return Ok(self.decided_without_store(case, how, failsafe)),
                Err(permit) => permit,
            },
        };
        let Some(underway) = self.traffic.enter(&post.underway, began) else {
            return Err(self.shed(case.policy(), &post));
        };
        let (asked, at) = woken(&self.clock, self.ask(case, how, began)).await;
        underway.answered(at);
        match asked {
            Ok(()) => {
                self.answered(case.policy().name(), &post, permit);
                Ok(self.decided_by_store(case, how, &post))
            }
            Err(StoreError::Contended) => Err(self.shed(case.policy(), &post)),
            Err(error) => {
                self.tell_failed(case, &post, &error);
                let sent = Sent { how, post: &post, permit, began };
                match self.make_anew(case, &sent, error).await {
                    Ok(()) => Ok(self.decided_by_store(case, how, &post)),
                    Err(failsafe) => Ok(self.decided_without_store(case, how, failsafe)),
                }
            }
        }
    }

    /// Notes that a request was shed, and reports that at most once a second.
    #[cold]
    pub(crate) fn shed(&self, policy: &Policy, post: &Post) -> DecideError {
        if let Some(shed) = post.counted.shed(self.now()) {
            self.emit_surely(|| Event::Overloaded { policy: policy.name().clone(), shed });
        }
        DecideError::Overloaded
    }

    fn decided_by_store<'d>(
        &self,
        case: &'d mut Case<'_>,
        how: StoreCall,
        post: &Post,
    ) -> Decision<'d> {
        match how {
            StoreCall::Charge => self.decided(case, Some(post)),
            StoreCall::Peek => fold(case),
        }
    }

    /// Decides without the store, unless it turns out that the store is to be asked again.
    fn decide_locally(
        &self,
        case: &Case<'_>,
        post: &Post,
        how: StoreCall,
    ) -> Result<Failsafe, Permit> {
        let (now, name) = (self.now(), case.policy().name());
        let asked = Asked::new(case.batch(), &self.digests);
        let decide = |standby: &mut Standby| {
            let outputs = standby.step(Input::Tick, now);
            (outputs, standby.decide(&asked, how == StoreCall::Charge, now))
        };
        let decided = post.change(decide, |outputs| self.tell(name, post, outputs));
        decided.ok_or_else(|| match post.route() {
            Decider::Ask(permit) => permit,
            // The store has failed again meanwhile: the result of this request belongs to no
            // generation.
            Decider::Local => Permit { generation: Generation::NONE, tell: false },
        })
    }

    /// Tells the standby of an answer, if it wants to know now; it may not have when the request
    /// was sent.
    fn answered(&self, policy: &Name, post: &Post, permit: Permit) {
        if matches!(post.route(), Decider::Ask(now) if now.tell) {
            self.step(policy, post, Input::Answered(permit.generation), self.now());
        }
    }

    /// Makes an unreadable counter anew and asks again, so that this request is counted. Where the
    /// policy is an entrance or fails closed, the request is refused all the same. Any other failure
    /// is only noted.
    async fn make_anew(
        &self,
        case: &mut Case<'_>,
        sent: &Sent<'_>,
        error: StoreError,
    ) -> Result<(), Failsafe> {
        let Sent { how, post, permit, began } = *sent;
        let StoreError::Corrupt { charge: place } = error else {
            return Err(self.failed(case, sent, error));
        };
        // Another request may meanwhile have found that the store is not to be asked any more.
        let asks =
            || matches!(post.route(), Decider::Ask(now) if now.generation == permit.generation);
        let found = case.batch().charges().get(place).copied();
        let Some(charge) = found.filter(|_| how == StoreCall::Charge && asks()) else {
            return Err(self.failed(case, sent, error));
        };
        let counter = CounterRef::Of(charge, case.batch().key(&charge));
        let forgotten = match self.time_left(case, began) {
            Some(left) => self.store().amend(counter, Amendment::Reset, left).await,
            None => Err(StoreError::Timeout),
        };
        // Reported at once, whatever becomes of the request: the counts are lost.
        if forgotten.as_ref().is_ok_and(|amended| amended.changed) {
            post.counted.recreated();
            self.emit_surely(|| Event::Recreated {
                policy: case.policy().name().clone(),
                limit: charge.limit().name().clone(),
            });
        }
        let again = match forgotten {
            Ok(_) if asks() => match self.ask_again(case, how, began).await {
                // What failed the request is the unreadable counter.
                Err(StoreError::Contended) => Err(error.clone()),
                asked => asked,
            },
            Ok(_) | Err(StoreError::Contended) => Err(error.clone()),
            Err(error) => Err(error),
        };
        let is_entrance = case.policy().protects().is_some_and(Protects::is_entrance);
        let closed = is_entrance || case.policy().failure() == FailureMode::FailClosed;
        match again {
            Ok(()) if closed => Err(self.failed(case, sent, error)),
            Ok(()) => {
                let failed = Input::Failed(permit.generation, Failure::Corrupt(charge.digest()));
                self.step(case.policy().name(), post, failed, self.now());
                Ok(())
            }
            Err(error) => Err(self.failed(case, sent, error)),
        }
    }

    /// Asks the store once more, in what is left of the deadline.
    async fn ask_again(
        &self,
        case: &mut Case<'_>,
        how: StoreCall,
        began: Timestamp,
    ) -> Result<(), StoreError> {
        match self.time_left(case, began) {
            Some(left) => {
                case.hurry(left);
                self.ask(case, how, began).await
            }
            None => Err(StoreError::Timeout),
        }
    }

    /// What is left of the deadline of a decision that began at `began`; `None` if nothing is.
    pub(crate) fn time_left(&self, case: &Case<'_>, began: Timestamp) -> Option<Span> {
        self.left_of(case.policy().deadline(), began)
    }

    /// What is left of a deadline for something that began at `began`; `None` if nothing is.
    pub(crate) fn left_of(&self, deadline: Span, began: Timestamp) -> Option<Span> {
        let left = deadline.as_micros().checked_sub(self.now().since(began).as_micros());
        left.filter(|left| *left > 0).map(Span::from_micros)
    }

    /// Notes that the store has failed a request, and decides the request by the policy's failure
    /// mode.
    fn failed(&self, case: &Case<'_>, sent: &Sent<'_>, error: StoreError) -> Failsafe {
        let (now, name) = (self.now(), case.policy().name());
        let asked = Asked::new(case.batch(), &self.digests);
        let counter = match error {
            StoreError::Corrupt { charge } => {
                case.batch().charges().get(charge).map_or(0, Charge::digest)
            }
            _ => 0,
        };
        let input = Failure::of(&error, counter)
            .map_or(Input::Tick, |failure| Input::Failed(sent.permit.generation, failure));
        let fail = |standby: &mut Standby| {
            let outputs = standby.step(input, now);
            (outputs, standby.failed(&asked, sent.how == StoreCall::Charge, error, now))
        };
        sent.post.change(fail, |outputs| self.tell(name, sent.post, outputs))
    }

    /// Decides a request that was failed by a store that is not [fallible](Store::FALLIBLE), by the
    /// policy's failure mode: nothing is known of such a store's health.
    #[cold]
    pub(crate) fn failed_unwatched<'d>(
        &self,
        case: &'d mut Case<'_>,
        how: StoreCall,
        error: StoreError,
    ) -> Result<Decision<'d>, DecideError> {
        let post = self.post(case.policy());
        if error == StoreError::Contended {
            return Err(self.shed(case.policy(), &post));
        }
        self.tell_failed(case, &post, &error);
        let permit = Permit { generation: Generation::NONE, tell: false };
        let sent = Sent { how, post: &post, permit, began: self.now() };
        let failsafe = self.failed(case, &sent, error);
        Ok(self.decided_without_store(case, how, failsafe))
    }

    fn decided_without_store<'d>(
        &self,
        case: &'d mut Case<'_>,
        how: StoreCall,
        failsafe: Failsafe,
    ) -> Decision<'d> {
        let decision = case.decided_without_store(failsafe);
        if how == StoreCall::Charge {
            if decision.mode() == Mode::FailOpen && decision.is_admitted() {
                self.post(decision.policy()).counted.admitted_open();
            }
            self.emit(|| Event::decided(&decision));
        }
        decision
    }

    fn tell_failed(&self, case: &Case<'_>, post: &Post, error: &StoreError) {
        post.counted.failed(error);
        let policy = case.policy().name();
        self.emit(|| Event::StoreFailed { policy: policy.clone(), error: error.clone() });
    }

    /// Remembers the blocks that a decision has met, and forgets those that hold no longer.
    pub(crate) fn remember(&self, decision: &Decision<'_>, post: &Post) {
        let at = decision.decided_at();
        let case = decision.case();
        let met = || case.batch().charges().iter().zip(case.readings().list());
        let blocked =
            met().any(|(_, reading)| reading.attempts.is_some_and(|it| it.block.is_some()));
        if !blocked && !post.knows_blocks() {
            return;
        }
        let now = self.now();
        let learn = |standby: &mut Standby| {
            for (charge, reading) in met() {
                if let Some(tally) = reading.attempts {
                    mirror(standby, charge, tally.block, (at, now));
                }
            }
            (Outputs::default(), ())
        };
        post.change(learn, drop);
    }

    /// Remembers the block that an operator has set, or forgets the one that was lifted.
    pub(crate) fn learn_amended(&self, charge: &Charge<'_>, amended: &Amended, post: &Post) {
        if !S::FALLIBLE {
            return;
        }
        let now = self.now();
        let learn = |standby: &mut Standby| {
            mirror(standby, charge, amended.block, (amended.at, now));
            (Outputs::default(), ())
        };
        post.change(learn, drop);
    }

    /// Notes, for policies that guard an entrance, that counts may have been lost: the servers that
    /// keep the counters have changed.
    pub(crate) fn forgot(&self) {
        let (policies, now) = (self.policies(), self.now());
        for (policy, post) in self.posts.in_force(&policies) {
            if policy.protects().is_some_and(Protects::is_entrance) {
                self.step(policy.name(), &post, Input::Forgot, now);
            }
        }
    }

    fn step(&self, policy: &Name, post: &Post, input: Input, now: Timestamp) {
        let step = |standby: &mut Standby| (standby.step(input, now), ());
        post.change(step, |outputs| self.tell(policy, post, outputs));
    }

    /// Reports what a step has brought about. The caller holds the lock, so that all is reported in
    /// order.
    fn tell(&self, policy: &Name, post: &Post, outputs: Outputs) {
        for signal in outputs.signals {
            if let Signal::Changed(transition) = &signal {
                post.counted.changed(transition.cause);
                post.begin_tickets(self.tickets.next_number());
            }
            self.emit_surely(|| Event::Failover { policy: policy.clone(), signal });
        }
    }
}

/// Learns the block that the store has told at `at` by its own clock, or forgets the one known of the
/// counter if no block holds.
fn mirror(
    standby: &mut Standby,
    charge: &Charge<'_>,
    block: Option<Block>,
    (at, now): (Timestamp, Timestamp),
) {
    match block.filter(|block| block.holds(at)) {
        Some(block) => {
            let lasts = block.until.since(at);
            standby.mirror().learn(charge.digest(), &block, lasts, now);
        }
        None => standby.mirror().forget(charge.digest()),
    }
}
