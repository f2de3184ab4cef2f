//! One attempt to get in: counted when it begins, given back when it succeeds.
//!
//! Counting failures when they are known lets a burst of parallel guesses through before the first
//! of them is known. So an attempt is counted before anything is verified, and the code that
//! verifies it reports a success. Until then, and if no success is ever reported, the attempt is a
//! failure.

use tidegate_core::{
    Block, Case, Mode, Name, Protects, Span, Store, Subject, Ticket, Timestamp, TooManyRequests,
};

use crate::engine::Engine;
use crate::settle::SettleError;
use crate::undecided::DecideError;

/// An attempt that has been counted and may go on. Dropped, it stays counted.
#[must_use = "an attempt that is not said to have succeeded stays counted as a failure"]
#[derive(Debug)]
pub struct Pending<'e, S> {
    engine: &'e Engine<S>,
    ticket: Option<Ticket>,
}

/// Why an attempt may not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttemptError {
    /// There were too many attempts.
    #[error("too many attempts")]
    TooMany(Refusal),
    /// It cannot be decided at present whether the attempt may go on, so it may not. That says
    /// nothing about the one who tries.
    #[error("the attempt cannot be checked now; try again later")]
    Unavailable {
        /// How long to wait before the next attempt, if known.
        retry_after: Option<Span>,
    },
    /// There is no such policy in force.
    #[error("there is no policy `{0}`")]
    NoPolicy(String),
    /// The policy guards no entrance, so it might let everybody pass while its store fails.
    #[error(
        "policy `{0}` does not protect an entrance, so an outage of the store could let everybody in; \
         write `protects: login` (or `otp`, `auth`, `step_up`, `admin`) and `failure_mode: fail_closed`"
    )]
    NoEntrance(String),
    /// The attempt could not be decided. That is no reason to let it pass.
    #[error(transparent)]
    Undecided(#[from] DecideError),
}

/// What refused an attempt, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The numbers of the limit, and when to come back.
    pub error: TooManyRequests,
    /// The limit that decided.
    pub limit: Option<Name>,
    /// The block that holds, if a block refused the attempt.
    pub block: Option<Block>,
}

// === impl Engine ===

impl<S: Store> Engine<S> {
    /// Counts an attempt under a policy, such as one with a [`Preset`](tidegate_core::Preset),
    /// before the credentials are verified. Pass the account as it was typed, whether or not it
    /// exists: to know which accounts exist is half of getting in.
    ///
    /// # Errors
    ///
    /// If there were too many attempts, if there is no such policy or it guards no entrance, or if
    /// it cannot be decided. In none of these cases may the attempt go on.
    pub async fn attempt(
        &self,
        policy: &str,
        subject: &Subject<'_>,
    ) -> Result<Pending<'_, S>, AttemptError> {
        let policies = self.policies();
        let Some(found) = policies.get(policy) else {
            return Err(AttemptError::NoPolicy(policy.to_owned()));
        };
        if !found.protects().is_some_and(Protects::is_entrance) {
            return Err(AttemptError::NoEntrance(policy.to_owned()));
        }
        let mut case = Case::new(found, subject);
        let decision = match self.decide(&mut case).await {
            Ok(decision) => decision,
            Err(DecideError::Overloaded) => {
                let retry_after = Some(DecideError::RETRY_AFTER);
                return Err(AttemptError::Unavailable { retry_after });
            }
            Err(error) => return Err(error.into()),
        };
        match decision.passed() {
            Ok(()) => Ok(Pending { engine: self, ticket: self.ticket(&decision) }),
            Err(error) if decision.mode() == Mode::FailClosed => {
                Err(AttemptError::Unavailable { retry_after: error.retry_after() })
            }
            Err(error) => Err(AttemptError::TooMany(Refusal {
                error,
                limit: decision.binding().map(|binding| binding.limit.name().clone()),
                block: decision.block(),
            })),
        }
    }
}

// === impl Pending ===

impl<S: Store> Pending<'_, S> {
    /// Reports that the attempt succeeded: it is given back, and the limits that forgive, which are
    /// those of its own account, forget the failures before it.
    ///
    /// # Errors
    ///
    /// If the store fails or the ticket has expired. The attempt then stays counted; whoever got in
    /// is in all the same.
    pub async fn succeeded(self) -> Result<(), SettleError> {
        match &self.ticket {
            Some(ticket) => self.engine.settle(ticket.as_str(), 0).await.map(drop),
            None => Ok(()),
        }
    }

    /// Reports that the attempt failed: it stays counted, as it would without this call.
    pub fn failed(self) {}

    /// The ticket to settle at 0 if the attempt succeeds, where that is known elsewhere or later.
    #[must_use]
    pub fn into_ticket(self) -> Option<Ticket> {
        self.ticket
    }
}

// === impl Refusal ===

impl Refusal {
    /// How long to stay away, if waiting helps.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Span> {
        self.error.retry_after()
    }

    /// The first instant, by the clock of the store, at which the same attempt may go on.
    #[must_use]
    pub const fn next_allowed_at(&self) -> Option<Timestamp> {
        self.error.next_allowed_at()
    }
}
