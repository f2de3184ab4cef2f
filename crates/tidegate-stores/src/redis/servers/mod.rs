//! All ways to reach the servers, for one purpose: run this script, once, in time.
//!
//! A call has one deadline for everything: finding the server, connecting, logging in, the script and a
//! redirect. It is sent at most once. It is sent again only if it certainly ran nothing: the connection
//! was dead before a byte was sent, the server did not know the script, or the slot is elsewhere. Any
//! other failure after the first byte is [`Timeout`](StoreError::Timeout): a server may have counted
//! the call.

mod call;
mod changes;
mod cluster;
mod error;
mod flight;
mod home;
mod layout;
mod link;
mod live;
mod look;
mod map;
mod node_info;
mod refresh;
mod sentinel;
mod slot;
#[cfg(test)]
mod tests;
mod tls;
mod watch;
mod wire;

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use redis::{ServerError, Value};
use tidegate_core::{Changes, StoreError};

use self::call::{Progress, ServerCall};
use self::changes::ChangeTally;
use self::cluster::Cluster;
use self::home::Home;
pub(crate) use self::home::spawn_here;
use self::link::{Link, Lookup};
pub(crate) use self::live::text_of;
pub(crate) use self::look::Keeper;
pub(crate) use self::slot::tag_of;
use self::tls::Tls;
use crate::redis::scripts::Script;
use crate::redis::trouble::Trouble;
use crate::redis::turn::within;
use crate::redis::url::{ServersKind, Target, TargetError};

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
    /// One primary, wherever it is.
    One(Arc<Link>),
    Cluster(Arc<Cluster>),
}

/// What all links share: the settings, and what is noticed about the servers.
#[derive(Debug)]
struct Shared {
    target: Target,
    tls: Option<Tls>,
    changes: ChangeTally,
    trouble: ArcSwapOption<Trouble>,
    home: Home,
}

// === impl Servers ===

impl Servers {
    /// Reads the files that the target names, and connects to nothing yet. Background tasks run in the
    /// runtime this is called in, if it is called in one; that runtime has to be running for as long as
    /// calls are made.
    pub(crate) fn new(target: Target) -> Result<Self, TargetError> {
        let tls = target.tls.as_ref().map(Tls::new).transpose()?;
        let (changes, trouble) = (ChangeTally::default(), ArcSwapOption::empty());
        let shared = Arc::new(Shared { target, tls, changes, trouble, home: Home::here() });
        let Target { kind, hosts, .. } = &shared.target;
        let door = match kind {
            ServersKind::Single => Lookup::At(hosts.first().cloned().ok_or(TargetError::Host)?),
            ServersKind::Sentinel { master, login } => Lookup::Named(master.clone(), login.clone()),
            ServersKind::Cluster => {
                let topology = Topology::Cluster(Arc::new(Cluster::new(Arc::clone(&shared))));
                return Ok(Self { shared, topology });
            }
        };
        let topology = Topology::One(Arc::new(Link::new(door, Arc::clone(&shared))));
        Ok(Self { shared, topology })
    }

    /// Connects to every server that is needed and inspects it; for start-up.
    pub(crate) async fn check(&self) -> Result<(), Trouble> {
        let outcome = match &self.topology {
            Topology::One(link) => link.connect().await.map(|_| ()),
            Topology::Cluster(cluster) => cluster.check().await,
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
        let call = ServerCall::new(script, keys, arg);
        let mut progress = Progress::default();
        let timeout = self.shared.target.timeout();
        let reply = match within(timeout, self.answer(&call, &mut progress)).await {
            Some(reply) => reply?,
            None => return Err(self.elapsed(&mut progress)),
        };
        decode(reply).map_err(|Garbled| {
            let place = progress.place();
            self.shared.note_text(|| format!("{place}unexpected reply to the script"));
            progress.garbled()
        })
    }

    /// Runs a task that nobody waits for, in the runtime where connections live; does nothing without a
    /// runtime.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.shared.home.spawn(task);
    }

    /// Whether keys have to be grouped by hash tag.
    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self.topology, Topology::Cluster(_))
    }

    /// One hash tag for probes on each server that is written to.
    pub(crate) async fn tag_for_each(&self) -> Result<Vec<String>, StoreError> {
        match &self.topology {
            Topology::One(_) => Ok(vec![map::probe_tag(0)]),
            Topology::Cluster(cluster) => Ok(cluster.known().await?.tag_for_each()),
        }
    }

    /// How long one call may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.shared.target.timeout()
    }

    /// The error of a decision that is over its deadline. The call under way is abandoned: whether its
    /// connection is silent is watched, and whether the slot has another owner is looked up here,
    /// because nobody is left who would find out.
    pub(crate) fn late(&self, deadline: Duration) -> StoreError {
        let target = &self.shared.target;
        self.shared.note_text(|| format!("{target}: no answer within {deadline:?}"));
        self.look_again();
        StoreError::Timeout
    }

    /// The restarts and failovers that were noticed since the start.
    pub(crate) fn changes(&self) -> Changes {
        self.shared.changes.read()
    }

    /// Why the last failed call failed, in words.
    pub(crate) fn trouble(&self) -> Option<Arc<Trouble>> {
        self.shared.trouble.load_full()
    }

    async fn answer(
        &self,
        call: &ServerCall<'_>,
        progress: &mut Progress,
    ) -> Result<Value, StoreError> {
        let link = match &self.topology {
            Topology::One(link) => link,
            Topology::Cluster(cluster) => return cluster.answer(call, progress).await,
        };
        match link.ask(call, false, progress).await? {
            Value::ServerError(error) => {
                if error::is_elsewhere(&error) {
                    progress.leave();
                }
                Err(self.shared.refused(&error, progress))
            }
            reply => Ok(reply),
        }
    }

    fn elapsed(&self, progress: &mut Progress) -> StoreError {
        let Shared { target, .. } = &*self.shared;
        let timeout = target.timeout();
        self.shared.note_text(|| match progress.address() {
            Some(address) => format!("{address}: no answer within {timeout:?}"),
            None => format!("{target}: no connection within {timeout:?}"),
        });
        self.look_again();
        progress.elapsed()
    }
}

// === impl Shared ===

impl Shared {
    /// Waits for an attempt, at most for as long as a call may take.
    async fn in_time<T>(
        &self,
        place: &impl fmt::Display,
        attempt: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Arc<Trouble>> {
        let timeout = self.target.timeout();
        let outcome = tokio::time::timeout(timeout, attempt).await.unwrap_or_else(|_| {
            Err(Trouble::passing(format!("no answer within {timeout:?}")).at(place))
        });
        outcome.map_err(Arc::new)
    }

    /// Keeps the trouble for the logs, and returns the error that it means.
    fn note(&self, trouble: &Arc<Trouble>) -> StoreError {
        self.trouble.store(Some(Arc::clone(trouble)));
        trouble.error()
    }

    fn note_text(&self, text: impl FnOnce() -> String) {
        self.trouble.store(Some(Arc::new(Trouble::passing(text()))));
    }

    /// Keeps an error reply to a call for the logs, and returns the error that it means.
    fn refused(&self, error: &ServerError, progress: &Progress) -> StoreError {
        let (code, text) = (error.code(), error.details().unwrap_or_default());
        let outcome = error::error_of(code, text);
        let what = format!("{}it answers {code} {text}", progress.place());
        let is_refusal = outcome == StoreError::Refused;
        let trouble = if is_refusal { Trouble::refusal(what) } else { Trouble::passing(what) };
        self.trouble.store(Some(Arc::new(trouble)));
        outcome
    }
}
