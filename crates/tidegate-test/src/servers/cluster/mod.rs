//! A cluster: several masters share the slots, which can move and fail over.
//!
//! It is assembled with the commands themselves and not by `redis-cli --cluster create`, which the
//! packages of Valkey leave out.

mod view;

use super::flavour::Flavour;
use super::port::Port;
use super::server::{Builder, RunningServer, field_of};
use super::wait;
use view::View;

/// Milliseconds of silence after which a node is taken for dead.
const NODE_TIMEOUT: &str = "1500";

const SLOTS: usize = 16_384;

/// A running cluster, whose nodes end when this is dropped.
pub struct RunningCluster {
    /// The masters that the cluster was started with, then their replicas.
    nodes: Vec<RunningServer>,
    /// The cluster ids of the nodes, by the index in `nodes`.
    ids: Vec<String>,
    masters: usize,
    /// The ports over which the nodes talk to each other, held as long as the nodes run.
    buses: Vec<Port>,
}

// === impl RunningCluster ===

impl RunningCluster {
    /// Starts `masters` masters with equal shares of the slots, and `replicas_per_master` replicas
    /// for each. Returns when every node knows all of them and says that the cluster is well.
    ///
    /// # Panics
    ///
    /// If the cluster does not get that far in time.
    pub async fn start(masters: usize, replicas_per_master: usize, flavour: Flavour) -> Self {
        Self::start_from(masters, replicas_per_master, &RunningServer::builder().flavour(flavour))
            .await
    }

    /// Starts a cluster as [`RunningCluster::start`] does, of nodes with the options of `node`.
    ///
    /// # Panics
    ///
    /// As [`RunningCluster::start`].
    pub async fn start_from(masters: usize, replicas_per_master: usize, node: &Builder) -> Self {
        let (mut nodes, mut ids, mut buses) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..masters * (1 + replicas_per_master) {
            let bus = Port::free();
            let number = bus.number().to_string();
            let args = ["--cluster-enabled", "yes", "--cluster-node-timeout", NODE_TIMEOUT];
            let node = node.clone().args(args).args(["--cluster-port", &number]).start().await;
            ids.push(node.text(&["CLUSTER", "MYID"]).await);
            nodes.push(node);
            buses.push(bus);
        }
        let cluster = Self { nodes, ids, masters, buses };
        cluster.assemble().await;
        cluster
    }

    /// Every node: the masters that the cluster was started with, then the replicas (of the first
    /// master, of the second, …, of the first again).
    #[must_use]
    pub fn nodes(&self) -> &[RunningServer] {
        &self.nodes
    }

    /// The masters that the cluster was started with, even if they have other roles now.
    #[must_use]
    pub fn masters(&self) -> &[RunningServer] {
        &self.nodes[..self.masters]
    }

    /// The first replica that `master` was started with.
    ///
    /// # Panics
    ///
    /// If `master` has no replica.
    #[must_use]
    pub fn replica_of(&self, master: &RunningServer) -> &RunningServer {
        &self.nodes[self.masters + self.index_of(master)]
    }

    /// The slot of a key.
    ///
    /// # Panics
    ///
    /// If no node answers.
    pub async fn slot_of(&self, key: &str) -> u16 {
        let answer = self.any().command(&["CLUSTER", "KEYSLOT", key]).await;
        redis::from_redis_value(answer).expect("a slot")
    }

    /// The master that serves the slot, according to the first node that is up.
    ///
    /// # Panics
    ///
    /// If nobody serves the slot.
    pub async fn node_of_slot(&self, slot: u16) -> &RunningServer {
        let found = self.served_by(self.any(), slot).await;
        found.unwrap_or_else(|| panic!("nobody serves slot {slot}"))
    }

    /// The master that serves the slot of the key.
    ///
    /// # Panics
    ///
    /// If nobody serves that slot.
    pub async fn master_of_key(&self, key: &str) -> &RunningServer {
        self.node_of_slot(self.slot_of(key).await).await
    }

    /// Begins to move a slot: from here on the old master answers `ASK` for keys it does not have,
    /// and the new one serves clients that were redirected this way.
    ///
    /// # Panics
    ///
    /// If a node refuses.
    pub async fn move_slot_begin(&self, slot: u16, to: &RunningServer) {
        let from = self.node_of_slot(slot).await;
        self.set_slot(to, slot, &["IMPORTING", self.id_of(from)]).await;
        self.set_slot(from, slot, &["MIGRATING", self.id_of(to)]).await;
    }

    /// Moves one key, between [`RunningCluster::move_slot_begin`] and [`RunningCluster::move_slot_end`].
    ///
    /// # Panics
    ///
    /// If a node refuses, or the key does not exist.
    pub async fn migrate_key(&self, key: &str, to: &RunningServer) {
        let from = self.master_of_key(key).await;
        let port = to.port().to_string();
        let answer = from.command(&["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]).await;
        assert_eq!(answer, redis::Value::Okay, "{key} exists");
    }

    /// Moves the keys that are left, and tells every node that `to` has the slot now.
    ///
    /// # Panics
    ///
    /// If a node refuses, or not all nodes learn of it in time.
    pub async fn move_slot_end(&self, slot: u16, to: &RunningServer) {
        let from = self.node_of_slot(slot).await;
        let asked = ["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "100000"];
        let keys: Vec<String> =
            redis::from_redis_value(from.command(&asked).await).expect("a list of keys");
        for key in keys {
            self.migrate_key(&key, to).await;
        }
        // The new owner first: so the slot has an owner at every moment.
        for node in [to, from] {
            self.set_slot(node, slot, &["NODE", self.id_of(to)]).await;
        }
        self.until_served(slot, |master| master.port() == to.port()).await;
    }

    /// Waits until another master than `old` serves the slot, all nodes that are up agree and are
    /// well; returns it.
    ///
    /// # Panics
    ///
    /// If that does not happen in time.
    pub async fn successor(&self, slot: u16, old: &RunningServer) -> &RunningServer {
        self.until_served(slot, |master| master.port() != old.port()).await;
        self.node_of_slot(slot).await
    }

    /// Whether `node` says that the cluster is well.
    ///
    /// # Panics
    ///
    /// If the node cannot be asked.
    pub async fn is_well(&self, node: &RunningServer) -> bool {
        let info = node.text(&["CLUSTER", "INFO"]).await;
        field_of(&info, "cluster_state").as_deref() == Some("ok")
    }

    /// Joins the nodes into one cluster.
    async fn assemble(&self) {
        for (index, node) in self.masters().iter().enumerate() {
            let bound = |index: usize| index * SLOTS / self.masters;
            let (first, last) = (bound(index).to_string(), (bound(index + 1) - 1).to_string());
            node.command(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await;
        }
        for (index, node) in self.nodes.iter().enumerate() {
            // Different epochs, set before any nodes have met; otherwise the nodes would have to
            // agree on them.
            node.command(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]).await;
        }
        for (index, node) in self.nodes.iter().enumerate() {
            for (other, bus) in self.nodes.iter().zip(&self.buses).skip(index + 1) {
                let (port, bus) = (other.port().to_string(), bus.number().to_string());
                node.command(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await;
            }
        }
        wait::until("all nodes have met", || self.is_whole(self.nodes.len())).await;
        for (index, replica) in self.nodes[self.masters..].iter().enumerate() {
            let master = &self.ids[index % self.masters];
            replica.command(&["CLUSTER", "REPLICATE", master]).await;
        }
        wait::until("every node is well", || self.is_whole_and_well()).await;
    }

    /// Whether all nodes see this many masters, all others as replicas, and no node in trouble.
    async fn is_whole(&self, masters: usize) -> bool {
        for node in &self.nodes {
            if !view(node).await.is_whole(masters, self.nodes.len() - masters) {
                return false;
            }
        }
        true
    }

    async fn is_whole_and_well(&self) -> bool {
        for replica in &self.nodes[self.masters..] {
            if replica.info("master_link_status").await.as_deref() != Some("up") {
                return false;
            }
        }
        for node in &self.nodes {
            if !self.is_well(node).await {
                return false;
            }
        }
        self.is_whole(self.masters).await
    }

    async fn until_served(&self, slot: u16, by: impl Fn(&RunningServer) -> bool) {
        let by = &by;
        let agreed = || async move {
            for node in self.nodes.iter().filter(|node| node.is_up()) {
                let master = self.served_by(node, slot).await;
                if !master.is_some_and(by) || !self.is_well(node).await {
                    return false;
                }
            }
            true
        };
        wait::until(&format!("all agree on who serves slot {slot}"), agreed).await;
    }

    async fn served_by(&self, told_by: &RunningServer, slot: u16) -> Option<&RunningServer> {
        let port = view(told_by).await.master_of(slot)?;
        self.nodes.iter().find(|node| node.port() == port)
    }

    async fn set_slot(&self, node: &RunningServer, slot: u16, how: &[&str]) {
        node.command(&[&["CLUSTER", "SETSLOT", &slot.to_string()], how].concat()).await;
    }

    fn any(&self) -> &RunningServer {
        self.nodes.iter().find(|node| node.is_up()).expect("a node that is up")
    }

    fn id_of(&self, node: &RunningServer) -> &str {
        &self.ids[self.index_of(node)]
    }

    fn index_of(&self, node: &RunningServer) -> usize {
        let index = self.nodes.iter().position(|one| one.port() == node.port());
        index.expect("a node of this cluster")
    }
}

async fn view(node: &RunningServer) -> View {
    View::parse(&node.text(&["CLUSTER", "NODES"]).await)
}
