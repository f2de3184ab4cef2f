//! One fault: what callers saw, what was counted all the same, and how long it lasted.

use core::time::Duration;

use tidegate_core::{Clock as _, StoreError, Timestamp};
use tidegate_engine::SystemClock;
use tidegate_test::servers::{RunningServer, wait};

use crate::node::{Node, Outcome, PATIENT};
use crate::place;

/// Whom the calls of a trial are for.
pub(crate) const ORG: &str = "acme";

/// How long anything may take to work again: a failover and some more.
const AT_MOST: Duration = Duration::from_secs(30);

/// A node in trouble, and the books about it.
pub(crate) struct Trial {
    pub(crate) node: Node,
    clock: SystemClock,
    admitted: u64,
    /// Calls that may have been counted, or not.
    unknown: u64,
    /// What went wrong, each once, in the order of its first time.
    seen: Vec<String>,
}

// === impl Trial ===

impl Trial {
    /// A node that works: one request has been admitted.
    pub(crate) async fn begin(node: Node) -> Self {
        let mut trial = Self::unproven(node);
        assert_eq!(trial.call().await, Ok(true), "{}", trial.node.trouble());
        trial
    }

    /// A node that was not asked yet.
    pub(crate) fn unproven(node: Node) -> Self {
        let (clock, seen) = (SystemClock::new(), Vec::new());
        Self { node, clock, admitted: 0, unknown: 0, seen }
    }

    /// One call, taken down.
    pub(crate) async fn call(&mut self) -> Outcome {
        let outcome = self.node.decide(ORG).await;
        self.note(&outcome);
        outcome
    }

    /// Calls that all fail; with what is in [`seen`](Self::seen).
    pub(crate) async fn fails(&mut self, times: usize) {
        for _ in 0..times {
            let outcome = self.call().await;
            assert!(outcome.is_err(), "it was decided: {outcome:?}");
        }
    }

    /// Calls until one fails, for faults that begin when they like.
    pub(crate) async fn until_it_fails(&mut self) {
        let calls = async {
            while self.call().await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(AT_MOST, calls).await.expect("the fault begins");
    }

    /// Takes down an outcome of a call made elsewhere.
    pub(crate) fn note(&mut self, outcome: &Outcome) {
        match outcome {
            Ok(admitted) => self.admitted += u64::from(*admitted),
            Err(error) => {
                self.unknown += u64::from(*error == StoreError::Timeout);
                let kind = kind(error);
                if !self.seen.contains(&kind) {
                    self.seen.push(kind);
                }
            }
        }
    }

    /// What callers saw, as it stands in the table.
    pub(crate) fn seen(&self) -> String {
        self.seen.join(", then ")
    }

    /// Calls until it works again, and tells after how long. What goes wrong meanwhile is counted but
    /// no part of what was seen: when the last failure comes depends on the machine.
    pub(crate) async fn recovers(&mut self) -> Duration {
        let (begin, seen) = (self.clock.now(), self.seen.clone());
        let calls = async {
            while self.call().await.is_err() {
                wait::pause(Duration::from_millis(5)).await;
            }
        };
        let recovered = tokio::time::timeout(AT_MOST, calls).await;
        recovered.unwrap_or_else(|_| panic!("never again: {}", self.node.trouble()));
        self.seen = seen;
        self.since(begin)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn since(&self, begin: Timestamp) -> Duration {
        Duration::from_micros(self.clock.now().since(begin).as_micros())
    }

    /// P70–P72: what was told is counted, nothing is counted that nobody asked for, all limits have
    /// counted the same, and nothing stays for ever.
    pub(crate) async fn balances(&self, url: &str, servers: &[&RunningServer]) {
        let fresh = Node::new(url, PATIENT);
        let counted = fresh.counted(ORG).await;
        assert!(counted.iter().all(|count| *count == counted[0]), "all or nothing: {counted:?}");
        let Self { admitted, unknown, .. } = self;
        let applied = counted[0];
        assert!(applied >= *admitted, "{admitted} were admitted and only {applied} counted");
        assert!(applied - admitted <= *unknown, "{applied} counted: {admitted} + {unknown}?");
        assert_eq!(place::left_for_ever(servers).await, Vec::<String>::new());
    }
}

/// The error without its particulars.
fn kind(error: &StoreError) -> String {
    let shown = format!("{error:?}");
    format!("`{}`", shown.split([' ', '{']).next().unwrap_or_default())
}
