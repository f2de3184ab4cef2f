//! The way to one server: a live connection, or the attempt to get one.

use core::fmt;
use core::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use redis::{ServerErrorKind, Value};
use tidegate_core::StoreError;

use super::Shared;
use super::call::{Progress, ServerCall};
use super::flight::Flight;
use super::live::Live;
use super::node_info::NodeMode;
use super::sentinel;
use crate::redis::trouble::Trouble;
use crate::redis::url::{Address, Credentials};

/// One place in the topology, and the connection to the server there.
#[derive(Debug)]
pub(super) struct Link {
    door: Lookup,
    pub(super) shared: Arc<Shared>,
    live: ArcSwapOption<Live>,
    flight: Flight<Arc<Live>>,
    /// Whether the connection is being watched.
    pub(super) watched: AtomicBool,
    /// The server that was there last: its address, and the identity of its process.
    seen: Mutex<Option<(Address, String)>>,
}

/// How the server is found.
#[derive(Debug)]
pub(super) enum Lookup {
    /// At this address, where a primary must be.
    At(Address),
    /// Wherever the primary of this name is, which the sentinels name if we log in like this.
    Named(String, Credentials),
    /// At this address, as a node of a cluster. It may be a replica, which redirects us by itself.
    Node(Address),
}

// === impl Link ===

impl Link {
    /// The link to a node of a cluster.
    pub(super) fn node(address: &Address, shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self::new(Lookup::Node(address.clone()), Arc::clone(shared)))
    }

    pub(super) fn new(door: Lookup, shared: Arc<Shared>) -> Self {
        Self {
            door,
            shared,
            live: ArcSwapOption::empty(),
            flight: Flight::default(),
            watched: AtomicBool::new(false),
            seen: Mutex::new(None),
        }
    }

    /// The connection, if there is one that is not known to be dead.
    pub(super) fn ready(&self) -> Option<Arc<Live>> {
        self.live.load_full().filter(|live| !live.wire.is_dead())
    }

    /// The connection that is there, or a new one, shared with all callers who want one.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<Arc<Live>, Arc<Trouble>> {
        let attempt = || {
            let link = Arc::clone(self);
            async move { link.shared.in_time(&link.door, link.open()).await }
        };
        self.flight.join(&self.shared.home, || self.ready(), attempt).await
    }

    /// Takes a connection out of use. Calls under way on it go on; a newer connection stays.
    pub(super) fn leave(&self, live: &Arc<Live>) {
        self.live.compare_and_swap(&Some(Arc::clone(live)), None);
    }

    /// Sends the call to this server and waits for its reply, which may be an error reply.
    pub(super) async fn ask(
        self: &Arc<Self>,
        call: &ServerCall<'_>,
        asking: bool,
        progress: &mut Progress,
    ) -> Result<Value, StoreError> {
        let (live, was_ready) = self.ready_or_new().await?;
        progress.sent(self, &live, was_ready);
        let mut reply = live.call(&call.by_hash, asking).await;
        if let Ok(Value::ServerError(error)) = &reply
            && error.kind() == Some(ServerErrorKind::NoScript)
        {
            // The server has run nothing, so this is still the first time.
            reply = live.call(&call.by_text(), asking).await;
        }
        progress.answered();
        reply.map_err(|error| {
            self.shared.note_text(|| format!("{}: lost during a call: {error}", live.address));
            progress.garbled()
        })
    }

    /// The connection, and whether it was there already.
    pub(super) async fn ready_or_new(self: &Arc<Self>) -> Result<(Arc<Live>, bool), StoreError> {
        match self.ready() {
            Some(live) => Ok((live, true)),
            None => {
                let live = self.connect().await.map_err(|trouble| self.shared.note(&trouble))?;
                Ok((live, false))
            }
        }
    }

    async fn open(&self) -> Result<Arc<Live>, Trouble> {
        let live = match &self.door {
            Lookup::At(address) => self.open_primary(address).await?,
            Lookup::Named(master, login) => self.open_named(master, login).await?,
            Lookup::Node(address) => self.open_at(address, NodeMode::Cluster).await?,
        };
        self.recognise(&live);
        let live = Arc::new(live);
        self.live.store(Some(Arc::clone(&live)));
        Ok(live)
    }

    /// The first of the servers named by the sentinels that says itself that it is a primary.
    async fn open_named(&self, master: &str, login: &Credentials) -> Result<Live, Trouble> {
        let mut trouble = Trouble::passing("no sentinel has named the primary");
        for address in sentinel::named(&self.shared, master, login).await? {
            match self.open_primary(&address).await {
                Ok(live) => return Ok(live),
                Err(why) => trouble = why,
            }
        }
        Err(trouble)
    }

    async fn open_primary(&self, address: &Address) -> Result<Live, Trouble> {
        let live = self.open_at(address, NodeMode::Standalone).await?;
        if live.info.is_primary {
            Ok(live)
        } else {
            Err(Trouble::passing("it is a replica, not a primary").at(address))
        }
    }

    async fn open_at(&self, address: &Address, mode: NodeMode) -> Result<Live, Trouble> {
        let Shared { target, tls, .. } = &*self.shared;
        let live = Live::open(address, tls.as_ref(), &target.login, target.db, mode).await;
        live.map_err(|trouble| trouble.at(address))
    }

    /// Notices that another server or process is there now, which may have forgotten what was counted.
    fn recognise(&self, live: &Live) {
        let now = (live.address.clone(), live.info.run_id.clone());
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.as_ref() {
            Some((_, run_id)) if *run_id == now.1 => {}
            Some((address, _)) if *address == now.0 => self.shared.changes.restarted(),
            Some(_) => self.shared.changes.failed_over(),
            None => {}
        }
        *seen = Some(now);
    }
}

// === impl Lookup ===

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(address) | Self::Node(address) => address.fmt(f),
            Self::Named(..) => f.write_str("the sentinels and the primary they name"),
        }
    }
}
