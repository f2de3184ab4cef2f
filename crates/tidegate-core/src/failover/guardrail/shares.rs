//! How the places of a local table are shared out between client networks.
//!
//! Once half of them are taken, the others are shared out by [the rule](is_within_share) that the
//! in-memory store goes by as well.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::address::is_within_share;

/// The network that a request comes from. All requests without an address come from one, and are not
/// counted together otherwise: that would keep out everybody wherever no addresses are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Network(pub(super) Option<u64>);

/// How many places of one table each network has. There are no more networks than places.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    held: HashMap<Network, usize, FixedState>,
    filled: usize,
}

// === impl Shares ===

impl Shares {
    /// Whether a network may have one more of so many places.
    pub(super) fn grants(&self, network: Network, places: usize) -> bool {
        self.grants_after(network, places, 0)
    }

    /// The same once so many of its places have been taken back.
    pub(super) fn grants_after(&self, network: Network, places: usize, back: usize) -> bool {
        let filled = self.filled.saturating_sub(back);
        let held = self.held.get(&network).map_or(0, |held| held.saturating_sub(back));
        let left = places.saturating_sub(filled);
        let fair = is_within_share(held as u64, self.held.len() as u64, left as u64);
        left > 0 && (filled < places / 2 || fair)
    }

    pub(super) fn give(&mut self, network: Network) {
        *self.held.entry(network).or_default() += 1;
        self.filled += 1;
    }

    pub(super) fn take_back(&mut self, network: Network) {
        let Some(held) = self.held.get_mut(&network) else { return };
        *held -= 1;
        if *held == 0 {
            self.held.remove(&network);
        }
        self.filled -= 1;
    }

    /// Gives back memory that nothing is kept in.
    pub(super) fn shrink(&mut self) {
        self.held.shrink_to_fit();
    }
}
