//! The store: one script for each group of counters that can live together.
//!
//! On one server all counters of a decision live together. On a cluster those with the same hash tag
//! do, such as all limits of one organisation; a decision about an account and an address has two
//! groups. Groups are asked in the order of the policy. Once one refuses, the others are only looked
//! at, and what the earlier ones took is given back in the background: until then a caller may find one
//! request more counted than was admitted, and never one less. All groups together have the deadline of
//! the policy, or the timeout of the target where that is shorter.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;

use arrayvec::ArrayVec;
use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Changes, CounterRef, KeyNames, MAX_LIMITS, Page, Readings,
    Receipt, Secret, Settlement, Span, Store, StoreError,
};

use super::args::{Nonce, ScriptArgs};
use super::group::{self, Group, GroupPlaces, Groups, tag_of};
use super::reply::Reply;
use super::runner::{RunScript, Runner};
use super::scripts::{Script, Scripts};
use super::secret::{self, CheckValues};
use super::servers::{Garbled, Servers, spawn_here};
use super::signature::ScriptVerb;
use super::trouble::Trouble;
use super::url::{Target, TargetError};

/// A store that keeps counters in Redis or Valkey.
#[derive(Clone, Debug)]
pub struct RedisStore(pub(super) Arc<Connected>);

#[derive(Debug)]
pub(super) struct Connected {
    pub(super) names: KeyNames,
    /// The key names under the previous secret, while the secret is being changed.
    pub(super) previous: Option<KeyNames>,
    runner: Runner,
    pub(super) scripts: Scripts,
    pub(super) check_values: CheckValues,
    calls: AtomicU32,
}

// === impl RedisStore ===

impl RedisStore {
    /// A store on these servers, with key names under the secret of the fleet. It connects to nothing
    /// until that is needed. If the secret [replaces](Secret::replacing) another, counters under that
    /// one are carried over, which takes one more round trip for each decision about an account or an
    /// address.
    ///
    /// # Errors
    ///
    /// If a certificate that the target names cannot be read.
    pub fn new(target: Target, secret: &Secret) -> Result<Self, TargetError> {
        Ok(Self::run_by(Runner::Servers(Servers::new(target)?), secret))
    }

    /// A store whose scripts are run by `run` instead of a server, for tests: with the same texts, keys
    /// and argument.
    #[doc(hidden)]
    #[must_use]
    pub fn scripted(secret: &Secret, grouped: bool, run: RunScript) -> Self {
        Self::run_by(Runner::Scripted { grouped, run }, secret)
    }

    fn run_by(runner: Runner, secret: &Secret) -> Self {
        Self(Arc::new(Connected {
            names: secret.names(),
            previous: secret.previous().map(|previous| previous.names()),
            runner,
            scripts: Scripts::new(),
            check_values: CheckValues::of(secret),
            calls: AtomicU32::new(0),
        }))
    }

    /// Connects and checks whether the servers can be worked with, at start-up.
    ///
    /// # Errors
    ///
    /// Why the servers cannot be worked with, in words. [`Trouble::is_refusal`] tells trouble that an
    /// operator has to mend from trouble that may pass by itself.
    pub async fn check(&self) -> Result<(), Trouble> {
        match self.0.servers() {
            Some(servers) => servers.check().await,
            None => Ok(()),
        }
    }

    /// Whether this node has the secret of the fleet, or the previous one while the secret is being
    /// changed. Nodes compare a keyed value that they leave in the store. The first node to come
    /// settles which value is right, so this is to be asked at the start and every minute or so; after
    /// ten minutes in which nobody asks, the value is forgotten.
    ///
    /// # Errors
    ///
    /// If the store fails. Then nothing is known about the secret, and nothing else is affected.
    pub async fn shares_secret(&self) -> Result<bool, StoreError> {
        secret::shared(&self.0).await
    }

    /// Why the last failed call failed, in words for an operator and without secrets.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<Trouble>> {
        self.0.servers()?.trouble()
    }

    /// Decides a batch within the deadline of its policy, however many calls it takes. Past the
    /// deadline the call under way is abandoned, as by a caller that has gone: it may have been
    /// counted, so nothing is given back for it.
    async fn decide(
        &self,
        batch: &Batch<'_>,
        ask: ScriptVerb,
        readings: &mut Readings,
    ) -> Result<(), StoreError> {
        // On the heap: it holds everything about up to twelve counters, and its callers hold it.
        let decision = Box::pin(group::decide(&self.0, batch, ask, readings));
        let Some(servers) = self.0.servers() else { return decision.await };
        let (timeout, deadline) = (servers.timeout(), Duration::from(batch.deadline()));
        // A single call then ends by itself in time, and knows more precisely how far it got.
        if timeout <= deadline && !servers.is_cluster() && self.0.previous.is_none() {
            return decision.await;
        }
        self.0.in_time(batch.deadline(), decision).await
    }
}

impl Store for RedisStore {
    fn name(&self) -> &'static str {
        "redis"
    }

    async fn charge(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, ScriptVerb::Charge, readings).await
    }

    async fn peek(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, ScriptVerb::Peek, readings).await
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        let settling = Box::pin(super::settle::settle(&self.0, settlement));
        self.0.in_time(settlement.deadline(), settling).await
    }

    async fn amend(
        &self,
        counter: CounterRef<'_>,
        amendment: Amendment,
        within: Span,
    ) -> Result<Amended, StoreError> {
        self.0.in_time(within, super::amend::amend(&self.0, counter, amendment)).await
    }

    async fn blocks(&self, page: Page<'_>, within: Span) -> Result<Blocks, StoreError> {
        self.0.in_time(within, super::blocks::blocks(&self.0, page)).await
    }

    async fn probe(&self, trial: &Batch<'_>) -> Result<(), StoreError> {
        self.0.in_time(trial.deadline(), Box::pin(super::probe::probe(&self.0, trial))).await
    }

    fn patience(&self) -> Option<Span> {
        self.0.servers().map(|servers| servers.timeout().into())
    }

    fn changes(&self) -> Changes {
        self.0.servers().map(Servers::changes).unwrap_or_default()
    }
}

// === impl Connected ===

impl Connected {
    /// The servers; `None` if a test runs the scripts instead.
    pub(super) const fn servers(&self) -> Option<&Servers> {
        self.runner.servers()
    }

    /// Waits for `asked`, however many calls it takes, for at most `within`, or the timeout of the
    /// target where that is shorter.
    async fn in_time<T>(
        &self,
        within: Span,
        asked: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.runner.in_time(within, asked).await
    }

    /// The bytes that come back with the answer: different for calls that can be under way together.
    pub(super) fn nonce(&self) -> Nonce {
        self.calls.fetch_add(1, Ordering::Relaxed).to_le_bytes()
    }

    /// Runs the script of one group and reads its answer.
    pub(super) async fn run(
        &self,
        group: &Group<'_, '_>,
        args: &ScriptArgs,
    ) -> Result<Reply, StoreError> {
        let script = self.scripts.get(&group.signature);
        let read = |bytes: &[u8]| Reply::read(bytes, group.nonce, group.shapes.iter().copied());
        self.call(&script, &group.keys, args.bytes(), read).await
    }

    /// Runs a task that nobody waits for.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match self.servers() {
            Some(servers) => servers.spawn(task),
            None => spawn_here(task),
        }
    }

    /// Groups counters that can be charged together, which on a cluster are those with the same hash tag.
    /// Takes the name of each counter, and returns the places of each group, in the order of the names.
    pub(super) fn groups<'k>(&self, names: impl Iterator<Item = &'k str>) -> Groups {
        let by_tag = match &self.runner {
            Runner::Servers(servers) => servers.is_cluster(),
            Runner::Scripted { grouped, .. } => *grouped,
        };
        let mut groups: ArrayVec<(&str, GroupPlaces), MAX_LIMITS> = ArrayVec::new();
        for (place, name) in names.enumerate() {
            let tag = if by_tag { tag_of(name) } else { "" };
            match groups.iter_mut().find(|(known, _)| *known == tag) {
                Some((_, places)) => places.push(place),
                None => groups.push((tag, ArrayVec::from_iter([place]))),
            }
        }
        groups.into_iter().map(|(_, places)| places).collect()
    }

    /// Runs a script once and reads its answer, which is a string of bytes; any other reply is garbled.
    pub(super) async fn call<T>(
        &self,
        script: &Script,
        keys: &[impl AsRef<str> + AsRef<[u8]>],
        arg: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, Garbled>,
    ) -> Result<T, StoreError> {
        self.runner.call(script, keys, arg, read).await
    }
}
