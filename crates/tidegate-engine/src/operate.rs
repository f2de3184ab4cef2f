//! What operators do: block, unblock, reset, and see who is blocked.
//!
//! Each verb concerns the counters of one subject under one policy. A reset never clears a global
//! limit unless that is named: an operator who forgives one subject must not thereby forgive all.

use tidegate_core::{
    Amended, Amendment, Block, Case, Charge, CounterRef, Level, Name, Page, ShapeKind, Span, Stage,
    Store, StoreError, Timestamp,
};

use crate::engine::Engine;
use crate::event::Event;
use crate::failover::Decider;

/// How long an operator waits for the store to do one command, however many counters it concerns.
const PATIENCE: Span = Span::from_secs(2);

/// What became of one limit's counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The limit.
    pub limit: Name,
    /// What became of its counter.
    pub amended: Amended,
}

/// One page of the blocks that hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockList {
    /// The blocks.
    pub list: Vec<BlockEntry>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<String>,
    /// When the blocks were read, by the clock of the store, which also ends them.
    pub at: Timestamp,
}

/// One block that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// The policy; `None` for a limit that several share, or that is in force no longer.
    pub policy: Option<Name>,
    /// The limit; `None` if it is in force no longer.
    pub limit: Option<Name>,
    /// The store's name for the counter, for [`Engine::unblock_listed`]. It shows no account or
    /// address.
    pub key: String,
    /// The block.
    pub block: Block,
}

/// Why an operator's command was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperateError {
    /// The policy has no such limit.
    #[error("policy `{policy}` has no limit `{limit}`; it has {has}")]
    NoSuchLimit {
        /// The policy.
        policy: Name,
        /// The name that was asked for.
        limit: String,
        /// The names of the limits that the policy has.
        has: String,
    },
    /// The limit counts by a fact that is not known of the subject, or exempts it.
    #[error(
        "limit `{limit}` of policy `{policy}` does not count this subject: it counts by `{by}`; pass \
         these facts"
    )]
    NotCounted {
        /// The policy.
        policy: Name,
        /// The limit.
        limit: Name,
        /// The facts that the limit counts by.
        by: String,
    },
    /// The limit cannot be blocked, because it does not count attempts.
    #[error("limit `{limit}` is a {kind}, and only limits of the shape `attempts` can be blocked")]
    NotBlockable {
        /// The limit.
        limit: Name,
        /// The shape of the limit.
        kind: &'static str,
    },
    /// Several limits could be meant, or none.
    #[error("name the limit: {0} limits of policy `{1}` could be meant")]
    Ambiguous(usize, Name),
    /// A name or a cursor that did not come from a list of blocks.
    #[error("not a key or cursor from the list of blocks")]
    NotListed,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

// === impl Engine ===

impl<S: Store> Engine<S> {
    /// Blocks a subject for `lasts`, from now on. A block that ends later stays as it is. The limit
    /// has to be named if several that can be blocked count the subject.
    ///
    /// # Errors
    ///
    /// If no such limit counts the subject or it cannot be blocked, or if the store fails.
    pub async fn block(
        &self,
        case: &mut Case<'_>,
        limit: Option<&str>,
        lasts: Span,
        level: Option<Level>,
    ) -> Result<Change, OperateError> {
        let amendment = Amendment::Block { lasts, level };
        let charges = self.meant(case, limit, |charge| is_log(charge))?;
        match charges.as_slice() {
            [charge] => self.amend(case, charge, amendment, self.now()).await,
            several => Err(OperateError::Ambiguous(several.len(), case.policy().name().clone())),
        }
    }

    /// Lifts the blocks of a subject and forgets the attempts that led to them, for one limit or
    /// for all limits that count it.
    ///
    /// # Errors
    ///
    /// As [`block`](Self::block).
    pub async fn unblock(
        &self,
        case: &mut Case<'_>,
        limit: Option<&str>,
    ) -> Result<Vec<Change>, OperateError> {
        let charges = self.meant(case, limit, |charge| is_log(charge))?;
        self.amend_all(case, &charges, Amendment::Unblock).await
    }

    /// Forgets what one limit has counted of a subject, or what all limits of the action have. A
    /// global limit is reset only if it is named.
    ///
    /// # Errors
    ///
    /// If no such limit counts the subject, or if the store fails.
    pub async fn reset(
        &self,
        case: &mut Case<'_>,
        limit: Option<&str>,
    ) -> Result<Vec<Change>, OperateError> {
        let of_action = |charge: &Charge<'_>| charge.limit().stage() == Stage::Action;
        let charges = self.meant(case, limit, of_action)?;
        self.amend_all(case, &charges, Amendment::Reset).await
    }

    /// Lifts a block by its [key](BlockEntry::key) in the list of blocks.
    ///
    /// # Errors
    ///
    /// If the key cannot be one of the list, or if the store fails.
    pub async fn unblock_listed(&self, key: &str) -> Result<Amended, OperateError> {
        let amendment = Amendment::Unblock;
        self.logs_are_reachable()?;
        let amended = self.store().amend(CounterRef::Listed(key), amendment, PATIENCE).await;
        let amended = amended.map_err(not_listed)?;
        self.tell_amended(None, None, amendment, amended);
        Ok(amended)
    }

    /// The blocks that hold now, a page at a time. A page may be empty and not be the last one.
    ///
    /// # Errors
    ///
    /// If the cursor did not come from a list of blocks, or if the store fails.
    pub async fn blocks(&self, page: Page<'_>) -> Result<BlockList, OperateError> {
        self.logs_are_reachable()?;
        let blocks = self.store().blocks(page, PATIENCE).await.map_err(not_listed)?;
        let policies = self.policies();
        let entry = |listed: tidegate_core::Listed| {
            let limit = policies.limit(listed.limit);
            let owns = |policy: &&tidegate_core::Policy| {
                policy.limits().iter().any(|limit| limit.id() == listed.limit)
            };
            let mut owners = policies.policies().iter().filter(owns);
            let policy = match (owners.next(), owners.next()) {
                (Some(policy), None) => Some(policy.name().clone()),
                _ => None,
            };
            let limit = limit.map(|limit| limit.name().clone());
            BlockEntry { policy, limit, key: listed.key, block: listed.block }
        };
        let list = blocks.list.into_iter().map(entry).collect();
        Ok(BlockList { list, next: blocks.next, at: blocks.at })
    }

    /// An error if the store is not to be asked for some policy that counts attempts: then it is
    /// not asked about the blocks of any policy.
    fn logs_are_reachable(&self) -> Result<(), StoreError> {
        let policies = self.policies();
        let mut logs = policies.policies().iter().filter(|policy| policy.counts_attempts());
        match S::FALLIBLE && logs.any(|policy| self.post(policy).route() == Decider::Local) {
            true => Err(StoreError::Unavailable),
            false => Ok(()),
        }
    }

    /// The charge of the named limit, or if none is named all charges that `fit`.
    fn meant<'a>(
        &self,
        case: &mut Case<'a>,
        limit: Option<&str>,
        fit: impl Fn(&Charge<'a>) -> bool,
    ) -> Result<Vec<Charge<'a>>, OperateError> {
        case.resolve(&self.digests);
        let (policy, charges) = (case.policy(), case.batch().charges());
        let Some(name) = limit else {
            return Ok(charges.iter().filter(|charge| fit(charge)).copied().collect());
        };
        let Some(limit) = policy.limits().iter().find(|limit| limit.name().as_str() == name) else {
            let names: Vec<_> = policy.limits().iter().map(|limit| limit.name().as_str()).collect();
            let (policy, limit) = (policy.name().clone(), name.to_owned());
            return Err(OperateError::NoSuchLimit { policy, limit, has: names.join(", ") });
        };
        match charges.iter().find(|charge| charge.limit().id() == limit.id()) {
            Some(charge) => Ok(vec![*charge]),
            None => Err(OperateError::NotCounted {
                policy: policy.name().clone(),
                limit: limit.name().clone(),
                by: limit.scope().to_string(),
            }),
        }
    }

    async fn amend_all<'a>(
        &self,
        case: &Case<'a>,
        charges: &[Charge<'a>],
        amendment: Amendment,
    ) -> Result<Vec<Change>, OperateError> {
        let (mut changes, began) = (Vec::with_capacity(charges.len()), self.now());
        for charge in charges {
            changes.push(self.amend(case, charge, amendment, began).await?);
        }
        Ok(changes)
    }

    async fn amend<'a>(
        &self,
        case: &Case<'a>,
        charge: &Charge<'a>,
        amendment: Amendment,
        began: Timestamp,
    ) -> Result<Change, OperateError> {
        let limit = charge.limit().name().clone();
        if amendment != Amendment::Reset && !is_log(charge) {
            let kind = charge.shape().kind().name();
            return Err(OperateError::NotBlockable { limit, kind });
        }
        let post = self.post(case.policy());
        if S::FALLIBLE && post.route() == Decider::Local {
            return Err(StoreError::Unavailable.into());
        }
        let counter = CounterRef::Of(*charge, case.batch().key(charge));
        let left = self.left_of(PATIENCE, began).ok_or(StoreError::Timeout)?;
        let amended = self.store().amend(counter, amendment, left).await?;
        self.learn_amended(charge, &amended, &post);
        self.tell_amended(Some(case.policy().name()), Some(&limit), amendment, amended);
        Ok(Change { limit, amended })
    }

    fn tell_amended(
        &self,
        policy: Option<&Name>,
        limit: Option<&Name>,
        amendment: Amendment,
        amended: Amended,
    ) {
        if amended.changed {
            self.emit_surely(|| {
                let (policy, limit) = (policy.cloned(), limit.cloned());
                Event::Amended { policy, limit, amendment, amended }
            });
        }
    }
}

fn is_log(charge: &Charge<'_>) -> bool {
    charge.shape().kind() == ShapeKind::Attempts
}

fn not_listed(error: StoreError) -> OperateError {
    match error {
        StoreError::Refused => OperateError::NotListed,
        other => OperateError::Store(other),
    }
}
