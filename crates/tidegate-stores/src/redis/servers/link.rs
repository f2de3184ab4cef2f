//! The way to one server: a live connection, or the attempt to get one.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;

use super::Shared;
use super::flight::Flight;
use super::live::Live;
use super::node_info::Mode;
use crate::redis::target::Address;
use crate::redis::trouble::Trouble;

/// One place in the topology and whoever is there.
#[derive(Debug)]
pub(super) struct Link {
    door: Door,
    shared: Arc<Shared>,
    live: ArcSwapOption<Live>,
    flight: Flight<Arc<Live>>,
    /// Who was there last: where, and which process.
    seen: Mutex<Option<(Address, String)>>,
}

/// How the server is found.
#[derive(Debug)]
pub(super) enum Door {
    /// Always there, and it must be a primary.
    At(Address),
}

// === impl Link ===

impl Link {
    pub(super) fn new(door: Door, shared: Arc<Shared>) -> Self {
        Self {
            door,
            shared,
            live: ArcSwapOption::empty(),
            flight: Flight::default(),
            seen: Mutex::new(None),
        }
    }

    /// The connection, if there is one that is not known to be dead.
    pub(super) fn ready(&self) -> Option<Arc<Live>> {
        self.live.load_full().filter(|live| !live.wire.is_dead())
    }

    /// Gets a connection, together with everybody else who wants one.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<Arc<Live>, Arc<Trouble>> {
        let attempt = || {
            let link = Arc::clone(self);
            async move { link.open().await.map_err(Arc::new) }
        };
        self.flight.join(self.shared.target.timeout(), || self.ready(), attempt).await
    }

    /// Takes a connection out of use. Calls that are under way on it go on; a newer one stays.
    pub(super) fn leave(&self, live: &Arc<Live>) {
        self.live.compare_and_swap(&Some(Arc::clone(live)), None);
    }

    async fn open(&self) -> Result<Arc<Live>, Trouble> {
        let target = &self.shared.target;
        let live = match &self.door {
            Door::At(address) => {
                let live = Live::open(address, &target.login, target.db, Mode::Standalone).await;
                let live = live.map_err(|trouble| trouble.at(address))?;
                if !live.info.is_primary {
                    return Err(Trouble::passing("it is a replica, not a primary").at(address));
                }
                live
            }
        };
        self.recognise(&live);
        let live = Arc::new(live);
        self.live.store(Some(Arc::clone(&live)));
        Ok(live)
    }

    /// Notices that somebody else is there now, who may have forgotten what was counted.
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
