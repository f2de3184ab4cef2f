//! What a server says about itself, and whether it may hold counters.

use redis::Value;

use crate::redis::trouble::Trouble;

/// The oldest server whose replies and scripts this crate has been written for.
const OLDEST: (u32, u32) = (6, 2);

/// What `INFO server`, `INFO memory` and `INFO replication` say: three commands, because Redis 6.2
/// takes one section each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeInfo {
    /// The identity of the server's process, new with every start, by which a restart is noticed.
    pub(super) run_id: String,
    pub(super) is_primary: bool,
    version: String,
    policy: String,
    mode: String,
    is_32_bit: bool,
    /// Whether the server is Valkey, whose `redis_version` is the one it is compatible with.
    is_valkey: bool,
}

/// The kind of server that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeMode {
    Standalone,
    Cluster,
}

// === impl NodeInfo ===

impl NodeInfo {
    pub(super) const SECTIONS: [&str; 3] = ["server", "memory", "replication"];

    /// Adds the lines of one section.
    pub(super) fn read(&mut self, section: &Value) -> Result<(), Trouble> {
        let text = match section {
            Value::BulkString(bytes) => str::from_utf8(bytes).ok(),
            Value::VerbatimString { text, .. } => Some(text.as_str()),
            _ => None,
        };
        let text = text.ok_or_else(|| Trouble::passing("its reply to INFO is not text"))?;
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            match name {
                "run_id" => value.clone_into(&mut self.run_id),
                "redis_version" => value.clone_into(&mut self.version),
                "server_name" => self.is_valkey |= value == "valkey",
                "valkey_version" => self.is_valkey = true,
                "maxmemory_policy" => value.clone_into(&mut self.policy),
                "redis_mode" => value.clone_into(&mut self.mode),
                "arch_bits" => self.is_32_bit = value == "32",
                "role" => self.is_primary = value == "master",
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether this server may hold counters at all. A server that evicts counters forgets what was
    /// used up exactly when there are most of them, and nobody is told.
    pub(super) fn judge(&self, expected: NodeMode) -> Result<(), Trouble> {
        let is_other = |hint| Err(Trouble::refusal(hint));
        match (self.mode.as_str(), expected) {
            ("sentinel", _) => is_other("it is a sentinel: write redis+sentinel://"),
            ("cluster", NodeMode::Standalone) => {
                is_other("it is part of a cluster: write redis+cluster://")
            }
            ("standalone", NodeMode::Cluster) => {
                is_other("it is not part of a cluster: write redis://")
            }
            _ => Ok(()),
        }?;
        if self.run_id.is_empty() || self.policy.is_empty() {
            return Err(Trouble::passing(
                "it answers INFO without run_id or maxmemory_policy: is it Redis or Valkey?",
            ));
        }
        let mut parts = self.version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        if version < OLDEST && !self.is_valkey {
            return Err(Trouble::refusal(format!(
                "it is version {}; Redis 6.2 or later, or Valkey, is needed",
                self.version
            )));
        }
        if self.is_32_bit {
            return Err(Trouble::refusal(
                "it is built for 32 bits, and counters are integers of 64; run a 64-bit server",
            ));
        }
        if self.policy != "noeviction" {
            return Err(Trouble::refusal(format!(
                "the server may evict counters under maxmemory-policy {}; \
                 set maxmemory-policy noeviction",
                self.policy
            )));
        }
        Ok(())
    }
}
