//! The guard of jobs that are enqueued: the same checks as for a request.
//!
//! A job is counted where it is enqueued; workers rely on that and have no limits of their own.

use core::fmt;

use bytes::Bytes;
use http::Response;
use tidegate_core::Store;

use crate::answer::Code;
use crate::gate::{Gate, Ruling};
use crate::identity::Identity;
use crate::visit::Visit;

/// The error for a job that must not be enqueued now; it can be sent as a response.
#[derive(thiserror::Error)]
#[error("the job must not be enqueued: {}", self.code().name())]
pub struct NotEnqueued {
    response: Box<Response<Bytes>>,
}

// === impl Gate ===

impl<S: Store> Gate<S> {
    /// Checks whether a caller may enqueue a job now: the scope first, then what org, user and token
    /// have left. If so, the cost of the job is charged. `visit` is that of the request that enqueues.
    ///
    /// ```no_run
    /// # use tidegate_tower::{Gate, Identity, NotEnqueued, Visit};
    /// # use tidegate_core::Store;
    /// # async fn export<S: Store>(gate: Gate<S>, identity: Identity, visit: Visit) -> Result<(), NotEnqueued> {
    /// gate.enqueue("export", &identity, &visit).await?;
    /// // … hand the job to the queue
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the job must not be enqueued, or if no such kind of job was declared; the error is a response.
    pub async fn enqueue(
        &self,
        job: &str,
        identity: &Identity,
        visit: &Visit,
    ) -> Result<(), NotEnqueued> {
        match self.rule_on_job(job, identity, visit).await {
            Ruling::Pass(_) => Ok(()),
            Ruling::Refuse(response) => Err(NotEnqueued { response }),
        }
    }
}

// === impl NotEnqueued ===

impl NotEnqueued {
    /// The response for the client, with the header fields and the body of a refusal.
    #[must_use]
    pub fn into_response(self) -> Response<Bytes> {
        *self.response
    }

    /// The reason why the job must not be enqueued.
    #[must_use]
    pub fn code(&self) -> Code {
        self.response.extensions().get().copied().unwrap_or(Code::Misconfigured)
    }
}

impl fmt::Debug for NotEnqueued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NotEnqueued({})", self.code().name())
    }
}
