//! Servers with one user more: the one of `docs/stores.md`, as whom everything here is done.

use core::fmt::Display;
use std::path::PathBuf;
use std::sync::LazyLock;

use tidegate_test::document::path;
use tidegate_test::servers::Builder;
use tidegate_test::servers::{Flavour, RunningCluster, RunningServer, Sentinel, checks};

/// How the line of the document begins.
const LINE: &str = "ACL SETUSER tidegate ";

/// The words of the lines after the name of the user: what is always needed, what is needed while the
/// secret is being changed, and what a fleet needs.
static RULES: LazyLock<[Vec<String>; 3]> = LazyLock::new(|| {
    let text = std::fs::read_to_string(document()).expect("the document about stores");
    let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(LINE));
    [(); 3].map(|()| {
        let line = lines.next();
        let line = line.unwrap_or_else(|| panic!("no line `{LINE}…` in {}", document().display()));
        line.split_whitespace().map(str::to_owned).collect()
    })
});

/// The document that operators read.
pub(crate) fn document() -> PathBuf {
    path("docs/stores.md")
}

/// What the user of the document may do.
pub(crate) fn rules() -> &'static [String] {
    &RULES[0]
}

/// What it may do besides, while the secret is being changed.
pub(crate) fn more_rules() -> &'static [String] {
    &RULES[1]
}

/// What the user may do besides, where a fleet agrees.
pub(crate) fn fleet_rules() -> &'static [String] {
    &RULES[2]
}

/// A server whose user may do what a fleet needs.
pub(crate) fn fleet_builder() -> Builder {
    builder().args(fleet_rules().iter().cloned())
}

/// A server that knows the user, over all its lives.
pub(crate) fn builder() -> Builder {
    RunningServer::builder().args(["--user", "tidegate"]).args(rules().iter().cloned())
}

pub(crate) async fn server() -> RunningServer {
    builder().start().await
}

pub(crate) async fn cluster(masters: usize, replicas: usize, flavour: Flavour) -> RunningCluster {
    RunningCluster::start_from(masters, replicas, &builder().flavour(flavour)).await
}

pub(crate) async fn sentinel(replicas: usize, sentinels: usize) -> Sentinel {
    Sentinel::start_from(replicas, sentinels, &builder()).await
}

/// The login of the user, as it stands before a host.
pub(crate) fn login() -> String {
    let password = rules().iter().find_map(|rule| rule.strip_prefix('>'));
    format!("tidegate:{}@", password.expect("the line sets a password"))
}

/// The URL of one server, or of a proxy before it.
pub(crate) fn url(at: impl Display) -> String {
    format!("redis://{}{at}", login())
}

pub(crate) fn cluster_url(cluster: &RunningCluster) -> String {
    let hosts: Vec<String> =
        cluster.nodes().iter().map(|node| node.addr().to_string()).take(3).collect();
    format!("redis+cluster://{}{}", login(), hosts.join(","))
}

pub(crate) fn sentinel_url(set: &Sentinel) -> String {
    let hosts: Vec<String> = set.sentinel_addrs().iter().map(ToString::to_string).collect();
    format!("redis+sentinel://{}{}/{}", login(), hosts.join(","), set.master_name())
}

/// Keys of ours that would stay for ever, on servers that are up.
pub(crate) async fn left_for_ever(servers: &[&RunningServer]) -> Vec<String> {
    let mut found = Vec::new();
    for server in servers.iter().filter(|server| server.is_up()) {
        let keys = checks::left_on(server).await;
        let ours = |key: &String| {
            ["rl:", "rq:", "tg:", "abuse_limiter:"].iter().any(|ours| key.starts_with(ours))
        };
        found.extend(keys.into_iter().filter(ours));
    }
    found
}
