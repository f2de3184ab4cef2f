//! How the places of a table are shared out between client networks.
//!
//! An attacker who makes up keys can fill any table. What he cannot make up is the network he comes
//! from. So once a table holds as many keys as it was made for, the places that are left are shared
//! out by network: the first place of a network is always granted, and a further one only while the
//! network has less than four equal shares of what is left. So a flood stops at a fair share for
//! each of its networks, and clients from elsewhere still find a place.
//!
//! Which network a place was given to is kept beside the table, and looked at only when a key gets
//! a place: the way of a key that has one is as short as before. How many places a network has is
//! read from a few rows of counters (a count-min sketch). The least of them is too high only if the
//! network shares its counter with others in every row; that is rare, and costs a network some
//! places and nobody a count. Entries are forgotten silently, so every newcomer looks at a few more
//! places and takes back those whose entries no longer count.

use std::hash::{BuildHasher as _, RandomState};

use tidegate_core::{Prefix, is_within_share};

use crate::sync::{AtomicU32, AtomicU64, Ordering, zeroed};

/// The network that a request comes from, in 32 bits of a salted hash; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetworkDigest(u32);

/// Tells networks apart, by a salted hash of their prefix.
#[derive(Debug, Default)]
pub(crate) struct Networks(RandomState);

/// The places of one table, and the networks that they were given to.
#[derive(Debug)]
pub(crate) struct NetworkShares {
    /// The network of each place; zero if it was given to nobody.
    owners: Box<[AtomicU32]>,
    /// [`ROWS`] rows of counters.
    rows: Box<[AtomicU32]>,
    /// How many places are given away, to how many networks, and where the last newcomer looked for
    /// places to take back. Kept outside the struct, which every request reads.
    totals: Box<[AtomicU64]>,
    /// Up to this many places are given away whatever the network.
    open: u64,
    /// Once this many places are given away, only networks that have none get one.
    most: u64,
}

const FILLED: usize = 0;
const NETWORKS: usize = 1;
const CURSOR: usize = 2;

/// Rows of counters. With five rows of this [`WIDTH`], hardly one network in a thousand looks like
/// one of ten thousand others.
const ROWS: u32 = 5;
const WIDTH: u32 = 1 << 15;
/// The fewest places of a table that are shared out; smaller tables are not.
const LEAST: usize = 1_750;

// === impl Networks ===

impl Networks {
    pub(crate) fn of(&self, prefix: Option<Prefix>) -> NetworkDigest {
        let Some(prefix) = prefix else { return NetworkDigest::UNKNOWN };
        let [.., a, b, c, d] = self.0.hash_one(prefix).to_le_bytes();
        NetworkDigest(u32::from_le_bytes([a, b, c, d]).clamp(1, NetworkDigest::UNKNOWN.0 - 1))
    }
}

// === impl NetworkDigest ===

impl NetworkDigest {
    /// The network of operators, from which no flood comes.
    pub(crate) const OPERATORS: Self = Self(u32::MAX);
    /// The network of requests without an address.
    pub(crate) const UNKNOWN: Self = Self(u32::MAX - 1);

    /// The number of the network, spread over 64 bits.
    pub(crate) fn spread(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

// === impl NetworkShares ===

impl NetworkShares {
    /// The shares of `places` places in groups of `ways`; up to `open` are given away whatever the
    /// network.
    pub(crate) fn new(open: usize, places: usize, ways: usize) -> Self {
        let shared_out = places >= LEAST && !cfg!(loom);
        Self {
            owners: zeroed(if shared_out { places } else { 0 }),
            rows: zeroed(if shared_out { (ROWS * WIDTH) as usize } else { 0 }),
            totals: zeroed(CURSOR + 1),
            open: open as u64,
            // In a fuller table too many keys find both their groups taken, the sooner the smaller
            // groups are.
            most: places as u64 / 20 * if ways > 5 { 15 } else { 14 },
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        (self.owners.len() + self.rows.len()) * size_of::<AtomicU32>()
    }

    /// Whether a network may have one more place.
    pub(crate) fn grants(&self, network: NetworkDigest) -> bool {
        if self.owners.is_empty() {
            return true;
        }
        let [filled, networks] =
            [FILLED, NETWORKS].map(|total| self.totals[total].load(Ordering::Relaxed));
        let left = self.most.saturating_sub(filled);
        // A flood must not prevent what an operator does.
        let is_open = filled < self.open || network == NetworkDigest::OPERATORS;
        is_open || is_within_share(self.held(network).into(), networks, left)
    }

    /// The next `step` of `all` groups to look through for places to take back; none while there are
    /// enough to give away.
    pub(crate) fn next(&self, step: u32, all: u64) -> impl Iterator<Item = u32> {
        let scarce = self.totals[FILLED].load(Ordering::Relaxed) > self.open / 4 * 3;
        let step = if scarce { u64::from(step) } else { 0 };
        let first = self.totals[CURSOR].fetch_add(step, Ordering::Relaxed);
        (0..step).filter_map(move |group| u32::try_from((first + group) % all).ok())
    }

    /// Gives a place to a network, or takes it back; the network that had it before has one less.
    pub(crate) fn hand_over(&self, place: usize, to: Option<NetworkDigest>) {
        let Some(owner) = self.owners.get(place) else { return };
        // The thread that swaps a network out counts it down, so that this happens once.
        let had = owner.swap(to.map_or(0, |network| network.0), Ordering::Relaxed);
        if let Some(network) = to {
            self.count(network, true);
        }
        if had != 0 {
            self.count(NetworkDigest(had), false);
        }
    }

    /// Counts a place of a network up or down. The first row tells whether it is the network's only
    /// one.
    fn count(&self, network: NetworkDigest, up: bool) {
        let mut only = false;
        for (row, place) in self.places(network).enumerate() {
            let counter = &self.rows[place];
            let before = match up {
                true => counter.fetch_add(1, Ordering::Relaxed),
                false => counter.fetch_sub(1, Ordering::Relaxed),
            };
            only |= row == 0 && before == u32::from(!up);
        }
        for total in [Some(FILLED), only.then_some(NETWORKS)].into_iter().flatten() {
            match up {
                true => self.totals[total].fetch_add(1, Ordering::Relaxed),
                false => self.totals[total].fetch_sub(1, Ordering::Relaxed),
            };
        }
    }

    /// How many places a network has; never fewer than it really has.
    fn held(&self, network: NetworkDigest) -> u32 {
        let counts = self.places(network).map(|place| self.rows[place].load(Ordering::Relaxed));
        counts.min().unwrap_or_default()
    }

    fn places(&self, network: NetworkDigest) -> impl Iterator<Item = usize> {
        let spread = network.spread();
        (0..ROWS).map(move |row| {
            let mixed = spread.rotate_left(12 * row).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32;
            let place = row * WIDTH + u32::try_from(mixed).unwrap_or_default() % WIDTH;
            place as usize
        })
    }
}
