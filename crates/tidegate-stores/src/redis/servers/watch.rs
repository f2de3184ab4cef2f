//! Waits for an answer on a connection when the callers do not.
//!
//! Callers that are cancelled before the deadline, as by clients that hang up, never find out that a
//! connection is silent. If all callers are cancelled, the connection would stay in use until the
//! kernel gives it up.

use core::sync::atomic::Ordering;
use std::sync::Arc;

use super::link::Link;
use super::live::{Live, command};

/// The task that watches a link; there is one at a time.
struct Watch {
    link: Arc<Link>,
    live: Arc<Live>,
}

/// Watches a connection, and takes it out of use if it is silent.
pub(super) fn watch(link: &Arc<Link>, live: &Arc<Live>) {
    if !link.watched.swap(true, Ordering::AcqRel) {
        let watch = Watch { link: Arc::clone(link), live: Arc::clone(live) };
        link.shared.home.spawn(async move { watch.run().await });
    }
}

// === impl Watch ===

impl Watch {
    async fn run(&self) {
        let Self { link, live } = self;
        let timeout = link.shared.target.timeout();
        let answers = live.wire.answers();
        // A question of our own, since the answer to a call that was cancelled is nobody's, and there
        // may be no other call. Every server that we are logged in to has answered this one before.
        let question = command(&["INFO", "server"]);
        let _ = tokio::time::timeout(timeout, live.wire.send(&question)).await;
        if live.wire.answers() == answers {
            link.leave(live);
        } else {
            // However many callers hang up, the server is asked no more often than this.
            #[expect(
                clippy::disallowed_methods,
                reason = "servers are asked no more often in real time"
            )]
            tokio::time::sleep(timeout).await;
        }
    }
}

impl Drop for Watch {
    /// Runs when the watch ends, by itself or with its runtime: another one may begin.
    fn drop(&mut self) {
        self.link.watched.store(false, Ordering::Release);
    }
}
