//! What one node knows of one policy, so that it can go on without the store.

use super::contract::PROLONGED_AFTER;
use super::failsafe::{self, Alarm, Failsafe, SOON};
use super::guardrail::{Asked, Guardrails};
use super::machine::{Course, Failover, Input, Outputs};
use super::mirror::Mirror;
use crate::block::{Block, BlockScope, Level};
use crate::policy::{FailureMode, Fallback, Mode};
use crate::store::StoreError;
use crate::subject::Dimension;
use crate::time::{Span, Timestamp};

/// The state machine of one policy on one node, its local caps, and the blocks it knows of.
#[derive(Clone, Debug)]
pub struct Standby {
    fallback: Fallback,
    failover: Failover,
    /// By what it falls back on, and has fallen back on before it was changed.
    guardrails: Vec<(Fallback, Guardrails)>,
    mirror: Mirror,
}

/// How a policy stands, for whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The mode.
    pub mode: Mode,
    /// How often the degraded mode has been entered.
    pub epoch: u64,
    /// The failures of the store in the last ten seconds that count.
    pub failures: usize,
    /// Since when local caps decide, if they do.
    pub degraded_since: Option<Timestamp>,
    /// How much longer nothing passes, if nothing does.
    pub denies_for: Option<Span>,
}

// === impl Standing ===

impl Standing {
    /// How a policy stands whose store is in its own process, and cannot fail.
    pub const NORMAL: Self =
        Self { mode: Mode::Normal, epoch: 0, failures: 0, degraded_since: None, denies_for: None };
}

// === impl Standby ===

impl Standby {
    /// A policy that fails like this and falls back on this, at the start of the node.
    #[must_use]
    pub fn new(failure: FailureMode, fallback: Fallback, now: Timestamp) -> Self {
        Self {
            fallback,
            failover: Failover::new(failure, now),
            guardrails: vec![(fallback.family(), Guardrails::new(fallback))],
            mirror: Mirror::default(),
        }
    }

    /// Follows a policy that has been changed: it may fail and fall back otherwise than before. What
    /// was counted stays counted, and the history stays what it was.
    pub fn follow(&mut self, failure: FailureMode, fallback: Fallback) {
        self.failover.follow(failure);
        self.fallback = fallback;
        let family = fallback.family();
        if self.guardrails.iter().all(|(known, _)| *known != family) {
            self.guardrails.push((family, Guardrails::new(fallback)));
        }
        self.guardrails().follow(fallback);
    }

    /// The local caps of what the policy falls back on; those of what it fell back on before are kept.
    fn guardrails(&mut self) -> &mut Guardrails {
        let family = self.fallback.family();
        let place = self.guardrails.iter().position(|(known, _)| *known == family);
        &mut self.guardrails[place.unwrap_or_default()].1
    }

    /// Takes note of what happens.
    pub fn step(&mut self, input: Input, now: Timestamp) -> Outputs {
        // A value goes in and a value comes out; what is left meanwhile is never looked at.
        let (failover, outputs) = self.failover.clone().step(input, now);
        self.failover = failover;
        if input == Input::Poll {
            self.guardrails.iter_mut().for_each(|(_, rails)| rails.tidy(now));
        }
        outputs
    }

    /// The state machine, as of the last step.
    #[must_use]
    pub const fn failover(&self) -> &Failover {
        &self.failover
    }

    /// Decides a request that the store has just failed.
    pub fn failed(
        &mut self,
        asked: &Asked<'_>,
        counted: bool,
        error: StoreError,
        now: Timestamp,
    ) -> Failsafe {
        let mode: Mode = self.failover.primary().into();
        let mut failsafe = match self.fallback {
            Fallback::Closed | Fallback::Login | Fallback::Otp => {
                Failsafe::denied(mode, self.denies_for().unwrap_or(SOON), now)
            }
            Fallback::Guarded | Fallback::Ceilings | Fallback::Health => {
                self.guarded(mode, asked, counted, now)
            }
        };
        failsafe.alarm = match (self.failover.course(), &error) {
            (Course::Deny(_), _) => Some(Alarm::Flapped),
            (_, StoreError::Refused) => Some(Alarm::Refused),
            (_, StoreError::Corrupt { .. }) => Some(Alarm::Corrupt),
            _ => None,
        };
        failsafe.error = Some(error);
        failsafe
    }

    /// Decides a request that the store is not asked about. `None` if it is to be asked.
    pub fn decide(&mut self, asked: &Asked<'_>, counted: bool, now: Timestamp) -> Option<Failsafe> {
        match self.failover.course() {
            Course::Ask(_) => None,
            Course::Deny(wait) => {
                let mut failsafe = Failsafe::denied(Mode::FailClosed, wait, now);
                failsafe.alarm = Some(Alarm::Flapped);
                Some(failsafe)
            }
            Course::Guard => Some(self.guarded(Mode::Degraded, asked, counted, now)),
        }
    }

    fn guarded(
        &mut self,
        mode: Mode,
        asked: &Asked<'_>,
        counted: bool,
        now: Timestamp,
    ) -> Failsafe {
        let since = self.failover.degraded_since();
        let prolonged = since.is_some_and(|since| now.since(since) > PROLONGED_AFTER);
        if self.fallback == Fallback::Closed {
            let wait = failsafe::until_recovered(since, now);
            return Failsafe { prolonged, ..Failsafe::denied(Mode::FailClosed, wait, now) };
        }
        if let Some(block) = self.known_block(asked, now) {
            let wait = block.until.since(now);
            let block = Block { level: failsafe::bounded(block.level), ..block };
            return Failsafe { prolonged, block: Some(block), ..Failsafe::denied(mode, wait, now) };
        }
        let guarded = self.guardrails().take(asked, counted, now);
        let mut failsafe = Failsafe::guarded(mode, guarded, now);
        failsafe.prolonged = prolonged;
        if self.is_entrance() && !guarded.admits() {
            let level = if guarded.wait > Level::L1.lasts() { Level::L2 } else { Level::L1 };
            let until = now.after(guarded.wait);
            failsafe.block = Some(Block { until, scope: BlockScope::Temp, level: Some(level) });
        }
        failsafe
    }

    /// The block of any of its counters that this node knew of: of several the one that ends last.
    fn known_block(&self, asked: &Asked<'_>, now: Timestamp) -> Option<Block> {
        if self.mirror.is_empty() {
            return None;
        }
        let is_entrance = self.is_entrance();
        let enforced = asked.batch.charges().iter().filter(|charge| {
            // Interfaces are not guarded by account while local caps decide.
            let by_account = charge.limit().scope().contains(Dimension::Account);
            !charge.limit().is_shadow() && (is_entrance || !by_account)
        });
        let known = enforced.filter_map(|charge| self.mirror.get(charge.digest(), now));
        known.max_by_key(|block| block.until)
    }

    const fn is_entrance(&self) -> bool {
        matches!(self.fallback, Fallback::Login | Fallback::Otp)
    }

    /// The blocks this node knows of.
    pub const fn mirror(&mut self) -> &mut Mirror {
        &mut self.mirror
    }

    /// How the policy stands, as of the last step.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing {
            mode: self.failover.mode(),
            epoch: self.failover.epoch(),
            failures: self.failover.failures(),
            degraded_since: self.failover.degraded_since(),
            denies_for: self.denies_for(),
        }
    }

    fn denies_for(&self) -> Option<Span> {
        match self.failover.course() {
            Course::Deny(wait) => Some(wait),
            Course::Ask(_) | Course::Guard => None,
        }
    }

    /// Whether nothing in it would be missed.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.failover.is_fresh(now)
            && self.guardrails.iter().all(|(_, rails)| rails.is_fresh(now))
            && self.mirror.is_fresh(now)
    }
}
