//! Settling: correcting a charge once it is known what the request really weighed.

use tidegate_core::{
    Claim, Cost, CostError, Hold, Limit, Policy, PolicySet, Receipt, Settled, Settlement, Span,
    Store, StoreError, TicketError, Timestamp,
};

use crate::engine::Engine;
use crate::event::Event;
use crate::failover::Decider;

/// Why a ticket was not settled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettleError {
    /// The ticket is not valid, has expired or was settled before.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// The weight is beyond the exact range.
    #[error(transparent)]
    Weight(#[from] CostError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

// === impl Engine ===

impl<S: Store> Engine<S> {
    /// Settles a request: changes its charge to what it really weighed. A weight of zero gives all
    /// of it back; what exceeds the charge is taken now, whether or not there is room. This
    /// concerns only limits that settle, and happens at most once for each ticket.
    ///
    /// # Errors
    ///
    /// If the ticket is not one of this engine's, has expired or was settled before, if the weight
    /// is beyond the exact range, if the store fails or is not trusted, or if too many calls to it
    /// are under way ([`StoreError::Contended`]). Nothing has been changed then, except perhaps
    /// after [`StoreError::Timeout`]. A ticket from before an outage has expired.
    pub async fn settle(&self, ticket: &str, weight: u64) -> Result<Settled, SettleError> {
        let claim = self.tickets.open(ticket)?;
        let weight = weight_of(weight)?;
        let policies = self.policies.load_full();
        let concerned = concerned(&claim, &policies);
        let limit = |hold: &Hold| policies.limit(hold.limit).map(|limit| &**limit);
        self.settle_claim(&claim, limit, concerned, weight).await
    }

    /// Settles a claim that concerns these policies; `limit` finds the limits of its holds.
    pub(crate) async fn settle_claim<'p>(
        &self,
        claim: &'p Claim,
        limit: impl Fn(&Hold) -> Option<&'p Limit>,
        concerned: impl IntoIterator<Item = &'p Policy, IntoIter: Clone>,
        weight: Option<Cost>,
    ) -> Result<Settled, SettleError> {
        let concerned = concerned.into_iter();
        let mut settlement = Settlement::of(claim, limit, weight);
        // Read only where it matters: next to a store that answers at once, reading the clock is slow.
        let began = if S::FALLIBLE || S::WAITS { self.now() } else { Timestamp::ZERO };
        let deadline = match S::FALLIBLE {
            true => match self.may_settle(claim, concerned.clone())? {
                Some(deadline) => deadline,
                None => return Ok(Settled::default()),
            },
            false if S::WAITS => {
                let deadlines = concerned.clone().map(Policy::deadline);
                deadlines.min().unwrap_or(settlement.deadline())
            }
            false => settlement.deadline(),
        };
        settlement.hurry(deadline);
        let underway = match S::FALLIBLE {
            true => match self.traffic.enter_settling(began) {
                None => return Err(self.settlement_shed(concerned)),
                entered => entered,
            },
            false => None,
        };
        let mut resent = 0;
        let receipt = loop {
            let settled = match S::WAITS {
                true => self.store().settle(&settlement).await,
                false => self.store().settle_now(&settlement),
            };
            match settled {
                // A store that has just been sent the periods does not ask for them again, unless
                // they end in between.
                Err(StoreError::Stale { charge, now }) if resent <= settlement.moves().len() => {
                    resent += 1;
                    if let Some(step) = settlement.moves().get(charge) {
                        step.charge.refresh(now);
                    }
                    if S::FALLIBLE || S::WAITS {
                        let left = self.left_of(deadline, began);
                        settlement.hurry(left.ok_or(StoreError::Timeout)?);
                    }
                }
                Err(StoreError::Contended) if S::FALLIBLE => {
                    return Err(self.settlement_shed(concerned));
                }
                other => break other?,
            }
        };
        drop(underway);
        match receipt {
            Receipt::Settled(settled) => {
                self.emit(|| Event::Settled { settled });
                Ok(settled)
            }
            Receipt::Before => Err(TicketError::Settled.into()),
            Receipt::Late => Err(TicketError::Expired.into()),
        }
    }

    /// Notes that a settlement was shed, for the policies that it concerns.
    #[cold]
    fn settlement_shed<'p>(&self, concerned: impl Iterator<Item = &'p Policy>) -> SettleError {
        for policy in concerned {
            let _ = self.shed(policy, &self.post(policy));
        }
        StoreError::Contended.into()
    }

    /// How long the store may take to settle a ticket: the shortest deadline of the policies that
    /// it concerns. `None` if no such policy is in force any more: nothing would be moved, so the
    /// store is not asked. An error if the store is not trusted for one of them, or if the ticket
    /// was made before the last change of its mode.
    fn may_settle<'p>(
        &self,
        claim: &Claim,
        concerned: impl Iterator<Item = &'p Policy>,
    ) -> Result<Option<Span>, SettleError> {
        let mut deadline: Option<Span> = None;
        for policy in concerned {
            deadline = Some(deadline.map_or(policy.deadline(), |it| it.min(policy.deadline())));
            let post = self.post(policy);
            if post.route() == Decider::Local {
                return Err(StoreError::Unavailable.into());
            }
            if self.tickets.made(claim) && !post.is_present(claim.id.number) {
                return Err(TicketError::Expired.into());
            }
        }
        Ok(deadline)
    }
}

/// The weight that a request is settled at; zero is none.
pub(crate) fn weight_of(weight: u64) -> Result<Option<Cost>, CostError> {
    match weight {
        0 => Ok(None),
        _ => Cost::try_new(weight).map(Some),
    }
}

/// The policies that have a limit on the ticket.
fn concerned<'p>(
    claim: &'p Claim,
    policies: &'p PolicySet,
) -> impl Iterator<Item = &'p Policy> + Clone {
    let is_held = |limit: &Limit| claim.holds.iter().any(|hold| hold.limit == limit.id());
    policies.policies().iter().filter(move |policy| policy.limits().iter().any(|it| is_held(it)))
}
