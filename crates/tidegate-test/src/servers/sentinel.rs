//! A primary, its replicas, and the sentinels that replace it when it fails.

use std::collections::HashMap;
use std::net::SocketAddr;

use redis::Value;

use super::server::{Builder, RunningServer};
use super::wait;

/// The name by which the sentinels know the primary.
const NAME: &str = "tide";

/// Milliseconds of silence after which a sentinel takes the primary for dead.
const DOWN_AFTER: &str = "800";

/// Number of sentinels that must take the primary for dead before it is replaced.
const QUORUM: usize = 2;

/// Short periods instead of several seconds, so that the sentinels meet and agree at once; and a
/// short TILT, so that one that a busy machine delayed does not stand aside for half a minute. The
/// ping period keeps its default: a replica that was silent for five pings is no candidate, and
/// five short ones would pass quickly.
const HASTE: [&str; 12] = [
    "PUBLISH-PERIOD",
    "100",
    "INFO-PERIOD",
    "200",
    "ASK-PERIOD",
    "100",
    "ELECTION-TIMEOUT",
    "2000",
    "MIN-LINK-RECONNECT-PERIOD",
    "200",
    "TILT-PERIOD",
    "1000",
];

/// A running set of servers and sentinels, which ends when this is dropped.
pub struct Sentinel {
    /// The primary that the set was started with, then its replicas. The sentinels know who is
    /// primary now.
    data: Vec<RunningServer>,
    sentinels: Vec<RunningServer>,
}

// === impl Sentinel ===

impl Sentinel {
    /// Starts a primary with `replicas`, watched by `sentinels`. Returns when the replicas are
    /// online and the sentinels know them and each other, which is when a failover would succeed.
    ///
    /// # Panics
    ///
    /// If the set does not get that far in time.
    pub async fn start(replicas: usize, sentinels: usize) -> Self {
        Self::start_with(replicas, sentinels, None).await
    }

    /// Starts a set as [`Sentinel::start`] does; servers and sentinels alike ask for `password`, if
    /// given.
    ///
    /// # Panics
    ///
    /// As [`Sentinel::start`].
    pub async fn start_with(replicas: usize, sentinels: usize, password: Option<&str>) -> Self {
        Self::assemble(replicas, sentinels, &RunningServer::builder(), password).await
    }

    /// Starts a set as [`Sentinel::start`] does, of servers with the options of `server`; the
    /// sentinels are plain.
    ///
    /// # Panics
    ///
    /// As [`Sentinel::start`].
    pub async fn start_from(replicas: usize, sentinels: usize, server: &Builder) -> Self {
        Self::assemble(replicas, sentinels, server, None).await
    }

    async fn assemble(
        replicas: usize,
        sentinels: usize,
        server: &Builder,
        password: Option<&str>,
    ) -> Self {
        let mut set = Self { data: Vec::new(), sentinels: Vec::new() };
        for _ in 0..=replicas {
            let server = set.server(server.clone(), password).start().await;
            set.data.push(server);
        }
        for _ in 0..sentinels {
            let mut builder = RunningServer::builder().sentinel(&set.config(password));
            if let Some(password) = password {
                builder = builder.password(password);
            }
            let sentinel = builder.start().await;
            sentinel.command(&[&["SENTINEL", "DEBUG"][..], &HASTE].concat()).await;
            set.sentinels.push(sentinel);
        }
        wait::until("replicas online, sentinels acquainted", || set.is_whole()).await;
        set
    }

    /// The name by which the sentinels know the primary.
    #[must_use]
    pub fn master_name(&self) -> &'static str {
        NAME
    }

    /// The addresses on which the sentinels listen.
    #[must_use]
    pub fn sentinel_addrs(&self) -> Vec<SocketAddr> {
        self.sentinels.iter().map(RunningServer::addr).collect()
    }

    /// The sentinels of the set.
    #[must_use]
    pub fn sentinels(&self) -> &[RunningServer] {
        &self.sentinels
    }

    /// The server that the set was started with as its primary, even if it has another role now.
    #[must_use]
    pub fn primary(&self) -> &RunningServer {
        &self.data[0]
    }

    /// The servers that the set was started with as replicas.
    #[must_use]
    pub fn replicas(&self) -> &[RunningServer] {
        &self.data[1..]
    }

    /// All servers that hold data.
    #[must_use]
    pub fn data(&self) -> &[RunningServer] {
        &self.data
    }

    /// The address of the primary, according to the first sentinel that answers.
    pub async fn told_primary(&self) -> Option<SocketAddr> {
        for sentinel in self.sentinels.iter().filter(|sentinel| sentinel.is_up()) {
            if let Some(told) = told_by(sentinel).await {
                return Some(told);
            }
        }
        None
    }

    /// Waits for the server that takes over from `old`: all sentinels that are up must name it, and
    /// it must be a primary, so that a client is told the same whichever sentinel it asks.
    ///
    /// # Panics
    ///
    /// If no server takes over in time.
    pub async fn successor(&self, old: &RunningServer) -> &RunningServer {
        let found = wait::until_some(|| self.promoted(old)).await;
        found.unwrap_or_else(|| panic!("no failover:\n{}", self.sentinels[0].log()))
    }

    async fn promoted(&self, old: &RunningServer) -> Option<&RunningServer> {
        let told = self.told_primary().await.filter(|told| *told != old.addr())?;
        for sentinel in self.sentinels.iter().filter(|sentinel| sentinel.is_up()) {
            told_by(sentinel).await.filter(|other| *other == told)?;
        }
        let server = self.data.iter().find(|server| server.addr() == told)?;
        (server.info("role").await? == "master").then_some(server)
    }

    fn server(&self, mut builder: Builder, password: Option<&str>) -> Builder {
        if let Some(password) = password {
            builder = builder.password(password).args(["--masterauth", password]);
        }
        match self.data.first() {
            None => builder,
            Some(primary) => {
                builder.args(["--replicaof".into(), format!("127.0.0.1 {}", primary.port())])
            }
        }
    }

    fn config(&self, password: Option<&str>) -> String {
        let mut config = format!(
            "sentinel monitor {NAME} 127.0.0.1 {} {QUORUM}\n\
             sentinel down-after-milliseconds {NAME} {DOWN_AFTER}\n\
             sentinel failover-timeout {NAME} 1000\n",
            self.primary().port()
        );
        if let Some(password) = password {
            config += &format!("sentinel auth-pass {NAME} {password}\n");
        }
        config
    }

    /// Whether the replicas are online, and every sentinel knows them and the other sentinels.
    async fn is_whole(&self) -> bool {
        for replica in self.replicas() {
            if replica.info("master_link_status").await.as_deref() != Some("up") {
                return false;
            }
        }
        for sentinel in &self.sentinels {
            if !self.is_known_to(sentinel).await {
                return false;
            }
        }
        true
    }

    async fn is_known_to(&self, sentinel: &RunningServer) -> bool {
        let master = fields(sentinel.command(&["SENTINEL", "MASTER", NAME]).await);
        let counts = [
            ("num-slaves", self.replicas().len()),
            ("num-other-sentinels", self.sentinels.len() - 1),
        ];
        let counted =
            counts.iter().all(|(field, count)| master.get(*field) == Some(&count.to_string()));
        let replicas = sentinel.command(&["SENTINEL", "REPLICAS", NAME]).await;
        let replicas: Vec<Value> = redis::from_redis_value(replicas).expect("a list of replicas");
        let online = replicas.into_iter().map(fields).all(|replica| {
            let is = |field: &str, value: &str| replica.get(field).is_some_and(|is| is == value);
            is("flags", "slave") && is("master-link-status", "ok")
        });
        counted && online && master.get("flags").is_some_and(|flags| flags == "master")
    }
}

fn fields(answer: Value) -> HashMap<String, String> {
    redis::from_redis_value(answer).expect("names and values")
}

/// The address of the primary, according to this sentinel.
async fn told_by(sentinel: &RunningServer) -> Option<SocketAddr> {
    let asked = sentinel.try_command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]).await;
    let (host, port): (String, u16) = redis::from_redis_value(asked.ok()?).ok()?;
    format!("{host}:{port}").parse().ok()
}
