//! What the runs of the simulation have seen.

/// What happened in one or more runs, so that a test can tell whether they were worth running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BreakerTally {
    /// Events.
    pub events: u64,
    /// Calls that passed a closed breaker.
    pub calls: u64,
    /// Probes that the fleet agreed to.
    pub agreed: u64,
    /// Probes of nodes that could not reach the fleet.
    pub alone: u64,
    /// Probes that ended with the process of their node.
    pub crashed: u64,
    /// Changes of state.
    pub changes: u64,
    /// Reports that the fleet has lost a generation.
    pub lost: u64,
}

// === impl BreakerTally ===

impl core::ops::AddAssign for BreakerTally {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.calls += other.calls;
        self.agreed += other.agreed;
        self.alone += other.alone;
        self.crashed += other.crashed;
        self.changes += other.changes;
        self.lost += other.lost;
    }
}
