//! How the places of a local table are shared out between client networks.
//!
//! Until half of the places are taken, any network gets one. Then the rest are shared out by [the
//! rule](is_within_share) that the in-memory store uses as well.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::address::is_within_share;

/// The network that a request comes from. All requests without an address are one network, but share no
/// cell as one: that would keep out everybody wherever no addresses are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallerNetwork(pub(super) Option<u64>);

/// How many places of one table each network has. There are no more networks than places.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    held: HashMap<CallerNetwork, usize, FixedState>,
    filled: usize,
}

// === impl Shares ===

impl Shares {
    /// Whether `network` may have one more of `places` places.
    pub(super) fn grants(&self, network: CallerNetwork, places: usize) -> bool {
        self.grants_after(network, places, 0)
    }

    /// Whether `network` may have one more of `places` places, once `back` of its own have been taken
    /// back.
    pub(super) fn grants_after(&self, network: CallerNetwork, places: usize, back: usize) -> bool {
        let filled = self.filled.saturating_sub(back);
        let held = self.held.get(&network).map_or(0, |held| held.saturating_sub(back));
        let left = places.saturating_sub(filled);
        let fair = is_within_share(held as u64, self.held.len() as u64, left as u64);
        left > 0 && (filled < places / 2 || fair)
    }

    pub(super) fn give(&mut self, network: CallerNetwork) {
        *self.held.entry(network).or_default() += 1;
        self.filled += 1;
    }

    pub(super) fn take_back(&mut self, network: CallerNetwork) {
        let Some(held) = self.held.get_mut(&network) else { return };
        *held -= 1;
        if *held == 0 {
            self.held.remove(&network);
        }
        self.filled -= 1;
    }

    /// Gives back memory that is not used.
    pub(super) fn shrink(&mut self) {
        self.held.shrink_to_fit();
    }
}
