//! What a database has said about plans, remembered.
//!
//! A request never waits for the database, and an outage of it changes nothing: what is known stays,
//! and an organisation that is asked about for the first time has the usual numbers until the next
//! refresh.

use core::error::Error;
use core::fmt;
use core::future::Future;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tidegate_core::{Span, Timestamp};
use tracing::warn;

use super::{LimitSource, Plan};
use crate::identity::Identity;

/// A table that keeps the plans of organisations, as in a database.
pub trait LimitTable: Send + Sync {
    /// Looks up the plan of an organisation; none for the usual numbers.
    ///
    /// # Errors
    ///
    /// If the plan cannot be looked up now. The plan that was known before stays.
    fn load(
        &self,
        org: &str,
    ) -> impl Future<Output = Result<Option<Plan>, Box<dyn Error + Send + Sync>>> + Send;
}

/// A [`LimitSource`] that remembers what a [`LimitTable`] says. Its owner calls
/// [`refresh`](Self::refresh) every second or so.
pub struct Remembered<T> {
    table: T,
    known: ArcSwap<HashMap<Box<str>, Arc<Entry>>>,
    /// Organisations that were asked about and are not known.
    asked: Mutex<BTreeSet<Box<str>>>,
    fresh_for: Span,
}

struct Entry {
    plan: Option<Plan>,
    /// When the plan was looked up.
    at: Timestamp,
    /// Whether the plan was asked for since it was looked up.
    used: AtomicBool,
}

/// The most organisations that are remembered; others have the usual numbers.
const MOST: usize = 65_536;
/// The most organisations that are looked up in one refresh, so that no refresh takes for ever.
const BATCH: usize = 512;

// === impl Remembered ===

impl<T: LimitTable> Remembered<T> {
    /// Remembers what this table says. A plan that is asked for is looked up again after a minute.
    #[must_use]
    pub fn new(table: T) -> Self {
        let fresh_for = Span::from_secs(60);
        Self { table, known: ArcSwap::default(), asked: Mutex::default(), fresh_for }
    }

    /// Sets how long a plan is remembered before it is looked up again.
    #[must_use]
    pub const fn fresh_for(mut self, span: Span) -> Self {
        self.fresh_for = span;
        self
    }

    /// Looks up the organisations that were asked about and are not known, or whose plans are too old,
    /// and returns how many lookups succeeded. One whose lookup fails keeps its present plan and holds
    /// up no other; the next refresh tries it again.
    pub async fn refresh(&self, now: Timestamp) -> usize {
        let wanted = self.wanted(now);
        let mut found = Vec::with_capacity(wanted.len());
        let mut failed = (0, None);
        for org in wanted {
            match self.table.load(&org).await {
                Ok(plan) => found.push((org, plan)),
                Err(error) => failed = (failed.0 + 1, Some(error)),
            }
        }
        if let (failed, Some(error)) = failed {
            warn!(%error, failed, "plans of organisations could not be looked up; they keep those they have");
        }
        let count = found.len();
        if count > 0 {
            self.learn(found, now);
        }
        count
    }

    fn wanted(&self, now: Timestamp) -> Vec<Box<str>> {
        let mut wanted: Vec<Box<str>> = {
            let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.iter().take(BATCH).cloned().collect()
        };
        let known = self.known.load();
        let is_stale =
            |entry: &Entry| entry.used.load(Relaxed) && now.since(entry.at) >= self.fresh_for;
        let stale = known.iter().filter(|(_, entry)| is_stale(entry)).map(|(org, _)| org.clone());
        wanted.extend(stale.take(BATCH - wanted.len()));
        wanted
    }

    fn learn(&self, found: Vec<(Box<str>, Option<Plan>)>, now: Timestamp) {
        let mut known = HashMap::clone(&self.known.load());
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        for (org, plan) in found {
            asked.remove(&org);
            known.insert(org, Arc::new(Entry { plan, at: now, used: AtomicBool::new(false) }));
        }
        drop(asked);
        if known.len() > MOST {
            // An organisation that has not asked since its lookup is looked up again when it does.
            known.retain(|_, entry| entry.used.load(Relaxed));
        }
        if known.len() <= MOST {
            self.known.store(Arc::new(known));
        }
    }
}

impl<T: LimitTable> LimitSource for Remembered<T> {
    fn plan(&self, identity: &Identity) -> Option<Plan> {
        let known = self.known.load();
        if let Some(entry) = known.get(identity.org_id()) {
            if !entry.used.load(Relaxed) {
                entry.used.store(true, Relaxed);
            }
            return entry.plan.clone();
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() < MOST {
            asked.insert(identity.org_id().into());
        }
        None
    }
}

impl<T> fmt::Debug for Remembered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remembered").field("fresh_for", &self.fresh_for).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    //! A table that goes away.

    use std::sync::atomic::AtomicUsize;

    use tidegate_engine::ready;

    use super::*;

    /// Says how often it was asked, as the name of the plan.
    #[derive(Default)]
    struct Table {
        asked: AtomicUsize,
        gone: AtomicBool,
    }

    impl LimitTable for Arc<Table> {
        async fn load(&self, org: &str) -> Result<Option<Plan>, Box<dyn Error + Send + Sync>> {
            if self.gone.load(Relaxed) || org.starts_with("bad") {
                return Err("the row cannot be read".into());
            }
            let count = self.asked.fetch_add(1, Relaxed);
            Ok((org != "usual").then(|| Plan::named(format!("{org}-{count}"))))
        }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn what_a_database_says_is_remembered_and_looked_up_again() {
        let table = Arc::<Table>::default();
        let source = Remembered::new(Arc::clone(&table));
        let (acme, usual) = (Identity::new("acme"), Identity::new("usual"));
        assert_eq!(source.plan(&acme), None, "nobody has asked before");
        assert_eq!(source.plan(&usual), None);
        assert_eq!(ready(source.refresh(at(0))), Some(2));
        assert_eq!(source.plan(&acme), Some(Plan::named("acme-0")));
        assert_eq!(source.plan(&usual), None);
        assert_eq!(ready(source.refresh(at(59))), Some(0), "still fresh");
        assert_eq!(ready(source.refresh(at(60))), Some(2));
        assert_ne!(source.plan(&acme), Some(Plan::named("acme-0")));
        assert_eq!(ready(source.refresh(at(120))), Some(1), "nobody has asked about the other");
    }

    #[test]
    fn while_the_database_is_away_what_is_known_stays() {
        let table = Arc::<Table>::default();
        let source = Remembered::new(Arc::clone(&table)).fresh_for(Span::from_secs(5));
        let acme = Identity::new("acme");
        assert_eq!(source.plan(&acme), None);
        assert_eq!(ready(source.refresh(at(0))), Some(1));
        table.gone.store(true, Relaxed);
        let known = source.plan(&acme);
        assert_eq!(ready(source.refresh(at(100))), Some(0));
        assert_eq!(source.plan(&acme), known);
        table.gone.store(false, Relaxed);
        assert_eq!(ready(source.refresh(at(101))), Some(1));
    }
    #[test]
    fn a_row_that_cannot_be_read_keeps_nobody_else_from_theirs() {
        let source = Remembered::new(Arc::<Table>::default());
        let orgs = ["acme", "bad", "bad-too", "zenith"].map(Identity::new);
        for org in &orgs {
            assert_eq!(source.plan(org), None);
        }
        assert_eq!(ready(source.refresh(at(0))), Some(2));
        let told = orgs.each_ref().map(|org| source.plan(org));
        let [acme, zenith] = ["acme-0", "zenith-1"].map(|plan| Some(Plan::named(plan)));
        assert_eq!(told, [acme, None, None, zenith]);
        assert_eq!(ready(source.refresh(at(1))), Some(0), "those are tried again, and no others");
        assert_eq!(source.table.asked.load(Relaxed), 2);
    }
}
