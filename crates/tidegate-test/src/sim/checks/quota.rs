//! What a store that loses counts admits: one limit more for each loss, and never more.
//!
//! When a store has two primaries, each keeps a history of its own, and one of the two is lost in
//! the end. An account that is counted on both may be admitted twice as often, and an account that
//! is counted anew once more; that is the bound that operators are told. A clock that is set back
//! into an hour that was over gives that hour a part of the next one's quota, which then has less.
//! Everything else admits nothing more: clocks that are set back within an hour, requests that were
//! counted without an answer, calendar periods that end while a request is on its way.

use std::collections::{HashMap, HashSet};

use tidegate_core::Mode;

use super::request::Request;
use super::{Holds, holds};
use crate::sim::trace::{Observation, OpKind, What};

/// Microseconds of an hour.
const HOUR: u64 = 3_600_000_000;

/// Requests that a policy with a quota for each account and hour has admitted, in the whole fleet.
#[derive(Clone, Debug)]
pub(super) struct QuotaCheck {
    policy: u8,
    hourly: u64,
    /// How far the clock of the store is ahead of the trace.
    ahead: u64,
    /// How many times counts may have been lost.
    losses: u64,
    /// How many primaries there are, each with a history of its own.
    primaries: u64,
    /// Numbers of the amendments under way.
    amends: HashSet<u32>,
    /// For each account and hour: requests admitted, and the number of losses before the first of
    /// them.
    admitted: HashMap<(u64, u64), (u64, u64)>,
}

// === impl QuotaCheck ===

impl QuotaCheck {
    pub(super) fn new(policy: u8, hourly: u64) -> Self {
        Self {
            policy,
            hourly,
            ahead: 0,
            losses: 0,
            primaries: 1,
            amends: HashSet::new(),
            admitted: HashMap::new(),
        }
    }

    /// Takes note of a trace record; `request` finds the state of a request.
    pub(super) fn push<'r>(
        &mut self,
        record: &Observation,
        request: impl Fn(u32) -> Option<&'r Request>,
    ) -> Holds {
        match record.what {
            What::Clock(ahead) => {
                let hour = |ahead| (record.at + ahead) / HOUR;
                self.losses += u64::from(hour(ahead) < hour(self.ahead));
                self.ahead = ahead;
            }
            What::Forgets => self.losses += 1,
            What::Primaries(primaries) => {
                self.losses += u64::from(self.primaries > 1 && primaries == 1);
                self.primaries = u64::from(primaries);
            }
            // A counter is created anew: at some time between the sending and the reply, so both
            // count as a loss.
            What::Sent { op, kind: OpKind::Amend, .. } => {
                self.amends.insert(op);
                self.losses += 1;
            }
            What::Done { op, .. } => self.losses += u64::from(self.amends.remove(&op)),
            What::Decided { request: number, answer }
                if record.policy == self.policy
                    && answer.admitted
                    && answer.mode == Mode::Normal =>
            {
                let account = request(number).filter(|it| it.counted).and_then(|it| it.who.account);
                if let Some(account) = account {
                    return self.p75_a_loss_is_worth_one_limit_more(account, record.at);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn p75_a_loss_is_worth_one_limit_more(&mut self, account: u64, at: u64) -> Holds {
        let (losses, hour) = (self.losses, (at + self.ahead) / HOUR);
        let (admitted, before) = self.admitted.entry((account, hour)).or_insert((0, losses));
        *admitted += 1;
        let most = self.hourly * (self.primaries + losses - *before);
        holds!(
            *admitted <= most,
            "P75",
            "{admitted} admitted of account {account} in one hour, where {most} may be"
        );
        Ok(())
    }
}
