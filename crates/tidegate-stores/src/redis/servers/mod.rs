//! Every way to talk to the servers, and one question: run this script, once, in time.
//!
//! A call has one deadline for everything: finding the server, connecting, logging in, the script
//! and a redirect. It is sent at most once. Only what certainly ran nothing is sent again: a
//! connection that was dead before a byte was sent, a script the server did not know, a slot that
//! is elsewhere. Whatever else goes wrong after the first byte is
//! [`Timeout`](StoreError::Timeout): somebody may have counted it.

mod call;
mod changes;
mod error;
mod flight;
mod link;
mod live;
mod node_info;
#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use redis::{ServerErrorKind, Value};
use tidegate_core::StoreError;

use self::call::{Call, Progress};
pub(crate) use self::changes::Changes;
use self::changes::Tally;
use self::link::{Door, Link};
use crate::redis::script::Script;
use crate::redis::target::{Kind, Target, TargetError};
use crate::redis::trouble::Trouble;

/// The servers of one target.
#[derive(Debug)]
pub(crate) struct Servers {
    shared: Arc<Shared>,
    topology: Topology,
}

/// A reply that is not what the script answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

#[derive(Debug)]
enum Topology {
    One(Arc<Link>),
}

/// What every link needs and adds to.
#[derive(Debug)]
struct Shared {
    target: Target,
    changes: Tally,
    trouble: ArcSwapOption<Trouble>,
}

// === impl Servers ===

impl Servers {
    /// Reads what the target names on this machine, and connects to nothing yet.
    pub(crate) fn new(target: Target) -> Result<Self, TargetError> {
        let kind = target.kind.clone();
        let first = target.hosts.first().cloned().ok_or(TargetError::Host)?;
        let shared =
            Arc::new(Shared { target, changes: Tally::default(), trouble: ArcSwapOption::empty() });
        let topology = match kind {
            Kind::Single => {
                Topology::One(Arc::new(Link::new(Door::At(first), Arc::clone(&shared))))
            }
            Kind::Sentinel { .. } | Kind::Cluster => return Err(TargetError::Scheme),
        };
        Ok(Self { shared, topology })
    }

    /// Connects to every server that is needed and inspects it; for start-up.
    pub(crate) async fn check(&self) -> Result<(), Trouble> {
        let Topology::One(link) = &self.topology;
        let outcome = match link.ready() {
            Some(_) => Ok(()),
            None => link.connect().await.map(|_| ()),
        };
        outcome.map_err(|trouble| {
            self.shared.note(&trouble);
            Trouble::clone(&trouble)
        })
    }

    /// Runs a script on the server that owns the slot of the first key. All keys share a hash tag.
    pub(crate) async fn run<T>(
        &self,
        script: &Script,
        keys: &[impl AsRef<[u8]>],
        arg: &[u8],
        decode: impl FnOnce(Value) -> Result<T, Garbled>,
    ) -> Result<T, StoreError> {
        let call = Call::new(script, keys, arg);
        let timeout = self.shared.target.timeout();
        let mut progress = Progress::default();
        let reply = tokio::time::timeout(timeout, self.answer(&call, &mut progress)).await;
        let reply = reply.unwrap_or_else(|_| {
            let place = progress.place();
            self.shared.note_text(|| format!("{place}no answer within {timeout:?}"));
            Err(progress.elapsed())
        })?;
        decode(reply).map_err(|Garbled| {
            let place = progress.place();
            self.shared.note_text(|| format!("{place}the reply is not what the script answers"));
            progress.garbled()
        })
    }

    /// Whether keys have to be grouped by hash tag.
    pub(crate) const fn is_cluster(&self) -> bool {
        false
    }

    /// What was noticed about the servers since the start.
    pub(crate) fn changes(&self) -> Changes {
        self.shared.changes.read()
    }

    /// Why the last call that failed did, in words.
    pub(crate) fn trouble(&self) -> Option<Arc<Trouble>> {
        self.shared.trouble.load_full()
    }

    async fn answer(&self, call: &Call<'_>, progress: &mut Progress) -> Result<Value, StoreError> {
        let Topology::One(link) = &self.topology;
        match self.ask(link, call, false, progress).await? {
            Value::ServerError(error) => {
                if error::is_elsewhere(&error) {
                    progress.leave();
                }
                Err(self.refused(&error, progress))
            }
            reply => Ok(reply),
        }
    }

    /// Sends the call to one server and waits for its reply.
    async fn ask(
        &self,
        link: &Arc<Link>,
        call: &Call<'_>,
        asking: bool,
        progress: &mut Progress,
    ) -> Result<Value, StoreError> {
        let (live, was_ready) = match link.ready() {
            Some(live) => (live, true),
            None => (link.connect().await.map_err(|trouble| self.shared.note(&trouble))?, false),
        };
        progress.sent(link, &live, was_ready);
        let mut reply = live.call(call.by_hash(), asking).await;
        if let Ok(Value::ServerError(error)) = &reply
            && error.kind() == Some(ServerErrorKind::NoScript)
        {
            // It has run nothing, so this is still the first time.
            reply = live.call(&call.by_text(), asking).await;
        }
        reply.map_err(|error| {
            self.shared.note_text(|| format!("{}: lost during a call: {error}", live.address));
            progress.garbled()
        })
    }

    fn refused(&self, error: &redis::ServerError, progress: &Progress) -> StoreError {
        let (code, text) = (error.code(), error.details().unwrap_or_default());
        self.shared.note_text(|| format!("{}it answers {code} {text}", progress.place()));
        error::error_of(code, text)
    }
}

// === impl Shared ===

impl Shared {
    /// Keeps the trouble for the logs, and says which branch to take.
    fn note(&self, trouble: &Arc<Trouble>) -> StoreError {
        self.trouble.store(Some(Arc::clone(trouble)));
        trouble.error()
    }

    fn note_text(&self, text: impl FnOnce() -> String) {
        self.trouble.store(Some(Arc::new(Trouble::passing(text()))));
    }
}
