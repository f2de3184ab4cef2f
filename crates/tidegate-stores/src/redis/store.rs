//! The store: one script for each group of counters that can live together.
//!
//! On one server all counters of a decision do. On a cluster those with the same hash tag do, as all
//! limits of one organisation; a decision about an account and an address has two groups. Groups are
//! asked in the order of the policy. Once one refuses, the others are only looked at, and what the
//! earlier ones took is given back in the background: until then a caller may find one request more
//! counted than was admitted, and never one less.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use tidegate_core::{
    Batch, Changes, KeyNames, Readings, Receipt, Secret, Settlement, Store, StoreError,
};

use super::args::{Args, Nonce};
use super::group::{self, Group};
use super::scripts::Scripts;
use super::servers::{Garbled, Servers};
use super::signature::Ask;
use super::target::{Target, TargetError};
use super::trouble::Trouble;

/// Counters in Redis or Valkey.
#[derive(Clone, Debug)]
pub struct RedisStore(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) names: KeyNames,
    pub(super) servers: Servers,
    pub(super) scripts: Scripts,
    calls: AtomicU32,
}

// === impl RedisStore ===

impl RedisStore {
    /// A store on these servers, with keys spelled out under the secret of the fleet. Nothing is
    /// connected to until it is needed.
    ///
    /// # Errors
    ///
    /// If a certificate that the target names cannot be read.
    pub fn new(target: Target, secret: &Secret) -> Result<Self, TargetError> {
        Ok(Self(Arc::new(Inner {
            names: secret.names(),
            servers: Servers::new(target)?,
            scripts: Scripts::new(),
            calls: AtomicU32::new(0),
        })))
    }

    /// Connects and looks whether the servers can be worked with, as a start-up check.
    ///
    /// # Errors
    ///
    /// Why not, in words. [`Trouble::is_refusal`] tells what an operator has to mend from what may
    /// pass by itself.
    pub async fn check(&self) -> Result<(), Trouble> {
        self.0.servers.check().await
    }

    /// Why the last call that failed did, in words for an operator and without secrets.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<Trouble>> {
        self.0.servers.trouble()
    }
}

impl Store for RedisStore {
    const SHARED: bool = true;

    async fn charge(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        group::decide(&self.0, batch, Ask::Charge, readings).await
    }

    async fn peek(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        group::decide(&self.0, batch, Ask::Peek, readings).await
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        super::settle::settle(&self.0, settlement).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        let nonce = self.0.nonce();
        // One place is enough to see that a server works; a cluster is asked at several, which lie in
        // different parts of it.
        let places: &[&str] = match self.0.servers.is_cluster() {
            true => &["tg:{probe}", "tg:{probe1}", "tg:{probe5}", "tg:{probe9}"],
            false => &["tg:{probe}"],
        };
        for key in places {
            let answered = |reply: redis::Value| match reply {
                redis::Value::BulkString(bytes) if bytes.starts_with(&nonce) => Ok(()),
                _ => Err(Garbled),
            };
            self.0.servers.run(self.0.scripts.probe(), &[key], &nonce, answered).await?;
        }
        Ok(())
    }

    fn changes(&self) -> Changes {
        self.0.servers.changes()
    }
}

// === impl Inner ===

impl Inner {
    /// What comes back with the answer: different for calls that can be under way together.
    pub(super) fn nonce(&self) -> Nonce {
        self.calls.fetch_add(1, Ordering::Relaxed).to_le_bytes()
    }

    /// Runs the script of one group and takes its answer apart.
    pub(super) async fn run(
        &self,
        group: &Group<'_>,
        args: &Args,
    ) -> Result<super::reply::Reply, StoreError> {
        let script = self.scripts.get(&group.signature);
        let decode = |reply: redis::Value| match reply {
            redis::Value::BulkString(bytes) => group.read(&bytes),
            _ => Err(Garbled),
        };
        self.servers.run(&script, &group.keys, args.bytes(), decode).await
    }
}
