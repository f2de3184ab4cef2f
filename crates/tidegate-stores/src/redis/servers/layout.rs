//! Which node has which slots, as a cluster says it: `CLUSTER SLOTS`.

use redis::Value;

use super::live::text_of;
use super::slot::SLOTS;
use crate::redis::url::Address;

/// The owners of slots, as one node said once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ranges: Vec<Range>,
}

/// Neighbouring slots with the same owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) owner: Member,
    pub(super) replicas: Vec<Member>,
}

/// A node of a cluster, with the identity it keeps wherever it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) address: Address,
}

// === impl Layout ===

impl Layout {
    /// Reads the reply to `CLUSTER SLOTS`; `None` if it is malformed, or if nobody has any slot.
    pub(super) fn read(reply: &Value, asked: &Address) -> Option<Self> {
        let Value::Array(ranges) = reply else { return None };
        let ranges = ranges.iter().map(|range| Range::read(range, asked));
        let ranges = ranges.collect::<Option<Vec<_>>>()?;
        (!ranges.is_empty()).then_some(Self { ranges })
    }

    /// All nodes, owners and replicas, some of them more than once.
    pub(super) fn members(&self) -> impl Iterator<Item = &Member> {
        self.ranges.iter().flat_map(|range| core::iter::once(&range.owner).chain(&range.replicas))
    }

    /// How many owners were replaced since `before`. Slots that were moved from one to another do
    /// not count: their new owner had slots of its own, or was brought in as an owner, and the old
    /// one is still there as one.
    pub(super) fn failovers_since(&self, before: &Self) -> u32 {
        let mut replaced: Vec<(&str, &str)> = Vec::new();
        for now in &self.ranges {
            for was in before.ranges.iter().filter(|was| was.overlaps(now)) {
                let pair = (was.owner.id.as_str(), now.owner.id.as_str());
                if pair.0 != pair.1 && !replaced.contains(&pair) && self.took_over(was, now, before)
                {
                    replaced.push(pair);
                }
            }
        }
        u32::try_from(replaced.len()).unwrap_or(u32::MAX)
    }

    fn took_over(&self, was: &Range, now: &Range, before: &Self) -> bool {
        let stood_by = was.replicas.iter().any(|replica| replica.id == now.owner.id);
        let stands_by_now = now.replicas.iter().any(|replica| replica.id == was.owner.id);
        // The new owner may have become a replica after the last look, and a failed node is not listed.
        let is_gone = !self.members().any(|member| member.id == was.owner.id);
        let was_owner = before.ranges.iter().any(|range| range.owner.id == now.owner.id);
        stood_by || stands_by_now || (is_gone && !was_owner)
    }
}

// === impl Range ===

impl Range {
    /// Reads `[first, last, owner, replica…]`.
    fn read(range: &Value, asked: &Address) -> Option<Self> {
        let Value::Array(parts) = range else { return None };
        let [Value::Int(first), Value::Int(last), owner, replicas @ ..] = parts.as_slice() else {
            return None;
        };
        let slot = |number: &i64| u16::try_from(*number).ok().filter(|slot| *slot < SLOTS);
        Some(Self {
            first: slot(first)?,
            last: slot(last)?,
            owner: Member::read(owner, asked)?,
            // A replica without an address cannot be asked.
            replicas: replicas.iter().filter_map(|node| Member::read(node, asked)).collect(),
        })
    }

    const fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

// === impl Member ===

impl Member {
    /// Reads `[host, port, id, …]`; without a host, the node is where we asked.
    fn read(node: &Value, asked: &Address) -> Option<Self> {
        let Value::Array(parts) = node else { return None };
        let [host, Value::Int(port), id, ..] = parts.as_slice() else { return None };
        let host = match host {
            Value::Nil => "",
            host => text_of(host)?,
        };
        let host = match host {
            "" => &asked.host,
            // The node was not given a host name.
            "?" => return None,
            host => host,
        };
        let port = u16::try_from(*port).ok().filter(|port| *port != 0)?;
        Some(Self { id: text_of(id)?.to_owned(), address: Address::new(host, port) })
    }
}
