//! The wire between a client and a real server, breaking on command.
//!
//! A killed server is the simplest of faults: everybody notices at once. The harder ones are those
//! of the wire, where a request may have been executed although nobody said so. [`Proxy`] stands in
//! between and makes them: silence, delay, a cut after any byte, an answer lost after the deed.
//! Its switches act at once, for connections that are already open too.
//!
//! [`Canned`] is the other half: no server at all, but answers no healthy server would give.

mod canned;
mod connection;
mod lane;
mod listener;
mod resp;
mod switches;

pub use canned::{Canned, plausible};

use core::time::Duration;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::servers::port::Port;
use switches::{Shared, Switches};

/// A proxy before one server; its connections are cut when it is dropped.
pub struct Proxy {
    port: Port,
    shared: Arc<Shared>,
    switches: watch::Sender<Switches>,
    /// Whether the listener is open, as it tells.
    listening: watch::Receiver<bool>,
    listener: JoinHandle<()>,
}

// === impl Proxy ===

impl Proxy {
    /// Listens on a port of its own and forwards to `upstream`.
    ///
    /// # Panics
    ///
    /// If there is no port.
    pub async fn start(upstream: SocketAddr) -> Self {
        let port = Port::free();
        let (switches, seen) = watch::channel(Switches::to(upstream));
        let (tell, mut listening) = watch::channel(false);
        let shared = Arc::new(Shared::default());
        let listener = tokio::spawn(listener::run(port.addr(), Arc::clone(&shared), seen, tell));
        listening.wait_for(|open| *open).await.expect("a port that was free can be bound");
        Self { port, shared, switches, listening, listener }
    }

    /// Where clients connect.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// The port of [`Proxy::addr`].
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Requests arrive this much later; several may be under way. Those on their way keep the delay
    /// they began with, unless it is set to zero.
    pub fn delay_up(&self, delay: Duration) {
        self.set(|switches| switches.up.delay = delay);
    }

    /// The same for replies.
    pub fn delay_down(&self, delay: Duration) {
        self.set(|switches| switches.down.delay = delay);
    }

    /// Accepts, and forwards nothing in either direction. What was sent meanwhile arrives when this
    /// is lifted, as after any silence of a network; also from clients that have given up.
    pub fn blackhole(&self, on: bool) {
        self.set(|switches| switches.blackhole = on);
    }

    /// Requests go through and are executed; replies are swallowed.
    pub fn drop_replies(&self, on: bool) {
        self.set(|switches| switches.drop_replies = on);
    }

    /// Every connection is cut once the server has got exactly this many more bytes over it, counted
    /// from this call or from its opening. The client sees a reset and none of a later reply; the
    /// server sees an ordinary end, so that it surely reads what it got.
    pub fn reset_after_up(&self, bytes: Option<u64>) {
        self.set(|switches| switches.up.limit = switches.limit(bytes));
    }

    /// The same, once the client has got this many more bytes.
    pub fn reset_after_down(&self, bytes: Option<u64>) {
        self.set(|switches| switches.down.limit = switches.limit(bytes));
    }

    /// Writes this many bytes at a time, both ways.
    pub fn chunk(&self, bytes: Option<usize>) {
        self.set(|switches| switches.chunk = bytes);
    }

    /// At most this many bytes per second, each way and per connection.
    pub fn throttle(&self, bytes_per_second: Option<u64>) {
        self.set(|switches| switches.throttle = bytes_per_second);
    }

    /// Closes the listener, so that connecting is refused; open connections stay. `false` opens it
    /// again, on the same port. Returns when it is so.
    ///
    /// # Panics
    ///
    /// If the port cannot be bound again.
    pub async fn refuse(&self, on: bool) {
        self.set(|switches| switches.refuse = on);
        let mut listening = self.listening.clone();
        listening.wait_for(|open| *open != on).await.expect("the listener runs as long as this");
    }

    /// Resets every connection that is open now, on both sides.
    pub fn kill_all(&self) {
        self.set(|switches| switches.kills += 1);
    }

    /// Where new connections go. Open ones stay where they are; [`Proxy::kill_all`] moves them.
    pub fn retarget(&self, upstream: SocketAddr) {
        self.set(|switches| switches.upstream = upstream);
    }

    /// Answers each piece of a request with these bytes; the server gets none of it.
    pub fn garble(&self, answer: Option<Vec<u8>>) {
        self.set(|switches| switches.garble = answer.map(Bytes::from));
    }

    /// The commands the clients have sent, in the order in which they were forwarded; at most the
    /// first 100,000. See [`Proxy::commands`] for how many there were.
    #[must_use]
    pub fn record(&self) -> Vec<Vec<Bytes>> {
        self.shared.record.all()
    }

    /// Forgets what was recorded and counted as a command.
    pub fn clear_record(&self) {
        self.shared.record.clear();
    }

    /// How many commands were forwarded, recorded or not.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.shared.record.seen()
    }

    /// Bytes given to the server.
    #[must_use]
    pub fn bytes_up(&self) -> u64 {
        self.shared.up.load(Ordering::Relaxed)
    }

    /// Bytes given to clients.
    #[must_use]
    pub fn bytes_down(&self) -> u64 {
        self.shared.down.load(Ordering::Relaxed)
    }

    /// Connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.shared.accepted.load(Ordering::Relaxed)
    }

    /// Connections open now.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        self.shared.open.load(Ordering::Relaxed)
    }

    fn set(&self, change: impl FnOnce(&mut Switches)) {
        self.switches.send_modify(change);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Connections see that the switches are gone and end themselves.
        self.listener.abort();
    }
}
