//! Pages: documents that are the same for everybody who asks, and take long to make.
//!
//! To count a store's entries takes milliseconds of a processor, and a page of metrics can have
//! megabytes. Whoever asks for pages in a loop, or asks and goes away, must cost others nothing. So a
//! page is made at most once a second, by one thread at a time that serves no connections, and everybody
//! is given the same bytes. While a page is made, others are given the one before. Only if there is none
//! yet, or the policies have changed since, do they wait, and not for ever.
//!
//! A page is of one set of policies. After a reload it is made anew at once, however young it is.
//!
//! ```
//! # use std::sync::Arc;
//! # use tidegate_core::{PolicySet, Timestamp};
//! use tidegate_tower::pages::{SharedPage, WantedPage};
//!
//! # async fn scrape(page: Arc<SharedPage>, policies: Arc<PolicySet>, now: Timestamp) {
//! // One for each document, kept where all requests find it.
//! let page: Arc<SharedPage> = page;
//! let bytes = page.read(WantedPage::new(&policies, now), || Some("rendered".into())).await;
//! # let _ = bytes;
//! # }
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use tidegate_core::{PolicySet, Span, Timestamp};
use tokio::sync::Notify;

/// One page that all clients share: the version made last, and whether somebody is making the next.
#[derive(Debug, Default)]
pub struct SharedPage {
    last: ArcSwapOption<Made>,
    /// Whether somebody has the [`Turn`].
    making: AtomicBool,
    /// Wakes waiting requests when a turn ends.
    ended: Notify,
}

/// A version of a page.
#[derive(Debug)]
struct Made {
    bytes: Bytes,
    /// When making the page began.
    at: Timestamp,
    /// The policies that the page is about. While this reference exists, the memory of a set that is gone
    /// is not used again, so no other set is taken for it.
    of: Weak<PolicySet>,
}

/// The turn of the one request that makes a page; it ends when this is dropped, also by a panic.
#[derive(Debug)]
struct Turn(Arc<SharedPage>);

/// What a request wants: a page about these policies, no older than `age`.
#[derive(Clone, Copy, Debug)]
pub struct WantedPage<'a> {
    /// The policies in force.
    pub set: &'a Arc<PolicySet>,
    /// The time of the request.
    pub now: Timestamp,
    /// How long a page is good for. Usually [`PAGE_AGE`].
    pub age: Span,
    /// How long to wait for a page that another request is making. Usually [`PATIENCE`].
    pub patience: Duration,
}

/// Why a request gets no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPage {
    /// Another request is making the page, and that takes too long.
    Busy,
    /// Making the page failed.
    Failed,
}

/// How long a page is good for.
pub const PAGE_AGE: Span = Span::from_secs(1);

/// How long a request waits for a page that another one is making: less than an answer may take.
pub const PATIENCE: Duration = Duration::from_secs(3);

// === impl WantedPage ===

impl<'a> WantedPage<'a> {
    /// A page about these policies for a request at `now`, as old as pages usually may be.
    #[must_use]
    pub const fn new(set: &'a Arc<PolicySet>, now: Timestamp) -> Self {
        Self { set, now, age: PAGE_AGE, patience: PATIENCE }
    }
}

// === impl SharedPage ===

impl SharedPage {
    /// The page; `make` makes it if the last one is too old and nobody else is making the next. `make`
    /// runs on a thread for blocking work, and to its end even if the request is given up.
    ///
    /// # Errors
    ///
    /// If another request takes too long to make the page, or `make` makes none.
    pub async fn read(
        self: &Arc<Self>,
        wanted: WantedPage<'_>,
        make: impl FnOnce() -> Option<Bytes> + Send + 'static,
    ) -> Result<Bytes, NoPage> {
        let waited = tokio::time::timeout(wanted.patience, self.wait(wanted)).await;
        let turn = match waited.map_err(|_| NoPage::Busy)? {
            Ok(bytes) => return Ok(bytes),
            Err(turn) => turn,
        };
        let (at, of) = (wanted.now, Arc::downgrade(wanted.set));
        let made = tokio::task::spawn_blocking(move || turn.make(at, of, make));
        made.await.ok().flatten().ok_or(NoPage::Failed)
    }

    /// Waits until somebody has made the page, or it is this request's turn.
    async fn wait(self: &Arc<Self>, wanted: WantedPage<'_>) -> Result<Bytes, Turn> {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            // Enabled before looking, so that a turn that ends in between is not missed.
            ended.as_mut().enable();
            match self.look(wanted) {
                Some(found) => return found,
                None => ended.await,
            }
        }
    }

    /// The page to send; the turn, if there is none or it is too old, and nobody is making the next; `None`
    /// if there is none and another request is making it.
    fn look(self: &Arc<Self>, wanted: WantedPage<'_>) -> Option<Result<Bytes, Turn>> {
        let young = || self.last(|made| made.is_of(wanted.set) && made.is_young(wanted));
        if let Some(bytes) = young() {
            return Some(Ok(bytes));
        }
        match self.turn() {
            // The page may have been made between the first look and the turn.
            Some(turn) => Some(young().ok_or(turn)),
            None => self.last(|made| made.is_of(wanted.set)).map(Ok),
        }
    }

    fn turn(self: &Arc<Self>) -> Option<Turn> {
        (!self.making.swap(true, Ordering::Acquire)).then(|| Turn(Arc::clone(self)))
    }

    /// The last page, if it is good enough.
    fn last(&self, is_good: impl FnOnce(&Made) -> bool) -> Option<Bytes> {
        let last = self.last.load();
        last.as_ref().filter(|made| is_good(made)).map(|made| made.bytes.clone())
    }
}

// === impl Made ===

impl Made {
    fn is_of(&self, set: &Arc<PolicySet>) -> bool {
        std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(set))
    }

    /// Whether the page is still young enough. A page from the future, of a clock that was set back, is
    /// not.
    fn is_young(&self, wanted: WantedPage<'_>) -> bool {
        self.at <= wanted.now && wanted.now.since(self.at) < wanted.age
    }
}

// === impl Turn ===

impl Turn {
    /// Makes the page and keeps it for all requests that come before the next one is made.
    fn make(
        self,
        at: Timestamp,
        of: Weak<PolicySet>,
        make: impl FnOnce() -> Option<Bytes>,
    ) -> Option<Bytes> {
        let bytes = make()?;
        self.0.last.store(Some(Arc::new(Made { bytes: bytes.clone(), at, of })));
        Some(bytes)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.making.store(false, Ordering::Release);
        self.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
