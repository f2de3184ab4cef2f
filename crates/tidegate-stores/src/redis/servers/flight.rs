//! One attempt at a time, and one outcome for all callers who wait for it.
//!
//! When a server goes away, all callers find out at once. If each of them tried on their own, that
//! would be a thousand connections; if one tried after the other, a thousand deadlines.

use core::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::home::Home;
use crate::redis::trouble::Trouble;

type Outcome<T> = Result<T, Arc<Trouble>>;

/// An attempt that runs by itself, whether or not anybody still waits for it; so it has to end by
/// itself, in time.
#[derive(Debug)]
pub(super) struct Flight<T> {
    current: Mutex<Option<watch::Receiver<Option<Outcome<T>>>>>,
}

// === impl Flight ===

impl<T: Clone + Send + Sync + 'static> Flight<T> {
    /// Waits for the attempt under way, or starts one. `ready` is asked again while nobody else can
    /// start one: an attempt may have succeeded since the caller looked.
    pub(super) async fn join<F>(
        &self,
        home: &Home,
        ready: impl FnOnce() -> Option<T>,
        attempt: impl FnOnce() -> F,
    ) -> Outcome<T>
    where
        F: Future<Output = Outcome<T>> + Send + 'static,
    {
        let mut outcome = {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            match &*current {
                Some(outcome) if is_under_way(outcome) => outcome.clone(),
                _ => {
                    if let Some(ready) = ready() {
                        return Ok(ready);
                    }
                    let ((tell, outcome), attempt) = (watch::channel(None), attempt());
                    home.spawn(async move { drop(tell.send_replace(Some(attempt.await))) });
                    *current = Some(outcome.clone());
                    outcome
                }
            }
        };
        let lost = || Err(Arc::new(Trouble::passing("the attempt to connect was given up")));
        match outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(lost),
            Err(_) => lost(),
        }
    }
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self { current: Mutex::new(None) }
    }
}

fn is_under_way<T>(outcome: &watch::Receiver<Option<T>>) -> bool {
    // A channel closed without an outcome means that the runtime which ran the attempt is gone.
    outcome.borrow().is_none() && outcome.has_changed().is_ok()
}
