//! What local caps admit: up to the cap in any span, on every key; and nothing is refused
//! otherwise.

use std::collections::{HashMap, VecDeque};

use super::lane::PolicyLane;
use super::{FallbackKind, Holds, SECOND, holds};
use crate::sim::trace::{RequestAnswer, SimClient};

/// The local caps of one policy on one node, by the definitions.
#[derive(Clone, Debug)]
pub(super) struct Caps {
    kind: FallbackKind,
    caps: Vec<Cap>,
    /// Times of the requests admitted for each account in the last hour, for logins.
    hours: HashMap<u64, VecDeque<u64>>,
    /// The keys of the last admitted request, for the sum over all nodes.
    last: [Option<u64>; 2],
}

/// One cap, and all admitted requests that still count.
#[derive(Clone, Debug)]
struct Cap {
    property: &'static str,
    most: u64,
    per: u64,
    keys: HashMap<u64, Key>,
    log: VecDeque<(u64, u64)>,
    /// When there were last so many keys that a node may count some of them together.
    crowded: Option<u64>,
}

#[derive(Clone, Debug)]
struct Key {
    admitted: VecDeque<u64>,
    /// Whether a node must count this key by itself, which holds unless there were too many keys.
    alone: bool,
}

/// What one key has left, how long until it has more, and whether that is exact.
#[derive(Clone, Copy, Debug)]
struct Room {
    left: u64,
    wait: u64,
    exact: bool,
}

/// Number of keys that a node counts each by itself.
const KEYS: usize = 16_384;
/// The key that all requests without an address share.
const NOBODY: u64 = u64::MAX;
const HOUR: u64 = 3_600 * SECOND;
/// The most attempts at one account in any hour: three for each ten minutes, and three more.
const AN_HOUR: usize = 3 * 6 + 3;

// === impl Caps ===

impl Caps {
    pub(super) fn new(kind: FallbackKind) -> Self {
        let cap = |property, most, minutes: u64| Cap {
            property,
            most,
            per: minutes * 60 * SECOND,
            keys: HashMap::new(),
            log: VecDeque::new(),
            crowded: None,
        };
        let caps = match kind {
            FallbackKind::Login => vec![cap("P24", 3, 10), cap("P25", 20, 10)],
            FallbackKind::Otp | FallbackKind::Closed => vec![cap("P26", 2, 15), cap("P27", 10, 15)],
            FallbackKind::Guarded => vec![cap("P17", 120, 1), cap("P17", 60, 1)],
            FallbackKind::Ceilings { per_second } => {
                let mut ceiling = cap("P86", 2 * per_second, 1);
                ceiling.per = SECOND;
                vec![cap("P17", 120, 1), cap("P17", 60, 1), ceiling]
            }
            FallbackKind::Spend { per_minute } => vec![cap("A35", per_minute, 1)],
            FallbackKind::Outbound { per_minute } => vec![cap("P28", per_minute, 1)],
        };
        Self { kind, caps, hours: HashMap::new(), last: [None; 2] }
    }

    /// The keys of a request: one for each cap that applies.
    fn keys(&self, who: &SimClient) -> [Option<u64>; 3] {
        let prefix = who.prefix.unwrap_or(NOBODY);
        match self.kind {
            FallbackKind::Login | FallbackKind::Otp | FallbackKind::Closed => {
                [who.account, Some(prefix), None]
            }
            FallbackKind::Guarded | FallbackKind::Ceilings { .. } => {
                // Guardrails of interfaces do not count by account.
                let agent = who.agent.map_or(0, |agent| agent + 1);
                [Some(prefix), Some(prefix << 16 | agent), who.prefix]
            }
            FallbackKind::Spend { .. } | FallbackKind::Outbound { .. } => [who.prefix, None, None],
        }
    }

    pub(super) fn is_fresh(&self, at: u64) -> bool {
        let over = |cap: &Cap| cap.log.back().is_none_or(|(_, last)| at - last >= cap.per);
        self.caps.iter().all(over)
    }

    /// Checks a request that local caps have decided.
    pub(super) fn decided(
        &mut self,
        at: u64,
        who: &SimClient,
        counted: bool,
        answer: &RequestAnswer,
    ) -> Holds {
        let keys = self.keys(who);
        let mut rooms = Vec::with_capacity(keys.len());
        for (cap, key) in self.caps.iter_mut().zip(keys) {
            if let Some(key) = key {
                rooms.push((cap.property, cap.room(key, at)));
            }
        }
        if rooms.is_empty() {
            // Only a limit applies that is too large to be reached here.
            return Ok(());
        }
        let has_ceiling = matches!(self.kind, FallbackKind::Ceilings { .. });
        if answer.admitted {
            p17_p23_p24_p25_p26_p27_p29_caps_hold(&rooms)?;
            if counted {
                self.take(at, &keys);
                self.p66_harvest_is_bounded(at, who)?;
            }
            return p28_p33_p34_p46_counts_are_exact(&rooms, has_ceiling, counted, answer);
        }
        p18_p20_p28_p39_p40_p44_refused_only_if_full(&rooms, has_ceiling, answer)?;
        p38_refusals_take_nothing(&rooms, has_ceiling, answer)
    }

    fn take(&mut self, at: u64, keys: &[Option<u64>; 3]) {
        for (cap, key) in self.caps.iter_mut().zip(keys) {
            if let Some(key) = key {
                cap.take(*key, at);
            }
        }
        self.last = [keys[0], keys[1]];
    }

    /// However the store is made to fail and recover, attempts at one account in an hour stay
    /// bounded.
    fn p66_harvest_is_bounded(&mut self, at: u64, who: &SimClient) -> Holds {
        let (FallbackKind::Login, Some(account)) = (self.kind, who.account) else { return Ok(()) };
        let admitted = self.hours.entry(account).or_default();
        while admitted.front().is_some_and(|first| at - first >= HOUR) {
            admitted.pop_front();
        }
        admitted.push_back(at);
        let many = admitted.len();
        holds!(many <= AN_HOUR, "P66", "{many} attempts at one account within an hour");
        Ok(())
    }
}

// === impl Cap ===

impl Cap {
    /// Forgets requests that count no more, on all keys.
    fn forget(&mut self, at: u64) {
        while let Some((key, admitted)) = self.log.front().copied()
            && at - admitted >= self.per
        {
            self.log.pop_front();
            if let Some(of) = self.keys.get_mut(&key) {
                of.admitted.pop_front();
                if of.admitted.is_empty() {
                    self.keys.remove(&key);
                }
            }
        }
        if self.keys.len() + 1 >= KEYS {
            self.crowded = Some(at);
        }
    }

    /// The room of a key at `at`, given everything admitted in the span that ends then.
    fn room(&mut self, key: u64, at: u64) -> Room {
        self.forget(at);
        let crowded = self.crowded.is_some_and(|crowded| at - crowded < 2 * self.per);
        let Some(of) = self.keys.get(&key) else {
            return Room { left: self.most, wait: 0, exact: !crowded };
        };
        let used = of.admitted.len() as u64;
        let left = self.most.saturating_sub(used);
        let frees = usize::try_from(used.saturating_sub(self.most)).unwrap_or(0);
        let wait = match left {
            0 => of.admitted.get(frees).map_or(0, |first| first + self.per - at),
            _ => 0,
        };
        Room { left, wait, exact: of.alone }
    }

    fn take(&mut self, key: u64, at: u64) {
        let crowded = self.crowded.is_some_and(|crowded| at - crowded < 2 * self.per);
        let new = || Key { admitted: VecDeque::new(), alone: !crowded };
        self.keys.entry(key).or_insert_with(new).admitted.push_back(at);
        self.log.push_back((key, at));
    }

    fn used(&self, key: u64) -> u64 {
        self.keys.get(&key).map_or(0, |of| of.admitted.len() as u64)
    }
}

/// In any span no more is admitted than the cap of each key, wherever the span begins and whatever
/// the mode was meanwhile.
fn p17_p23_p24_p25_p26_p27_p29_caps_hold(rooms: &[(&'static str, Room)]) -> Holds {
    for (property, room) in rooms {
        if room.left == 0 {
            let why = format!("admitted, {} µs before there is room", room.wait);
            return Err(super::Broken { property, why, at: None });
        }
    }
    Ok(())
}

/// The remaining count that is reported is the cap less everything admitted. Nothing has been
/// forgotten, be it by a success, a reload, a new stay or to make room for others, and nothing else
/// is counted.
fn p28_p33_p34_p46_counts_are_exact(
    rooms: &[(&'static str, Room)],
    has_ceiling: bool,
    counted: bool,
    answer: &RequestAnswer,
) -> Holds {
    let guardrails = &rooms[..rooms.len() - usize::from(has_ceiling && rooms.len() == 3)];
    if guardrails.iter().any(|(_, room)| !room.exact) {
        return Ok(());
    }
    let least = guardrails.iter().map(|(_, room)| room.left).min();
    let expected = least.map(|least| least - u64::from(counted));
    holds!(answer.left == expected, "P34", "{:?} are said to be left of {expected:?}", answer.left);
    Ok(())
}

/// A request is refused only if one of its keys is full of admitted requests: not because of
/// refused ones, of the account where interfaces are concerned, or of the time of day.
fn p18_p20_p28_p39_p40_p44_refused_only_if_full(
    rooms: &[(&'static str, Room)],
    has_ceiling: bool,
    answer: &RequestAnswer,
) -> Holds {
    let full = |(property, room): &(&str, Room)| match (*property, has_ceiling) {
        // Ceilings refill in the course of a second.
        ("P86", true) => room.left < 8,
        _ => room.left == 0,
    };
    let crowded = rooms.iter().any(|(_, room)| !room.exact);
    let explained = crowded || rooms.iter().any(full);
    holds!(explained, "P39", "refused for {:?} µs with room on every key: {rooms:?}", answer.wait);
    Ok(())
}

/// The reported wait ends when the first slot taken by an admitted request is free again.
fn p38_refusals_take_nothing(
    rooms: &[(&'static str, Room)],
    has_ceiling: bool,
    answer: &RequestAnswer,
) -> Holds {
    if has_ceiling || rooms.iter().any(|(_, room)| !room.exact) {
        return Ok(());
    }
    let wait = rooms.iter().map(|(_, room)| room.wait).max();
    holds!(answer.wait == wait, "P38", "told to wait {:?} µs, and it is {wait:?}", answer.wait);
    Ok(())
}

/// All nodes together admit at most the cap times their number; checked for the last request that
/// one of them has admitted.
pub(super) fn p31_the_fleet_admits_so_many_times_as_much(
    nodes: &[Vec<PolicyLane>],
    node: usize,
    policy: usize,
) -> Holds {
    let caps = &nodes[node][policy].caps;
    for (place, key) in caps.last.iter().enumerate() {
        let (Some(key), Some(cap)) = (key, caps.caps.get(place)) else { continue };
        let of = |lanes: &Vec<PolicyLane>| lanes[policy].caps.caps[place].used(*key);
        let (sum, most) = (nodes.iter().map(of).sum::<u64>(), cap.most * nodes.len() as u64);
        holds!(sum <= most, "P31", "{sum} admitted by all nodes, where {most} may be");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
