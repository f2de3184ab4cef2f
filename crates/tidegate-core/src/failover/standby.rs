//! What one node knows of one policy, so that it can go on without the store.

use super::contract::{CLOSED_AT_MOST, PROLONGED_AFTER};
use super::failsafe::{self, Alarm, Failsafe, SOON};
use super::guardrail::{Asked, Guardrails};
use super::input::Input;
use super::machine::{Course, Failover, Outputs};
use super::mirror::Mirror;
use super::signal::Signal;
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
    /// The local caps of each fallback that the policy has, or had before it was changed.
    guardrails: Vec<(Fallback, Guardrails)>,
    mirror: Mirror,
    /// The beginning of the outage for which a reopening was signalled last.
    reopened: Option<Timestamp>,
}

/// How a policy stands with its store, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The mode that a request meets.
    pub mode: Mode,
    /// How often the degraded mode has been entered.
    pub epoch: u64,
    /// How many failures of the store in the last ten seconds count.
    pub failures: usize,
    /// Since when local caps decide; `None` if they do not.
    pub degraded_since: Option<Timestamp>,
    /// How much longer nothing passes because the store failed too often; `None` if that is not so.
    pub denies_for: Option<Span>,
}

// === impl Standing ===

impl Standing {
    /// The standing of a policy whose store is in its own process and cannot fail.
    pub const NORMAL: Self =
        Self { mode: Mode::Normal, epoch: 0, failures: 0, degraded_since: None, denies_for: None };
}

// === impl Standby ===

impl Standby {
    /// The standby of a policy with this failure mode and this fallback, at the start of the node.
    #[must_use]
    pub fn new(failure: FailureMode, fallback: Fallback, now: Timestamp) -> Self {
        Self {
            fallback,
            failover: Failover::new(failure, now),
            guardrails: vec![(fallback.family(), Guardrails::new(fallback))],
            mirror: Mirror::default(),
            reopened: None,
        }
    }

    /// Takes over a policy that has been changed: its failure mode and its fallback may differ.
    /// Everything counted stays counted, and the history stays what it was.
    pub fn follow(&mut self, failure: FailureMode, fallback: Fallback) {
        self.failover.follow(failure);
        self.fallback = fallback;
        let family = fallback.family();
        if self.guardrails.iter().all(|(known, _)| *known != family) {
            self.guardrails.push((family, Guardrails::new(fallback)));
        }
        self.guardrails().follow(fallback);
    }

    /// The local caps of the present fallback; those of earlier fallbacks are kept too.
    fn guardrails(&mut self) -> &mut Guardrails {
        let family = self.fallback.family();
        let place = self.guardrails.iter().position(|(known, _)| *known == family);
        &mut self.guardrails[place.unwrap_or_default()].1
    }

    /// Hands an input to the state machine, and returns what follows.
    pub fn step(&mut self, input: Input, now: Timestamp) -> Outputs {
        // The machine is a value that goes in and comes out; nobody looks at the old one meanwhile.
        let (failover, mut outputs) = self.failover.clone().step(input, now);
        self.failover = failover;
        self.tell_reopened(now, &mut outputs);
        if input == Input::Poll {
            self.guardrails.iter_mut().for_each(|(_, rails)| rails.tidy(now));
        }
        outputs
    }

    /// Signals, once in each outage, that a closed policy is open again although the store is not well.
    fn tell_reopened(&mut self, now: Timestamp, outputs: &mut Outputs) {
        let since = self.failover.outage_since();
        if let Some(since) = since.filter(|_| self.is_reopened(now) && self.reopened != since) {
            self.reopened = Some(since);
            let signal = Signal::Reopened { since, epoch: self.failover.epoch(), at: now };
            outputs.tell(signal);
        }
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
        let mut failsafe = if self.is_entrance() || mode == Mode::FailClosed {
            let wait = self.denies_for().or_else(|| self.closed_for(now)).unwrap_or(SOON);
            Failsafe::denied(mode, wait, now)
        } else {
            self.guarded(mode, asked, counted, now)
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

    /// Decides a request without the store; `None` if the store is to be asked.
    pub fn decide(&mut self, asked: &Asked<'_>, counted: bool, now: Timestamp) -> Option<Failsafe> {
        match self.failover.course() {
            Course::Ask(_) => None,
            Course::Deny(wait) => {
                let denied = Failsafe::denied(Mode::FailClosed, wait, now);
                Some(Failsafe { alarm: Some(Alarm::Flapped), ..denied })
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
        if let Some(wait) = self.closed_for(now) {
            return Failsafe { prolonged, ..Failsafe::denied(Mode::FailClosed, wait, now) };
        }
        let alarm = self.is_reopened(now).then_some(Alarm::Reopened);
        if let Some(block) = self.known_block(asked, now) {
            let wait = block.until.since(now);
            let block = Block { level: failsafe::bounded(block.level), ..block };
            let denied = Failsafe::denied(mode, wait, now);
            return Failsafe { prolonged, block: Some(block), alarm, ..denied };
        }
        let leaves = self.failover.leaves_after(now).unwrap_or(SOON);
        let guarded = self.guardrails().take_until(leaves, asked, counted, now);
        let mut failsafe = Failsafe::guarded(mode, guarded, now);
        failsafe.prolonged = prolonged;
        failsafe.alarm = alarm;
        if self.is_entrance() && !guarded.admits() {
            let level = if guarded.wait > Level::L1.lasts() { Level::L2 } else { Level::L1 };
            let until = now.after(guarded.wait);
            failsafe.block = Some(Block { until, scope: BlockScope::Temp, level: Some(level) });
        }
        failsafe
    }

    /// The block that holds on any counter of the request, as far as this node knows: of several, the
    /// one that ends last.
    fn known_block(&self, asked: &Asked<'_>, now: Timestamp) -> Option<Block> {
        if self.mirror.is_empty() {
            return None;
        }
        let by_any = self.is_entrance() || self.fallback == Fallback::Spend;
        let enforced = asked.batch.charges().iter().filter(|charge| {
            // Policies that guard an API do not count by account while local caps decide.
            let by_account = charge.limit().scope().contains(Dimension::Account);
            !charge.limit().is_shadow() && (by_any || !by_account)
        });
        let known = enforced.filter_map(|charge| self.mirror.get(charge.digest(), now));
        known.max_by_key(|block| block.until)
    }

    const fn is_entrance(&self) -> bool {
        matches!(self.fallback, Fallback::Login | Fallback::Otp | Fallback::Closed)
    }

    /// How much longer nothing passes under a [closed](Fallback::Closed) policy whose store is not
    /// asked: until the store may be trusted again, or until the outage has lasted too long. `None` if
    /// requests may pass.
    fn closed_for(&self, now: Timestamp) -> Option<Span> {
        let until = self.closed_until()?;
        let leaves = self.failover.leaves_after(now)?;
        (now < until).then(|| until.since(now).min(leaves))
    }

    /// Whether a [closed](Fallback::Closed) policy is open again although the store is not well.
    fn is_reopened(&self, now: Timestamp) -> bool {
        self.closed_until().is_some_and(|until| now >= until)
    }

    /// When a [closed](Fallback::Closed) policy opens again; `None` for other policies, and unless the
    /// mode is degraded.
    fn closed_until(&self) -> Option<Timestamp> {
        let closes = self.fallback == Fallback::Closed && self.failover.degraded_since().is_some();
        let since = self.failover.outage_since().filter(|_| closes)?;
        Some(since.after(CLOSED_AT_MOST))
    }

    /// The blocks this node knows of.
    pub const fn mirror(&mut self) -> &mut Mirror {
        &mut self.mirror
    }

    /// How the policy stands as of the last step; its mode is the one that a request meets.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let closed = self.closed_for(self.failover.latest).is_some();
        let mode = if closed { Mode::FailClosed } else { self.failover.present_mode() };
        Standing {
            mode,
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

    /// Whether nothing in this standby would be missed: no failure, count or block matters any more.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.failover.is_fresh(now)
            && self.guardrails.iter().all(|(_, rails)| rails.is_fresh(now))
            && self.mirror.is_fresh(now)
    }
}
