//! The wire between a client and a real server, breaking on command.
//!
//! A killed server is the simplest of faults: everybody notices at once. The harder ones are those
//! of the wire, where a request may have been executed although nobody said so. [`Proxy`] stands in
//! between and causes them: silence, delay, a cut after any byte, a reply lost after the request
//! was executed. Its switches act at once, also on connections that are already open.
//!
//! [`Canned`] is the other half: no real server at all, but replies that no healthy server would
//! give.

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

/// A proxy in front of one server; its connections are cut when it is dropped.
pub struct Proxy {
    port: Port,
    shared: Arc<Shared>,
    switches: watch::Sender<Switches>,
    /// Whether the listener is open, as it reports itself.
    listening: watch::Receiver<bool>,
    listener: JoinHandle<()>,
}

// === impl Proxy ===

impl Proxy {
    /// Listens on a port of its own and forwards to `upstream`.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub async fn start(upstream: SocketAddr) -> Self {
        let port = Port::free();
        let (switches, seen) = watch::channel(Switches::to(upstream));
        let (tell, mut listening) = watch::channel(false);
        let shared = Arc::new(Shared::default());
        let listener = tokio::spawn(listener::run(port.addr(), Arc::clone(&shared), seen, tell));
        listening.wait_for(|open| *open).await.expect("a port that was free can be bound");
        Self { port, shared, switches, listening, listener }
    }

    /// The address to which clients connect.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// The port of [`Proxy::addr`].
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Delays requests by this much; several may be on their way at once. Those on their way keep
    /// the delay they began with, unless it is set to zero.
    pub fn delay_up(&self, delay: Duration) {
        self.set(|switches| switches.up.delay = delay);
    }

    /// Delays replies by this much; several may be on their way at once. Those on their way keep
    /// the delay they began with, unless it is set to zero.
    pub fn delay_down(&self, delay: Duration) {
        self.set(|switches| switches.down.delay = delay);
    }

    /// Accepts connections, but forwards nothing in either direction. Bytes sent meanwhile arrive
    /// when this is switched off, as after any silence of a network; also those of clients that
    /// have given up.
    pub fn blackhole(&self, on: bool) {
        self.set(|switches| switches.blackhole = on);
    }

    /// Forwards requests, which are executed, and drops the replies.
    pub fn drop_replies(&self, on: bool) {
        self.set(|switches| switches.drop_replies = on);
    }

    /// Cuts every connection once the server has received exactly this many more bytes over it,
    /// counted from this call or from its opening. The client sees a reset and none of a later
    /// reply; the server sees an ordinary end, so that it surely reads the bytes it received.
    pub fn reset_after_up(&self, bytes: Option<u64>) {
        self.set(|switches| switches.up.limit = switches.limit(bytes));
    }

    /// Cuts every connection once the client has received exactly this many more bytes over it,
    /// counted from this call or from its opening.
    pub fn reset_after_down(&self, bytes: Option<u64>) {
        self.set(|switches| switches.down.limit = switches.limit(bytes));
    }

    /// Writes this many bytes at a time, both ways.
    pub fn chunk(&self, bytes: Option<usize>) {
        self.set(|switches| switches.chunk = bytes);
    }

    /// Forwards at most this many bytes per second, each way and per connection.
    pub fn throttle(&self, bytes_per_second: Option<u64>) {
        self.set(|switches| switches.throttle = bytes_per_second);
    }

    /// Closes the listener, so that connecting is refused; open connections stay. `false` opens it
    /// again, on the same port. Returns once the listener is closed or open.
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

    /// Sends new connections to `upstream`. Open ones stay where they are; [`Proxy::kill_all`]
    /// moves them.
    pub fn retarget(&self, upstream: SocketAddr) {
        self.set(|switches| switches.upstream = upstream);
    }

    /// Answers each piece of a request with these bytes; the server receives none of it.
    pub fn garble(&self, answer: Option<Vec<u8>>) {
        self.set(|switches| switches.garble = answer.map(Bytes::from));
    }

    /// The commands that clients have sent, in the order in which they were forwarded; at most the
    /// first 100,000. See [`Proxy::commands`] for their number.
    #[must_use]
    pub fn record(&self) -> Vec<Vec<Bytes>> {
        self.shared.record.all()
    }

    /// Forgets the recorded commands and their number.
    pub fn clear_record(&self) {
        self.shared.record.clear();
    }

    /// Number of commands that were forwarded, recorded or not.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.shared.record.seen()
    }

    /// Bytes sent to the server.
    #[must_use]
    pub fn bytes_up(&self) -> u64 {
        self.shared.up.load(Ordering::Relaxed)
    }

    /// Bytes sent to clients.
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
        // Connections notice that the switches are gone, and end themselves.
        self.listener.abort();
    }
}
