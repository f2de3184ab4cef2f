//! Looks at the servers one by one, with plain commands that change nothing.
//!
//! A script only touches the keys it is given. To list keys, each server that is written to is asked by
//! itself, in the order of identities that stay the same from one question to the next.

use std::sync::Arc;

use redis::{Pipeline, ServerError, Value};
use tidegate_core::StoreError;

use super::call::Progress;
use super::error;
use super::link::Link;
use super::{Servers, Topology};

/// A server that counters are written to.
#[derive(Clone, Debug)]
pub(crate) struct Keeper {
    /// The identity of the server, which it keeps wherever it goes in a cluster; empty for the only
    /// server.
    pub(crate) id: String,
    link: Arc<Link>,
}

// === impl Servers ===

impl Servers {
    /// The servers that are written to, in the order of their identities.
    pub(crate) async fn keepers(&self) -> Result<Vec<Keeper>, StoreError> {
        match &self.topology {
            Topology::One(link) => Ok(vec![Keeper { id: String::new(), link: Arc::clone(link) }]),
            Topology::Cluster(cluster) => {
                let timeout = self.shared.target.timeout();
                let owners = tokio::time::timeout(timeout, cluster.owners()).await;
                let owners = owners.map_err(|_| self.elapsed(&mut Progress::default()))??;
                Ok(owners.into_iter().map(|(id, link)| Keeper { id, link }).collect())
            }
        }
    }

    /// Sends commands that change nothing to one server. There is one reply for each, error replies
    /// included.
    pub(crate) async fn look(
        &self,
        keeper: &Keeper,
        commands: &Pipeline,
    ) -> Result<Vec<Value>, StoreError> {
        let mut progress = Progress::default();
        let timeout = self.shared.target.timeout();
        let replies = keeper.link.look(commands, &mut progress);
        match tokio::time::timeout(timeout, replies).await {
            Ok(replies) => replies.inspect_err(|_| self.look_again()),
            Err(_) => Err(self.elapsed(&mut progress)),
        }
    }

    /// Looks up the layout of a cluster again, because it is not to be relied on.
    pub(crate) fn look_again(&self) {
        if let Topology::Cluster(cluster) = &self.topology {
            cluster.look_again();
        }
    }

    /// The error that an error reply to a look means.
    pub(crate) fn refused(&self, error: &ServerError) -> StoreError {
        match error::is_elsewhere(error) {
            true => StoreError::Unavailable,
            false => self.shared.refused(error, &Progress::default()),
        }
    }
}

// === impl Link ===

impl Link {
    async fn look(
        self: &Arc<Self>,
        commands: &Pipeline,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, StoreError> {
        let (live, was_ready) = self.ready_or_new().await?;
        progress.sent(self, &live, was_ready);
        let replies = live.wire.send_all(commands).await;
        progress.answered();
        replies.map_err(|error| {
            self.shared.note_text(|| format!("{}: lost while asked: {error}", live.address));
            progress.leave();
            StoreError::Unavailable
        })
    }
}
