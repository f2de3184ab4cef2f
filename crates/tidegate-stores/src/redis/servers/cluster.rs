//! A cluster: finds the owner of a slot, follows one redirect, and learns from both.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use redis::{ServerError, ServerErrorKind, Value};
use tidegate_core::StoreError;
use tokio::task::JoinSet;

use super::Shared;
use super::call::{Progress, ServerCall};
use super::flight::Flight;
use super::layout::Layout;
use super::link::Link;
use super::live::{command, refused};
use super::map::Map;
use super::refresh::Refresh;
use crate::redis::trouble::Trouble;
use crate::redis::url::Address;

/// How many nodes are asked for the layout at once; when it is asked again, others are.
const ASKED: usize = 5;

#[derive(Debug)]
pub(super) struct Cluster {
    shared: Arc<Shared>,
    /// The nodes that the target names; any of them may be gone by now.
    seeds: Vec<(Address, Arc<Link>)>,
    map: ArcSwapOption<Map>,
    flight: Flight<Arc<Map>>,
    pub(super) refresh: Refresh,
    /// Where in the list of nodes the next question begins.
    turn: AtomicUsize,
}

// === impl Cluster ===

impl Cluster {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let seeds =
            shared.target.hosts.iter().map(|host| (host.clone(), Link::node(host, &shared)));
        Self {
            seeds: seeds.collect(),
            shared,
            map: ArcSwapOption::empty(),
            flight: Flight::default(),
            refresh: Refresh::default(),
            turn: AtomicUsize::new(0),
        }
    }

    /// Runs the call on the owner of its slot, following one redirect if the slot is elsewhere.
    pub(super) async fn answer(
        self: &Arc<Self>,
        call: &ServerCall<'_>,
        progress: &mut Progress,
    ) -> Result<Value, StoreError> {
        let slot = call.slot();
        let map = self.known().await?;
        let Some(link) = map.owner(slot) else {
            self.shared.note_text(|| format!("no node serves slot {slot} of the cluster"));
            self.look_again();
            return Err(StoreError::Unavailable);
        };
        let reply = link.ask(call, false, progress).await.inspect_err(|_| self.look_again())?;
        let Value::ServerError(error) = reply else { return Ok(reply) };
        let reply = match self.redirect(slot, &error, progress) {
            Some((link, asking)) => link.ask(call, asking, progress).await,
            None => return Err(self.refused(&error, progress)),
        };
        match reply.inspect_err(|_| self.look_again())? {
            // Redirected twice: no node has the slot for now.
            Value::ServerError(error) => Err(self.refused(&error, progress)),
            reply => Ok(reply),
        }
    }

    /// The owners of slots with their identities, in the order of the identities and each once.
    pub(super) async fn owners(self: &Arc<Self>) -> Result<Vec<(String, Arc<Link>)>, StoreError> {
        let map = self.known().await?;
        let owners = map.layout.ranges.iter().map(|range| (&range.owner.id, &range.owner.address));
        let link = |address| map.link_at(address).cloned();
        let owners = BTreeMap::from_iter(owners).into_iter();
        Ok(owners.filter_map(|(id, address)| Some((id.clone(), link(address)?))).collect())
    }

    /// The layout as it was last heard, or else as it is heard now for the first time.
    pub(super) async fn known(self: &Arc<Self>) -> Result<Arc<Map>, StoreError> {
        match self.map.load_full() {
            Some(map) => Ok(map),
            None => self.learn().await.map_err(|trouble| self.shared.note(&trouble)),
        }
    }

    /// Looks up the layout again soon, in the background, because it is not to be relied on.
    pub(super) fn look_again(self: &Arc<Self>) {
        if let Some(looking) = self.refresh.begin() {
            let cluster = Arc::clone(self);
            self.shared.home.spawn(looking.run(move || {
                let cluster = Arc::clone(&cluster);
                async move { drop(cluster.look_in_time().await) }
            }));
        }
    }

    /// Connects to every owner, for the check at start-up.
    pub(super) async fn check(self: &Arc<Self>) -> Result<(), Arc<Trouble>> {
        let map = self.learn().await?;
        let mut owners = JoinSet::new();
        for link in map.owners() {
            let link = Arc::clone(link);
            owners.spawn(async move { link.connect().await.map(|_| ()) });
        }
        let mut trouble = None;
        while let Some(outcome) = owners.join_next().await {
            if let Ok(Err(why)) = outcome
                && trouble.as_ref().is_none_or(|_| why.is_refusal())
            {
                trouble = Some(why);
            }
        }
        trouble.map_or(Ok(()), Err)
    }

    /// Where an error reply sends the call, and whether the call needs `ASKING` there.
    fn redirect(
        self: &Arc<Self>,
        slot: u16,
        error: &ServerError,
        progress: &Progress,
    ) -> Option<(Arc<Link>, bool)> {
        let asking = match error.kind()? {
            ServerErrorKind::Moved => false,
            ServerErrorKind::Ask => true,
            _ => return None,
        };
        let text = error.details()?.split_ascii_whitespace().nth(1)?;
        let address = Address::announced(text, progress.address()?)?;
        let link = self.link_to(&address);
        if !asking {
            self.map
                .rcu(|map| map.as_ref().map(|map| Arc::new(map.with_owner(slot, &address, &link))));
            self.look_again();
        }
        Some((link, asking))
    }

    fn refused(self: &Arc<Self>, error: &ServerError, progress: &Progress) -> StoreError {
        match error.kind() {
            // Slots that are just being moved, and wrong configuration: the layout is as we know it.
            Some(ServerErrorKind::TryAgain | ServerErrorKind::CrossSlot) => {}
            _ => self.look_again(),
        }
        self.shared.refused(error, progress)
    }

    async fn learn(self: &Arc<Self>) -> Result<Arc<Map>, Arc<Trouble>> {
        let attempt = || {
            let cluster = Arc::clone(self);
            async move { cluster.look_in_time().await }
        };
        self.flight.join(&self.shared.home, || self.map.load_full(), attempt).await
    }

    async fn look_in_time(&self) -> Result<Arc<Map>, Arc<Trouble>> {
        self.shared.in_time(&self.shared.target, self.look()).await
    }

    /// Asks some nodes for the layout and believes the first that answers: a redirect mends what it has
    /// wrong.
    async fn look(&self) -> Result<Arc<Map>, Trouble> {
        let mut asked = JoinSet::new();
        for link in self.to_ask() {
            asked.spawn(async move { layout_from(&link).await });
        }
        let mut trouble = Trouble::passing("no node of the cluster has answered");
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(Ok(layout)) => return Ok(self.adopt(layout)),
                Ok(Err(why)) => trouble = Trouble::clone(&why),
                Err(_) => {}
            }
        }
        Err(trouble)
    }

    /// Some nodes to ask, others each time, so that one that is up is found however many are down.
    fn to_ask(&self) -> Vec<Arc<Link>> {
        let map = self.map.load();
        let mut links: Vec<_> = map.iter().flat_map(|map| map.links()).cloned().collect();
        for (_, seed) in &self.seeds {
            if !links.iter().any(|link| Arc::ptr_eq(link, seed)) {
                links.push(Arc::clone(seed));
            }
        }
        let turn = self.turn.fetch_add(ASKED, Ordering::Relaxed);
        let begin = turn.checked_rem(links.len()).unwrap_or(0);
        links.rotate_left(begin);
        links.truncate(ASKED);
        links
    }

    fn adopt(&self, layout: Layout) -> Arc<Map> {
        let before = self.map.load_full();
        for _ in 0..before.iter().map(|map| layout.failovers_since(&map.layout)).sum() {
            self.shared.changes.failed_over();
        }
        let map = Arc::new(Map::new(layout, |address| self.link_to(address)));
        self.map.store(Some(Arc::clone(&map)));
        map
    }

    /// The link to this address that is there already, or a new one.
    fn link_to(&self, address: &Address) -> Arc<Link> {
        let seed = || self.seeds.iter().find(|(seed, _)| seed == address).map(|(_, link)| link);
        let map = self.map.load();
        let known = map.as_ref().and_then(|map| map.link_at(address)).or_else(seed).cloned();
        known.unwrap_or_else(|| Link::node(address, &self.shared))
    }
}

async fn layout_from(link: &Arc<Link>) -> Result<Layout, Arc<Trouble>> {
    let live = link.connect().await?;
    let trouble = match live.wire.send(&command(&["CLUSTER", "SLOTS"])).await {
        Ok(Value::ServerError(error)) => refused(&error),
        Ok(reply) => match Layout::read(&reply, &live.address) {
            Some(layout) => return Ok(layout),
            None => Trouble::passing("its CLUSTER SLOTS reply is empty or malformed"),
        },
        Err(error) => Trouble::passing(format!("lost while asked for the slots: {error}")),
    };
    Err(Arc::new(trouble.at(&live.address)))
}
