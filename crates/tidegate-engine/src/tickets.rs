//! The tickets of one engine: numbered, and under its own seal.

use core::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::{Claim, Decision, KeyNames, Seal, Secret, Ticket, TicketError};

use crate::engine::unpredictable;

/// Makes and reads the tickets of one engine.
#[derive(Debug)]
pub(crate) struct Tickets {
    seal: Seal,
    /// The seal of the previous secret, while the secret is being changed: its tickets are still in
    /// use.
    previous: Option<Seal>,
    maker: u64,
    /// Spells out the names of counters, for a store that finds counters by name.
    names: Option<KeyNames>,
    /// How many numbers have been given out.
    made: AtomicU64,
}

// === impl Tickets ===

impl Tickets {
    /// Tickets under a random secret: only this engine can settle them.
    pub(crate) fn new() -> Self {
        let mut secret = [0; 32];
        for part in secret.chunks_exact_mut(8) {
            part.copy_from_slice(&unpredictable().to_be_bytes());
        }
        Self {
            seal: Seal::new(&secret),
            previous: None,
            maker: unpredictable(),
            names: None,
            made: AtomicU64::new(0),
        }
    }

    /// Tickets under the secret of a fleet: all its nodes can settle them.
    pub(crate) fn shared(secret: &Secret) -> Self {
        let previous = secret.previous().map(|previous| previous.seal());
        Self { seal: secret.seal(), previous, names: Some(secret.names()), ..Self::new() }
    }

    /// The random number that tells this engine from all others.
    pub(crate) const fn maker(&self) -> u64 {
        self.maker
    }

    /// A number that no ticket of this engine has had.
    pub(crate) fn number(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that the next ticket will have.
    pub(crate) fn next_number(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Whether a ticket is one of this engine's own.
    pub(crate) const fn made(&self, claim: &Claim) -> bool {
        claim.id.maker == self.maker
    }

    /// What was taken for a request that may pass, if there is anything to settle.
    pub(crate) fn claim(&self, decision: &Decision<'_>) -> Option<Claim> {
        Claim::of(decision, self.maker, self.names.as_ref())
    }

    pub(crate) fn issue(&self, decision: &Decision<'_>) -> Option<Ticket> {
        self.claim(decision).map(|claim| self.seal.seal(&claim))
    }

    pub(crate) fn open(&self, text: &str) -> Result<Claim, TicketError> {
        match (self.seal.open(text), &self.previous) {
            (Err(TicketError::Altered), Some(previous)) => previous.open(text),
            (opened, _) => opened,
        }
    }
}
