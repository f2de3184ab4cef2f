//! Connections that give way (threat T34).
//!
//! A listener for operators has few places, and anybody who reaches it can take one without a token.
//! Closing strangers after a while is not enough: they come back sooner than an operator does. So on such
//! a listener a connection that nobody has vouched for makes room for the next one, and a client that
//! holds many makes room before a client that holds few.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use tidegate_core::Prefix;

use super::watch::Watch;

/// The connections of a listener that nobody has vouched for yet, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Strangers(Mutex<Vec<Arc<Stranger>>>);

/// One connection that gives way until it is vouched for.
#[derive(Debug)]
pub(super) struct Stranger {
    address: Prefix,
    /// Whether the place of the connection has been given back.
    left: AtomicBool,
    /// The watch that ends the connection, once it is served.
    watch: OnceLock<Weak<Watch>>,
}

// === impl Strangers ===

impl Strangers {
    /// Adds a new connection.
    pub(super) fn add(&self, address: Prefix) -> Arc<Stranger> {
        let stranger =
            Arc::new(Stranger { address, left: AtomicBool::new(false), watch: OnceLock::new() });
        self.lock().push(Arc::clone(&stranger));
        stranger
    }

    /// Ends the connection that gives way to a new one: the oldest of `address` if one is given, otherwise
    /// the oldest of the address with the most. Returns the address whose place is free now.
    pub(super) fn give_way(&self, address: Option<Prefix>) -> Option<Prefix> {
        let mut strangers = self.lock();
        let address = address.or_else(|| {
            let mut counts = HashMap::new();
            for stranger in strangers.iter() {
                *counts.entry(stranger.address).or_insert(0_usize) += 1;
            }
            let most = counts.values().max().copied()?;
            let has_most = |stranger: &&Arc<Stranger>| counts.get(&stranger.address) == Some(&most);
            strangers.iter().find(has_most).map(|stranger| stranger.address)
        })?;
        let oldest = strangers.iter().position(|stranger| stranger.address == address)?;
        let stranger = strangers.remove(oldest);
        drop(strangers);
        stranger.end().then_some(address)
    }

    /// Keeps a connection from giving way from now on.
    pub(super) fn vouch(&self, vouched: &Arc<Stranger>) {
        self.lock().retain(|stranger| !Arc::ptr_eq(stranger, vouched));
    }

    /// Forgets a connection that is over; `true` if its place has still to be given back.
    pub(super) fn leave(&self, stranger: &Arc<Stranger>) -> bool {
        self.vouch(stranger);
        stranger.leave()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Stranger>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Stranger ===

impl Stranger {
    /// Notes by which watch the connection can be ended. One that gave way before it was served ends now.
    pub(super) fn serve(&self, watch: &Arc<Watch>) {
        self.watch.get_or_init(|| Arc::downgrade(watch));
        if self.has_left() {
            watch.task.end();
        }
    }

    /// Ends the connection; `false` if its place was given back before.
    fn end(&self) -> bool {
        let first = self.leave();
        if let Some(watch) = self.watch.get().and_then(Weak::upgrade) {
            watch.task.end();
        }
        first
    }

    /// Whether the place of the connection has been given back.
    pub(super) fn has_left(&self) -> bool {
        self.left.load(SeqCst)
    }

    fn leave(&self) -> bool {
        !self.left.swap(true, SeqCst)
    }
}
